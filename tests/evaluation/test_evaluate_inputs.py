"""Which file is which run and which mode."""

import pandas
import pytest

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.evaluation.scores.run_inputs import Source, as_sources, load_qrels, load_runs, parse_source


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def make(name: str, query_ids: str, tag: str) -> str:
        (tmp_path / name).write_text("".join(f"{query_id} Q0 d 1 1.5 {tag}\n" for query_id in query_ids.split()))
        return name

    return make


def load(*names: str) -> dict[str, tuple[str, ...]]:
    return {run.tag: run.query_ids for run in load_runs(as_sources(list(names)))}


def test_only_known_modes_are_split_off():
    assert parse_source("ins=a.trec") == Source("ins", "a.trec")
    assert parse_source("changed=x=y") == Source("changed", "x=y")
    assert parse_source("a=b.trec") == Source("", "a=b.trec")
    assert parse_source("=b.trec") == Source("", "=b.trec")


def test_files_of_one_tag_with_disjoint_queries_are_parts_of_one_run(write):
    names = write("1", "a-1-ori", "bm25"), write("2", "a-1-ins", "bm25"), write("3", "a-1-ori", "e5")
    assert load(*names) == {"bm25": ("a-1-ins", "a-1-ori"), "e5": ("a-1-ori",)}
    assert load(*reversed(names)) == load(*names)


def test_files_of_one_tag_that_share_a_query_are_runs_named_by_file(write):
    assert load(write("1", "a b", "bm25"), write("2", "b c", "bm25")) == {"1": ("a", "b"), "2": ("b", "c")}


def test_the_mode_is_added_to_ids_that_lack_it(write):
    assert load("ori=" + write("1", "a-1 b-1-ori", "x"), "ins=" + write("2", "a-1", "x")) == {
        "x": ("a-1-ins", "a-1-ori", "b-1-ori")
    }


def test_a_name_with_an_equals_sign_is_a_name(write):
    assert load(write("a=b.trec", "q", "x")) == {"x": ("q",)}


def test_a_run_called_like_a_reference_is_known_by_its_file(write):
    assert load(write("f", "q", "blind")) == {"f": ("q",)}


def test_another_mode_in_a_file_is_refused(write):
    with pytest.raises(ToolkitError, match="1 is given as mode ori and holds queries of another: a-1-ins, b-1-rev"):
        load("ori=" + write("1", "a-1-ins b-1-rev c-1-ori", "x"))


def test_a_query_with_and_without_its_mode_is_refused(write):
    with pytest.raises(ToolkitError, match="1 has queries both with and without their mode: a-1-ori"):
        load("ori=" + write("1", "a-1 a-1-ori", "x"))


def test_a_file_given_twice_is_refused(write):
    with pytest.raises(ToolkitError, match="1 is given twice"):
        load(write("1", "a", "x"), "ori=1")


def test_runs_made_of_the_same_topics_are_runs_of_their_own():
    def made(tag):
        return Run.from_dict({"a-1": {"7": 2.0}}, tag=tag, source="infosearch-mini")

    assert [run.tag for run in load_runs(as_sources([made("bm25"), made("e5")]))] == ["bm25", "e5"]
    with pytest.raises(ToolkitError, match="two runs are called infosearch-mini"):
        load_runs(as_sources([made("bm25"), made("bm25")]))
    with pytest.raises(ToolkitError, match="infosearch-mini is given twice"):
        load_runs(as_sources([made("bm25")] * 2))


def test_frames_runs_and_mappings_by_mode_are_accepted():
    frame = pandas.DataFrame({"query_id": ["a-1"], "doc_id": ["7"], "score": [1.0]})
    (run,) = load_runs(as_sources({"ori": frame, "ins": Run.from_dict({"a-1": {"7": 2.0}})}))
    assert run.to_dict() == {"a-1-ins": {"7": 2.0}, "a-1-ori": {"7": 1.0}}
    judged = pandas.DataFrame({"query_id": ["a-1"], "doc_id": ["7"], "relevance": [2]})
    assert list(load_qrels(as_sources({"ori": judged}))) == [Qrel("a-1-ori", "7", 2)]
    with pytest.raises(ToolkitError, match="no mode 'orig'"):
        as_sources({"orig": frame, "ins": frame})
    with pytest.raises(ToolkitError, match="no mode 'orig'"):
        load_qrels(as_sources({"orig": judged}))


def test_a_mapping_from_names_is_a_run_each(write):
    one, other = {"a-1": {"7": 1.0}}, {"a-1-ins": {"7": 2.0}}
    loaded = load_runs(as_sources({"b": {"ori": one, "ins": other}, "a": Run.from_dict(other, tag="x")}))
    assert [(run.tag, run.query_ids) for run in loaded] == [("a", ("a-1-ins",)), ("b", ("a-1-ins", "a-1-ori"))]
    files = {"a b": {"ori": write("1", "a-1", "x")}, "c": [write("2", "a-1-ori", "y"), write("3", "a-1-ins", "z")]}
    assert [(run.tag, run.query_ids) for run in load_runs(as_sources(files))] == [
        ("a b", ("a-1-ori",)),
        ("c", ("a-1-ins", "a-1-ori")),
    ]
    with pytest.raises(ToolkitError, match="'random' is no name for a run"):
        as_sources({"random": other})


def test_one_run_under_two_names_is_two_runs():
    run = Run.from_dict({"a-1": {"7": 2.0}}, tag="bm25")
    assert [each.tag for each in load_runs(as_sources({"a": run, "b": run}))] == ["a", "b"]


def test_runs_without_a_name_are_numbered():
    one, other = {"a": {"7": 1.0}}, {"a": {"8": 1.0}}
    assert [(run.tag, run.to_dict()) for run in load_runs(as_sources([other, one]))] == [("run1", other), ("run2", one)]


@pytest.mark.parametrize("nothing", [{}, []])
def test_no_run_is_refused(nothing):
    with pytest.raises(ToolkitError, match="no run is given"):
        load_runs(as_sources(nothing))


def test_qrels_that_judge_the_same_queries_are_refused():
    one = Qrels.from_rows([Qrel("a", "d", 1)], source="one")
    with pytest.raises(ToolkitError, match="one and two judge the same queries: a"):
        load_qrels(as_sources([one, Qrels.from_rows([Qrel("a", "e", 1)], source="two")]))
