"""Tables of a report: who is best of a kind, who may be as good, what a run cost, and the same as text."""

import csv
import io
from pathlib import Path

import pytest

import tandem_ir
from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.core.specs import SystemSpec
from toolkit.core.tables.aligned_table import TableStyle
from toolkit.core.tables.table_forms import latex, markdown
from toolkit.files.formats import write_run
from toolkit.files.provenance import file_digest, write_record
from toolkit.registry.system_kinds import parameter_count
from toolkit.reporting.report import make_report as job
from toolkit.reporting.report.collect import collect
from toolkit.reporting.report.make_report import report, to_text
from toolkit.reporting.tables.text_table import BEST, KINDS, OF_KIND, WORSE, Block, Cell, Head, Table, figure, score, styled
from toolkit.retrieval.texts import TextSource

BASELINES = Path(__file__).resolve().parents[2] / "runs" / "baselines"
QUERIES = [f"q{number:02}" for number in range(20)]
QRELS = Qrels.from_rows([Qrel(query_id, "good", 1) for query_id in QUERIES])


def ranked(tag, second=()):
    """The relevant document first, in these queries second: RR is 1 - len(second) / 2 / 20."""
    lists = {False: {"good": 2.0, "bad": 1.0}, True: {"bad": 2.0, "good": 1.0}}
    return Run.from_dict({query_id: lists[query_id in second] for query_id in QUERIES}, tag=tag)


def with_method(folder, run, method, **executable):
    path = folder / f"{run.tag}.trec"
    write_run(run, path)
    data = {"run": {"sha256": file_digest(path)}}
    write_record(path, {"tag": run.tag, "method": method, "data": data, "implementation": {"executable": executable}})
    return path


@pytest.fixture(scope="module")
def compared():
    return collect([ranked("a"), ranked("b", QUERIES), ranked("c", QUERIES[:1])], qrels=QRELS, measures=["RR", "P@2"])


def cells(table):
    return {
        row[0].text: {head.title: cell for head, cell in zip(table.heads, row, strict=True)}
        for b in table.blocks
        for row in b.rows
    }


def test_the_best_is_marked_and_what_differs_significantly_from_the_baseline(compared):
    (table, *_) = report(compared).tables
    marks = {name: (its["RR"].value, its["RR"].mark) for name, its in cells(table).items()}
    # a is the baseline. c differs in one query, which chance does every time; b in twenty, which it does once in 2 ** 19
    assert marks == {"a": (1.0, BEST), "b": (0.5, WORSE), "c": (0.975, "")}
    assert [row[0].text for row in table.rows] == ["a", "c", "b"]  # best first


def test_systems_that_tests_do_not_tell_apart_share_ranks_in_the_main_table(compared):
    (table, *_) = report(compared).tables
    ranks = {name: (its["rank"].text, its["rank"].value) for name, its in cells(table).items()}
    assert ranks == {"a": ("1\u20132", 1.0), "c": ("1\u20132", 1.0), "b": ("3", 3.0)}


def test_systems_that_cannot_be_told_apart_share_their_ranks(compared):
    table = next(table for table in report(compared).tables if table.name.endswith(".ranks"))
    (block,) = [block for block in table.blocks if block.heading == "RR"]
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in block.rows}
    # of 20 core queries c has the gold document second in one
    assert rows["a"] == ["1\u20132", "1.000", "-"]
    assert rows["c"] == ["1\u20132", "0.975", "0.025"]
    assert rows["b"] == ["3", "0.500", "0.500"]  # every query differs alike


def test_the_table_of_pairs_says_which_are_told_apart(compared):
    (table,) = [table for table in report(compared).tables if table.kind == "pairs"]
    rows = [[cell.text for cell in row] for row in table.rows]
    assert rows == [
        ["1 a", "\u00b7", "+0.025", "+0.500 \u2020"],
        ["2 c", "-0.025", "\u00b7", "+0.475 \u2020"],
        ["3 b", "-0.500 \u2020", "-0.475 \u2020", "\u00b7"],
    ]
    assert "over 2 pairs" in table.caption  # of a and c one core query differs: not tested


def test_one_run_has_no_ranks():
    made = report(collect([ranked("a")], qrels=QRELS, measures=["RR"]))
    assert not any(table.name.endswith(".ranks") for table in made.tables)


def test_nobody_is_best_where_all_are_equal(compared):
    (table, *_) = report(compared).tables
    assert {its["P@2"].mark for its in cells(table).values()} == {""}


def test_kinds_are_a_column_and_each_kind_has_its_best(tmp_path):
    made = [
        (ranked("first", QUERIES), {"retrieval": [{"name": "bm25", "method": "bm25"}]}),
        (ranked("second", QUERIES[:9]), {"retrieval": [{"name": "splade", "method": "impact"}]}),
        (ranked("third"), {"retrieval": [{"name": "a"}, {"name": "b"}], "fusion": "rrf"}),
        (ranked("fourth"), {"retrieval": [{"name": "bm25"}], "reranking": [{"name": "x", "method": "listwise"}]}),
        (ranked("fifth", QUERIES[:3]), {"retrieval": [{"name": "bm25", "method": "bm25"}]}),
        (ranked("sixth"), {"retrieval": [{"name": "a"}, {"name": "x", "interpolates": ["a", "b"]}]}),
        (ranked("seventh"), "somebody else's"),
    ]
    model = collect([with_method(tmp_path, run, method) for run, method in made], qrels=QRELS, measures=["RR"])
    (table, *_) = report(model).tables
    shown = [(row[0].text, row[1].text) for row in table.rows]
    assert shown == [  # flat, best first: RR falls with the number of queries in which the document is second
        ("fourth", "listwise reranker"),
        ("sixth", "hybrid"),
        ("third", "hybrid"),
        ("seventh", "other"),
        ("fifth", "sparse"),
        ("second", "learned sparse"),
        ("first", "sparse"),
    ]
    marks = {name: its["RR"].mark.split()[:1] for name, its in cells(table).items()}
    assert {name for name, mark in marks.items() if mark == [BEST]} == {"third", "fourth", "sixth", "seventh"}
    assert {name for name, mark in marks.items() if mark == [OF_KIND]} == {"fifth"}


def test_cost_is_what_record_and_registry_say(tmp_path):
    reranked = {"reranking": [{"name": "x", "method": "listwise", "usage": {"prompt_tokens": 900, "completion_tokens": 100}}]}
    dense = {"retrieval": [{"name": "all-minilm-l6-v2", "method": "dense"}]}
    paths = [
        with_method(tmp_path, ranked("a"), reranked, **{"wall time": 40.0, "peak memory": 1_500_000_000}),
        with_method(tmp_path, ranked("b"), dense, **{"wall time": "long"}),
    ]
    made = report(collect(paths, qrels=QRELS, measures=["RR"]))
    table = next(table for table in made.tables if table.name.endswith(".cost"))
    shown = {name: [its[title].text for title in list(its)[2:]] for name, its in cells(table).items()}
    assert shown == {"a": ["40.0", "2,000.0", "1,000", "1.50", "-"], "b": ["-", "-", "-", "-", "22.7"]}


@pytest.mark.parametrize(
    ("size", "parameters"), [("22.7M", 22.7e6), ("7B", 7e9), ("110M x 2", 220e6), ("8x7B", None), ("", None)]
)
def test_the_size_of_a_checkpoint_is_a_number_where_it_is_one(size, parameters):
    assert parameter_count(SystemSpec("s", "", "dense", size=size)) == parameters


def test_coverage_counts_queries_and_judged_documents(compared):
    (table,) = [table for table in report(compared).tables if table.name.endswith(".coverage")]
    own = cells(table)["a"]
    # one of two documents is judged, of ten that are looked at
    assert [cell.text for cell in own.values()] == ["a", "20", "20", "0", "2", "2", "0.500"]


def test_of_several_benchmarks_each_run_goes_to_its_own_and_a_system_has_one_row(tmp_path):
    paths = []
    for name, relevant in (("instructir-mini", 1), ("berds-mini", 2)):
        own = tandem_ir.load(name)
        rows = {}
        for group in own.groups:
            docs = [doc.doc_id for doc in own.docs(group)][:relevant]
            rows |= {topic.query_id: {doc: 1 / rank for rank, doc in enumerate(docs, 1)} for topic in own.topics(group)}
        path = tmp_path / f"{name}.trec"
        write_run(Run.from_dict(rows, tag="bm25"), path)
        paths.append(path)
    model = collect(paths, ["instructir-mini", "berds-mini"])
    assert [(each.name, [facts.name for facts in each.runs]) for each in model] == [
        ("instructir-mini", ["bm25"]),
        ("berds-mini", ["bm25"]),
    ]
    overview = report(model).overview
    assert list(cells(overview)) == ["bm25"]
    for each in model:
        scores = tandem_ir.evaluate([path for path in paths if each.name in path.name], benchmark=each.name)
        wanted = {f"{each.name} {row.measure}": row.value for row in scores.rows if row.group == each.overall}
        shown = {title: cell.value for title, cell in cells(overview)["bm25"].items() if title.startswith(each.name)}
        assert shown
        assert shown.items() <= wanted.items()
    assert overview.warning.count("no score on it is comparable with a published one") == 2


def test_a_run_that_fits_no_benchmark_or_two_is_refused():
    own = tandem_ir.load("instructir-mini")
    run = Run.from_dict({topic.query_id: {"d": 1.0} for topic in own.topics("all")}, tag="x", source="x.trec")
    with pytest.raises(ToolkitError, match=r"x\.trec has no query of berds-mini, infosearch-mini"):
        collect([run], ["berds-mini", "infosearch-mini"])
    with pytest.raises(ToolkitError, match=r"x\.trec has queries of instructir-mini and of instructir-mini-all"):
        collect([run], ["instructir-mini", "instructir-mini-all"])
    with pytest.raises(ToolkitError, match="no run has queries of berds-mini"):
        collect([run], ["instructir-mini", "berds-mini"])


def test_digits_and_per_cent_are_those_of_fractions_alone():
    share, rank = score(0.12345, BEST), score(2.5, share=False)
    cells = (Cell("s"), share, rank, score(-0.0001, signed=True), score(0.02, suffix=" <"), figure(1234, "{:,}"), score(None))
    table = Table("x", "x", "How.", (Head("", "system", False), *[Head("", "n")] * 6), (Block("", (cells,)),))

    def texts(**how):
        return [cell.text for cell in styled(table, TableStyle(**how)).blocks[0].rows[0][1:]]

    assert texts() == ["0.123", "2.500", "+0.000", "0.020 <", "1,234", "-"]
    assert texts(percent=True) == ["12.3", "2.500", "+0.0", "2.0 <", "1,234", "-"]
    assert texts(percent=True, decimals=2) == ["12.35", "2.50", "-0.01", "2.00 <", "1,234", "-"]
    assert styled(table, TableStyle(percent=True)).caption == "How. Fractions are shown times 100."
    values = {cell.value for cell in styled(table, TableStyle(percent=True)).blocks[0].rows[0]}
    assert values == {None, 0.12345, 2.5, -0.0001, 0.02, 1234.0}


def test_every_table_of_a_report_has_its_kind_and_its_name():
    paths = [str(path) for path in sorted(BASELINES.glob("infosearch-mini.bm25*.v2.trec.gz"))]
    tables = report(collect(paths, ["infosearch-mini"])).tables
    assert {table.kind for table in tables} == KINDS.keys() - {"overview", "published", "claims"}
    assert len({table.name for table in tables}) == len(tables)


def test_p_mrr_has_one_spelling_for_people_and_its_id_for_programs():
    head = Head("pMRR", "")
    assert (head.title, head.label, head.short) == ("pMRR", "p-MRR", "p-MRR")
    assert Head("", "pMRR paired").label == "p-MRR paired"
    assert [Head("pMRR(ties='file')", "ins").label, Head("xpMRR", "").label] == ["p-MRR(ties='file') ins", "xpMRR"]


def test_signs_of_the_formats_stay_text():
    assert latex("\\input{x}~^<$") == "\\textbackslash{}input\\{x\\}\\textasciitilde{}\\textasciicircum{}\\textless{}\\$"
    assert markdown("<img src=x>|`*") == "&lt;img src=x&gt;\\|\\`\\*"


def test_csv_has_the_numbers_of_evaluate_at_full_precision():
    own = tandem_ir.load("instructir-mini")
    docs = [doc.doc_id for doc in own.docs("all")]
    run = Run.from_dict(
        {topic.query_id: {doc: 1 / rank for rank, doc in enumerate(docs, 1)} for topic in own.topics("all")}, tag="x"
    )
    rows = list(csv.DictReader(io.StringIO(to_text(report(collect([run], ["instructir-mini"])), "csv"))))
    shown = {row["column"]: float(row["value"]) for row in rows if row["table"] == "instructir-mini.all"}
    assert shown == {row.measure: row.value for row in tandem_ir.evaluate(run, benchmark="instructir-mini").rows}


def test_a_page_without_texts_says_why(monkeypatch):
    own = tandem_ir.load("instructir-mini")
    run = Run.from_dict({topic.query_id: {"d": 1.0} for topic in own.topics("all")}, tag="x")

    def absent(*args, **options):
        def find(doc_ids):
            raise ToolkitError("the documents are not on this machine", "fetch them")

        return lambda group: TextSource("nowhere", find)

    monkeypatch.setattr(job, "texts_from", absent)
    made = report(collect([run], ["instructir-mini"], measures=["RR"]))
    assert "texts of documents are not in this page: the documents are not on this machine" in job.to_html(made)
    with pytest.raises(ToolkitError, match="the documents are not on this machine"):  # a place that is named has to have them
        job.to_html(made, docs="nowhere")


def test_runs_with_published_ids_are_told_by_ours():
    own = tandem_ir.load("instructir-mini")
    topics = own.topics("all")
    run = Run.from_dict({topic.original_id: {"d": 1.0} for topic in topics}, tag="x")
    (model,) = collect([run], ["instructir-mini"], measures=["RR"], ids="published")
    assert set(model.runs[0].values[("all", "RR", "")].query_ids) == {topic.query_id for topic in topics}
