"""IFIR in MTEB's layout, the authors' and that of their BEIR scripts; levels as modes of one query."""

import json
import os

import pytest
from command import process
from hub_layout import hub_files
from serving import serving

from toolkit import datasets, registry
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.datasets.copies.verify import verify
from toolkit.datasets.group_data import counts, totals
from toolkit.datasets.layouts import ifir
from toolkit.evaluation import evaluate

DOCS = [{"_id": doc, "title": f"title {doc}", "text": f"text {doc}"} for doc in ("d1", "d2", "d3")]
# query -> level -> the documents of d1, d2 and d3 that meet it
RELEVANT = {"q1": {1: [0, 1], 2: [0]}, "q2": {1: [2], 2: [2], 3: [2]}}
QRELS = [
    {"query-id": f"{query}_v{level}", "corpus-id": f"d{place + 1}", "score": 1}
    for query, levels in RELEVANT.items()
    for level, places in levels.items()
    for place in places
]


def write(folder, tables):
    for name, rows in tables.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = json.dumps(rows) if name.endswith(".json") else "".join(json.dumps(row) + "\n" for row in rows)
        path.write_text(lines, encoding="utf-8")
    return folder


def mteb(folder, *, instruction=True):
    ids = [f"{query}_v{level}" for query, levels in RELEVANT.items() for level in levels]
    tables = {
        "corpus/corpus.jsonl": DOCS,
        "queries/queries.jsonl": [
            {"_id": each, "text": f"need of {each[:2]}" + ("" if instruction else f" rule {each[3:]}")} for each in ids
        ],
        "qrels/test.jsonl": QRELS,
    }
    if instruction:
        tables["instruction/instruction.jsonl"] = [{"query-id": each, "instruction": f"rule {each[3:]}"} for each in ids]
    return write(folder, tables)


def authors(folder, levels=RELEVANT):
    """`aila/`, as the README has it."""
    rows = [
        {
            "_id": query,
            "text": f"need of {query}",
            "corpus": [{"_id": doc["_id"]} for doc in DOCS],
            "instructions": [{"level": level, "instruction": f"rule v{level}", "rel": rel} for level, rel in given.items()],
        }
        for query, given in levels.items()
    ]
    return write(folder, {"test_data.json": rows, f"{folder.name}-corpus.jsonl": DOCS})


def read(folder, group="aila"):
    spec = registry.benchmark("ifir")
    return ifir.read(folder, spec, spec.group(group))


def test_mtebs_levels_are_modes_of_one_query(tmp_path):
    part = read(mteb(tmp_path / "aila"))
    assert {mode: len(topics) for mode, topics in part.topics.items()} == {
        "base": 0,
        "instruct": 0,
        "level1": 2,
        "level2": 2,
        "level3": 1,
    }
    topic = part.topics["level2"][0]
    assert (topic.query_id, topic.group_id, topic.original_id) == ("aila-q1_v2-level2", "aila-q1", "q1_v2")
    assert (topic.query, topic.instruction, topic.text) == ("need of q1", "rule v2", "need of q1 rule v2")
    assert totals(part) == {"queries": 5, "qrels": 6, "documents": 3}
    assert counts(part) == {"cores": 2, "queries": 2, "documents": 3}  # of level 1
    assert "aila: no mode base: MTEB's copy has the instructed queries alone" in part.notes


def test_a_text_that_holds_the_instruction_is_left_whole_and_said(tmp_path):
    part = read(mteb(tmp_path / "aila", instruction=False))
    topic = part.topics["level1"][0]
    assert (topic.text, topic.query, topic.instruction) == ("need of q1 rule v1", "", "")
    assert any("query and instruction are one text" in note for note in part.notes)


def test_the_authors_query_alone_is_judged_by_each_of_its_instructions(tmp_path):
    part = read(authors(tmp_path / "aila"))
    base = {topic.query_id: topic.text for topic in part.topics["base"]}
    assert base["aila-q1_2-base"] == "need of q1"
    judged = {(row.query_id, row.doc_id): row.relevance for row in part.qrels["base"]}
    assert [judged["aila-q1_1-base", doc] for doc in ("d1", "d2", "d3")] == [1, 1, 0]
    assert [judged["aila-q1_2-base", doc] for doc in ("d1", "d2", "d3")] == [1, 0, 0]
    # the base mode is no other query: as many as in MTEB's copy
    assert totals(part) == {"queries": 5, "qrels": 6, "documents": 3}


def test_a_set_without_levels_has_one_instructed_mode(tmp_path):
    part = read(authors(tmp_path / "cds", {"q1": {0: [1]}}), "cds")
    assert [topic.query_id for topic in part.topics["instruct"]] == ["cds-q1_0-instruct"]
    assert not part.topics["level1"]


def test_the_beir_layout_has_the_query_alone_as_level_0(tmp_path):
    folder = write(
        tmp_path / "aila",
        {
            "aila-corpus.jsonl": DOCS,
            "aila-query.json": [{"_id": f"q1_{level}", "text": f"text {level}"} for level in (0, 1, 2)],
            "aila-qrel.jsonl": [{"query-id": f"q1_{level}", "corpus-id": "d1", "score": 1} for level in (0, 1, 2)],
        },
    )
    part = read(folder)
    assert [part.topics[mode][0].query_id for mode in ("base", "level1", "level2")] == [
        "aila-q1_0-base",
        "aila-q1_1-level1",
        "aila-q1_2-level2",
    ]


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ({"q1": {0: [0]}}, "query q1 has no instruction of a known level: level 0 with 'rule v0'"),
        ({"q1": {1: [5]}}, "`rel` of query q1 is not a list of places in its `corpus`"),
        ({"q1": {1: []}}, None),  # judged, though nothing meets it
    ],
)
def test_what_test_data_cannot_mean_is_named(tmp_path, levels, message):
    folder = authors(tmp_path / "aila", levels)
    if message is None:
        assert len(read(folder).topics["level1"]) == 1
        return
    with pytest.raises(ToolkitError) as caught:
        read(folder)
    assert caught.value.message == f"{folder}/test_data.json, entry 1: {message}"


def test_an_id_of_two_levels_is_not_guessed(tmp_path):
    folder = mteb(tmp_path / "aila")
    for name in ("queries/queries.jsonl", "instruction/instruction.jsonl", "qrels/test.jsonl"):
        path = folder / name
        path.write_text(path.read_text().replace("q1_v1", "v2q1_v1"))
    with pytest.raises(ToolkitError, match="v2q1_v1 names the levels 1 and 2"):
        read(folder)


def test_the_table_has_the_levels_and_all_of_them_together(home, tmp_path):
    datasets.take("ifir", mteb(tmp_path / "aila").parent, ("aila",))
    rankings = {
        "q1_v1-level1": "d1 d2",
        "q1_v2-level2": "d2 d1",
        "q2_v1-level1": "d3",
        "q2_v2-level2": "d1",
        "q2_v3-level3": "d3",
    }
    run = Run.from_dict({f"aila-{q}": {d: -float(i) for i, d in enumerate(docs.split())} for q, docs in rankings.items()})
    scores = evaluate(run, benchmark="ifir-aila", measures=["nDCG_retrieved@1", "P@1"])
    found = {row.mode: (row.value, row.queries) for row in scores.rows if row.measure == "P@1"}
    assert found == {"level1": (1, 2), "level2": (0, 2), "level3": (1, 1), "all": (3 / 5, 5)}
    alone = evaluate(run, benchmark="ifir-aila-level2", measures=["P@1"])
    assert {row.mode for row in alone.rows} == {"level2"}


def test_another_commit_than_a_short_revision_is_refused(home, tmp_path, monkeypatch):
    group = registry.benchmark("ifir").group("aila")
    with serving(hub_files(mteb(tmp_path / "hub"), group, "0" * 40)) as files:
        monkeypatch.setenv("HF_ENDPOINT", files.base)
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        with pytest.raises(ToolkitError, match=f"it has commit {'0' * 40} in its place"):
            datasets.load("ifir").part("aila")


@pytest.mark.process
def test_the_hub_gives_mtebs_copy_of_a_set_at_its_short_revision(home, tmp_path):
    group = registry.benchmark("ifir").group("aila")
    with serving(hub_files(mteb(tmp_path / "hub"), group, "1cb8772" + "0" * 33)) as files:
        hub = {"HF_ENDPOINT": files.base, "HF_HUB_OFFLINE": "0"}
        done = process("benchmarks", "fetch", "ifir-aila", env=os.environ | hub)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ifir-aila: 2 cores, 2 queries, 3 documents\n"
    assert (home / "benchmarks" / "ifir" / "aila.1cb8772").is_dir()


def test_verify_compares_the_totals_with_mtebs(home, tmp_path):
    datasets.take("ifir", authors(tmp_path / "aila").parent, ("aila",))
    found = {finding.check: finding.problem for finding in verify(datasets.load("ifir"), ("aila",))}
    assert found["totals over all modes"] == (
        "85 queries expected, 5 found; 2914 documents expected, 3 found; 171 qrels expected, 6 found"
    )
