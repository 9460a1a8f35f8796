"""Label Studio's files: what it is given has no labels, and what it exports is taken back."""

import json
from xml.etree import ElementTree

import pytest
from review_builds import WRITTEN, kettles, write_saved

from toolkit.construction.review.review_answers import read_answers
from toolkit.construction.review.review_rounds import export_review, import_review
from toolkit.core.errors import ToolkitError

__all__ = ["kettles"]  # a fixture


def exported(build):
    path = build.path / "tasks.json"
    export_review(build, "review", path, format="label-studio")
    return json.loads(path.read_text()), ElementTree.parse(path.with_suffix(".xml")).getroot()


def annotated(tasks, **users):
    """The tasks as Label Studio exports them: user -> what is chosen in each question."""
    rows = []
    for number, task in enumerate(tasks, 1):
        annotations = [
            {
                "id": place,
                "completed_by": {"id": place, "email": f"{user}@example.org"},
                "was_cancelled": False,
                "result": results(task, chosen),
            }
            for place, (user, chosen) in enumerate(users.items(), 1)
        ]
        rows.append({"id": number, "data": task["data"], "annotations": annotations})
    return rows


def results(task, chosen):
    letter = next(each for each in "ABC" if task["data"][f"best_{each}"].endswith(chosen["best"]))
    return [
        {"from_name": name, "to_name": "field_query", "type": "choices", "value": {"choices": [value]}}
        for name, value in (("valid", chosen["valid"]), ("best", letter))
    ]


def test_the_configuration_names_what_every_task_has(kettles):
    tasks, view = exported(kettles(2))
    wanted = {tag.get("value")[1:] for tag in view.iter("Text")}
    assert wanted == {"field_query", "field_instruction", "best_A", "best_B", "best_C"}
    assert all(wanted <= task["data"].keys() for task in tasks)
    choices = {tag.get("name"): [each.get("alias") for each in tag] for tag in view.iter("Choices")}
    assert choices == {"valid": ["yes", "no"], "best": ["A", "B", "C"]}
    texts = {tag.get("name") for tag in view.iter("Text")}
    assert all(tag.get("toName") in texts and tag.get("required") == "true" for tag in view.iter("Choices"))


def test_an_answer_that_is_written_is_a_text_area(kettles):
    build = kettles(1, WRITTEN, reviewers=1)
    tasks, view = exported(build)
    [area] = [tag for tag in view.iter("TextArea") if tag.get("name") == "better"]
    assert (area.get("toName"), area.get("required")) == ("field_query", "true")
    result = [
        {"from_name": "valid", "value": {"choices": ["yes"]}},
        {"from_name": "better", "value": {"text": ["A"]}},  # a letter that is no choice
    ]
    rows = [{"data": tasks[0]["data"], "annotations": [{"completed_by": 7, "was_cancelled": False, "result": result}]}]
    assert import_review(build, [write_saved(build.path / "export.json", rows)]).new == 1
    [answer] = read_answers(build.path, "review")
    assert answer.choices == {"valid": "yes", "better": "A"}


def test_tasks_have_no_labels(kettles):
    tasks, _ = exported(kettles(2))
    text = json.dumps(tasks)
    assert not [word for word in ("gold", "neg-", "target", "k0") if word in text]


def test_annotations_are_the_answers_of_their_users(kettles):
    build = kettles(2)
    tasks, _ = exported(build)
    good, other = {"valid": "yes", "best": "descale with vinegar"}, {"valid": "no", "best": "boil eggs"}
    done = import_review(build, [write_saved(build.path / "export.json", annotated(tasks, ada=good, ben=other))])
    assert done[:3] == (4, 0, 0)
    stored = {(each.item, each.reviewer): each.choices for each in read_answers(build.path, "review")}
    assert stored["k0-gold", "ada@example.org"] == {"valid": "yes", "best": "gold-doc"}
    assert stored["k1-gold", "ben@example.org"] == {"valid": "no", "best": "neg-2"}


def test_skipped_tasks_are_no_answers_and_comments_come_along(kettles):
    build = kettles(2)
    rows = annotated(exported(build)[0], ada={"valid": "yes", "best": "boil eggs"})
    rows[0]["annotations"][0]["was_cancelled"] = True
    rows[1]["annotations"][0]["completed_by"] = 7
    rows[1]["annotations"][0]["result"].append({"from_name": "comment", "value": {"text": ["hm"]}})
    assert import_review(build, [write_saved(build.path / "export.json", rows)]).new == 1
    [answer] = read_answers(build.path, "review")
    assert (answer.reviewer, answer.comment) == ("user 7", "hm")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda rows: rows[0].pop("annotations"), "no task of Label Studio"),
        (lambda rows: rows[0]["annotations"][0].pop("result"), "an annotation without result"),
        (lambda rows: rows[0]["annotations"][0]["result"][0].pop("value"), "a result without from_name or value"),
        (lambda rows: rows[0]["annotations"][0]["result"][0]["value"].update(choices=["yes", "no"]), "not exactly one choice"),
        (
            lambda rows: rows[0]["annotations"][0]["result"][1]["value"].update(choices=["D"]),
            "best cannot be answered with 'D'",
        ),
        (lambda rows: rows[0]["annotations"].append(rows[0]["annotations"][0]), "has answered k"),
        (lambda rows: rows[0]["data"].update(key="x"), "no item 'x'"),
        (lambda rows: rows[0]["data"].pop("export"), "is of an export that"),
        (lambda rows: rows[0]["annotations"][0].pop("completed_by"), "says not who answers"),
    ],
)
def test_what_is_no_export_of_these_tasks_is_refused_whole(kettles, spoil, words):
    build = kettles(2)
    rows = annotated(exported(build)[0], ada={"valid": "yes", "best": "boil eggs"})
    spoil(rows)
    with pytest.raises(ToolkitError) as refused:
        import_review(build, [write_saved(build.path / "export.json", rows)])
    assert words in "\n".join(refused.value.lines())
    assert read_answers(build.path, "review") == []


def test_items_with_fewer_options_have_a_text_for_every_letter(kettles):
    build = kettles(2)
    rows = json.loads((build.path / "items.json").read_text())
    rows[0]["fields"]["passages"].pop()
    (build.path / "items.json").write_text(json.dumps(rows))
    build.run()
    tasks, _ = exported(build)
    assert sorted(task["data"]["best_C"] == "-" for task in tasks) == [False, True]
