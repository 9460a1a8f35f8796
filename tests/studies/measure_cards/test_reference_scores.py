"""What blind, oracle, reversed orders and a placebo score on the benchmarks that are here."""

import json

import pytest
from command import tandem

import tandem_ir
from toolkit.core.errors import ToolkitError
from toolkit.studies.measure_cards import reference_scores

pytestmark = pytest.mark.lucene


@pytest.fixture(scope="module")
def rows():
    printed = tandem(
        "measures", "references", "infosearch-mini", "infosearch-mini-format", "mfollowir-mini", "--format", "json"
    ).stdout
    return {(row["benchmark"], row["measure"]): row for row in json.loads(printed)["rows"]}


def test_what_ignores_instructions_scores_nothing_and_what_follows_them_the_ideal(rows):
    for measure in ("WISE@20", "SICR", "pMRR"):
        row = rows["infosearch-mini", measure]
        assert row["blind"] == 0
        assert row["oracle"] == max(row[name] for name in ("bm25", "placebo", "blind", "random", "oracle", "reversed"))
    found = {measure: row for (name, measure), row in rows.items() if name == "infosearch-mini-format"}
    assert found["WISE@20"]["oracle"] == pytest.approx(found["WISE_ideal@20"]["bm25"])
    assert found["GoldRank"]["oracle"] == 1
    assert found["RR@1"]["reversed"] == 0


def test_an_oracle_brings_in_no_document_that_the_run_lacks(rows):
    """In the dimension language BM25 finds no document in another language than the query's."""
    assert rows["infosearch-mini", "WISE@20"]["oracle"] < rows["infosearch-mini", "WISE_ideal@20"]["bm25"] - 0.01
    assert rows["infosearch-mini", "GoldRank"]["oracle"] > 1


def test_a_placebo_changes_what_instructions_do_and_not_the_base_lists(rows):
    assert rows["infosearch-mini", "WISE@20"]["placebo"] != rows["infosearch-mini", "WISE@20"]["bm25"]
    assert rows["infosearch-mini", "WISE_ideal@20"]["placebo"] == rows["infosearch-mini", "WISE_ideal@20"]["bm25"]


def test_a_benchmark_whose_language_has_no_placebo_says_so(rows, monkeypatch):
    assert rows["mfollowir-mini", "pMRR"]["placebo"] is not None

    def none(text):
        raise ToolkitError("there is no placebo for an instruction in greek script", "none")

    monkeypatch.setattr("toolkit.retrieval.instructions.neutral_text", none)
    noted = tandem("measures", "references", "mfollowir-mini").stdout
    assert "mfollowir-mini: query fas-01-og: there is no placebo for an instruction in greek script" in noted


def test_measures_of_one_mode_are_those_of_the_instructed_one(rows):
    assert rows["infosearch-mini", "nDCG@10"]["mode"] == "ins"
    assert rows["mfollowir-mini", "nDCG@20"]["mode"] == "changed"


def test_the_benchmarks_that_are_here_and_have_modes():
    assert {"infosearch-mini", "mfollowir-mini"} <= set(reference_scores.with_modes())
    assert "instructir-mini" not in reference_scores.with_modes()


def test_any_measure_may_be_asked_for():
    found = tandem("measures", "references", "infosearch-mini-format", "-m", "IRS_mean", "nDCG@5", "--format", "json").stdout
    values = {(row["measure"], row["mode"]): row for row in json.loads(found)["rows"]}
    assert {"IRS_mean", "nDCG@5"} <= {measure for measure, _ in values}
    assert values["IRS_mean", "paired"]["blind"] == 0
    assert values["IRS_mean", "paired"]["oracle"] == pytest.approx(-values["IRS_mean", "paired"]["reversed"], abs=1e-9)
    assert values["IRS_mean", "paired"]["oracle"] > 0.9


def test_one_mode_alone_has_no_references():
    with pytest.raises(ToolkitError, match="infosearch-mini-ins is of one mode"):
        reference_scores.measure_references(["infosearch-mini-ins"])


def test_everything_wrong_with_names_is_said_at_once():
    with pytest.raises(ToolkitError) as caught:
        reference_scores.measure_references(["infosearch-mimi", "instructir-mini", "infosearch"])
    said = "no benchmark 'infosearch-mimi'; instructir-mini has no base and instructed mode; infosearch is not on this machine"
    assert caught.value.message == said
    assert caught.value.hint.startswith("did you mean 'infosearch-mini'? here are ")


def test_python_has_the_same_numbers(rows):
    frame = tandem_ir.measure_references("infosearch-mini").to_frame().set_index("measure")
    assert frame.random["SICR"] == rows["infosearch-mini", "SICR"]["random"]
    assert list(frame.columns) == ["benchmark", "mode", "bm25", "placebo", "blind", "random", "oracle", "reversed"]
