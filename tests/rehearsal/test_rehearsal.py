"""The dress rehearsal: the papers' tables made from nothing, resumed after a kill in every kind of step, and on a cluster."""

import csv
import io
from pathlib import Path

import pytest
from not_made import not_made
from passes import PAPERS, Place, without_numbers
from two_nodes import started

from toolkit.studies.reproduce.table_rows import tables_of

pytestmark = pytest.mark.rehearsal

# kind of step -> paper, systems, and the call (of a function of ours) in which the process kills itself
KILLS = {
    "fetching data": ("infosearch", ["bm25"], "toolkit.files.store.download:fetch:8"),
    "fetching a checkpoint": ("instructir", ["colbertv2"], "toolkit.files.store.download:fetch:8"),
    "fetching an index": ("berds", ["bm25"], "toolkit.files.store.archives:unpack:1"),
    "indexing documents": ("instructir", ["bm25"], "toolkit.models.lucene.anserini_index:index_fields:1"),
    "indexing vectors": ("infosearch", ["e5-large-v2"], "toolkit.files.formats.indexes:write_index_record:3"),
    "encoding": ("infosearch", ["e5-large-v2"], "toolkit.files.formats.vectors:write_shard:4"),
    "searching": ("infosearch", ["e5-large-v2"], "toolkit.retrieval.search.per_query_search:search_per_query:3"),
    "reranking": ("mfollowir", ["bge-reranker-v2-m3"], "toolkit.files.store.keyed_cache:KeyedCache.put:1"),
    "asking a server": ("infosearch", ["gpt-4o"], "toolkit.models.llm.answer_cache:AnswerWriter.put:20"),
    "judging": ("berds", ["bm25"], "toolkit.models.llm.answer_cache:AnswerWriter.put:20"),
    "writing a run": ("infosearch", ["bm25"], "toolkit.files.provenance.record:to_yaml:1"),
    "evaluating": ("infosearch", ["bm25"], "toolkit.evaluation.scores.evaluation:prepare:1"),
}

# paper -> a system of each kind, which workers compute
CLUSTER = {
    "infosearch": ("bm25", "e5-large-v2", "rank-zephyr-7b", "gpt-4o", "mistral-7b-instruct-v0.2-pointwise"),
    "instructir": ("repllama-v1-7b", "colbertv2"),
    "mfollowir": ("mt5-13b-mmarco-100k", "bge-reranker-v2-m3"),
    "berds": ("bm25",),
}
BY_OTHERS = ("best", "p against the best")


def rows(table, systems):
    """The lines of a comparison that are of some systems, without what others decide: which is the best of a column."""
    found = [row for row in csv.DictReader(io.StringIO(table.decode())) if row["system"] in systems]
    return [{name: value for name, value in row.items() if name not in BY_OTHERS} for row in found]


def same_runs(found, expected, systems):
    """Runs and judgments of these systems are the same bytes, and so are their numbers in the comparison."""
    for name, data in expected.items():
        if name.rpartition("/")[2].partition(".")[0] in systems:
            assert found.get(name) == data, name
    assert rows(found["comparison.csv"], systems) == rows(expected["comparison.csv"], systems)


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_is_made_from_nothing_and_a_second_time_nothing_is_made_anew(paper, passed, systems, record_property):
    place, done = passed(paper)
    record_property(paper, done.times())
    rows = {row.name for row in tables_of(paper, systems=systems[paper]).rows}
    expected = {row: why for row, why in not_made()[paper].items() if row in rows}
    assert done.failures.keys() == expected.keys()
    assert [row for row, why in expected.items() if why not in done.failures[row]] == []
    before = place.bytes_of(paper)
    assert without_numbers(before["comparison.csv"], expected) == []
    assert {"comparison.csv", "comparison.html", "claims.csv"} <= set(before)
    again = place.reproduce(paper, systems[paper])
    assert place.bytes_of(paper) == before
    assert ": up to date" in again.said
    missing = [line.partition(": ")[0] for _, line in again.steps if line.endswith(": not there yet")]
    assert {"/".join(Path(name).with_suffix("").parts[-2:]) for name in missing} <= expected.keys()


@pytest.mark.parametrize("step", KILLS)
def test_a_pass_that_is_killed_resumes_to_the_same_bytes(step, passed, world, served, tmp_path):
    paper, systems, call = KILLS[step]
    place = Place(tmp_path, world, served)
    if step != "fetching data":
        place.take(paper)
    killed = place.reproduce(paper, systems, kill=call)
    assert killed.was_killed, killed.said
    resumed = place.reproduce(paper, systems)
    assert resumed.status == 0, resumed.said
    uninterrupted, _ = passed(paper)
    same_runs(place.bytes_of(paper), uninterrupted.bytes_of(paper), systems)


def pytest_generate_tests(metafunc):
    """`divided`: the papers whose systems a cluster computes; of the fifth one with vectors and an endpoint."""
    if "divided" in metafunc.fixturenames:
        every = metafunc.config.getoption("--rehearse") == "all"
        metafunc.parametrize("divided", list(CLUSTER.items()) if every else [("infosearch", ("bm25", "e5-large-v2", "gpt-4o"))])


def test_a_cluster_of_two_nodes_makes_the_same_bytes(divided, passed, world, served, tmp_path, request):
    paper, systems = divided
    alone, _ = passed(paper)
    request.getfixturevalue("ray_alone")  # not before: others need Ray while the paper is made
    (tmp_path / "token").write_text("7" * 64)
    (tmp_path / "token").chmod(0o600)
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(tmp_path / "token")}
    place = Place(tmp_path / "place", world, {**served, **token})
    place.take(paper)
    # what a node needs is known from the registry, where checkpoints have their real size
    running, address = started(place.environment, memory=64 << 30)
    try:
        done = place.reproduce(paper, systems, "--engine", f"ray:{address}")
    finally:
        running.communicate("", timeout=60)
    assert (done.status, done.failures) == (0, {}), done.said
    same_runs(place.bytes_of(paper), alone.bytes_of(paper), systems)
