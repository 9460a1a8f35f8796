"""A report beside what the benchmark's paper prints and claims."""

from dataclasses import replace

import pytest
from command import ROOT, tandem
from published_layout import write_infosearch

from toolkit import datasets
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.evaluation.comparison.comparison import Testing, compare
from toolkit.registry import published
from toolkit.registry.published.comparison import Beside
from toolkit.reporting.report.collect import collect
from toolkit.reporting.report.make_report import report
from toolkit.reporting.report.run_facts import find_system, heading_of
from toolkit.reporting.tables.sections import _row, _tested, claims_table, published_table


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Two runs of a tiny InfoSearch, of a system that the paper reports and of one that it does not."""
    folder, lists = tmp_path_factory.mktemp("infosearch"), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TANDEM_HOME", str(folder / "home"))
        datasets.take("infosearch", write_infosearch(folder / "copy"))
        own = datasets.load("infosearch")
        for group in own.groups:
            docs = sorted(doc.doc_id for doc in own.docs(group))
            ranking = {doc: -float(i) for i, doc in enumerate(docs)}
            lists |= {topic.query_id: ranking for mode in own.spec.modes for topic in own.topics(group, mode)}
        yield collect([Run.from_dict(lists, tag="bm25"), Run.from_dict(lists, tag="nobody")], ["infosearch"])[0]


def test_a_run_stands_beside_what_the_paper_prints_of_its_system(model):
    table = published_table(model)
    (block,) = table.blocks
    assert block.heading == "bm25 beside BM25 (sparse)"
    rows = {row[0].text: row[1:] for row in block.rows}
    where, ours, theirs, difference, printed_in, _ = rows["average nDCG@10 ins"]
    assert where.text == "average ins"
    cell = next(
        cell
        for cell in published.cells("infosearch")
        if (cell.table, cell.system, cell.kind, cell.mode, cell.measure) == ("1", "BM25", "sparse", "ins", "nDCG@10")
    )
    (facts,) = (facts for facts in model.runs if facts.name == "bm25")
    assert theirs.value == cell.value == 0.391
    assert ours.value == facts.value("nDCG@10", "ins", "average")
    assert difference.value == pytest.approx(ours.value - 0.391)
    assert printed_in.text.startswith("1")
    assert "does not report nobody" in table.caption


def test_a_run_with_rules_is_not_the_system_that_the_paper_reports(model):
    assert find_system("bm25").printed
    assert find_system("bm25+rules") is None
    assert heading_of({}, "bm25+rules") == heading_of({}, "bm25") == "sparse"


def test_rows_of_one_group_that_the_paper_prints_over_several_corpora_are_told_apart():
    rows = [
        _row(Beside("bm25", "kialo/test", "", cell.ours.measure, 0.5, cell, (cell.table,)))
        for cell in published.cells("berds")
        if cell.ours and (cell.system, cell.ours.groups, cell.ours.measure) == ("BM25", ("kialo/test",), "MRecall@5")
    ]
    assert len({row[0].text for row in rows}) == 1
    assert {row[1].text.split()[0] for row in rows} == {"kialo/sphere", "kialo/google", "kialo/wikipedia"}


def test_mfollowirs_numbers_are_tested_against_the_best_of_their_kind_as_the_paper_tests():
    """Registered runs of the mini stand in for two bi-encoders of table 4."""
    files = {name: ROOT / "runs" / "baselines" / f"mfollowir-mini.{name}.v2.trec.gz" for name in ("bm25", "all-minilm-l6-v2")}
    (own,) = collect([str(file) for file in files.values()], ["mfollowir-mini"])
    kinds = dict(zip(files, ("GritLM-7B", "mE5-base"), strict=True))
    rows = [
        Beside(name, "average", cell.ours.mode, cell.measure, facts_value(own, name, cell), cell, ("4",))
        for name, system in kinds.items()
        for cell in published.cells("mfollowir")
        if (cell.table, cell.system, cell.group) == ("4", system, "average")
    ]
    said = [_tested(own, "mfollowir", rows)[place] for place in range(len(rows))]
    assert len(said) == 4
    for row, words in zip(rows, said, strict=True):
        best = max((each for each in rows if each.measure == row.measure), key=lambda each: each.value)
        test = "wilcoxon" if row.measure == "pMRR" else "randomisation"
        change = compare(*(facts.run for facts in own.runs), own.judgments, [row.measure], Testing(test)).changes[-1]
        told = "told from" if change.p < 0.05 else "not told from"
        expected = "the best bi-encoder" if row is best else f"{told} {best.run}, the best bi-encoder"
        assert words.startswith(expected)
        assert row is best or f"p = {change.p:.3f}" in words
    assert not _tested(own, "infosearch", rows)


def facts_value(model, name, cell):
    return next(facts for facts in model.runs if facts.name == name).value(cell.measure, cell.ours.mode or "paired", "average")


def test_claims_are_answered_where_the_runs_have_what_they_are_about(model):
    table = claims_table(model)
    wanted = [claim.claim for claim in published.claims("infosearch") if claim.general]
    assert [row[0].text for row in table.blocks[0].rows] == wanted
    assert {row[2].text for row in table.blocks[0].rows} <= {"holds", "does not hold", "-"}


def test_both_are_in_a_report_that_asks_for_them(model):
    names = [table.name for table in report([model], published=True, claims=True).tables]
    assert {"infosearch.published", "infosearch.claims"} <= set(names)
    assert {"infosearch.published", "infosearch.claims"}.isdisjoint(table.name for table in report([model]).tables)


def test_a_mini_never_stands_beside_its_paper():
    own = datasets.load("infosearch-mini")
    run = Run.from_dict({t.query_id: {"d": 1.0} for mode in own.spec.modes for t in own.topics("audience", mode)}, tag="bm25")
    with pytest.raises(ToolkitError, match="never set beside published"):
        report(collect([run], ["infosearch-mini-audience"]), published=True)


def test_a_run_of_a_mini_is_known_by_its_record_where_the_ids_are_the_benchmarks(model):
    first, *others = model.runs
    of_a_mini = replace(first, records=({"data": {"topics": {"name": "infosearch-mini"}}},))
    for table in (published_table, claims_table):
        with pytest.raises(ToolkitError, match="never set beside published"):
            table(replace(model, runs=(of_a_mini, *others)))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no.trec"], "error: no file no.trec"),
        (["x.trec"], "error: evaluation needs a benchmark, or qrels"),
        (["no.trec", "--benchmark", "infosearch-mini"], "error: no file no.trec"),
        (["no.trec", "--benchmark", "infosearch-minis"], "error: no topics 'infosearch-minis'"),
    ],
)
def test_wrong_words_are_one_line(words, message, tmp_path):
    (tmp_path / "x.trec").write_text("q Q0 d 1 2.0 x\n")
    done = tandem("report", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(message)
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["x.trec"]


def test_unanswered_pairs_are_refused_or_do_not_hold(tmp_path):
    (tmp_path / "run.trec").write_text("q Q0 a 1 1 mine\n")
    (tmp_path / "judged.qrels").write_text("q 1 a 1\nq 2 a -1\n")
    words = ["report", "run.trec", "--qrels", "judged.qrels", "-m", "MRecall@2", "--format", "csv"]
    refused = tandem(*words, cwd=tmp_path)
    assert refused.returncode == 2
    assert "--unjudged negative" in refused.stderr
    done = tandem(*words, "--unjudged", "negative", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert ",mine,MRecall@2,0.0," in done.stdout  # one of two perspectives


def test_other_judgments_than_the_papers_are_not_set_beside_it(home, tmp_path):
    datasets.take("infosearch", write_infosearch(tmp_path / "copy"))
    rows = list(datasets.load("infosearch").qrels("audience", "ori"))
    (tmp_path / "mine.qrels").write_text("".join(f"{row.query_id} 0 {row.doc_id} 1\n" for row in rows))
    (tmp_path / "run.trec").write_text(f"{rows[0].query_id} Q0 {rows[0].doc_id} 1 1 bm25\n")
    words = [
        "run.trec",
        "--benchmark",
        "infosearch-audience-ori",
        "--qrels",
        "mine.qrels",
        "--published",
        "--output",
        "page.html",
    ]
    done = tandem("report", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert "published numbers were computed with the judgments of infosearch" in done.stderr
    assert not (tmp_path / "page.html").exists()
