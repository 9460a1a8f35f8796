"""How often what is concluded is wrong where the truth is known: what scripts/simulate_inference prints, with fewer samples."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import numpy as np
import pytest
from command import ROOT

TIMES = 1000


@pytest.fixture(scope="module")
def simulation():
    loader = SourceFileLoader("simulate_inference", str(ROOT / "scripts" / "simulate_inference"))
    module = module_from_spec(spec_from_loader("simulate_inference", loader))
    loader.exec_module(module)
    return module


@pytest.mark.parametrize("number", [("WISE@20", "paired"), ("pMRR", "paired"), ("nDCG@10", "ins"), ("Robustness@10", "ins")])
def test_an_average_without_a_difference_is_marked_in_3_to_7_percent(simulation, number):
    generator = np.random.default_rng(4)
    found = [simulation.marked(groups, TIMES, generator) for groups in simulation.populations(number).values()]
    shares = [share / (1 - untested) for _, share, untested in found if untested < 0.5]
    assert len(shares) == 10
    assert 0.03 <= np.mean(shares) <= 0.07


def test_the_gate_lets_no_loss_through_and_equal_systems_stay_together(simulation):
    generator = np.random.default_rng(5)
    wise = simulation.populations(("WISE@20", "paired"))["bm25", "all-minilm-l6-v2"]
    fail, passed, _ = simulation.gate(wise, 0.04, TIMES, generator)
    assert passed <= 0.015
    assert fail >= 0.05
    assert simulation.gate(wise, 0.12, TIMES, generator)[0] >= 0.6
    assert simulation.equal_systems(wise, 10, 300, generator) <= 0.09
