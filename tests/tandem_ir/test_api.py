"""`import tandem_ir as tandem`: what is listed, what importing loads, and that calls are the commands."""

import inspect
import json
import pydoc
import re
import subprocess
import sys
import textwrap

import pandas
import pytest
from command import ROOT
from command import tandem as command
from tiny import tiny_bert

import tandem_ir as tandem
from toolkit.files.formats import read_run
from toolkit.reporting.report.collect import collect

NOTHING_HEAVY = {"numpy", "pandas", "pyarrow", "torch", "ir_measures", "ir_datasets", "jnius", "yaml", "toolkit.jobs"}


def test_every_name_is_listed_documented_and_has_a_signature():
    assert dir(tandem) == tandem.__all__ == sorted(tandem.__all__)
    for name in tandem.__all__:
        found = getattr(tandem, name)
        if name != "__version__":
            assert inspect.getdoc(found), name
        if inspect.isfunction(found):
            inspect.signature(found)
    with pytest.raises(AttributeError, match="no attribute 'serach'"):
        _ = tandem.serach


@pytest.mark.lucene
def test_help_explains_the_package_with_an_example_that_runs(capsys):
    text = pydoc.plain(pydoc.render_doc(tandem))
    assert tandem.__doc__.partition("\n")[0] in text
    assert [name for name in tandem.__all__ if name not in text] == ["__version__"]  # which help() calls VERSION
    example = textwrap.dedent("\n".join(tandem.__doc__.splitlines()[4:9]))
    assert example.startswith("import tandem_ir as tandem\n")
    exec(example, {})
    assert float(capsys.readouterr().out.splitlines()[-1]) < 0
    assert [path for path in re.findall(r"docs/[\w./]*\w", tandem.__doc__) if not (ROOT / path).is_file()] == []


@pytest.mark.process
def test_importing_loads_nothing_heavy():
    code = "import json, sys, tandem_ir; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert NOTHING_HEAVY.isdisjoint(loaded)


@pytest.mark.parametrize("value", [5, [], [5], object()])
def test_what_is_no_topics_is_one_line(value):
    with pytest.raises(tandem.ToolkitError):
        tandem.read_topics(value)


@pytest.mark.parametrize(
    "topics",
    [
        {"1": "jet lag"},
        [tandem.Topic("1", "jet lag", query="jet lag")],
        [{"qid": "1", "query": "jet lag"}],
        pandas.DataFrame([{"query_id": "1", "query": "jet lag"}]),
    ],
)
def test_topics_are_taken_as_users_have_them(topics):
    assert tandem.read_topics(topics) == [tandem.Topic("1", "jet lag", query="jet lag")]


def test_an_id_that_comes_twice_is_refused_with_its_rows():
    with pytest.raises(tandem.ToolkitError) as error:
        tandem.read_topics([{"id": "1", "query": "a"}, {"id": "2", "query": "b"}, {"id": "1", "query": "c"}])
    assert "topic 1 again, first in row 1" in str(error.value.lines())


def test_evaluate_and_diff_take_and_give_what_notebooks_have():
    better, worse, qrels = {"q": {"d": 2.0, "e": 1.0}}, {"q": {"d": 1.0, "e": 2.0}}, [("q", "d", 1)]
    assert tandem.evaluate(worse, qrels=qrels, measures=["RR"])["RR"] == 0.5
    rows = tandem.diff(worse, better, qrels=qrels, measures=["RR"]).to_frame()
    assert rows.equals(tandem.diff([worse, better], qrels=qrels, measures=["RR"]).to_frame())
    assert rows[["measure", "a", "b", "difference"]].values.tolist() == [["RR", 0.5, 1.0, 0.5]]


def test_runs_have_the_names_of_a_mapping():
    better, worse, qrels = {"q": {"d": 2.0, "e": 1.0}}, {"q": {"d": 1.0, "e": 2.0}}, [("q", "d", 1)]
    scores = tandem.evaluate({"a": worse, "b": better}, qrels=qrels, measures="RR nDCG(cutoff=1), P@1")
    assert {(row.run, row.measure): row.value for row in scores.rows} == {
        **{("a", "RR"): 0.5, ("a", "nDCG@1"): 0.0, ("a", "P@1"): 0.0},
        **{("b", "RR"): 1.0, ("b", "nDCG@1"): 1.0, ("b", "P@1"): 1.0},
    }
    rows = tandem.diff({"a": worse, "b": better}, qrels=qrels, measures="RR").to_frame()
    assert rows[["first", "second", "measure", "difference"]].values.tolist() == [["a", "b", "RR", 0.5]]
    assert tandem.fuse({"a": worse, "b": better}).tag == "a+b.rrf"
    assert "b" in tandem.report({"a": worse, "b": better}, qrels=qrels, measures="RR", format="csv")


def test_diff_takes_no_unknown_option_and_no_unknown_measure_of_identical_runs():
    run, qrels = {"q": {"d": 2.0}}, [("q", "d", 1)]
    with pytest.raises(TypeError, match="measure"):
        tandem.diff(run, run, qrels=qrels, measure="RR")
    with pytest.raises(tandem.ToolkitError, match="no measure 'RX'"):
        tandem.diff([run, run], qrels=qrels, measures="RX")


def test_runs_are_fused_without_files():
    runs = [tandem.Run.from_dict({"q": {"d": 2.0, "e": 1.0}}, tag="a"), {"q": {"e": 9.0}}]
    fused = tandem.fuse(runs, "rrf:k=60", tag="both")
    assert fused.tag == "both"
    assert fused.to_dict() == {"q": {"e": pytest.approx(1 / 62 + 1 / 61), "d": pytest.approx(1 / 61)}}


def test_a_run_in_memory_does_not_know_its_topics():
    with pytest.raises(tandem.ToolkitError, match="no record says which topics the run is of"):
        tandem.rerank({"q": {"d": 1.0}}, "bge-reranker-v2-m3")


@pytest.mark.model
def test_steps_give_what_the_calls_give(tmp_path):
    checkpoint = str(tiny_bert(tmp_path / "cross", "BertForSequenceClassification", num_labels=1))
    topics, how = "infosearch-mini-language-ins", {"kind": "cross-encoder", "depth": 3}
    written = tandem.search(topics, hits=10, output=tmp_path / "bm25.trec")
    steps = (tandem.Retrieve("bm25", hits=10) >> tandem.Rerank(checkpoint, **how))(topics)
    called = tandem.rerank(tmp_path / "bm25.trec", checkpoint, **how)
    in_memory = tandem.rerank(written, checkpoint, topics=topics, **how)
    assert steps.to_dict() == called.to_dict() == in_memory.to_dict() != written.to_dict()
    ranked = read_run(tmp_path / "bm25.trec").to_dict()  # scores are rounded as Anserini's are
    assert {query: list(docs) for query, docs in ranked.items()} == {q: list(docs) for q, docs in written.to_dict().items()}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bm25.trec", "bm25.trec.yaml", "cross"]


@pytest.mark.lucene
def test_an_index_of_ones_own_is_searched(tmp_path):
    (tmp_path / "corpus.jsonl").write_text('{"id": "d1", "text": "red apples"}\n{"id": "d2", "text": "green pears"}\n')
    folder = tandem.index(tmp_path / "corpus.jsonl", tmp_path / "index")
    assert tandem.search({"q": "pears"}, str(folder)).to_dict().keys() == {"q"}


@pytest.mark.lucene
def test_what_was_made_or_read_with_a_record_knows_its_benchmark(tmp_path):
    part = "infosearch-mini-language"
    made = tandem.search(part, hits=10, output=tmp_path / "bm25.trec")
    read = tandem.read_run(tmp_path / "bm25.trec")
    (tmp_path / "bm25.trec.yaml").rename(tmp_path / "elsewhere.yaml")
    wanted = tandem.evaluate(made, benchmark=part)["WISE@20"]
    assert tandem.evaluate(made)["WISE@20"] == tandem.evaluate(read)["WISE@20"] == wanted
    assert tandem.gate(made, read).verdict == "pass"
    other = tandem.search("infosearch-mini-length", hits=10)
    with pytest.raises(
        tandem.ToolkitError, match="a run in memory of infosearch-mini-language, a run in memory of infosearch-mini-len"
    ):
        tandem.evaluate(made, other)
    with pytest.raises(tandem.ToolkitError, match="the runs are no files, and have no record") as error:
        tandem.evaluate({"q": {"d": 1.0}})
    assert str(error.value).splitlines()[1].startswith("hint:")
    with pytest.raises(tandem.ToolkitError, match="the runs are no files, and have no record"):
        tandem.evaluate(made.select(made.query_ids[:1]))  # it is not the whole run that was recorded


@pytest.mark.lucene
def test_a_report_knows_the_systems_of_runs_in_memory():
    part = "infosearch-mini-language"
    tuned = tandem.search(part, hits=10, k1=1.3, tag="tuned")
    [model] = collect([tuned], [part])
    assert [(run.name, run.called, run.heading, len(run.records)) for run in model.runs] == [("tuned", "bm25", "sparse", 1)]
    [model] = collect({"mine": tuned, "other": tuned.to_dict()}, [part])
    assert [(run.name, run.called) for run in model.runs] == [("mine", "bm25"), ("other", "other")]


def test_what_calls_return_is_one_line_and_prints_as_the_command_does():
    better, worse, qrels = {"q": {"d": 2.0, "e": 1.0}}, {"q": {"d": 1.0, "e": 2.0}}, [("q", "d", 1)]
    judged = {"qrels": qrels, "measures": ["RR"]}
    changes = tandem.diff({"a": worse, "b": better}, **judged)
    assert repr(changes) == "Differences(a -> b)"
    assert ["RR", "0.5000", "1.0000", "+0.5000"] in [line.split()[:4] for line in str(changes).splitlines()]
    assert "<td>+0.5000</td>" in changes._repr_html_()
    scores = tandem.evaluate({"a": worse}, {"b": better}, **judged)
    assert [line.split()[-1] for line in str(scores).splitlines() if line.startswith(("a ", "b "))] == ["0.5000", "1.0000"]
    gate = tandem.gate({"a": worse}, {"b": better}, **judged)
    assert repr(gate) == "Gate(warn: a -> b)"
    assert "too few differ" in str(gate)
    assert "<td>RR</td>" in gate._repr_html_()
    assert repr(tandem.load("infosearch-mini")).startswith("Benchmark(infosearch-mini: audience, ")


def test_scores_print_the_table_of_the_command(tmp_path):
    runs = {"a": {"q": {"d": 1.0, "e": 2.0}, "r": {"e": 1.0}}, "b": {"q": {"d": 2.0, "e": 1.0}, "r": {"e": 2.0, "d": 1.0}}}
    files = [tmp_path / f"{name}.trec" for name in runs]
    for file, (name, run) in zip(files, runs.items(), strict=True):
        rows = (f"{query} Q0 {doc} 1 {score} {name}\n" for query, docs in run.items() for doc, score in docs.items())
        file.write_text("".join(rows))
    (tmp_path / "qrels.txt").write_text("q 0 d 1\nr 0 e 1\n")
    printed = command("evaluate", *files, "--qrels", tmp_path / "qrels.txt", "-m", "RR", "--baseline", "a", check=True)
    scores = tandem.evaluate(*files, qrels=tmp_path / "qrels.txt", measures="RR", baseline="a")
    assert str(scores) == printed.stdout
    assert "difference" in str(scores)
    assert "<td>difference</td>" in scores._repr_html_()


def test_a_benchmark_is_its_name_as_text_and_a_table_of_its_groups_in_a_notebook():
    benchmark = tandem.load("infosearch-mini")
    assert str(benchmark) == "infosearch-mini"
    shown = benchmark._repr_html_()
    assert "<th>group</th><th>here</th><th>cores</th><th>queries</th><th>documents</th>" in shown
    assert "<td>audience</td><td>yes</td><td>12</td><td>24</td><td>148</td>" in shown


def test_a_report_is_a_page_in_a_frame_and_floods_no_cell(tmp_path):
    better, worse, qrels = {"q": {"d": 2.0, "e": 1.0}}, {"q": {"d": 1.0, "e": 2.0}}, [("q", "d", 1)]
    page = tandem.report({"a": worse, "b": better}, qrels=qrels, measures="RR", output=tmp_path / "a.html")
    assert page.path == tmp_path / "a.html"
    assert page.path.read_text() == page
    assert len(repr(page)) < 200
    assert page._repr_html_().startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    text = tandem.report({"a": worse, "b": better}, qrels=qrels, measures="RR", format="markdown")
    assert text.save(tmp_path / "a.md") == text.path == tmp_path / "a.md"
    assert text._repr_html_().startswith("<pre>")


def test_every_figure_of_a_report_is_a_chart_that_can_be_saved(tmp_path):
    better, worse, qrels = {"q": {"d": 2.0, "e": 1.0}}, {"q": {"d": 1.0, "e": 2.0}}, [("q", "d", 1)]
    runs, judged = {"a": worse, "b": better}, {"qrels": qrels, "measures": "RR"}
    known = tandem.plots()
    assert {"tradeoff", "rank-slopes", "differences"} < set(known.name)
    chart = tandem.plot("differences", runs, baseline="a", **judged)
    assert chart.to_dict()["title"] == known.set_index("name").title["differences"]
    chart.save(tmp_path / "x.pdf")
    assert (tmp_path / "x.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(tandem.ToolkitError, match="no figure 'diferences'") as error:
        tandem.plot("diferences", runs, **judged)
    assert "did you mean 'differences'" in str(error.value)
    with pytest.raises(tandem.ToolkitError, match="nothing that stance draws"):
        tandem.plot("stance", runs, **judged)


def test_an_error_shows_its_hint_and_in_a_notebook_the_users_line():
    with pytest.raises(tandem.ToolkitError) as error:
        tandem.search("infosearch-mini", system="bm52")
    assert "no system 'bm52'\nhint:  did you mean 'bm25'" in str(error.value)
    shown = error.value._render_traceback_()
    assert shown[0].endswith('tandem.search("infosearch-mini", system="bm52")')
    assert shown[1:] == error.value.lines()
