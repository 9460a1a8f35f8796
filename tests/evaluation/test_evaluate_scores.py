"""What is scored, and what is refused or noted instead: small runs in memory."""

import math

import pytest

import tandem_ir
from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.datasets import resolve_topics
from toolkit.evaluation import evaluate
from toolkit.files.formats import write_run
from toolkit.files.provenance import file_digest, topics_facts, write_record
from toolkit.reporting.diff.compare_runs import diff
from toolkit.reporting.report.collect import collect

MODES = ("ori", "ins", "rev")
QRELS = Qrels.from_rows([Qrel(f"c-{n}-{mode}", "g", int(mode != "rev")) for n in (1, 2) for mode in MODES], source="the qrels")


def run(query_ids: str, docs: str = "gxy", tag: str = "mine") -> Run:
    return Run.from_dict({q: {doc: -float(i) for i, doc in enumerate(docs)} for q in query_ids.split()}, tag=tag, source=tag)


FULL = " ".join(QRELS.query_ids)


def test_the_package_is_the_function():
    scores = tandem_ir.evaluate(run("1 2"), qrels=Qrels.from_rows([Qrel("1", "g", 1), Qrel("2", "x", 1)]), measures=["RR@10"])
    assert scores.value("RR@10", mode="", group="all", run="mine") == (1 + 0.5) / 2
    assert list(scores.to_frame().columns) == ["run", "group", "mode", "measure", "value", "queries", "query_id"]
    assert scores.notes == ("mine: 2 queries judged, 2 in the run, 2 scored, 0 absent",)


def test_robustness_of_plain_qrels_finds_the_paraphrases_of_each_instruction():
    # 25_5.1 finds its document first (nDCG 1), 25_5.2 second (1 / log2(3)); 7_1.1 first: the minima are 0.6309 and 1
    judged = Qrels.from_rows([Qrel("25_5.1", "g", 1), Qrel("25_5.2", "x", 1), Qrel("7_1.1", "g", 1)])
    scores = evaluate(run("25_5.1 25_5.2 7_1.1"), qrels=judged, measures=["Robustness@10"])
    assert scores.value("Robustness@10", mode="", group="all", run="mine") == pytest.approx((1 / math.log2(3) + 1) / 2)
    assert not any("core query" in note for note in scores.notes)


def test_robustness_without_core_queries_is_noted():
    judged = Qrels.from_rows([Qrel("a", "g", 1), Qrel("b", "x", 1)])
    scores = evaluate(run("a b"), qrels=judged, measures=["Robustness@10", "nDCG@10"])
    assert any("each core query has one judged query, whose value is that of Robustness" in note for note in scores.notes)
    assert len(evaluate(run("a b"), qrels=judged, measures=["nDCG@10"]).notes) == 1


def test_what_needs_reversed_judgments_has_no_value_without_any():
    # of `g` and `x` both are relevant in the original, `g` alone under the instruction
    judged = Qrels.from_rows([Qrel("q-ori", "g", 1), Qrel("q-ori", "x", 1), Qrel("q-ins", "g", 1), Qrel("q-ins", "x", 0)])
    scores = evaluate(run("q-ori q-ins"), qrels=judged)
    values = {row.measure: row.value for row in scores.rows if row.mode == "paired"}
    lacking = dict.fromkeys(("SICR", "WISE@20", "WISE_ideal@20", "WISE_per@20"), math.nan)
    assert values == pytest.approx({"pMRR": 0.0, **lacking}, nan_ok=True)
    assert "rev" not in {row.mode for row in scores.rows}
    assert "mine: 1 query (q) without judgments in a reversed mode: left out of SICR, WISE, WISE_ideal" in scores.notes


def test_a_run_may_lack_modes_that_no_measure_reads():
    qrels = Qrels.from_rows([*QRELS, Qrel("c-1-ori", "x", 1), Qrel("c-1-ins", "x", 0)])
    lacking = run(" ".join(query_id for query_id in QRELS.query_ids if not query_id.endswith("-rev")))
    scores = evaluate(lacking, qrels=qrels, measures="pMRR")
    assert scores["pMRR"] == evaluate(run(FULL), qrels=qrels, measures="pMRR")["pMRR"] == 0.0
    assert "judged only in the modes ori and ins, as pMRR reads no other" in scores.notes
    with pytest.raises(ToolkitError, match="no query in mode rev") as caught:
        evaluate(lacking, qrels=QRELS)
    assert "name measures that read only ori and ins (-m pMRR), or judge one mode" in caught.value.hint
    for measures in ("pMRR WISE", "pMRR nDCG@10", "WISE_ideal"):
        with pytest.raises(ToolkitError, match="no query in mode rev"):
            evaluate(lacking, qrels=QRELS, measures=measures)


def test_default_measures_without_modes():
    scores = evaluate(run("1"), qrels=Qrels.from_rows([Qrel("1", "g", 1)]))
    assert [row.measure for row in scores.rows] == ["nDCG@10", "RR@10", "R@100", "AP"]
    assert {row.mode for row in scores.rows} == {""}


def test_default_measures_with_modes_are_those_of_the_paper():
    rows = evaluate(run(FULL), qrels=QRELS).rows
    assert list(dict.fromkeys(row.measure for row in rows)) == [
        "nDCG@10", "RR@1", "Robustness@10", "pMRR", "SICR", "WISE@20", "WISE_ideal@20", "WISE_per@20", "GoldRank"
    ]  # fmt: skip
    assert [row.mode for row in rows[:3]] == list(MODES)


def test_rows_of_queries_come_after_the_aggregates_and_count_one():
    scores = evaluate(run(FULL), qrels=QRELS, measures=["RR@10", "WISE"], by_query=True)
    assert [(row.query_id, row.mode, row.queries) for row in scores.rows] == [
        *[("", mode, 2) for mode in (*MODES, "paired")],
        *[(f"c-{n}", mode, 1) for n in (1, 2) for mode in (*MODES, "paired")],
    ]


def test_a_run_of_another_benchmark_shows_three_ids_of_each():
    with pytest.raises(ToolkitError) as caught:
        evaluate(run("w x y z"), qrels=QRELS)
    assert caught.value.message == (
        "mine has no query of the qrels: it has w, x, y, ... (4 in all); judged are c-1-ins, c-1-ori, c-1-rev, ... (6 in all)"
    )


def test_ids_without_their_mode_get_a_hint():
    with pytest.raises(ToolkitError, match="mine has no query of the qrels: it has c-1, c-2") as caught:
        evaluate(run("c-1 c-2"), qrels=QRELS)
    assert "--run ori=F ins=F rev=F" in caught.value.hint


def test_a_run_that_lacks_a_mode_names_it():
    with pytest.raises(ToolkitError, match="mine has no query in mode rev: it lacks c-1-rev, c-2-rev"):
        evaluate(run("c-1-ori c-1-ins c-2-ori c-2-ins"), qrels=QRELS)


def test_qrels_that_lack_a_mode_name_it(tmp_path):
    ids = [topic.query_id for topic in resolve_topics("infosearch-mini-audience").topics]
    qrels = tmp_path / "qrels.txt"
    qrels.write_text(f"{next(id for id in ids if id.endswith('-ori'))} 0 audience-021 1\n")
    with pytest.raises(ToolkitError, match="infosearch-mini-audience: no judgments in mode ins") as caught:
        evaluate(run(" ".join(ids)), benchmark="infosearch-mini-audience", qrels=qrels)
    assert "--benchmark infosearch-mini-audience-ori" in caught.value.hint


def test_a_run_that_lacks_a_mode_counts_its_worst_where_that_is_said_outright():
    lacking = run("c-1-ori c-1-ins c-2-ori c-2-ins")
    worst = evaluate(lacking, qrels=QRELS, measures=["RR@10", "WISE"], missing="worst")
    assert [worst.value("RR@10", mode=mode) for mode in MODES] == [1.0, 1.0, 0.0]
    assert worst.value("WISE", mode="paired") == -1.0
    assert "mine: 6 queries judged, 4 in the run, 6 scored, 2 absent" in worst.notes
    for missing in (None, "skip", "error"):
        with pytest.raises(ToolkitError, match="mine has no query in mode rev"):
            evaluate(lacking, qrels=QRELS, missing=missing)
    with pytest.raises(ToolkitError, match="has no query of the qrels"):
        evaluate(run("x"), qrels=QRELS, missing="worst")


def test_a_run_that_found_nothing_in_a_mode_is_scored_where_its_metadata_say_what_it_was_made_for(tmp_path, capsys):
    name, file = "mfollowir-mini-cross-lingual-fas", tmp_path / "run.trec"
    write_run(run("cross-lingual-fas-03-changed"), file)
    with pytest.raises(ToolkitError, match="has no query in mode og"):
        evaluate(file, benchmark=name)
    topics = resolve_topics(name).topics
    data = {"topics": topics_facts(name, topics)}
    write_record(file, {"tag": "mine", "data": {**data, "run": {"sha256": file_digest(file)}}})
    scores = evaluate(file, benchmark=name)
    assert scores.value("nDCG@20", mode="og") == 0
    said = f"mine: {len(topics)} queries judged, 1 in the run, {len(topics)} scored, {len(topics) - 1} absent"
    assert said in scores.notes
    write_run(run("cross-lingual-fas-02-changed"), file)  # another run, of which the metadata say nothing
    with pytest.raises(ToolkitError, match="has no query in mode og"):
        evaluate(file, benchmark=name)
    assert f"warning: {file}.yaml is the record of another file: left out" in capsys.readouterr().err


def test_a_part_of_a_run_is_refused_where_its_metadata_are_a_copy_of_the_whole_runs(tmp_path):
    name = "infosearch-mini-audience"
    topics = resolve_topics(name).topics
    whole = run(" ".join(topic.query_id for topic in topics if topic.mode != "rev"))
    part = whole.select(query_id for query_id in whole.query_ids if query_id.endswith("-ori"))

    def written(own, file):
        write_run(own, file)
        origin = {"file": "whole.trec", "queries": len(whole.query_ids)}
        data = {"topics": topics_facts(name, topics)}
        made = {"sha256": file_digest(file), "queries": len(own.query_ids), "converted from": origin}
        write_record(file, {"tag": "mine", "data": {**data, "run": made}})
        return file

    # all queries of the run that was searched for three modes: nothing was found for rev
    assert evaluate(written(whole, tmp_path / "a"), benchmark=name, measures=["RR@10"]).value("RR@10", mode="rev") == 0
    file = written(part, tmp_path / "b")
    for refused in (
        evaluate,
        lambda file, benchmark: diff([file, file], benchmark=benchmark),
        lambda *_, **__: collect([file], [name]),
    ):
        with pytest.raises(ToolkitError, match="mine has no query in mode ins"):
            refused(file, benchmark=name)
    assert evaluate(file, benchmark=name, measures=["RR@10"], missing="worst").value("RR@10", mode="ins") == 0


def test_absent_queries_count_worst_or_are_skipped_or_refused():
    lacking = run(FULL.replace(" c-2-ins", ""))
    worst = evaluate(lacking, qrels=QRELS, measures=["RR@10", "WISE"])
    assert worst.value("RR@10", mode="ins") == 0.5
    # c-1: R = 1, 1, 1: not obeyed, R_ori <= R_ins gives 0; c-2 is absent: -1
    assert worst.value("WISE", mode="paired") == -0.5
    assert worst.notes[0] == "mine: 6 queries judged, 5 in the run, 6 scored, 1 absent"
    assert any(note.startswith("mine: 1 query (c-2) of 2 absent from the run in mode ins") for note in worst.notes)
    skipped = evaluate(lacking, qrels=QRELS, measures=["RR@10", "WISE"], missing="skip")
    assert skipped.value("RR@10", mode="ins") == 1.0
    assert skipped.value("WISE", mode="paired") == 0.0
    assert [row.queries for row in skipped.rows] == [2, 1, 2, 1]
    assert skipped.notes[0] == "mine: 6 queries judged, 5 in the run, 5 scored, 1 absent"
    gold = evaluate(lacking, qrels=QRELS, measures=["GoldRank"])
    assert "mine: GoldRank have no worst value and leave absent queries out" in gold.notes
    with pytest.raises(ToolkitError, match="lacks 1 of the queries that RR@10 needs: c-2-ins"):
        evaluate(lacking, qrels=QRELS, measures=["RR@10"], missing="error")


def test_queries_that_are_not_judged_are_noted():
    notes = evaluate(run(FULL + " d-1-ori"), qrels=QRELS, measures=["RR@10"]).notes
    assert "mine: 1 query of the run without judgments: they count nowhere" in notes


def test_a_run_over_another_corpus_is_noted():
    notes = evaluate(run(FULL, "uvw"), qrels=QRELS, measures=["RR@10"]).notes
    assert any(note.startswith("mine: no document of the run is judged") for note in notes)


@pytest.mark.parametrize(
    ("judged", "found"),
    [("Doc-1", "doc-1"), ("caf\u00e9", "cafe\u0301"), ("d1", "d1\u00a0"), ("\u00a0D1", "d1"), ("D\u00c91", "de\u03011")],
)
def test_ids_that_differ_in_case_composition_or_no_break_spaces_are_noted(judged, found):
    qrels = Qrels.from_rows([Qrel("q", judged, 1), Qrel("p", "x", 1)])
    for docs in ({found: 2.0, "y": 1.0}, {found: 2.0, judged: 1.0}):
        notes = evaluate(Run.from_dict({"q": docs, "p": {"x": 1.0}}, tag="mine"), qrels=qrels, measures=["RR@10"]).notes
        said = [note for note in notes if "case, composed letters or no-break spaces" in note]
        assert said == ([] if judged in docs else [f"mine: {SAID} ({judged!a} and {found!a})"])


SAID = "1 ids of judged documents are in the run but for case, composed letters or no-break spaces"


def test_runs_of_different_depth_are_noted_and_depth_cures_it():
    runs = [run(FULL, "xyg", "deep"), run(FULL, "xy", "flat")]
    scores = evaluate(runs, qrels=QRELS, measures=["GoldRank"])
    assert any(note.startswith("the runs differ in depth (deep 3, flat 2)") for note in scores.notes)
    assert scores.value("GoldRank", mode="ori", run="deep") == 3.0
    cut = evaluate(runs, qrels=QRELS, measures=["GoldRank"], depth=1)
    assert not any("depth" in note for note in cut.notes)
    assert {row.value for row in cut.rows} == {2.0}


def test_runs_are_shown_by_name_whatever_their_order():
    one, two = run(FULL, "gxy", "a"), run(FULL, "xgy", "b")
    assert evaluate([two, one], qrels=QRELS).rows == evaluate([one, two], qrels=QRELS).rows
    assert [row.run for row in evaluate([two, one], qrels=QRELS, measures=["AP"]).rows] == ["a"] * 3 + ["b"] * 3


def test_asking_for_what_cannot_be_computed_is_an_error():
    only_ori = Qrels.from_rows([Qrel("c-1-ori", "g", 1)])
    with pytest.raises(ToolkitError, match="qrels: no value of WISE"):
        evaluate(run("c-1-ori"), qrels=only_ori, measures=["WISE"])
    assert "pMRR, SICR, WISE@20, WISE_ideal@20, GoldRank" in evaluate(run("c-1-ori"), qrels=only_ori).notes[-1]


def test_words_and_numbers_are_checked():
    with pytest.raises(ToolkitError, match="missing is 'zero'"):
        evaluate(run(FULL), qrels=QRELS, missing="zero")
    with pytest.raises(ToolkitError, match="depth is 0"):
        evaluate(run(FULL), qrels=QRELS, depth=0)
    with pytest.raises(ToolkitError, match="evaluation needs a benchmark, or qrels"):
        evaluate(run(FULL))
    with pytest.raises(ToolkitError, match="reference rankings need judgments"):
        evaluate(run("1"), qrels=Qrels.from_rows([Qrel("1", "g", 1)]), references=True)
