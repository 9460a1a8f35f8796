"""Judgments of perspectives: their measures, what was not answered, what has no line, types of questions."""

import json
import math
from pathlib import Path

import pytest
from command import tandem

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.evaluation import evaluate
from toolkit.files.formats import read_qrels, read_run

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "perspectives"
NAMES = {"MRecall": "MRecall", "PerspectiveP": "Precision"}

# two questions of two perspectives, one of three
RUN = Run.from_dict({q: {"d1": 3.0, "d2": 2.0, "d3": 1.0} for q in ("a", "b", "c")}, tag="mine")
HOLDS = {"a": {"1": {"d1"}, "2": {"d2"}}, "b": {"1": {"d1"}, "2": set()}, "c": {"1": {"d3"}, "2": {"d1"}, "3": {"d2"}}}


def judged(label=0, skip=()):
    """Every pair but those of `skip` has a line; a pair that does not hold has this label."""
    pairs = ((q, n, d) for q, subtopics in HOLDS.items() for n in subtopics for d in ("d1", "d2", "d3"))
    rows = [Qrel(q, d, 1 if d in HOLDS[q][n] else label, n) for q, n, d in pairs if (q, n, d) not in skip]
    return Qrels.from_rows(rows, "mine.txt")


def test_the_default_measures_of_qrels_with_subtopics_have_the_golden_values():
    done = tandem(
        "evaluate",
        GOLDEN / "run.trec",
        "--qrels",
        GOLDEN / "qrels.subtopics.txt",
        "--format",
        "json",
        "--by-query",
        "--by-type",
    )
    found = json.loads(done.stdout)
    expected = json.loads((GOLDEN / "expected.json").read_text())
    whole = {row["measure"]: row["value"] for row in found["rows"] if row["group"] == "all" and not row["query_id"]}
    assert set(whole) == {"MRecall@5", "MRecall@10", "PerspectiveP@1", "PerspectiveP@5", "PerspectiveP@10"}
    for measure, value in whole.items():
        name, _, cutoff = measure.partition("@")
        golden = expected[f"{NAMES[name]}@{cutoff}"]
        assert value == pytest.approx(golden["aggregate"], abs=1e-12)
        its = {row["query_id"]: row["value"] for row in found["rows"] if row["measure"] == measure and row["query_id"]}
        assert its == pytest.approx(golden["per_query"], abs=1e-12)


def alpha_ndcg(ranking, holds, cutoff, alpha=0.5):
    """Clarke et al. 2008, with the ideal ranking made greedily."""

    def gain(doc, seen):
        return sum((1 - alpha) ** seen[n] for n in holds if doc in holds[n])

    def total(order):
        seen, found = dict.fromkeys(holds, 0), 0.0
        for rank, doc in enumerate(order[:cutoff], start=1):
            found += gain(doc, seen) / math.log2(rank + 1)
            for n in holds:
                seen[n] += doc in holds[n]
        return found

    left, ideal, seen = sorted(set().union(*holds.values())), [], dict.fromkeys(holds, 0)
    while left and len(ideal) < cutoff:
        best = max(left, key=lambda doc: (gain(doc, seen), doc))  # ndeval: the greatest id among equals
        ideal.append(best)
        left.remove(best)
        for n in holds:
            seen[n] += best in holds[n]
    return total(ranking) / total(ideal) if ideal else 0.0


def test_alpha_ndcg_is_ir_measures_own_and_the_definition():
    import ir_measures

    run, qrels = read_run(GOLDEN / "run.trec"), read_qrels(GOLDEN / "qrels.subtopics.txt")
    scores = evaluate(run, qrels=qrels, measures=["alpha_nDCG@10", "MRecall@10"], by_query=True)
    found = {row.query_id: row.value for row in scores.rows if row.measure == "alpha_nDCG@10" and row.query_id}
    theirs = ir_measures.pyndeval.iter_calc([ir_measures.alpha_nDCG @ 10], qrels.to_frame(), run.to_frame())
    assert found == pytest.approx({metric.query_id: metric.value for metric in theirs}, abs=1e-9)
    holds: dict = {}
    for row in qrels:
        its = holds.setdefault(row.query_id, {}).setdefault(row.iteration, set())
        if row.relevance > 0:
            its.add(row.doc_id)
    literal = {query: alpha_ndcg([doc.doc_id for doc in docs], holds[query], 10) for query, docs in run.rankings()}
    assert found == pytest.approx(literal, abs=1e-5)
    assert len(found) == 40


def test_what_was_not_answered_is_refused_with_its_number():
    with pytest.raises(ToolkitError) as caught:
        evaluate(RUN, qrels=judged(label=-1))
    # 21 pairs, of which 2 + 1 + 3 hold
    assert caught.value.message.startswith("mine.txt: 15 of 21 pairs of a document and a perspective are unanswered")
    assert "--unjudged negative" in caught.value.hint


@pytest.mark.parametrize("measures", [None, ["alpha_nDCG@3", "StRecall@2", "AP_IA", "nDCG@3"]])
def test_unanswered_pairs_count_as_not_holding_where_that_is_asked_for(measures):
    scores = evaluate(RUN, qrels=judged(label=-1), measures=measures, unjudged="negative")
    assert scores.rows == evaluate(RUN, qrels=judged(), measures=measures).rows
    assert scores.notes[0].endswith("15 of 21 pairs of a document and a perspective are unanswered (label -1): "
                                    "counted as negative")  # fmt: skip


def test_negative_labels_without_subtopics_are_labels_as_before():
    junk = Qrels.from_rows([Qrel("a", "d1", -1), Qrel("a", "d2", 1), Qrel("b", "d1", -2)])
    scores = evaluate(RUN, qrels=junk, measures=["RR"])
    assert scores.value("RR", mode="") == 0.25  # a: rank 2; b: nothing relevant
    assert not any("answered" in note for note in scores.notes)


def test_spam_labels_of_a_diversity_track_are_no_unanswered_pairs():
    spam = Qrels.from_rows([Qrel("a", "d1", 1, "1"), Qrel("a", "d2", -2, "2")])
    assert evaluate(RUN, qrels=spam, measures=["MRecall@3"]).value("MRecall@3", mode="") == 0.0


def test_pairs_without_a_line_do_not_hold_and_are_counted_down_to_the_deepest_cutoff():
    lacking = judged(skip={("a", "1", "d2"), ("c", "3", "d3"), ("c", "2", "d1")})
    scores = evaluate(RUN, qrels=lacking, measures=["MRecall@2", "PerspectiveP@1"])
    # two of the top 2 of each question, for 2, 2 and 3 perspectives: 14 pairs, of which a/1/d2 and c/2/d1 have no line
    assert "mine: 2 of 14 pairs of a top 2 document and a perspective have no judgment: counted as negative" in scores.notes
    assert scores.value("PerspectiveP@1", mode="") == pytest.approx(2 / 3)
    assert not any("have no line" in note for note in evaluate(RUN, qrels=judged()).notes)


def test_types_are_numbers_of_perspectives_where_nobody_names_them():
    scores = evaluate(RUN, qrels=judged(), measures=["MRecall@3"], by_type=True)
    found = {row.group: (row.value, row.queries) for row in scores.rows}
    assert found == {"all": (pytest.approx(2 / 3), 3), "type 2 perspectives": (0.5, 2), "type 3 or more perspectives": (1.0, 1)}
    assert scores.notes[0] == "types of questions are their numbers of perspectives: the data name none"


def test_types_need_something_that_tells_them():
    with pytest.raises(ToolkitError, match="has no types of questions"):
        evaluate(RUN, qrels=Qrels.from_rows([Qrel("a", "d1", 1)]), by_type=True)
