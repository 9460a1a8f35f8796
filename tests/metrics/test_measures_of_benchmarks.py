"""Measures of IFIR, ExcluIR, BRIGHT-Pro, CSFCube and MultiConIR: values worked out by hand, and literal second versions."""

import itertools
import math
from dataclasses import replace

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import metrics
from toolkit.core.modes import Modes
from toolkit.core.qrels import Qrel, Qrels, join_qrels
from toolkit.core.runs import Run


def near(value):
    return pytest.approx(value, abs=1e-9, rel=0)


def run_of(rankings):
    """Query -> documents, best first, one letter each or a list."""
    return Run.from_dict({query: {doc: -float(rank) for rank, doc in enumerate(docs)} for query, docs in rankings.items()})


def qrels_of(labels, modes=None):
    rows = [Qrel(query, doc, label) for query, judged in labels.items() for doc, label in judged.items()]
    return replace(Qrels.from_rows(rows), modes=modes)


def values(name, rankings, qrels):
    (found,) = metrics.evaluate([name], run_of(rankings), qrels)
    return dict(zip(found.query_ids, found.values.tolist(), strict=True))


# BRIGHT-Pro: aspect 1 (weight 3) is held by a and b, aspect 2 (weight 1) by c, aspect 3 (weight 2) by nobody
ASPECTS = replace(
    Qrels.from_rows([Qrel("q", "a", 1, "1"), Qrel("q", "b", 1, "1"), Qrel("q", "c", 1, "2")]),
    weights={("q", "1"): 3.0, ("q", "2"): 1.0, ("q", "3"): 2.0},
)


def test_weighted_alpha_ndcg_by_hand():
    # shares 1/2, 1/6, 1/3. gained: a at 2: .5 / log2 3 = .315465; b at 3: .25 / 2 = .125; c at 4: (1/6) / log2 5 = .071780
    # ideal: .5 / 1, then .25 / log2 3 = .157732 (b before c, for .25 > 1/6), then (1/6) / 2 = .083333; in all .741066
    assert values("weighted_alpha_nDCG@25", {"q": "xabc"}, ASPECTS)["q"] == pytest.approx(0.512245 / 0.741066, abs=2e-6)
    assert values("weighted_alpha_nDCG@25", {"q": "abc"}, ASPECTS)["q"] == near(1)
    # down to rank 1 c gains 1/6 of 1/2
    assert values("weighted_alpha_nDCG@1", {"q": "cab"}, ASPECTS)["q"] == near(1 / 3)
    # alpha 1: b gains nothing after a. c at 2 is (1/6) / log2 3 of the ideal's, b between them moves it to 3: / 2
    ideal = 0.5 + (1 / 6) / math.log2(3)
    assert values("weighted_alpha_nDCG(alpha=1.0)@25", {"q": "abc"}, ASPECTS)["q"] == near((0.5 + 1 / 12) / ideal)


def test_aspect_recall_by_hand():
    assert values("ARecall@1", {"q": "xabc"}, ASPECTS)["q"] == 0
    assert values("ARecall@3", {"q": "xabc"}, ASPECTS)["q"] == near(1 / 2)
    assert values("ARecall@4", {"q": "xabc"}, ASPECTS)["q"] == near(2 / 3)  # aspect 3 has no document: no more can be had
    assert values("ARecall@4", {"q": "xabc"}, replace(ASPECTS, weights={}))["q"] == near(1)  # two aspects of equal weight


def test_weights_stay_with_their_query_when_qrels_are_joined_and_renamed():
    other = replace(ASPECTS.with_query_ids(["p"]), weights={})
    joined = join_qrels([ASPECTS, other])
    assert values("ARecall@1", {"q": "c", "p": "c"}, joined) == {"q": near(1 / 6), "p": near(1 / 2)}
    assert values("ARecall@1", {"r": "c"}, ASPECTS.with_query_ids(["r"])) == {"r": near(1 / 6)}


@st.composite
def aspect_cases(draw):
    """A ranking and judgments of up to four aspects with weights; some documents hold several, some aspects have none."""
    docs = "abcdef"
    ranking = draw(st.lists(st.sampled_from(docs + "xy"), unique=True, min_size=1))
    held = draw(st.dictionaries(st.sampled_from(docs), st.sets(st.sampled_from("1234"), min_size=1), min_size=1))
    weights = {aspect: float(weight) for aspect, weight in zip("1234", draw(st.tuples(*[st.integers(1, 3)] * 4)), strict=True)}
    return ranking, held, weights


def literal_alpha_dcg(ranking, held, weights, alpha, k):
    seen, total = dict.fromkeys(weights, 0), 0.0
    for rank, doc in enumerate(ranking[:k], 1):
        for aspect in sorted(held.get(doc, ())):
            total += weights[aspect] / sum(weights.values()) * (1 - alpha) ** seen[aspect] / math.log2(rank + 1)
            seen[aspect] += 1
    return total


def literal_ideal(held, weights, alpha, k):
    order = []
    while len(order) < min(k, len(held)):
        now = literal_alpha_dcg(order, held, weights, alpha, k)
        left = sorted(set(held) - set(order), reverse=True)  # of equal gains the greatest id, as max keeps the first
        gain = {doc: round(literal_alpha_dcg([*order, doc], held, weights, alpha, k) - now, 12) for doc in left}
        order.append(max(left, key=gain.__getitem__))
    return literal_alpha_dcg(order, held, weights, alpha, k)


@given(aspect_cases(), st.sampled_from([0.0, 0.5]), st.sampled_from([1, 3, 25]))
def test_weighted_measures_are_their_definitions(case, alpha, k):
    ranking, held, weights = case
    held = {doc: aspects for doc, aspects in held.items() if len(aspects) == 1}  # as published: no choice between equal ideals
    if not held:
        return
    qrels = Qrels.from_rows(Qrel("q", doc, 1, aspect) for doc, aspects in held.items() for aspect in aspects)
    qrels = replace(qrels, weights={("q", aspect): weight for aspect, weight in weights.items()})
    expected = literal_alpha_dcg(ranking, held, weights, alpha, k) / literal_ideal(held, weights, alpha, k)
    assert values(f"weighted_alpha_nDCG(alpha={alpha})@{k}", {"q": ranking}, qrels)["q"] == near(expected)
    covered = {aspect for doc in ranking[:k] for aspect in held.get(doc, ())}
    share = sum(weights[aspect] for aspect in covered) / sum(weights.values())
    assert values(f"ARecall@{k}", {"q": ranking}, qrels)["q"] == near(share)


@given(aspect_cases(), st.sampled_from([1, 3, 10]))
def test_without_weights_it_is_ndevals_alpha_ndcg(case, k):
    ranking, held, _ = case
    qrels = Qrels.from_rows(Qrel("q", doc, 1, aspect) for doc, aspects in held.items() for aspect in sorted(aspects))
    expected = ir_measures.alpha_nDCG(cutoff=k).calc_aggregate(qrels.to_frame(), run_of({"q": ranking}).to_frame())
    assert values(f"weighted_alpha_nDCG@{k}", {"q": ranking}, qrels)["q"] == pytest.approx(expected, abs=2e-6)


# ExcluIR: p is asked for, n is ruled out
EXCLUDED = {"q": {"p": 1, "n": 0}}


@pytest.mark.parametrize(
    ("ranking", "delta_r", "delta_rr", "right"),
    [
        ("pn", 1, 1 - 1 / 2, 1),
        ("np", -1, 1 / 2 - 1, 0),
        ("xpn", 0, 1 / 2 - 1 / 3, 1),
        ("xpyn", 0, 1 / 2, 1),  # n beyond the cutoff of 3
        ("xn", 0, -1 / 2, 0),  # p is not retrieved
        ("xp", 0, 1 / 2, 1),  # n is not retrieved
        ("xy", 0, 0, 0),  # neither: wrong
        ("xxxxp", 0, 0, 0),  # p beyond it
        ([*"xyznp"], 0, 0, 0),  # both beyond it
    ],
)
def test_what_is_ruled_out_should_stand_below_what_is_asked_for(ranking, delta_r, delta_rr, right):
    ranking = {"q": [f"x{place}" if doc == "x" else doc for place, doc in enumerate(ranking)]}
    qrels = qrels_of(EXCLUDED)
    assert values("DeltaR@1", ranking, qrels) == {"q": near(delta_r)}
    assert values("DeltaRR@3", ranking, qrels) == {"q": near(delta_rr)}
    assert values("RightRank@3", ranking, qrels) == {"q": right}


def test_a_query_that_rules_nothing_out_is_left_out():
    qrels = qrels_of({"q": {"p": 1, "n": 0}, "both": {"p": 1, "n": 1}})
    for name in ("DeltaR@1", "DeltaRR@10", "RightRank@10"):
        assert set(values(name, {"q": "pn", "both": "pn"}, qrels)) == {"q"}


@given(st.permutations("pnabc"), st.integers(0, 5), st.integers(1, 5))
def test_right_rank_is_its_definition(order, length, k):
    top = list(order)[:length] or ["z"]
    kept, qrels = top[:k], qrels_of(EXCLUDED)
    right = "p" in kept and ("n" not in kept or kept.index("p") < kept.index("n"))
    assert values(f"RightRank@{k}", {"q": top}, qrels) == {"q": float(right)}
    inverse = {doc: 1 / rank for rank, doc in enumerate(kept, 1)}
    assert values(f"DeltaRR@{k}", {"q": top}, qrels) == {"q": near(inverse.get("p", 0) - inverse.get("n", 0))}
    assert values(f"DeltaR@{k}", {"q": top}, qrels) == {"q": near(("p" in kept) - ("n" in kept))}


# MultiConIR: three conditions; p meets all, h1 two, h2 one, h3 none
CONDITIONS = {"p": 3, "h1": 2, "h2": 1, "h3": 0}
PHRASINGS = Modes({"listed": "base", "natural": "instructed"})


@pytest.mark.parametrize(
    ("ranking", "share"),
    [
        (["p", "h1", "h2", "h3"], 1),
        (["h3", "h2", "h1", "p"], 0),
        (["h1", "p", "h2", "h3"], 2 / 3),  # p > h1 is lost
        (["x", "p", "h1"], 2 / 3),  # h2 and h3 are not retrieved: in no order
        (["x"], 0),
    ],
)
def test_monotonicity_by_hand(ranking, share):
    assert values("Monotonicity", {"q": ranking}, qrels_of({"q": CONDITIONS})) == {"q": near(share)}


def test_with_two_documents_monotonicity_is_the_win_rate():
    qrels = qrels_of({"a": {"p": 1, "h": 0}, "b": {"p": 1, "h": 0}, "same": {"p": 1, "h": 1}})
    assert values("Monotonicity", {"a": "ph", "b": "hp", "same": "ph"}, qrels) == {"a": 1, "b": 0}


def test_flips_between_phrasings_by_hand():
    judged = {"q-listed": CONDITIONS, "q-natural": CONDITIONS, "r-listed": CONDITIONS}
    rankings = {"q-listed": ["p", "h1", "h2", "h3"], "q-natural": ["h1", "p", "h2", "h3"], "r-listed": ["p"]}
    # of p > h1, h1 > h2, h2 > h3 the first comes out otherwise; r is judged in one phrasing only
    assert values("Flips", rankings, qrels_of(judged, PHRASINGS)) == {"q": near(1 / 3)}
    del rankings["q-natural"]
    assert values("Flips", rankings, qrels_of(judged, PHRASINGS)) == {"q": 1}  # absent: the worst


@given(st.permutations(list(CONDITIONS)), st.permutations(list(CONDITIONS)), st.integers(1, 4))
def test_order_measures_are_their_definitions(one, other, length):
    one, other = one[:length], other[:length]

    def won(ranking):
        place = {doc: rank for rank, doc in enumerate(ranking)}
        best = list(CONDITIONS)
        return [place.get(high, 9) < place.get(low, 9) for high, low in itertools.pairwise(best)]

    qrels = qrels_of({"q-listed": CONDITIONS, "q-natural": CONDITIONS}, PHRASINGS)
    rankings = {"q-listed": one, "q-natural": other}
    found = [of_mode.values.tolist() for of_mode in metrics.evaluate(["Monotonicity"], run_of(rankings), qrels)]
    assert found == [[near(sum(won(one)) / 3)], [near(sum(won(other)) / 3)]]
    flipped = sum(a != b for a, b in zip(won(one), won(other), strict=True))
    assert values("Flips", rankings, qrels) == {"q": near(flipped / 3)}


def test_ndcg_over_what_was_retrieved_by_hand():
    qrels = qrels_of({"q": {"a": 1, "b": 1, "c": 1}})
    # a at 2, b and c nowhere: the best order of x, a has a first
    assert values("nDCG_retrieved@20", {"q": "xa"}, qrels)["q"] == near(1 / math.log2(3))
    assert values("nDCG_retrieved@20", {"q": "ax"}, qrels)["q"] == near(1)
    assert values("nDCG@20", {"q": "ax"}, qrels)["q"] == near(1 / (1 + 1 / math.log2(3) + 1 / 2))
    assert values("nDCG_retrieved@20", {"q": "xy"}, qrels)["q"] == 0


def test_the_older_discount_by_hand():
    # gains 2, 1, 2, 0 in rank order, the worked example of the implementation that CSFCube's evaluation uses
    labels = qrels_of({"q": {"a": 2, "b": 1, "c": 2, "d": 0}})
    assert values("nDCG_JK", {"q": "abcd"}, labels)["q"] == near(0.9203032077642922)
    assert values("nDCG_JK@1", {"q": "bacd"}, labels)["q"] == near(1 / 2)
    assert values("nDCG_JK@2", {"q": "abcd"}, labels)["q"] == near(3 / 4)  # neither rank is discounted
    # half of a pool of four are two documents; of a quarter of it, one
    assert values("nDCG_JK(percent=50)", {"q": "abcd"}, labels)["q"] == near(3 / 4)
    assert values("nDCG_JK(percent=25)", {"q": "bacd"}, labels)["q"] == near(1 / 2)


def test_precision_at_the_last_relevant_document_by_hand():
    labels = qrels_of({"q": {"a": 3, "b": 2, "c": 1}})
    assert values("LastRelevantP(rel=2)", {"q": "xayb"}, labels)["q"] == near(2 / 4)
    assert values("LastRelevantP(rel=2)", {"q": "xa"}, labels)["q"] == near(1 / 2)  # b is nowhere
    assert values("LastRelevantP(rel=2)", {"q": "xc"}, labels)["q"] == 0


def literal_dcg(gains, old):
    return sum(gain / (max(math.log2(rank), 1.0) if old else math.log2(rank + 1)) for rank, gain in enumerate(gains, 1))


@given(
    st.permutations("abcdefxy"),
    st.integers(1, 8),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 3), min_size=1),
    st.sampled_from([1, 2, 5]),
)
def test_variants_of_ndcg_are_their_definitions(order, length, labels, k):
    ranking = order[:length]
    gains, possible = [labels.get(doc, 0) for doc in ranking], sorted(labels.values(), reverse=True)
    qrels = qrels_of({"q": labels})

    def ratio(gained, ideal):
        return near(gained / ideal if ideal else 0)

    retrieved = ratio(literal_dcg(gains[:k], False), literal_dcg(sorted(gains[:k], reverse=True), False))
    assert values(f"nDCG_retrieved@{k}", {"q": ranking}, qrels)["q"] == retrieved
    assert values(f"nDCG_JK@{k}", {"q": ranking}, qrels)["q"] == ratio(
        literal_dcg(gains[:k], True), literal_dcg(possible[:k], True)
    )
    part = int(0.2 * len(labels))
    share = ratio(literal_dcg(gains[:part], True), literal_dcg(possible[:part], True))
    assert values("nDCG_JK(percent=20)", {"q": ranking}, qrels)["q"] == share
    hits = [rank for rank, gain in enumerate(gains, 1) if gain >= 2]
    assert values("LastRelevantP(rel=2)", {"q": ranking}, qrels)["q"] == near(len(hits) / hits[-1] if hits else 0)
