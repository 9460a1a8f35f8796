"""What papers print of a measure, counted from their tables."""

import json

from command import tandem

from toolkit.core.tables.aligned_table import Number
from toolkit.registry.published.paper_tables import cells
from toolkit.studies.measure_cards.card_tables import agreement_table, ours, published_table


def test_twelve_of_eighteen_systems_do_worse_than_one_that_ignores_instructions():
    printed = [cell.value for cell in cells("infosearch") if (cell.table, cell.group, cell.measure) == ("2", "average", "WISE")]
    (row,) = published_table("WISE").rows
    assert row == ("infosearch", "", 18, Number(min(printed)), Number(max(printed)), sum(value < 0 for value in printed))
    assert row[-1] == 12


def test_a_measure_whose_zero_is_nothing_is_not_compared_with_it():
    assert {row[-1] for row in published_table("GoldRank").rows} == {None}
    assert [row[0] for row in published_table("MRecall").rows] == ["berds"]
    assert published_table("DeltaR").rows == []


def test_agreement_is_that_of_the_command_over_published_tables():
    matrix = json.loads(tandem("benchmarks", "published", "infosearch", "--agreement", "--format", "json").stdout)["rows"]
    expected = {row["second"]: round(row["tau"], 6) for row in matrix if row["first"] == "WISE" and row["second"] != "WISE"}
    assert {row[2]: round(row[3].value, 6) for row in agreement_table("WISE").rows} == expected
    assert len(expected) == 5


def test_a_paper_s_name_of_a_measure_is_ours():
    assert ours("infosearch", "gold_rank") == "GoldRank"
    assert ours("berds", "P@5") == "PerspectiveP"
    assert ours("infosearch", "n_queries") == ""
