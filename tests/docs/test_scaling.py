"""docs/scaling.md has the tables that its commands print, and the fit is a fit."""

import sys

import pytest
from command import ROOT

BENCH = ROOT / "scripts" / "bench"


@pytest.fixture
def growth(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    import bench_growth

    return bench_growth


def test_the_page_has_the_tables_that_the_model_prints(growth, monkeypatch, capsys):
    import growth_model

    monkeypatch.setattr(sys, "argv", ["growth_model.py", str(BENCH / "growth.json")])
    growth_model.main()
    printed, page = capsys.readouterr().out, (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    tables = [table for table in printed.split("\n\n") if table.strip()]
    assert len(tables) == 4
    for table in tables:
        assert table.strip() in page


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_law_is_found_whatever_the_start_takes(growth, power):
    def taken(size, more):
        return growth.Taken(size, 1.0, 3.0 + more, 0, 0)

    points = [taken(size, size**power) for size in (1000, 10_000, 100_000)]
    assert growth.exponent(points, taken(10, 0.0), "cpu") == pytest.approx(power)
    assert growth.exponent(points[:1], taken(10, 0.0), "cpu") is None
    assert growth.exponent(points, taken(10, 0.0), "disk") is None
    barely = [taken(size, 0.1 * growth.SEEN) for size in (10, 100)]
    assert growth.exponent(barely, taken(10, 0.0), "cpu") is None


@pytest.mark.process
def test_a_process_is_measured_with_its_own_peak_and_a_failure_is_shown(growth, tmp_path):
    wall, cpu, memory = growth.measure(["--version"], None, tmp_path / "log")
    assert cpu > 0
    assert wall > 0
    assert 5e6 < memory < 1e9
    with pytest.raises(SystemExit, match="ended with 2"):
        growth.measure(["evaluate", str(tmp_path / "none.trec")], None, tmp_path / "log")
