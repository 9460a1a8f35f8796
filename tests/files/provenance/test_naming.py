"""What runs are called beside each other, and the order of names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.files.provenance import NamedRun, run_names
from toolkit.files.provenance.naming import natural


def made(tag, *steps, **method):
    return {"tag": tag, "method": {"retrieval": list(steps), **method}}


BM25 = {"name": "bm25", "method": "bm25", "k1": 0.9, "hits": 1000}
FLAN = {"name": "flan", "method": "yes-no", "depth": 100}


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        # two files of one tag are called by their files, until their records say more
        (
            [("runs/bm25.trec", made("bm25", BM25)), ("runs/placebo.trec", made("bm25", BM25, instruction="placebo"))],
            ["bm25", "bm25 · placebo"],
        ),
        ([("bm25", made("bm25", BM25, instruction="placebo"))], ["bm25 · placebo"]),
        ([("bm25-placebo", made("bm25-placebo", BM25, instruction="placebo"))], ["bm25-placebo"]),
        (
            [("a.trec", made("bm25", BM25)), ("b.trec", made("bm25", BM25 | {"recipe": "infosearch", "k1": 1.5}))],
            ["bm25", "bm25 · infosearch"],
        ),
        (
            [("a.trec", made("bm25", BM25)), ("b.trec", made("bm25", BM25 | {"k1": 1.2, "hits": 10}))],
            ["bm25 · k1 0.9", "bm25 · k1 1.2"],
        ),
        (
            [
                ("bm25.rerank-flan", made("", BM25, reranking=[FLAN])),
                ("e5.rerank-flan", made("", {"name": "e5"}, reranking=[FLAN])),
            ],
            ["flan · over bm25", "flan · over e5"],
        ),
        ([("bm25.rerank-flan", made("", BM25, reranking=[FLAN]))], ["flan"]),
        ([("a+b.rrf", made("", {"name": "a"}, {"name": "b"}, fusion="rrf"))], ["a+b · rrf"]),
        ([("x.bm25.v1.trec.gz", made("bm25", BM25)), ("x.bm25.v2.trec.gz", made("bm25", BM25))], ["bm25 · v1", "bm25 · v2"]),
        ([("one/run.trec", {}), ("two/run.trec", {})], ["run · one/run.trec", "run · two/run.trec"]),
        ([("mine", made("mine", BM25)), ("yours", {})], ["mine", "yours"]),
        ([("mine", {"method": "somebody else's"})], ["mine"]),
    ],
)
def test_runs_are_called_by_what_their_records_say_and_by_what_distinguishes_them(runs, names):
    assert run_names([NamedRun(name, name if "." in name else f"{name}.trec", [record]) for name, record in runs]) == names


PARAMETERS = st.dictionaries(
    st.sampled_from(["recipe", "k1", "depth", "x"]), st.none() | st.text(max_size=3) | st.integers(0, 2)
)


@given(st.lists(st.tuples(st.sampled_from(["bm25", "e5"]), PARAMETERS, st.sampled_from(["full", "placebo"])), max_size=6))
def test_names_are_all_different(runs):
    records = [made(name, {"name": name} | facts, instruction=how) for name, facts, how in runs]
    given = [NamedRun(f"runs/{place}.trec", f"runs/{place}.trec", [record]) for place, record in enumerate(records)]
    names = run_names(given)
    assert len(set(names)) == len(runs)
    assert all(name.startswith(run[0]) for name, run in zip(names, runs, strict=True))


def test_numbers_in_names_are_sorted_by_value():
    names = ["w", "v10.10", "v10.2", "v10", "v02", "v2", "V1", "v1"]
    assert sorted(names, key=natural) == ["V1", "v1", "v02", "v2", "v10", "v10.2", "v10.10", "w"]
