"""What a benchmark shows: bootstrap power against the closed form, by simulation, and the command."""

import json

import numpy as np
import pytest
from command import ROOT, tandem
from scipy import stats

from toolkit import registry
from toolkit.analyze.power import Resampled, power
from toolkit.core.errors import ToolkitError
from toolkit.evaluate.evaluation import prepare
from toolkit.measures.estimates import of_core_queries

BASELINES = ROOT / "runs" / "baselines"
BM25, RULES, MINILM = (
    str(BASELINES / f"infosearch-mini.{name}.v2.trec.gz") for name in ("bm25", "bm25+rules", "all-minilm-l6-v2")
)


def test_of_normal_differences_the_bootstrap_has_the_closed_form():
    values = np.random.default_rng(0).normal(0, 1, 400)
    estimate = of_core_queries(values, np.arange(400))
    assert Resampled(estimate, samples=20_000).detectable() == pytest.approx(estimate.detectable(), rel=0.03)
    assert Resampled(estimate, samples=20_000).needed(0.2) == pytest.approx(estimate.needed(0.2), rel=0.05)


@pytest.mark.parametrize("n", [15, 60])
def test_a_detectable_difference_is_shown_in_so_many_samples(n):
    population = np.random.default_rng(1).exponential(1, 3000) - 1  # skewed
    estimate = of_core_queries(population, np.arange(3000))
    size = Resampled(estimate, samples=4000).detectable(n)
    generator = np.random.default_rng(2)
    shown = {}
    for sign in (-1, 1):
        samples = generator.choice(population - population.mean(), (4000, n)) + sign * size
        margins = stats.t.ppf(0.975, n - 1) * stats.sem(samples, axis=1)
        shown[sign] = (sign * samples.mean(axis=1) > margins).mean()
    assert min(shown.values()) == pytest.approx(0.8, abs=0.03)  # of a rise or a fall: the harder to show


def test_the_average_shows_less_than_any_of_its_groups():
    rows = power(prepare([BM25, MINILM], "infosearch-mini", None, None, "tandem", apart=True), measures=["WISE@20"])
    assert [row.group for row in rows][-1] == "average"
    assert len(rows) == 7
    cores = registry.benchmark("infosearch-mini").counts["cores"]
    assert rows[-1].core_queries == sum(row.core_queries for row in rows[:-1]) == cores
    assert rows[-1].detectable < min(row.detectable for row in rows[:-1])
    assert rows[-1].needed[0.01] > rows[-1].needed[0.02] > rows[-1].needed[0.05] > cores


def test_what_the_detectable_difference_needs_is_what_there_is():
    prepared = prepare([BM25, MINILM], "infosearch-mini-keyword", None, None, "tandem", apart=True)
    size = power(prepared, measures=["WISE@20"])[0].detectable
    (row,) = power(prepared, measures=["WISE@20"], differences=[size])
    assert row.needed[size] == pytest.approx(row.core_queries, abs=1)


def test_what_never_differs_has_no_detectable_difference():
    rows = power(prepare([BM25, RULES], "infosearch-mini-ori", None, None, "tandem", apart=True), measures=["nDCG@10"])
    assert {str(row.detectable) for row in rows} == {"nan"}
    assert {row.needed[0.01] for row in rows} == {None}


def test_the_command(tmp_path):
    words = ["analyze", "power", "--benchmark", "infosearch-mini-audience", "-m", "WISE@20", "--samples", "200"]
    registered = tandem(*words, "--format", "json")
    (row,) = json.loads(registered.stdout)["rows"]
    assert (row["measure"], row["core queries"]) == ("WISE@20", 12)
    assert row["largest"] >= row["detectable"] > 0
    one = tandem(*words, "--run", BM25, "--difference", "0.1")
    assert "of one run: its own values stand for the differences" in one.stdout
    assert "largest" not in one.stdout.splitlines()[1]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"share": 1}, "the power is 1"),
        ({"differences": [0]}, "a difference is 0"),
        ({"differences": [float("nan")]}, "a difference is nan"),
        ({"samples": 1}, "samples is 1"),
        ({"seed": -1}, "the seed is -1"),
    ],
)
def test_wrong_settings_are_said(how, message):
    prepared = prepare([BM25], "infosearch-mini-audience", None, None, "tandem", apart=True)
    with pytest.raises(ToolkitError, match=message):
        power(prepared, measures=["WISE@20"], **how)


def test_without_registered_runs_one_must_be_named():
    done = tandem("analyze", "power", "--benchmark", "nevir")
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "error: no registered run of nevir")
