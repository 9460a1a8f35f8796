"""What a benchmark's entry says of its table: measures of a group, modes that are shown, judgments of one's own."""

import pytest
import yaml
from published_layout import write_infosearch

from toolkit import datasets
from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.core.system.yaml_json import read_yaml
from toolkit.evaluation import evaluate
from toolkit.evaluation.scores.score_output import render
from toolkit.registry.loader import FOLDER

MINI = "infosearch-mini-audience"


def by_id(name: str) -> Run:
    """Every list of the benchmark in the order of document ids."""
    found = datasets.find(name)
    benchmark, lists = datasets.load(found.benchmark), {}
    for group in found.groups:
        docs = sorted(doc.doc_id for doc in benchmark.docs(group))
        ranking = {doc: -float(number) for number, doc in enumerate(docs)}
        lists |= {topic.query_id: ranking for mode in found.modes for topic in benchmark.topics(group, mode)}
    return Run.from_dict(lists, tag="by-id")


@pytest.fixture
def unlike(home, tmp_path):
    """A benchmark with measures of its groups, shown in one mode: AP for audience, nDCG@5 for keyword, none for format."""
    entry = read_yaml(FOLDER / "benchmarks" / "infosearch.yaml")
    entry |= {"name": "unlike", "measures": ["nDCG@20", "pMRR"], "options": {"shown": ["ori"]}, "counts": {}}
    own = {"audience": ["AP"], "keyword": ["nDCG@5", "AP"]}
    wanted = [row for row in entry["groups"] if row["name"] in ("audience", "keyword", "format")]
    entry["groups"] = [{**row, "measures": own[row["name"]]} if row["name"] in own else row for row in wanted]
    (home / "registry" / "benchmarks").mkdir(parents=True)
    (home / "registry" / "benchmarks" / "unlike.yaml").write_text(yaml.safe_dump(entry))
    write_infosearch(tmp_path / "published")
    datasets.take("unlike", tmp_path / "published")
    return by_id("unlike")


def test_measures_of_a_group_stand_behind_those_of_all_groups(unlike):
    scores = evaluate(unlike, benchmark="unlike")
    rows = {(row.group, row.mode, row.measure): row for row in scores.rows}
    columns = [("ori", "nDCG@20"), ("paired", "pMRR")]
    assert [key[1:] for key in rows if key[0] == "audience"] == [*columns, ("ori", "Score"), ("ori", "AP")]
    assert [key[1:] for key in rows if key[0] == "keyword"] == [*columns, ("ori", "Score"), ("ori", "nDCG@5"), ("ori", "AP")]
    assert [key[1:] for key in rows if key[0] == "format"] == columns


def test_the_average_is_over_the_groups_that_have_the_measure(unlike):
    scores = evaluate(unlike, benchmark="unlike")
    value = {(row.group, row.measure): row.value for row in scores.rows}
    queries = {(row.group, row.measure): row.queries for row in scores.rows}
    assert value["average", "AP"] == pytest.approx((value["audience", "AP"] + value["keyword", "AP"]) / 2)
    assert value["average", "nDCG@5"] == value["keyword", "nDCG@5"]
    assert value["keyword", "Score"] == value["keyword", "nDCG@5"]
    assert value["average", "Score"] == pytest.approx((value["audience", "AP"] + value["keyword", "nDCG@5"]) / 2)
    assert queries["average", "Score"] == queries["audience", "AP"] + queries["keyword", "nDCG@5"]
    assert queries["average", "nDCG@20"] == 3 * queries["audience", "AP"]


def test_the_table_has_a_column_a_measure_and_the_one_mode(unlike):
    head, modes, _, *rows = render(evaluate(unlike, benchmark="unlike"), "table").split("\n\n")[0].splitlines()
    assert head.split() == ["nDCG@20", "Score", "AP", "nDCG@5"]
    assert modes.split() == ["group", "ori", "pMRR", "ori", "ori", "ori"]
    assert [row.split()[0] for row in rows] == ["audience", "keyword", "format", "average"]


def test_measures_that_are_named_are_shown_in_every_mode_and_alone(unlike):
    scores = evaluate(unlike, benchmark="unlike", measures=["AP"])
    assert {(row.group, row.mode) for row in scores.rows} == {
        (group, mode) for group in ("audience", "keyword", "format", "average") for mode in ("ori", "ins", "rev")
    }
    assert {row.measure for row in scores.rows} == {"AP"}


def test_one_other_mode_alone_is_shown_all_the_same(unlike):
    assert {row.mode for row in evaluate(unlike, benchmark="unlike-ins").rows} == {"ins"}


def gold(name: str, group: str, mode: str) -> list[Qrel]:
    return list(datasets.load(name).qrels(group, mode))


def test_judgments_of_ones_own_keep_the_groups_of_the_benchmark():
    given = [*gold("infosearch-mini", "audience", "ins"), *gold("infosearch-mini", "format", "ins")]
    scores = evaluate(
        by_id("infosearch-mini-ins"), benchmark="infosearch-mini-ins", qrels=Qrels.from_rows(given, "F"), measures=["nDCG@10"]
    )
    own = evaluate(by_id("infosearch-mini-ins"), benchmark="infosearch-mini-ins", measures=["nDCG@10"])
    same = [row for row in own.rows if row.group in ("audience", "format")]
    assert scores.rows[:2] == tuple(same)
    assert [row.group for row in scores.rows] == ["audience", "format", "average"]
    assert "judged by F" in scores.notes
    every = len(datasets.resolve_topics("infosearch-mini-ins").topics)
    left = every - len({judged.query_id for judged in given})
    assert 0 < left < every
    said = f"{left} of {every} queries of infosearch-mini-ins are not judged: left out"
    assert any(note.startswith(said) for note in scores.notes)


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ({"prompt": "ours", "prompt_name": "p.v1"}, "our p.v1"),
        ({"prompt": "f"}, "f"),
        ({"prompt": "f", "prompt_of": "paper (Mine, table 1), with 1 example of the user's"}, "f"),
    ],
)
def test_judgments_say_by_what_wording_they_were_made(tmp_path, prompt, said):
    file = tmp_path / "F"
    file.write_text("".join(f"{q.query_id} 0 {q.doc_id} {q.relevance}\n" for q in gold("infosearch-mini", "audience", "ins")))
    run, how = by_id("infosearch-mini-ins"), {"benchmark": "infosearch-mini-ins", "qrels": file, "measures": ["AP"]}
    report = {"name": "J", **prompt, "prompt_source": "X"}
    (tmp_path / "F.yaml").write_text(yaml.safe_dump({"method": {"judging": [report]}}))
    (note,) = [note for note in evaluate(run, **how).notes if "J was asked by" in note]
    assert f"J was asked by {said}; the published wording is in X" in note
    for other in ([{"name": "J", "positive": "entailment"}], ["J"], "J", None):
        (tmp_path / "F.yaml").write_text(yaml.safe_dump({"method": {"judging": other}}))
        assert not any("was asked by" in note for note in evaluate(run, **how).notes)


def test_subtopics_of_a_benchmarks_queries_have_types_and_the_number_that_is_left_out():
    first, second, *_ = datasets.load("infosearch-mini").topics("audience", "ins")
    docs = [doc.doc_id for doc in datasets.load("infosearch-mini").docs("audience")]
    rows = [Qrel(topic.query_id, doc, 1, n) for topic in (first, second) for n, doc in zip("12", docs[:2], strict=True)]
    qrels = Qrels.from_rows([*rows, Qrel("nobody", "d", 1)], "F")
    scores = evaluate(by_id(f"{MINI}-ins"), benchmark=f"{MINI}-ins", qrels=qrels, measures=["MRecall@48"], by_type=True)
    assert {row.group for row in scores.rows} == {"all", f"type {first.condition}", f"type {second.condition}"}
    assert "1 judged queries are not of infosearch-mini-audience-ins: left out" in scores.notes


def test_judgments_of_other_queries_are_refused():
    with pytest.raises(ToolkitError, match="F judges no query of infosearch-mini-audience-ins: it has nobody"):
        evaluate(by_id(f"{MINI}-ins"), benchmark=f"{MINI}-ins", qrels=Qrels.from_rows([Qrel("nobody", "d", 1)], "F"))


def test_judgments_from_a_file_give_what_the_benchmarks_own_give():
    benchmark = datasets.load("berds-mini")
    run = Run.from_dict(
        {
            topic.query_id: {doc.doc_id: -place for place, doc in enumerate(benchmark.docs("test"))}
            for topic in benchmark.topics("test")
        },
        tag="by-place",
    )
    own = evaluate(run, benchmark="berds-mini", by_type=True)
    given = evaluate(run, benchmark="berds-mini", qrels=benchmark.qrels("test"), by_type=True)
    assert given.rows == own.rows
    assert [row.measure for row in own.rows[:5]] == list(benchmark.spec.measures)
    types = {topic.condition for topic in benchmark.topics("test")}
    assert {row.group for row in own.rows} == {"all", *(f"type {kind}" for kind in types)}
    assert not any("types of questions" in note for note in own.notes)


def questions(*query_ids: str) -> tuple[Run, list[Qrel]]:
    """A run that has `d1` for these questions, and judgments by which it holds every perspective of them."""
    topics = [topic for topic in datasets.load("berds-mini").topics("test") if topic.query_id in query_ids]
    run = Run.from_dict({topic.query_id: {"d1": 1.0} for topic in topics}, tag="d1")
    return run, [Qrel(topic.query_id, "d1", 1, str(n)) for topic in topics for n in range(1, len(topic.perspectives) + 1)]


def test_what_is_not_judged_holds_nothing_and_is_counted():
    run, rows = questions("mini-007", "mini-008", "mini-009")
    # the second question lost a perspective, the third all of them; nine more are neither judged nor in the run
    rows = [row for row in rows if row[0] == "mini-007" or (row[0] == "mini-008" and row.iteration != "2")]
    scores = evaluate(run, benchmark="berds-mini", qrels=Qrels.from_rows(rows, "F"), measures=["MRecall@5", "PerspectiveP@1"])
    assert scores.value("MRecall@5", mode="") == pytest.approx(1 / 12)
    assert scores.value("PerspectiveP@1", mode="") == pytest.approx(2 / 12)
    notes = [note.partition(" (")[0] for note in scores.notes]
    assert "10 of 12 queries of berds-mini are not judged: their perspectives count as not covered" in notes
    assert "1 questions are judged for some perspectives only: the others count as not covered" in notes


def test_the_number_of_unanswered_pairs_is_of_those_that_were_asked():
    run, rows = questions("mini-007")
    rows = [row._replace(relevance=-1) for row in rows[:1]] + rows[1:]
    with pytest.raises(ToolkitError, match=f"F: 1 of {len(rows)} pairs of a document and a perspective are unanswered"):
        evaluate(run, benchmark="berds-mini", qrels=Qrels.from_rows(rows, "F"))


def test_perspectives_that_a_question_does_not_have_are_refused():
    run, rows = questions("mini-007")
    with pytest.raises(ToolkitError, match="F: 1 perspectives are unknown \\(mini-007 pro\\)"):
        evaluate(run, benchmark="berds-mini", qrels=Qrels.from_rows([*rows, Qrel("mini-007", "d1", 1, "pro")], "F"))
