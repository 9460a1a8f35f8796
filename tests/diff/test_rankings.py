"""How alike rankings are: the golden values, and what must hold of any two."""

import json
from pathlib import Path

import numpy as np
import pytest

from toolkit.diff.rankings import kendall_tau, rbo

pytestmark = pytest.mark.unit

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "stats"
INPUTS, EXPECTED = (json.loads((GOLDEN / f"{name}.json").read_text()) for name in ("inputs", "expected"))


@pytest.mark.parametrize("over", ["common", "union"])
def test_kendalls_tau(over):
    tau = kendall_tau(INPUTS["ranking_1"], INPUTS["ranking_2"], over)
    assert tau == pytest.approx(EXPECTED["kendall_tau_b"][over], abs=1e-12)


@pytest.mark.parametrize("pair", EXPECTED["rbo_ext"])
def test_rank_biased_overlap(pair):
    rankings = [np.array(INPUTS[f"ranking_{number}"]) for number in pair.split("_")]
    assert rbo(*rankings) == pytest.approx(EXPECTED["rbo_ext"][pair], abs=1e-12)
    assert rbo(*reversed(rankings)) == pytest.approx(EXPECTED["rbo_ext"][pair], abs=1e-12)
