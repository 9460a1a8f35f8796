"""How alike rankings are: the golden values, and what must hold of any two."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from toolkit.core.runs import Run, ScoredDoc
from toolkit.reporting.diff.rankings import discordant, likeness, taus_of_ranks

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "stats"
INPUTS, EXPECTED = (json.loads((GOLDEN / f"{name}.json").read_text()) for name in ("inputs", "expected"))


def test_kendalls_tau_is_over_the_documents_in_common():
    first, second = ({doc: rank for rank, doc in enumerate(INPUTS[f"ranking_{number}"])} for number in (1, 2))
    ranks = [(first[doc], second[doc]) for doc in second if doc in first]
    tau = taus_of_ranks([tuple(np.array(ranks, np.int32).T)])
    assert tau == pytest.approx([EXPECTED["kendall_tau_b"]["common"]], abs=1e-12)


@pytest.mark.parametrize("pair", EXPECTED["rbo_ext"])
def test_rank_biased_overlap(pair):
    rankings = [INPUTS[f"ranking_{number}"] for number in pair.split("_")]
    runs = [Run.from_rows(ScoredDoc("q", str(doc), -rank) for rank, doc in enumerate(docs)) for docs in rankings]
    assert [row.rbo for row in likeness(*runs)] == pytest.approx([EXPECTED["rbo_ext"][pair]], abs=1e-12)
    assert [row.rbo for row in likeness(*reversed(runs))] == pytest.approx([EXPECTED["rbo_ext"][pair]], abs=1e-12)


@given(st.lists(st.permutations(range(9)).flatmap(lambda order: st.integers(0, 9).map(lambda n: order[:n])), max_size=6))
def test_discordant_pairs_are_those_counted_one_by_one(orders):
    orders = [np.argsort(np.argsort(order)) for order in orders]  # permutations of different lengths
    pairs = [sum(a > b for a, b in itertools.combinations(order.tolist(), 2)) for order in orders]
    assert discordant(orders) == pairs


def test_kendalls_tau_is_scipys_to_the_last_digit(monkeypatch):
    monkeypatch.setattr("toolkit.reporting.diff.rankings.AT_ONCE", 700)  # several queries at a time, and one alone
    generator = np.random.default_rng(0)
    shared = [(generator.permutation(3 * n)[:n], np.arange(n)) for n in (2, 1000, 0, 3, 256, 257, 1, 100)]
    ours = taus_of_ranks(shared)
    wanted = [stats.kendalltau(*pair).statistic if len(pair[0]) > 1 else math.nan for pair in shared]
    np.testing.assert_array_equal(ours, wanted)
