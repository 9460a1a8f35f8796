"""A run beside what the benchmark's paper prints of its system."""

import json

import pytest
from command import tandem
from published_layout import write_infosearch

from toolkit import datasets, registry
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.scores import Score
from toolkit.core.tables.aligned_table import to_text
from toolkit.evaluation.comparison.paper_comparison import (
    check_judged,
    lay_out,
    paper_of,
    printed_as,
    scores_beside,
    standing_table,
)
from toolkit.evaluation.scores.evaluation import prepare
from toolkit.files.formats import write_run
from toolkit.files.provenance import file_digest, write_record
from toolkit.registry.published import cells
from toolkit.registry.published.comparison import as_cells, beside, claims_over, standings
from toolkit.registry.published.paper_tables import is_of

DIMENSIONS = ("audience", "keyword", "format", "language", "length", "source")
MODES = ("ori", "ins", "rev")


@pytest.fixture
def run(home, tmp_path):
    """A run of a tiny InfoSearch, tagged bm25: every list in the order of document ids."""
    datasets.take("infosearch", write_infosearch(tmp_path / "copy"))
    benchmark = datasets.load("infosearch")
    lists = {}
    for group in DIMENSIONS:
        docs = sorted(doc.doc_id for doc in benchmark.docs(group))
        for mode in MODES:
            lists |= {topic.query_id: {doc: -float(i) for i, doc in enumerate(docs)} for topic in benchmark.topics(group, mode)}
    path = tmp_path / "run.trec"
    write_run(Run.from_dict(lists, tag="bm25"), path)
    return path


def compared(path, benchmark, system="", measures=None):
    rows, _ = scores_beside(prepare([str(path)], benchmark, None, None, "tandem"), benchmark, system, measures, "worst")
    return rows


def published(system, paper, tables):
    """What a paper prints of a system of the registry, as if a run had it."""
    printed = registry.system(system).printed[paper]
    return [
        Score(
            system,
            "average" if len(cell.ours.groups) > 1 else cell.ours.groups[0],
            cell.ours.mode or "paired",
            cell.ours.measure,
            cell.value,
            1,
        )
        for cell in cells(paper)
        if cell.ours and is_of(cell, printed) and cell.table in tables
    ]


def test_every_printed_number_of_the_system_stands_beside_ours(run):
    rows = compared(run, "infosearch")
    places = {(row.group, row.mode, row.measure) for row in rows}
    printed = {each.ours for each in cells("infosearch") if each.ours and each.system == "BM25"}
    assert len(places) == len(printed)
    [row] = [row for row in rows if (row.group, row.mode, row.measure) == ("audience", "ins", "nDCG@10")]
    assert (row.cell.value, row.cell.printed, row.tables) == (0.387, "38.7", ("17",))
    assert row.difference == row.value - 0.387
    [row] = [row for row in rows if (row.group, row.measure) == ("keyword", "WISE(variant='release')@20")]
    assert row.tables == ("2", "18")  # both print -42.1


def test_a_number_that_two_tables_print_differently_stands_twice_and_is_flagged(run):
    rows = [row for row in compared(run, "infosearch") if (row.group, row.measure) == ("source", "WISE(variant='release')@20")]
    assert [(row.cell.printed, row.tables) for row in rows] == [("1.97", ("2",)), ("-9.4", ("22",))]
    assert all("table 2 prints 1.97" in row.cell.inconsistent[0] for row in rows)
    text = to_text([lay_out(rows, [])])
    assert "0.0197 [1]" in text
    assert "-0.0940 [1]" in text
    assert text.splitlines()[-1].startswith("[1] BM25, source, WISE")


def test_one_dimension_is_compared_with_its_table_and_not_with_the_average(run):
    rows = compared(run, "infosearch-audience")
    assert {row.cell.group for row in rows} == {"audience"}
    assert {row.group for row in rows} == {"all"}
    assert {table for row in rows for table in row.tables} == {"2", "17"}


def test_one_mode_has_what_it_needs_no_other_for(run):
    rows = compared(run, "infosearch-audience-ins")
    assert [(row.mode, row.measure) for row in rows] == [("ins", "nDCG@10"), ("ins", "RR@1")]


def test_the_system_is_the_metadatas_then_the_tags_and_a_name_is_before_both(run):
    assert {row.cell.system for row in compared(run, "infosearch-audience")} == {"BM25"}
    method = {"retrieval": [{"name": "bm25"}], "reranking": [{"name": "rank-zephyr-7b"}]}
    write_record(run, {"tag": "bm25", "method": method, "data": {"run": {"sha256": file_digest(run)}}})
    assert {row.cell.system for row in compared(run, "infosearch-audience")} == {"RankZephyr-v1"}
    rows = compared(run, "infosearch-audience", "Mistral-ins-v0.2 (pointwise)")
    assert {(row.cell.system, row.cell.kind) for row in rows} == {("Mistral-ins-v0.2", "pointwise")}
    assert rows == compared(run, "infosearch-audience", "mistral-7b-instruct-v0.2-pointwise")


def test_a_system_that_the_paper_does_not_report_wants_a_name(run):
    evaluated = Run.from_dict({"q": {"d": 1.0}}, tag="colbertv2")
    with pytest.raises(ToolkitError, match="does not report colbertv2") as error:
        printed_as(evaluated, "infosearch")
    assert "--published SYSTEM" in error.value.hint
    with pytest.raises(ToolkitError, match="3 times"):
        printed_as(evaluated, "infosearch", "Mistral-ins-v0.2")


def test_another_variant_of_a_measure_is_not_what_the_paper_prints(run):
    with pytest.raises(ToolkitError, match="prints none of these numbers"):
        compared(run, "infosearch", measures=["WISE@20"])
    assert compared(run, "infosearch", measures=["WISE(variant='release')@20"])


@pytest.mark.parametrize(
    ("benchmark", "message"),
    [
        ("infosearch-mini", "its scores are never set beside published ones"),
        ("infosearch-mini-audience-ins", "its scores are never set beside published ones"),
        ("berds-mini", "its scores are never set beside published ones"),
        (None, "published numbers are of a benchmark"),
    ],
)
def test_what_cannot_be_compared_is_refused(benchmark, message):
    with pytest.raises(ToolkitError, match=message):
        paper_of(benchmark)


def test_the_settings_of_mfollowir_are_told_apart_by_their_groups():
    native, english = ("fas", "rus", "zho"), ("cross-lingual/fas", "cross-lingual/rus", "cross-lingual/zho")
    printed = {"gritlm-7b": registry.system("gritlm-7b").printed["mfollowir"]}
    for groups, table, average in ((native, "4", 0.003), (english, "3", 0.016)):
        scores = [Score("gritlm-7b", group, "paired", "pMRR", 0.5, 40) for group in (*groups, "average")]
        rows = beside(scores, groups, "mfollowir", printed)
        assert {row.tables for row in rows} == {(table,)}
        assert {row.group: row.cell.value for row in rows}["average"] == average
    two = [Score("gritlm-7b", group, "paired", "pMRR", 0.5, 40) for group in ("fas", "zho", "average")]
    assert {row.group for row in beside(two, ("fas", "zho"), "mfollowir", printed)} == {"fas", "zho"}


def test_the_corpora_of_berds_stand_beside_each_other():
    groups = ("arguana/test", "kialo/test", "opinionqa/test")
    scores = [Score("bm25", group, "", "MRecall@5", 0.25, 750) for group in (*groups, "average")]
    rows = beside(scores, groups, "berds", {"bm25": registry.system("bm25").printed["berds"]})
    found = {row.cell.group: row.cell.value for row in rows if row.group == "average"}
    assert found == {"average/wikipedia": 0.082, "average/sphere": 0.2474, "average/google": 0.2159}
    assert "average/sphere" in to_text([lay_out(rows, [])])


def test_claims_over_the_published_numbers_as_runs_come_out_as_recorded():
    systems = {name: spec for name, spec in registry.systems().items() if "infosearch" in spec.printed}
    scores = [row for name in systems for row in published(name, "infosearch", ("1", "2"))]
    outcomes = claims_over(scores, DIMENSIONS, "infosearch", systems)
    assert len(outcomes) > 8
    assert [holds for _, holds in outcomes] == [claim.holds for claim, _ in outcomes]


def test_claims_that_lack_runs_have_no_answer_and_those_of_the_paper_alone_are_not_asked():
    scores = published("bm25", "infosearch", ("1", "2")) + published("gritlm-7b", "infosearch", ("1", "2"))
    systems = {name: registry.system(name) for name in ("bm25", "gritlm-7b")}
    found = {claim.id: holds for claim, holds in claims_over(scores, DIMENSIONS, "infosearch", systems)}
    assert found["infosearch-dense-sparse"] is True  # GritLM is the one dense row above BM25
    assert found["infosearch-pointwise-dense"] is None
    assert "infosearch-fifteen" not in found


def test_two_runs_of_one_system_and_one_of_nobodys_are_three_systems():
    rows = [Score(run, "average", "paired", "pMRR", 0.1, 1) for run in ("first", "second", "mine")]
    e5 = registry.system("e5-large-v2")
    found = as_cells(rows, DIMENSIONS, "infosearch", {"first": e5, "second": e5, "mine": None})
    assert [(cell.system, cell.kind) for cell in found] == [
        ("E5-Large-v2", "bi-encoder"),
        ("second", "bi-encoder"),
        ("mine", ""),
    ]
    own = as_cells(rows, DIMENSIONS, "infosearch", {"mine": registry.system("colbertv2"), "first": registry.system("bge-m3")})
    assert [(cell.system, cell.kind) for cell in own] == [("mine", ""), ("first", "bi-encoder")]


def command(*arguments):
    return tandem("evaluate", *arguments)


def test_as_a_command(run):
    told = command(run, "--benchmark", "infosearch", "--published")
    assert told.returncode == 0, told.stderr
    lines = told.stdout.splitlines()
    heads = [
        "group",
        "mode",
        "measure",
        "value",
        "published",
        "difference",
        "table",
        "printed",
        "mode",
    ]  # `ori`, of ours by core
    assert lines[0].split() == heads
    [summary] = [line for line in lines if "scores, off by" in line]
    assert summary.startswith("bm25 and BM25 (sparse) as published: 70 scores, off by ")
    assert "3 ranks, off by" in told.stdout
    content = json.loads(command(run, "--benchmark", "infosearch", "--published", "gpt-4o", "--format", "json").stdout)
    [row] = [row for row in content["rows"] if (row["group"], row["measure"]) == ("average", "pMRR")]
    assert (row["published"], row["table"], row["system"]) == (0.15, "1", "GPT-4o (listwise)")
    assert any("queries judged" in note for note in content["notes"])


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--by-query"], "papers print aggregates of systems"), (["--format", "trec"], "published numbers have no format trec")],
)
def test_what_does_not_go_with_it_is_usage(run, options, message):
    done = command(run, "--benchmark", "infosearch", "--published", "bm25", *options)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, f"error: {message}")


def test_other_judgments_than_the_papers_are_not_set_beside_it(run, tmp_path):
    qrels = tmp_path / "mine.qrels"
    qrels.write_text(
        "".join(f"{row.query_id} 0 {row.doc_id} 1\n" for row in datasets.load("infosearch").qrels("audience", "ori"))
    )
    done = command(run, "--benchmark", "infosearch-audience-ori", "--qrels", qrels, "--published")
    assert (done.returncode, done.stdout) == (2, "")
    assert "published numbers were computed with the judgments of infosearch" in done.stderr


def test_a_benchmark_without_judgments_is_set_beside_its_paper_by_any(monkeypatch):
    monkeypatch.setattr(datasets.Benchmark, "has_qrels", lambda self, group: False)  # as BERDS was published
    check_judged("berds", ["judged.txt"])
    for benchmark in ("mfollowir-mini", "berds-mini"):
        with pytest.raises(ToolkitError, match="written for this project"):
            check_judged(benchmark, ["judged.txt"])


@pytest.mark.parametrize("system", ["", "GPT-4o"])
def test_a_run_of_a_mini_is_known_by_its_metadata_where_its_ids_are_those_of_the_benchmark(run, system):
    data = {"topics": {"name": "infosearch-mini-audience"}, "run": {"sha256": file_digest(run)}}
    write_record(run, {"data": data})
    with pytest.raises(ToolkitError, match="infosearch-mini was written for this project"):
        compared(run, "infosearch", system)


def test_a_number_stands_among_the_published_ones_of_200_models():
    scores = [
        Score("mine", "core17", "paired", "pMRR", 0.1, 20),
        Score("mine", "core17", "og", "nDCG@20", -1.0, 20),
        Score("mine", "news21", "paired", "pMRR", 1.0, 32),
        Score("mine", "average", "paired", "pMRR", 0.5, 104),  # MTEB's mean is not among the rows
    ]
    best, last, first = standings(scores, ("core17", "news21", "robust04"), "followir")
    theirs = sorted(
        ((each.value, each.system) for each in cells("followir") if each.ours == (("core17",), "", "pMRR")), reverse=True
    )
    better = [system for value, system in theirs if value > 0.1]
    assert (best.place, best.of) == (len(better) + 1, 200)
    assert [name.rpartition(" ")[0] for name in best.above] == better[:-3:-1]
    assert [name.rpartition(" ")[0] for name in best.below] == [system for value, system in theirs if value <= 0.1][:2]
    assert (last.place, last.of, last.below) == (192, 191, ())
    assert (first.place, first.of, first.above) == (1, 200, ())


def test_standing_stands_beside_what_a_paper_prints_and_is_refused_for_a_mini(run):
    table, forms = standing_table(prepare([str(run)], "infosearch", None, None, "tandem"), "infosearch", ["pMRR"], "worst")
    average = next(row for row in json.loads(forms["json"]())["rows"] if row["group"] == "average")
    assert (average["of"], average["measure"], average["mode"]) == (18, "pMRR", "")
    assert 1 <= average["place"] <= 19
    assert "place" in to_text([table])
    with pytest.raises(ToolkitError, match="none of these numbers"):
        standing_table(prepare([str(run)], "infosearch", None, None, "tandem"), "infosearch", ["WISE@20"], "worst")
    for wrong in (["--format", "trec"], ["--by-query"], ["--published"], ["--baseline", run]):
        assert tandem("evaluate", run, "--benchmark", "infosearch", "--standing", *wrong).returncode == 2
    done = tandem("evaluate", run, "--benchmark", "infosearch-mini", "--standing")
    assert (done.returncode, "never set beside published ones" in done.stderr) == (2, True)
