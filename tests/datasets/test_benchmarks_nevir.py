"""NevIR in its published layout, and that Robustness@1 over its candidates is the share of pairs ranked right."""

import json

import pytest

from toolkit import datasets, registry
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.datasets.group_data import counts
from toolkit.datasets.layouts import nevir
from toolkit.evaluation import evaluate

PAIRS = ("10-2", "11-2", "12-3")
README = "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: test\n    path: qrels/test.jsonl\n---\n"


def write(folder, *, readme=""):
    """Three test pairs, and one for training that is not judged in `qrels/test`."""
    pairs = [*PAIRS, "9-1"]
    tables = {
        "corpus.jsonl": [{"_id": f"{pair}_doc{n}", "text": f"{pair} text {n}"} for pair in pairs for n in (1, 2)],
        "queries.jsonl": [{"_id": f"{pair}_q{n}", "text": f"{pair} question {n}"} for pair in pairs for n in (1, 2)],
        "qrels/test.jsonl": [
            {"query-id": f"{pair}_q{n}", "corpus-id": f"{pair}_doc{n}", "score": 1.0} for pair in PAIRS for n in (1, 2)
        ],
        "top_ranked/test.jsonl": [
            {"query-id": f"{pair}_q{n}", "corpus-ids": [f"{pair}_doc1", f"{pair}_doc2"]} for pair in pairs for n in (1, 2)
        ],
    }
    for name, rows in tables.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if readme:
        (folder / "README.md").write_text(readme)
    return folder


def read(folder):
    spec = registry.benchmark("nevir")
    return nevir.read(folder, spec, spec.group("test"))


@pytest.mark.parametrize("readme", ["", README])
def test_the_judged_questions_are_read_in_pairs(tmp_path, readme):
    part = read(write(tmp_path, readme=readme))
    assert counts(part) == {"cores": 3, "queries": 6, "documents": 8}
    topic = part.topics[""][1]
    assert (topic.query_id, topic.group_id, topic.text) == ("10-2_q2", "10-2", "10-2 question 2")
    assert part.scoreddocs[""].to_dict()["10-2_q2"] == {"10-2_doc1": 1.0, "10-2_doc2": 0.5}


def test_robustness_at_1_is_the_share_of_pairs_ranked_right(home, tmp_path):
    datasets.take("nevir", write(tmp_path / "NevIR-mteb").parent)
    right = {"10-2_q1": 1, "10-2_q2": 2, "11-2_q1": 1, "11-2_q2": 1, "12-3_q1": 2, "12-3_q2": 1}  # which document is first
    run = Run.from_dict(
        {query: {f"{query[:-3]}_doc{first}": 2.0, f"{query[:-3]}_doc{3 - first}": 1.0} for query, first in right.items()}
    )
    values = {row.measure: row.value for row in evaluate(run, benchmark="nevir").rows}
    assert values["Robustness@1"] == pytest.approx(1 / 3)  # of the three pairs, the first
    assert values["nDCG@1"] == pytest.approx(3 / 6)


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("qrels/test.jsonl", 0, "queries.jsonl, line 2: question 10-2_q2 has no counterpart"),
        ("top_ranked/test.jsonl", 2, "queries.jsonl, line 3: question 11-2_q1 has no candidates"),
        ("corpus.jsonl", 1, "qrels/test.jsonl, line 2: unknown document 10-2_doc2"),
        ("queries.jsonl", 4, "qrels/test.jsonl, line 5: unknown query 12-3_q1"),
    ],
)
def test_what_is_missing_is_named(tmp_path, name, line, message):
    folder = write(tmp_path)
    lines = (folder / name).read_text().splitlines(keepends=True)
    (folder / name).write_text("".join(lines[:line] + lines[line + 1 :]))
    with pytest.raises(ToolkitError) as caught:
        read(folder)
    assert f"{folder}/{message}" in (*caught.value.problems, caught.value.message)
