"""Label Studio's files: tasks and labelling configuration of an export, and the answers in what it exports.

Their forms: https://labelstud.io/guide/task_format, https://labelstud.io/tags/choices (with `alias`, which stands in results).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from toolkit.construction.review.review_forms import COMMENT, LARGEST, Form, Sheet
from toolkit.core.errors import ToolkitError

LETTERS = "ABCDEFGHI"[:LARGEST]
HINT = "export the project from Label Studio as JSON (not JSON-MIN, CSV or TSV)"


def tasks(form: Form, sheets: Sequence[Sheet], export: str) -> str:
    """The tasks as JSON: what is shown of each item, with the export and the key by which answers are known."""
    most = {question.id: _most(question.id, sheets) for question in form.questions if question.options}
    rows = [{"data": {"export": export, "form": form.name, "key": each.key, **_shown(form, each, most)}} for each in sheets]
    return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"


def config(form: Form, sheets: Sequence[Sheet]) -> str:
    """The labelling configuration as XML. Options are shown as texts with letters, and answered by letter."""
    view = Element("View")
    SubElement(view, "Header", value=form.title)
    for field in form.fields:
        SubElement(view, "Header", value=field["label"], size="4")
        SubElement(view, "Text", name=f"field_{field['name']}", value=f"$field_{field['name']}")
    for question in form.questions:
        SubElement(view, "Header", value=question.text, size="4")
        settings = {"name": question.id, "toName": f"field_{form.fields[0]['name']}", "required": "true"}
        if question.written:
            SubElement(view, "TextArea", maxSubmissions="1", **settings)
            continue
        letters = LETTERS[: _most(question.id, sheets)] if question.options else ""
        choices = [(letter, letter) for letter in letters] or [(choice["id"], choice["text"]) for choice in question.choices]
        for letter in letters:
            SubElement(view, "Text", name=f"{question.id}_{letter}", value=f"${question.id}_{letter}")
        group = SubElement(view, "Choices", choice="single-radio", **settings)
        for alias, text in choices:
            SubElement(group, "Choice", alias=alias, value=text)
    SubElement(view, "Header", value="Comment", size="4")
    SubElement(view, "TextArea", name=COMMENT, toName=f"field_{form.fields[0]['name']}", maxSubmissions="1")
    indent(view)
    return tostring(view, encoding="unicode") + "\n"


def answers(content: Sequence[Any], place: str) -> Iterator[tuple[Any, Any, Any, Any, Any, Any]]:
    """(export, form, reviewer, key, choices, comment) of each annotation that was submitted.

    Raises ToolkitError for what is no export of Label Studio's with tasks of ours.
    """
    for number, task in enumerate(content, 1):
        if (
            not isinstance(task, dict)
            or not isinstance(task.get("data"), dict)
            or not isinstance(task.get("annotations"), list)
        ):
            raise ToolkitError(f"{place}, task {number}: no task of Label Studio with its annotations", HINT)
        data = task["data"]
        for annotation in task["annotations"]:
            if not isinstance(annotation, dict) or not isinstance(annotation.get("result"), list):
                raise ToolkitError(f"{place}, task {number}: an annotation without result", HINT)
            if annotation.get("was_cancelled"):
                continue
            choices, comment = _results(annotation["result"], f"{place}, task {number}")
            choices = {name: _chosen(choice, data.get(f"{name}_keys")) for name, choice in choices.items()}
            reviewer = _reviewer(annotation.get("completed_by"))
            yield data.get("export"), data.get("form"), reviewer, data.get("key"), choices, comment


def _most(question: str, sheets: Sequence[Sheet]) -> int:
    return max(len(sheet.choices[question]) for sheet in sheets)


def _shown(form: Form, sheet: Sheet, most: Mapping[str, int]) -> dict[str, Any]:
    """The data of a task. Every task has a text for every letter, since Label Studio refuses tasks that lack one."""
    shown: dict[str, Any] = {f"field_{field['name']}": text for field, text in zip(form.fields, sheet.texts, strict=True)}
    for question, count in most.items():
        options = sheet.choices[question]
        texts = [f"{letter}: {text}" for letter, (_, _, text) in zip(LETTERS, options, strict=False)]
        texts += ["-"] * (count - len(options))
        shown |= {f"{question}_{letter}": text for letter, text in zip(LETTERS, texts, strict=False)}
        shown[f"{question}_keys"] = [key for key, _, _ in options]
    return shown


def _chosen(choice: Any, keys: Any) -> Any:
    """What a letter stands for; anything else as it is."""
    place = LETTERS.find(choice) if isinstance(choice, str) and len(choice) == 1 else -1
    return keys[place] if isinstance(keys, list) and 0 <= place < len(keys) else choice


def _results(results: Sequence[Any], place: str) -> tuple[dict[str, Any], str]:
    """Question -> what was chosen, and the comment."""
    choices: dict[str, Any] = {}
    comment = ""
    for result in results:
        value = result.get("value") if isinstance(result, dict) else None
        name = result.get("from_name") if isinstance(value, dict) else None
        if not isinstance(name, str):
            raise ToolkitError(f"{place}: a result without from_name or value", HINT)
        if name == COMMENT:
            comment = "\n".join(map(str, value.get("text") or []))
            continue
        chosen = value.get("choices", value.get("text"))
        if name in choices or not isinstance(chosen, list) or len(chosen) != 1:
            raise ToolkitError(f"{place}: {name} has not exactly one choice", HINT)
        choices[name] = chosen[0]
    return choices, comment


def _reviewer(user: Any) -> Any:
    """Who answered: an address where Label Studio tells it, else the number of the user."""
    if isinstance(user, dict):
        user = user.get("email") or user.get("id")
    return f"user {user}" if isinstance(user, int) and not isinstance(user, bool) else user
