"""Reviewers' files are taken whole or not at all, and nothing in them is believed."""

import copy
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from command import tandem
from fuzzing import as_json, changed_bytes, changed_value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from review_builds import FORM, agreeing, fields, kettles, page_data, saved, write_saved

from toolkit.construction.build_folder import BuildFolder
from toolkit.construction.review.review_answers import answers_path, read_answers
from toolkit.construction.review.review_rounds import export_review, import_review, review_of
from toolkit.core.errors import ToolkitError

__all__ = ["kettles"]  # a fixture


def exported(build, **how):
    path = build.path / "form.html"
    export_review(build, "review", path, **how)
    return page_data(path)


def imported(build, *contents):
    """Import files with these contents."""
    paths = [write_saved(build.path / f"answers-{number}.json", content) for number, content in enumerate(contents)]
    return import_review(build, paths)


def refusal(build, *contents):
    with pytest.raises(ToolkitError) as refused:
        imported(build, *contents)
    return "\n".join(refused.value.lines())


def test_answers_are_stored_by_item_under_the_items_own_ids(kettles):
    build = kettles(2)
    done = imported(build, saved(exported(build), "Ada", agreeing))
    assert (done.new, done.known, done.partial, done.reviewers) == (2, 0, 0, ("Ada",))
    stored = read_answers(build.path, "review")
    assert [(each.item, each.reviewer, each.choices) for each in stored] == [
        (item, "Ada", {"valid": "yes", "best": "gold-doc"}) for item in ("k0-gold", "k1-gold")
    ]


def test_the_same_file_again_changes_nothing(kettles):
    build = kettles(2)
    content = saved(exported(build), "Ada", agreeing)
    imported(build, content)
    before = answers_path(build.path, "review").read_bytes()
    assert imported(build, content)[:3] == (0, 2, 0)
    assert answers_path(build.path, "review").read_bytes() == before


def test_items_answered_in_part_are_left_out_and_counted(kettles):
    build = kettles(2)
    content = saved(exported(build), "Ada", agreeing)
    del content["answers"][0]["choices"]["best"]
    assert imported(build, content)[:3] == (1, 0, 1)
    assert imported(build, saved(exported(build), "Ada", agreeing))[:3] == (1, 1, 0)


def spoiled(content, change):
    made = copy.deepcopy(content)
    change(made)
    return made


WRONG = {
    "no item": lambda made: made["answers"][0].update(item="0" * 20),
    "cannot be answered with 'maybe'": lambda made: made["answers"][0]["choices"].update(valid="maybe"),
    "no question 'speed'": lambda made: made["answers"][0]["choices"].update(speed="yes"),
    "has answered k": lambda made: made["answers"].append(made["answers"][0]),
    "answers the form other": lambda made: made.update(form="other"),
    "is of an export that": lambda made: made.update(export="0" * 16),
    "says not who answers": lambda made: made.update(reviewer=" "),
    "is no file of a review": lambda made: made.pop("tandem_review"),
    "expected a mapping": lambda made: made["answers"].append([]),
    "choices are no mapping": lambda made: made["answers"][0].update(choices=["yes"]),
    "the comment on": lambda made: made["answers"][0].update(comment=3),
}


@pytest.mark.parametrize("words", WRONG)
def test_a_file_with_anything_wrong_is_not_imported_nor_any_beside_it(kettles, words):
    build = kettles(3)
    data = exported(build)
    good = saved(data, "Ada", agreeing)
    assert words in refusal(build, good, spoiled(saved(data, "Ben", agreeing), WRONG[words]))
    assert not answers_path(build.path, "review").exists()


def test_all_problems_are_said_at_once(kettles):
    build = kettles(3)
    content = saved(exported(build), "Ada", agreeing)
    content["answers"][0]["choices"]["valid"] = "maybe"
    content["answers"][2]["item"] = "x"
    said = refusal(build, content)
    assert "2 answers cannot be imported, and none was" in said
    assert "answer 1: " in said
    assert "answer 3: no item 'x' in the export" in said


def test_another_answer_than_before_is_refused(kettles):
    build = kettles(1)
    data = exported(build)
    imported(build, saved(data, "Ada", agreeing))
    other = saved(data, "Ada", lambda texts, question: {"valid": "No", "best": "a red one"}[question])
    assert "Ada has answered k0-gold otherwise before" in refusal(build, other)
    assert [each.choices["valid"] for each in read_answers(build.path, "review")] == ["yes"]


def test_a_form_for_named_reviewers_takes_nobody_else(kettles):
    build = kettles(1)
    data = exported(build, reviewers=["Ada", "Ben"])
    assert "no reviewer 'Eve': the form was exported for Ada, Ben" in refusal(build, saved(data, "Eve", agreeing))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"reviewers": ["Ada", "Ada"]}, "a reviewer is named twice"),
        ({"reviewers": [" "]}, "' ' is no name of a reviewer"),
        ({"first": 0}, "first is 0"),
    ],
)
def test_an_export_that_could_not_be_taken_back_is_refused(kettles, how, words):
    build = kettles(1)
    with pytest.raises(ToolkitError) as refused:
        exported(build, **how)
    assert words in "\n".join(refused.value.lines())
    assert not (build.path / "form.html").exists()


def test_answers_to_what_an_item_was_before_it_changed_are_refused(kettles):
    build = kettles(2)
    content = saved(exported(build), "Ada", agreeing)
    rows = json.loads((build.path / "items.json").read_text())
    rows[0]["fields"]["instruction"] = "another"
    (build.path / "items.json").write_text(json.dumps(rows))
    build.run()
    assert "k0-gold has changed since it was exported" in refusal(build, content)


def test_answers_to_another_wording_are_refused(kettles):
    build = kettles(1)
    content = saved(exported(build), "Ada", agreeing)
    reworded = copy.deepcopy(FORM)
    reworded["questions"][0]["text"] = "Really?"
    (build.path / "form.yaml").write_text(json.dumps(reworded))
    build.run()
    assert "answers the form form, and review asks form as it is now" in refusal(build, content)


def test_answers_of_another_build_are_refused(kettles, tmp_path):
    first = kettles(1)
    content = saved(exported(first), "Ada", agreeing)
    first.path.rename(tmp_path / "elsewhere")
    assert "is of an export that" in refusal(kettles(2), content)


def test_reviewers_who_send_their_files_at_once_are_all_taken(kettles):
    build = kettles(3)
    data = exported(build)
    paths = [write_saved(build.path / f"{name}.json", saved(data, name, agreeing)) for name in "ABCDEF"]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda path: import_review(BuildFolder(build.path), [path]), paths))
    assert {each.reviewer for each in read_answers(build.path, "review")} == set("ABCDEF")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_file_made_wrong_is_taken_whole_or_refused_whole(kettles, data):
    build = kettles(3)
    answers_path(build.path, "review").unlink(missing_ok=True)
    content = saved(exported(build), "Ada", agreeing)
    random = data.draw(st.randoms(use_true_random=False))
    path = build.path / "made-wrong.json"
    if data.draw(st.booleans()):
        path.write_bytes(changed_bytes(random, json.dumps(content).encode()))
    else:
        path.write_bytes(as_json(changed_value(random, content)))
    try:
        done = import_review(build, [path])
    except ToolkitError:
        assert not answers_path(build.path, "review").exists()
        return
    stored = read_answers(build.path, "review")
    assert len(stored) == done.new
    assert {each.item for each in stored} <= {f"k{number}-gold" for number in range(3)}
    assert all(
        set(each.choices) == {"valid", "best"} and each.choices["best"] in ("gold-doc", "neg-1", "neg-2") for each in stored
    )


def test_stored_answers_that_somebody_edited_are_one_error_with_their_lines(kettles):
    build = kettles(2)
    imported(build, saved(exported(build), "Ada", agreeing))
    path = answers_path(build.path, "review")
    path.write_text(path.read_text() + "{}\nnothing\n")
    with pytest.raises(ToolkitError, match="not as it was written") as refused:
        read_answers(build.path, "review")
    assert [str(problem).partition(":")[0] for problem in refused.value.problems] == ["line 3", "line 4"]


def test_an_export_that_somebody_edited_is_none(kettles):
    build = kettles(1)
    content = saved(exported(build), "Ada", agreeing)
    [path] = (build.path / "reviews" / "exports").glob("*.json")
    path.write_text(path.read_text().replace("k0-gold", "k1-gold"))
    assert "is of an export that" in refusal(build, content)


def test_fields_named_otherwise_are_found_by_the_step(kettles, tmp_path):
    form = copy.deepcopy(FORM)
    form["fields"][0]["name"] = "question"
    build = kettles(1, form, fields={"question": "query"})
    assert exported(build)["items"][0]["texts"] == [fields(0)["query"], fields(0)["instruction"]]


def looked_at(build, name, form):
    path = build.path / f"{name}.html"
    export_review(build, "given", path, form=form)
    return saved(page_data(path), name, agreeing)


@pytest.mark.parametrize("gone", [False, True])
def test_a_form_that_was_exported_under_two_names_is_one(kettles, monkeypatch, gone):
    build = kettles(2)
    elsewhere = build.path.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "form.yaml").write_text(json.dumps(FORM))
    monkeypatch.chdir(build.path.parent)
    (build.path / "form.yaml").rename(build.path.parent / "form.yaml")
    given = [looked_at(build, "Ada", "form.yaml"), looked_at(build, "Ben", str(elsewhere / "form.yaml"))]
    if gone:
        monkeypatch.chdir(elsewhere.parent.parent)  # where there is no form.yaml
    assert imported(build, *given)[:2] == (4, 0)
    assert [len(answers) for answers in review_of(build, "given").answers.values()] == [2, 2]


def test_the_form_of_a_step_of_review_goes_by_any_name(kettles):
    build = kettles(1)
    content = saved(exported(build, form=str(build.path / "form.yaml")), "Ada", agreeing)
    assert imported(build, content)[:2] == (1, 0)


def test_another_form_is_refused_before_it_is_handed_out_and_the_hint_works(kettles):
    build = kettles(1)
    (build.path / "other.yaml").write_text(json.dumps(FORM | {"title": "Other"}))
    looked_at(build, "Ada", "form.yaml")
    with pytest.raises(ToolkitError, match=r"the step given has the forms other.yaml, form.yaml") as refused:
        looked_at(build, "Ben", "other.yaml")
    assert not (build.path / "Ben.html").exists()
    for problem in refused.value.problems:  # delete the exports of the other
        Path(problem.removeprefix("form.yaml: ")).unlink()
    assert imported(build, looked_at(build, "Ben", "other.yaml"))[:2] == (1, 0)


def test_hints_name_no_option_that_their_command_lacks(kettles):
    build = kettles(1)
    with pytest.raises(ToolkitError, match="the step given is none of review") as refused:
        review_of(build, "given")
    words = re.search("`tandem (.*)`", refused.value.hint)[1].replace("NAME", "form.yaml")
    assert tandem(*words.split()[:-1], build.path / "form.html", check=True).stdout == ""
    assert (build.path / "form.html").exists()
