"""Of one pair of runs and one number every command says the same, and says it only where it holds: all registered runs."""

import itertools
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from command import ROOT

import tandem_ir
from toolkit.evaluation import evaluate
from toolkit.files.formats import read_run
from toolkit.reporting.diff.compare_runs import diff
from toolkit.reporting.report.collect import collect
from toolkit.reporting.report.differences import differences
from toolkit.reporting.report.model import Key, leading
from toolkit.reporting.site.site_pages import ALIKE, BEST, marks
from toolkit.reporting.tables.rank_table import ranked

MINIS = ("infosearch-mini", "instructir-mini", "mfollowir-mini", "berds-mini")


@cache
def runs(mini):
    """Its registered runs in every mode, called by their files."""
    found = sorted((ROOT / "runs" / "baselines").glob(f"{mini}.*.trec.gz"))
    return [replace(read_run(file), tag=file.name.removeprefix(f"{mini}.").removesuffix(".v2.trec.gz")) for file in found]


@cache
def scores(mini, baseline):
    return evaluate(runs(mini), benchmark=mini, baseline=runs(mini)[baseline].tag)


@cache
def model(mini):
    (made,) = collect(runs(mini), [mini])
    return made


def same(a, b):
    return all(x == pytest.approx(y, abs=1e-12, nan_ok=True) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("mini", MINIS)
def test_p_is_below_5_percent_exactly_where_the_interval_leaves_0_out(mini):
    tested = 0
    for baseline in range(len(runs(mini))):
        for change in scores(mini, baseline).changes.values():
            assert (change.p < 0.05) == (change.low > 0 or change.high < 0), change
            assert math.isnan(change.p) == math.isnan(change.low) == (change.state != "tested"), change
            tested += change.state == "tested"
    assert tested >= 20


@pytest.mark.parametrize("mini", MINIS)
def test_evaluate_diff_report_and_gate_have_one_p_and_one_interval(mini):
    for first, second in itertools.combinations(range(len(runs(mini))), 2):
        a, b = runs(mini)[first], runs(mini)[second]
        (pair,) = diff([a, b], benchmark=mini)
        of_pair = {(change.group, change.mode, change.measure): change for change in pair.comparison.changes}
        tags = (a.tag, b.tag)
        of_evaluate = {key[1:]: change for key, change in scores(mini, first).changes.items() if key[0] == tags[1]}
        assert of_evaluate.keys() <= of_pair.keys()
        for key, change in of_evaluate.items():
            other = of_pair[key]
            assert same((change.p, change.low, change.high), (other.p, other.low, other.high)), key
        of_report, named = differences(model(mini)), {facts.run.tag: facts.name for facts in model(mini).runs}
        for (group, mode, measure), change in of_evaluate.items():
            shown = of_report.change(*(named[tag] for tag in tags), Key(group, measure, mode))
            if shown is not None:
                assert same((change.p, change.low, change.high), (shown.p, shown.low, shown.high)), (group, measure)
        for check in tandem_ir.gate(a, b, benchmark=mini).deciding:
            change = of_evaluate[check.group, check.mode, check.measure]
            assert same((check.low, check.high), (change.low, change.high))


@pytest.mark.parametrize("mini", MINIS)
def test_pairs_of_the_report_and_the_site_have_the_p_of_evaluate_and_none_below_5_percent_is_called_alike(mini):
    found = model(mini)
    rankings = ranked(found)
    assert leading(found) in [(key.measure, key.mode) for key in rankings]
    named = {facts.run.tag: facts.name for facts in found.runs}
    of_pairs = {}
    for first, own in enumerate(runs(mini)):
        for (run, *place), change in scores(mini, first).changes.items():
            of_pairs[named[own.tag], named[run], *place] = change.p
    for key, ranking in rankings.items():
        names = [system.name for system in ranking.systems]
        for row, column in itertools.permutations(range(len(names)), 2):
            p = of_pairs[names[row], names[column], key.group, key.mode, key.measure]
            assert ranking.pairs.p[row, column] == pytest.approx(p, nan_ok=True)
            assert not (ranking.alike(row, column) and p < 0.05)
            assert not (ranking.told_apart(row, column) and not p < 0.05)
    for column in {(key.measure, key.mode) for key in rankings}:
        of_site = marks(found, found.runs, column)
        best = [name for name, mark in of_site.items() if mark == BEST]
        for name in (name for name, mark in of_site.items() if mark == ALIKE):
            assert not of_pairs[best[0], name, found.overall, column[1], column[0]] < 0.05


def test_a_p_does_not_depend_on_what_else_is_asked_for():
    whole = scores("infosearch-mini", 0).changes
    for measure in ("WISE@20", "pMRR", "Robustness@10"):
        every = runs("infosearch-mini")
        alone = evaluate(every, benchmark="infosearch-mini", baseline=every[0].tag, measures=[measure])
        for key, change in alone.changes.items():
            if key in whole:
                assert same((change.p, change.low, change.high), (whole[key].p, whole[key].low, whole[key].high))


def test_only_primary_numbers_of_the_average_are_marked():
    for mini in MINIS:
        for baseline in range(len(runs(mini))):
            marked = {key[1:] for key, change in scores(mini, baseline).changes.items() if change.mark}
            assert len({(mode, measure) for _, mode, measure in marked}) <= 1
            assert {group for group, *_ in marked} <= {"average", "all"}
            adjusted = [change.holm for change in scores(mini, baseline).changes.values()]
            assert np.sum(~np.isnan(adjusted)) <= len(runs(mini)) - 1
