"""BRIGHT-Pro from the authors' mirror and the hub's configurations; aspects as weighted subtopics."""

import json
import os

import pytest
from command import process
from hub_layout import hub_files
from serving import serving

from toolkit import datasets, registry
from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.datasets.group_data import counts, totals
from toolkit.datasets.layouts import bright_pro
from toolkit.evaluation import evaluate

EXAMPLES = [{"id": 0, "query": "why?", "gold_ids": ["a", "b", "c"]}, {"id": 1, "query": "how?", "gold_ids": ["d"]}]
DOCUMENTS = [{"id": doc, "content": f"text {doc}"} for doc in "abcdx"]
ASPECTS = [
    {"id": "earth_science-0-a1", "content": "first", "weight": 3, "supporting_docs": ["a", "b"]},
    {"id": "earth_science-0-a2", "content": "second", "weight": 1, "supporting_docs": ["c"]},
    {"id": "earth_science-0-a3", "content": "third", "weight": 2, "supporting_docs": []},
    {"id": "earth_science-1-aspect-1", "content": "only", "weight": 2, "supporting_docs": ["d"]},
]


def tables(**changes):
    return {"examples": EXAMPLES, "documents": DOCUMENTS, "aspects": ASPECTS} | changes


def mirror(folder, **changes):
    for name, rows in tables(**changes).items():
        (folder / name).mkdir(parents=True)
        (folder / name / "earth_science.json").write_text(json.dumps(rows))
    return folder


def read(folder):
    spec = registry.benchmark("bright-pro")
    return bright_pro.read(folder, spec, spec.group("earth-science"))


def test_aspects_are_subtopics_with_the_published_weights(tmp_path):
    part = read(mirror(tmp_path))
    assert counts(part) == {"cores": 2, "queries": 2, "documents": 5}
    assert totals(part) == {"queries": 2, "qrels": 4, "documents": 5}
    topic = part.topics[""][0]
    assert (topic.query_id, topic.original_id, topic.perspectives) == ("earth-science-0", "0", ("first", "second", "third"))
    qrels = part.qrels[""]
    assert [(row.doc_id, row.iteration, row.relevance) for row in qrels][:3] == [("a", "1", 1), ("b", "1", 1), ("c", "2", 1)]
    assert qrels.weights["earth-science-0", "3"] == 2.0
    assert part.notes == ()


def test_the_hubs_configurations_are_read_by_their_splits(tmp_path):
    import pyarrow
    import pyarrow.parquet

    lines = ["---", "configs:"]
    for name, rows in tables().items():
        (tmp_path / "files").mkdir(exist_ok=True)
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "files" / f"{name}.parquet")
        lines += [f"- config_name: {name}", "  data_files:", "  - split: earth_science", f"    path: files/{name}.parquet"]
    (tmp_path / "README.md").write_text("\n".join([*lines, "---", ""]))
    assert totals(read(tmp_path)) == {"queries": 2, "qrels": 4, "documents": 5}


@pytest.mark.process
def test_the_hub_gives_one_task_without_the_others(home, tmp_path):
    group, hub = registry.benchmark("bright-pro").group("earth-science"), tmp_path / "hub"
    for name, rows in tables().items():
        for task in ("earth_science", "biology"):
            path = hub / name / f"{task}-00000-of-00001.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serving(hub_files(hub, group)) as files:
        env = os.environ | {"HF_ENDPOINT": files.base, "HF_HUB_OFFLINE": "0"}
        done = process("benchmarks", "fetch", "bright-pro-earth-science", env=env)
        got = [path for path, _ in files.requests]
    assert done.returncode == 0, done.stderr
    assert done.stdout == "bright-pro-earth-science: 2 cores, 2 queries, 5 documents\n"
    assert not any("biology" in path for path in got)


def test_gold_without_aspect_counts_for_ndcg_alone_and_is_said(tmp_path):
    part = read(mirror(tmp_path, examples=[{**EXAMPLES[0], "gold_ids": ["a", "b", "x"]}, EXAMPLES[1]]))
    assert part.notes == (
        "earth-science: 1 gold documents are of no aspect",
        "earth-science: 1 documents of aspects are not gold: left out",
    )
    assert part.qrels[""].weights["earth-science-0", "0"] == 0.0


@pytest.mark.parametrize(
    ("aspect", "message"),
    [
        ({"id": "earth_science-7-a1"}, "earth_science-7-a1 is the aspect of no question (<task>-<question>-a<n>)"),
        ({"weight": 0}, "weight 0 is no number above 0"),
        ({"weight": "3"}, "weight '3' is no number above 0"),
        ({"supporting_docs": ["z"]}, "unknown document z"),
    ],
)
def test_what_cannot_be_right_is_named(tmp_path, aspect, message):
    with pytest.raises(ToolkitError) as caught:
        read(mirror(tmp_path, aspects=[ASPECTS[0] | aspect, *ASPECTS[1:]]))
    assert f"{tmp_path}/aspects/earth_science.json, entry 1: {message}" in (caught.value.message, *caught.value.problems)


def test_the_papers_table_has_the_weights_also_of_judgments_of_ones_own(home, tmp_path):
    datasets.take("bright-pro", mirror(tmp_path / "Bright-Pro").parent, ("earth-science",))
    run = Run.from_dict({"earth-science-0": {"x": 4.0, "a": 3.0, "b": 2.0, "c": 1.0}, "earth-science-1": {"d": 1.0}})
    found = {row.measure: row.value for row in evaluate(run, benchmark="bright-pro-earth-science").rows}
    # question 0 by hand in tests/metrics; question 1 has one aspect and one document, first
    assert found["weighted_alpha_nDCG@25"] == pytest.approx((0.512245 / 0.741066 + 1) / 2, abs=2e-6)
    assert found["ARecall@25"] == pytest.approx((2 / 3 + 1) / 2)
    assert found["R@25"] == 1
    own = datasets.load("bright-pro").qrels("earth-science")
    own = Qrels.from_rows(row for row in own if row.doc_id != "c")
    found = {row.measure: row.value for row in evaluate(run, benchmark="bright-pro-earth-science", qrels=own).rows}
    assert found["ARecall@25"] == pytest.approx((1 / 2 + 1) / 2)
