"""Forms are data: those that come along can be read, a wrong one is one error, and a sheet tells nothing of labels."""

import copy
import json

import pytest
from fuzzing import as_yaml, changed_bytes, changed_value
from hypothesis import given
from hypothesis import strategies as st
from review_builds import FORM, PASSAGES, fields

from toolkit.construction.review.review_forms import FORMS, check_items, find_form, read_form, sheet_of
from toolkit.construction.steps import Item
from toolkit.core.errors import ToolkitError


def form_of(tmp_path, **changes):
    path = tmp_path / "form.yaml"
    path.write_text(json.dumps({**FORM, **changes}))
    return read_form(path)


def question(**changes):
    return {"questions": [{**FORM["questions"][0], **changes}]}


LABELS = {"berds-support", "followir-relevance", "followir-translation"}


@pytest.mark.parametrize("path", sorted(FORMS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_form_that_comes_along_says_what_it_was_written_after(path):
    form = find_form(path.stem)
    assert "wording" in form.source
    assert "arXiv" in form.source
    is_label = form.name in LABELS  # what people answer is taken, and rejects nothing
    assert [bool(question.accepted and question.reason) for question in form.questions] == [not is_label] * len(form.questions)


def test_the_forms_of_both_papers_are_there():
    assert [each.id for each in find_form("instructir-quality").questions] == ["valid", "natural", "passage"]
    assert {path.stem for path in FORMS.glob("*.yaml")} >= {"instructir-quality", "infosearch-screening"}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (question(id="Valid!"), "'Valid!' is no id"),
        (question(choices=[]), "either choices or options"),
        (question(written=True), "either choices or options say what may be answered, or it is written"),
        (question(choices=[], written=True, accepted=["yes"], reason="x"), "accepted names 'yes', which is none"),
        (question(options="passages"), "either choices or options"),
        (question(choices=[{"id": "yes", "text": "Yes"}] * 2), "each with an id of its own"),
        (question(accepted=["maybe"]), "accepted names 'maybe'"),
        (question(accepted=["right"]), "and right has no field"),
        (question(reason=""), "accepted and reason come together"),
        ({"questions": FORM["questions"][:1] * 2}, "the question 'valid' comes twice"),
        ({"fields": []}, "nothing of an item is shown"),
        ({"fields": FORM["fields"][:1] * 2}, "the field 'query' comes twice"),
        ({"questions": []}, "asks no questions"),
        (question(txt="x"), "unknown key 'txt' did you mean 'text'?"),
        ({"fields": [{"name": "query"}]}, "missing key 'label'"),
    ],
)
def test_what_is_wrong_with_a_form_is_said(tmp_path, changes, problem):
    with pytest.raises(ToolkitError) as refused:
        form_of(tmp_path, **changes)
    assert problem in "\n".join(refused.value.lines())


def test_an_unknown_form_is_answered_with_the_nearest():
    with pytest.raises(ToolkitError, match="no form 'instructir-qualty'") as refused:
        find_form("instructir-qualty")
    assert "did you mean 'instructir-quality'" in refused.value.hint


def test_a_form_of_the_users_own_lies_in_tandem_home(home):
    (home / "registry" / "forms").mkdir(parents=True)
    (home / "registry" / "forms" / "mine.yaml").write_text(json.dumps(FORM))
    assert find_form("mine").name == "mine"


@given(data=st.data())
def test_a_form_made_wrong_is_an_error_and_no_traceback(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("forms") / "form.yaml"
    if data.draw(st.booleans()):
        path.write_bytes(changed_bytes(data.draw(st.randoms(use_true_random=False)), json.dumps(FORM).encode()))
    else:
        path.write_bytes(as_yaml(changed_value(data.draw(st.randoms(use_true_random=False)), FORM)))
    try:
        form = read_form(path)
    except ToolkitError:
        return
    assert form.questions


def test_all_items_without_what_the_form_needs_are_named(tmp_path):
    form = form_of(tmp_path)
    bad = {**fields(1), "passages": [PASSAGES[0]], "target": "gold-doc"}
    items = [Item("a", fields(0)), Item("b", {"query": "x"}), Item("c", {**fields(2), "target": "gone"}), Item("d", bad)]
    with pytest.raises(ToolkitError) as refused:
        check_items(form, items, "step review")
    assert [str(problem) for problem in refused.value.problems] == [
        "b: no field 'instruction'",
        "b: no field 'passages'",
        "b: no field 'target'",
        "c: target is 'gone', and none of passages",
        "d: passages is no list of 2 to 9 options {id, text} with ids of their own",
    ]


def test_options_come_in_an_order_that_says_nothing_of_the_right_one(tmp_path):
    """Whether the right passage is first, second or last in the item's list: it stands in every place about equally often."""
    form = form_of(tmp_path)
    places = []
    for number in range(300):
        sheet = sheet_of(form, "review", Item(str(number), fields(number)))
        places.append([name for _, name, _ in sheet.choices["best"]].index(sheet.right["best"]))
    assert all(70 < places.count(place) < 130 for place in range(3))  # 100 expected, a standard deviation of 8


def test_another_text_or_wording_is_another_sheet_and_another_rule_is_not(tmp_path):
    item = Item("a", fields(0))
    key = sheet_of(form_of(tmp_path), "review", item).key
    assert sheet_of(form_of(tmp_path), "review", Item("a", {**fields(0), "unseen": 1})).key == key
    assert sheet_of(form_of(tmp_path), "review", Item("a", {**fields(0), "query": "x"})).key != key
    assert sheet_of(form_of(tmp_path), "other", item).key != key
    reworded = copy.deepcopy(FORM["questions"])
    reworded[0]["text"] = "Would anybody say it?"
    assert sheet_of(form_of(tmp_path, questions=reworded), "review", item).key != key
    stricter = copy.deepcopy(FORM["questions"])
    del stricter[1]["accepted"], stricter[1]["reason"]
    assert sheet_of(form_of(tmp_path, questions=stricter), "review", item).key == key
