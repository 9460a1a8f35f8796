"""How often a measure decides rightly: by samples of core queries whose outcome is known."""

import numpy as np
import pytest
from command import tandem

import tandem_ir
from toolkit.core.errors import ToolkitError
from toolkit.evaluate.evaluation import prepare
from toolkit.measure_cards.discrimination import _mean_and_error, _p_values, decisions, discrimination

CORES = 12


def run(path, ranks):
    """A run whose relevant document stands at these ranks, core query by core query."""
    lines = []
    for core, rank in enumerate(ranks):
        docs = [f"n{place}" for place in range(1, 10)]
        docs.insert(rank - 1, "g")
        lines += [f"q{core} Q0 {doc} {place} {20 - place} {path.stem}" for place, doc in enumerate(docs, 1)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def judged(tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_text("".join(f"q{core} 0 g 1\n" for core in range(CORES)))
    return {"qrels": [str(path)], "measures": ["RR@10"]}


def decided(tmp_path, judged, *ranks, shares=(1.0,)):
    files = [run(tmp_path / f"run{number}.trec", each) for number, each in enumerate(ranks)]
    given = prepare(files, None, judged["qrels"], None, "tandem", measures=judged["measures"], apart=True)
    return decisions(given, judged["measures"], shares=shares)


def test_a_run_that_is_better_on_every_core_query_is_always_found_better(tmp_path, judged):
    (row,) = decided(tmp_path, judged, [1] * CORES, [2] * CORES)
    assert (row.measure, row.core_queries, row.pairs) == ("RR@10", CORES, 1)
    assert row.right == row.apart == 1


def test_runs_that_are_as_often_better_are_hardly_told_apart(tmp_path, judged):
    (row,) = decided(tmp_path, judged, [1] * 7 + [2] * 5, [2] * 7 + [1] * 5)
    assert 0.5 < row.right < 0.9
    assert row.apart < 0.25


def test_more_core_queries_decide_more_often(tmp_path, judged):
    rows = decided(tmp_path, judged, [1] * 9 + [2] * 3, [2] * 9 + [1] * 3, shares=(0.25, 1.0, 4.0))
    assert [row.core_queries for row in rows] == [3, 12, 48]
    assert rows[0].right < rows[1].right < rows[2].right
    assert rows[1].apart < rows[2].apart


def test_pairs_without_any_difference_do_not_count(tmp_path, judged):
    (row,) = decided(tmp_path, judged, [1] * CORES, [1] * CORES, [2] * CORES)
    assert row.pairs == 2
    with pytest.raises(ToolkitError, match="no measure has a value that differs"):
        decided(tmp_path, judged, [1] * CORES, [1] * CORES)


def test_of_equal_systems_about_one_in_twenty_is_told_apart():
    generator = np.random.default_rng(1)
    values = [generator.normal(size=(2000, 20)), generator.normal(size=(2000, 20))]
    p = _p_values(values, *_mean_and_error(values), generator)
    assert 0.035 < (p < 0.05).mean() < 0.065


def test_one_run_alone_is_refused_and_registered_runs_stand_in(tmp_path, judged):
    with pytest.raises(ToolkitError, match="one run alone cannot be told apart"):
        discrimination([run(tmp_path / "one.trec", [1] * CORES)], **judged)
    refused = tandem("measures", "discrimination", "--qrels", judged["qrels"][0])
    assert (refused.returncode, refused.stderr.splitlines()[0]) == (2, "error: no run is named")
    frame = tandem_ir.measure_discrimination(benchmark="instructir-mini", measures=["Robustness@10"])
    assert list(frame.columns) == ["measure", "mode", "core queries", "right", "apart", "pairs"]
    assert frame["core queries"].is_monotonic_increasing
