"""Modes are data: whatever they are called, measures know their roles."""

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from published_layout import write_infosearch

from toolkit import datasets, registry
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import Modes
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.evaluate import main, parser
from toolkit.evaluation import evaluate
from toolkit.evaluation.scores.evaluation import prepare
from toolkit.files.formats import write_run
from toolkit.reporting.diff.compare_runs import diff
from toolkit.reporting.report.collect import collect
from toolkit.shell import guard

USUAL = ("ori", "ins", "rev")
OWN = {"plain": "base", "pos": "instructed", "neg": "reversed"}
RENAMED = dict(zip(USUAL, OWN, strict=True))
SAME = dict(zip(USUAL, USUAL, strict=True))
MEASURES = ["nDCG@10", "Robustness@10", "WISE", "WISE_ideal", "SICR", "pMRR", "GoldRank", "NegativeRank"]
DOCS = "ghnxy"
ENTRY = """\
name: mine
description: d
layout: infosearch
modes: {plain: base, pos: instructed, neg: reversed}
measures: [nDCG@10, WISE, SICR, pMRR]
source: {}
groups: [{name: audience, repository: someone/Audience-v1, revision: main}]
"""


@st.composite
def cases(draw):
    """Rankings and labels of two queries in three modes, under (query, mode)."""
    keys = [(f"c-{number}", mode) for number in (1, 2) for mode in USUAL]
    ranked = {key: draw(st.permutations(DOCS)) for key in keys}
    labels = {key: draw(st.fixed_dictionaries(dict.fromkeys(DOCS, st.integers(0, 1)))) for key in keys}
    return ranked, {key: its | {"g": int(key[1] != "rev")} for key, its in labels.items()}


def nouns(ranked, labels, called):
    """The run and the qrels, whose modes are called so."""
    run = {f"{q}-{called[mode]}": {doc: -float(rank) for rank, doc in enumerate(its)} for (q, mode), its in ranked.items()}
    rows = [Qrel(f"{q}-{called[mode]}", doc, label) for (q, mode), its in labels.items() for doc, label in its.items()]
    return Run.from_dict(run, tag="mine", source="mine"), Qrels.from_rows(rows, "judged")


ORDERS = {"ori": "xgn", "ins": "gxn", "rev": "nxg"}
LABELS = {"ori": {"g": 1, "n": 1}, "ins": {"g": 1, "n": 0}, "rev": {"g": 0, "n": 1}}
CASE = tuple({(f"c-{n}", mode): its for n in (1, 2) for mode, its in of.items()} for of in (ORDERS, LABELS))


def written(folder):
    """The case's run and qrels under own names, as files."""
    run, qrels = nouns(*CASE, RENAMED)
    write_run(run, folder / "run.trec")
    (folder / "qrels.txt").write_text("".join(f"{row.query_id} 0 {row.doc_id} {row.relevance}\n" for row in qrels))
    return str(folder / "run.trec"), str(folder / "qrels.txt")


@given(cases())
@settings(max_examples=settings().max_examples // 5)  # an example is two evaluations with reference rows
def test_scores_do_not_depend_on_what_modes_are_called(case):
    run, qrels = nouns(*case, SAME)
    expected = evaluate(run, qrels=qrels, measures=MEASURES, by_query=True, references=True)
    run, qrels = nouns(*case, RENAMED)
    found = evaluate(run, qrels=qrels, modes=OWN, measures=MEASURES, by_query=True, references=True)
    assert repr(found.rows) == repr(tuple(row._replace(mode=RENAMED.get(row.mode, row.mode)) for row in expected.rows))
    assert {row.measure for row in found.rows} >= {"WISE", "SICR", "pMRR"}


def test_commands_take_modes_of_plain_files(tmp_path, capsys):
    run, qrels = written(tmp_path)
    named = ["--modes", "plain=base", "pos=instructed", "neg=reversed"]
    assert guard(parser, main, [run, "--qrels", qrels, *named, "-m", "WISE", "nDCG@10", "--format", "csv"]) == 0
    rows = [line.split(",")[2:5] for line in capsys.readouterr().out.splitlines()[1:]]
    # R = 2, 1, 3 and N = 2: the full reward; nDCG of g and n at 2 and 3, of g at 1, of n at 1
    assert [row[:2] for row in rows] == [["paired", "WISE"], *([mode, "nDCG@10"] for mode in OWN)]
    assert [float(row[2]) for row in rows] == pytest.approx([1.0, 0.6934264036, 1.0, 1.0])
    assert guard(parser, main, [run, "--qrels", qrels, "--modes", "plain=base", "pos"]) == 2
    assert "--modes: modes: '' is no role" in capsys.readouterr().err
    assert guard(parser, main, [run, "--qrels", qrels, "--modes", "plain=base", "pos=instructed"]) == 2
    assert "query ids without one of the modes plain, pos: c-1-neg, c-2-neg" in capsys.readouterr().err
    assert guard(parser, main, [run, "--benchmark", "infosearch-mini", *named]) == 2
    assert "the modes of infosearch-mini are known" in capsys.readouterr().err


def test_a_file_of_each_mode_is_named_by_it(tmp_path):
    run, qrels = nouns(*CASE, RENAMED)
    bare = {mode: run.select(f"c-{n}-{mode}" for n in (1, 2)).with_query_ids(["c-1", "c-2"]) for mode in OWN}
    for mode, its in bare.items():
        write_run(its, tmp_path / mode)
    files = [f"{mode}={tmp_path / mode}" for mode in OWN]
    for runs in (files, {mode: tmp_path / mode for mode in OWN}):
        assert evaluate(runs, qrels=qrels, modes=OWN, measures=["WISE"]).value("WISE", mode="paired") == 1.0


def test_endings_that_look_like_modes_are_warned_of(tmp_path):
    run, qrels = nouns(*CASE, {"ori": "ori", "ins": "ins", "rev": "neg"})
    (warning,) = (note for note in evaluate(run, qrels=qrels, measures=["nDCG@10"]).notes if note.startswith("warning"))
    assert warning == "warning: query ids end in -neg as if in modes, and are taken as queries without: say --modes neg=ROLE"
    _, qrels = nouns(*CASE, RENAMED)
    assert registry.unnamed_modes(qrels.query_ids, Modes()) == ("neg", "plain", "pos")
    for others in (["a-1", "a-2", "b-1", "b-2"], ["clueweb-x", "clueweb-y"], ["a-x", "a-y", "b-x"], ["a", "a-x", "b-x"], []):
        assert registry.unnamed_modes(others, Modes()) == ()
    assert registry.unnamed_modes([f"{n}-{mode}" for n in "ab" for mode in USUAL], Modes(dict.fromkeys(USUAL, ""))) == ()


@pytest.fixture
def mine(home, tmp_path):
    """A benchmark of the user's whose modes have names of their own, from a local copy in InfoSearch's layout."""
    (home / "registry" / "benchmarks").mkdir(parents=True)
    (home / "registry" / "benchmarks" / "mine.yaml").write_text(ENTRY)
    datasets.take("mine", write_infosearch(tmp_path / "copy", ("audience",), with_candidates=True))
    return datasets.load("mine")


def test_a_benchmark_declares_its_modes_and_everything_follows(mine, tmp_path):
    topics = datasets.resolve_topics("mine").topics
    assert {topic.mode for topic in topics} == set(OWN)
    assert datasets.resolve_topics("mine-audience-neg").topics[0].query_id == "audience-001-1-neg"
    assert mine.scoreddocs("audience", "pos").query_ids[0] == "audience-001-1-pos"

    # every list in the order of candidates: gold document first, in neg last
    run = Run.from_dict(
        {q: docs for mode in OWN for q, docs in mine.scoreddocs("audience", mode).to_dict().items()}, tag="mine"
    )
    scores = evaluate(run, benchmark="mine")
    usual = registry.benchmark("infosearch").modes

    def called(query_id):
        base, mode = mine.spec.modes.split(query_id)
        return f"{base}-{usual.of(OWN[mode])[0]}"

    qrels = [row for mode in OWN for row in mine.qrels("audience", mode)]
    same = Qrels.from_rows([row._replace(query_id=called(row.query_id)) for row in qrels])
    expected = evaluate(
        run.with_query_ids(map(called, run.query_ids)), qrels=same, measures=["nDCG@10", "WISE", "SICR", "pMRR"]
    )
    assert [row[2:6] for row in scores.rows] == [
        (dict(zip(USUAL, OWN, strict=True)).get(row.mode, row.mode), *row[3:6]) for row in expected.rows
    ]
    assert len({row.measure for row in scores.rows if row.mode == "paired"}) == 3

    # ids alone are enough, as ir_measures has no more of them
    wanted = [ir_measures.parse_measure(name) for name in ("WISE", "SICR", "pMRR")]
    found = ir_measures.calc_aggregate(wanted, Qrels.from_rows(qrels).to_frame(), run.to_frame())
    assert {str(measure): value for measure, value in found.items()} == {
        row.measure: row.value for row in scores.rows if row.mode == "paired"
    }

    write_run(run, tmp_path / "run.trec")
    first = run.head(1)
    (pair,) = diff([run, Run.from_dict(first.to_dict(), tag="first")], benchmark="mine")
    assert {change.mode for change in pair.comparison.changes} == {*OWN, "paired"}
    (model,) = collect([str(tmp_path / "run.trec")], ["mine"])
    assert model.judgments.modes == OWN
    assert {"blind", "oracle"} <= model.runs[0].references.keys()
    with pytest.raises(ToolkitError, match="has no query in mode neg"):
        prepare([run.select(q for q in run.query_ids if not q.endswith("-neg"))], "mine", None, None, "tandem")
