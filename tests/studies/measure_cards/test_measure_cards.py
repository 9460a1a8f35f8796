"""Cards say what the registry says, as a table, as a page and from Python."""

import json

import pytest
from command import ROOT, script, tandem

import tandem_ir
from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import MeasureSpec
from toolkit.studies.measure_cards import measure_card

MEASURES = registry.measures()


def test_the_list_has_every_measure_once():
    listed = json.loads(tandem("measures", "list", "--format", "json").stdout)["rows"]
    assert [row["name"] for row in listed] == list(MEASURES)
    assert {row["name"]: row["better"] for row in listed} == {name: spec.direction for name, spec in MEASURES.items()}


@pytest.mark.parametrize("name", MEASURES)
def test_a_card_has_definition_source_and_needs(name):
    shown = tandem("measures", "show", name).stdout
    spec = MEASURES[name]
    assert spec.text in shown
    assert spec.source in shown
    assert all(measure_card.NEEDS[need] in shown for need in spec.needs)
    assert all(role in shown for role in spec.modes)


def test_variants_are_those_of_the_parameter():
    assert measure_card.measure_card("WISE").variants == ("paper", "release", "source")
    assert measure_card.measure_card("pMRR").variants == ()
    assert "variants" not in dict(measure_card.facts(measure_card.measure_card("pMRR")))


def test_a_measure_that_is_ours_alone_says_so():
    ours = MeasureSpec("X", title="", text="", function="", over="paired", source="", lowest=-1.0, experimental=True)
    assert (measure_card._of(ours).status, measure_card._of(ours).range) == ("experimental", "-1 to 1")


@pytest.mark.parametrize(("written", "name"), [("p-MRR", "pMRR"), ("wise@10", "WISE"), ("SICR(ties='file')", "SICR")])
def test_a_name_is_found_as_people_write_it(written, name):
    assert measure_card.measure_card(written).name == name


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(ToolkitError, match="no card of a measure 'WIZE'") as caught:
        measure_card.measure_card("WIZE")
    assert caught.value.hint.startswith("did you mean 'WISE'? ")
    assert tandem("measures", "show", "nDCG").returncode == 2


def test_the_range_holds_the_worst_value():
    for spec in MEASURES.values():
        if spec.worst is not None and spec.unit == "fraction":
            lowest, highest = map(float, measure_card.range_of(spec).split(" to "))
            assert lowest <= spec.worst <= highest, spec.name


def test_python_has_the_same_cards():
    frame = tandem_ir.measures()
    assert list(frame.name) == list(MEASURES)
    assert tandem_ir.measure_card("SICR") == measure_card.measure_card("SICR")
    assert frame.set_index("name").needs["SICR"] == measure_card.measure_card("SICR").needs


def test_every_card_has_a_page_and_none_is_stale():
    folder = ROOT / "docs" / "measure-cards"
    assert {path.stem for path in folder.glob("*.md")} == {"README", *MEASURES}
    listed = (folder / "README.md").read_text(encoding="utf-8")
    assert all(f"]({name}.md)" in listed for name in MEASURES)
    assert "measure-cards" not in script("render_docs", "--check").stdout
