"""How often a measure decides rightly: by samples of core queries whose outcome is known."""

import numpy as np
import pytest
from command import tandem

import tandem_ir
from toolkit.core.errors import ToolkitError
from toolkit.evaluation.scores.evaluation import prepare
from toolkit.studies.measure_cards.discrimination import decisions, measure_discrimination

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


def decided(tmp_path, judged, *ranks):
    files = [run(tmp_path / f"run{number}.trec", each) for number, each in enumerate(ranks)]
    given = prepare(files, None, judged["qrels"], None, "tandem", measures=judged["measures"], apart=True)
    return decisions(given, judged["measures"])


def test_a_run_that_is_better_on_every_core_query_is_always_found_better(tmp_path, judged):
    rows = decided(tmp_path, judged, [1] * CORES, [2] * CORES)
    assert [(row.measure, row.core_queries, row.pairs) for row in rows] == [("RR@10", size, 1) for size in (3, 6, 12)]
    assert [row.agree for row in rows] == [1, 1, None]
    assert [row.significant for row in rows] == [0, 1, 1]  # of three nothing is tested


def test_a_part_of_what_is_even_leaves_the_contrary(tmp_path, judged):
    # as many core queries for the one as for the other: where a half has more of the one, the other half has fewer
    rows = decided(tmp_path, judged, [1] * 6 + [2] * 6, [2] * 6 + [1] * 6)
    assert rows[1].agree < 0.5
    assert rows[2].significant == 0


def test_equal_runs_agree_by_chance_and_differ_never(tmp_path, judged):
    rows = decided(tmp_path, judged, [1] * CORES, [1] * CORES)
    assert [(row.agree, row.significant) for row in rows] == [(0.5, 0), (0.5, 0), (None, 0)]


def test_larger_parts_are_more_often_significant(tmp_path, judged):
    rows = decided(tmp_path, judged, [1] * 11 + [2], [2, 3, 4, 5, 6, 7, 2, 3, 4, 5, 6, 1])
    assert rows[1].agree > 0.8
    assert rows[0].significant < rows[2].significant == 1


def test_systems_that_differ_by_chance_agree_half_of_the_time(tmp_path, judged):
    # 40 runs whose relevant document is at rank 1 or 2 by chance: 780 pairs
    drawn = np.random.default_rng(3).integers(1, 3, size=(40, CORES))
    quarter, half, whole = decided(tmp_path, judged, *drawn.tolist())
    assert 0.42 < quarter.agree < 0.55
    assert 0.42 < half.agree < 0.55
    assert whole.significant < 0.1


def test_a_group_of_few_core_queries_is_refused(tmp_path):
    (tmp_path / "few.txt").write_text("q0 0 g 1\nq1 0 g 1\n")
    files = [run(tmp_path / f"run{number}.trec", [number, number]) for number in (1, 2)]
    with pytest.raises(ToolkitError, match="a group has 2 core queries"):
        measure_discrimination(files, qrels=[str(tmp_path / "few.txt")], measures=["RR@10"])


def test_one_run_alone_is_refused_and_registered_runs_stand_in(tmp_path, judged):
    with pytest.raises(ToolkitError, match="one run alone cannot be told apart"):
        measure_discrimination([run(tmp_path / "one.trec", [1] * CORES)], **judged)
    refused = tandem("measures", "discrimination", "--qrels", judged["qrels"][0])
    assert (refused.returncode, refused.stderr.splitlines()[0]) == (2, "error: no run is named")
    frame = tandem_ir.measure_discrimination(benchmark="instructir-mini", measures=["Robustness@10"]).to_frame()
    assert list(frame.columns) == ["measure", "mode", "core queries", "agree", "significant", "pairs"]
    assert frame["core queries"].is_monotonic_increasing
