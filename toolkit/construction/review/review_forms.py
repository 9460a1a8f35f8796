"""Forms as data: what reviewers are shown of an item, what they are asked, and which answers let it pass.

A form is `registry/forms/<name>.yaml`, `TANDEM_HOME/registry/forms/<name>.yaml`, or a file of the user's:

title, introduction   what a reviewer reads first
source                what the form was written after
fields                what is shown of an item, in this order: `{name, label}`
questions             in their order, see `Question`
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import home
from toolkit.core.system.yaml_json import read_yaml
from toolkit.registry.loader import FOLDER, did_you_mean, to_spec

FORMS = FOLDER / "forms"
ID = re.compile(r"[a-z][a-z0-9_-]*")
RIGHT = "right"
LARGEST = 9  # choices of a question: each has a key of the keyboard
HINT = "see the forms in toolkit/registry/forms"


class Choice(TypedDict):
    """What may be answered: its name in files, and what reviewers read."""

    id: str
    text: str


class ShownField(TypedDict):
    """A field of an item, and what stands above it."""

    name: str
    label: str


@dataclass(frozen=True)
class Question:
    """One question of a form.

    id        its name in files
    choices   what may be answered, the same for every item; or
    options   the field of an item that holds what may be answered: a list of `{id, text}`, shown in an order that tells nothing
    written   whether the answer is a text that the reviewer writes, without choices and options
    right     the field of an item that holds the id of the right choice; reviewers never see it
    accepted  choices with which an item passes (`right`: the right one); without any, the question rejects nothing
    reason    why an item is rejected where the majority chooses something else
    """

    id: str
    text: str
    choices: tuple[Choice, ...] = ()
    options: str = ""
    written: bool = False
    right: str = ""
    accepted: tuple[str, ...] = ()
    reason: str = ""

    @property
    def hidden(self) -> tuple[str, ...]:
        """Fields of an item that the question needs beside those that are shown."""
        return tuple(name for name in (self.options, self.right) if name)


@dataclass(frozen=True)
class Form:
    """A form; `name` is its own in the registry, or its file's."""

    name: str
    title: str
    introduction: str
    fields: tuple[ShownField, ...]
    questions: tuple[Question, ...]
    source: str = ""

    @cached_property
    def sha256(self) -> str:
        """Of what reviewers read: answers to one wording are none to another; what is accepted may change afterwards."""
        asked = [[each.id, each.text, each.choices, each.options] for each in self.questions]
        return digest([self.name, self.title, self.introduction, self.fields, asked])


class Sheet(NamedTuple):
    """An item as a form shows it.

    key      digest of the form, the step, the item's id and all that is shown: another text is another sheet
    id       the item's
    texts    those of the form's fields, in their order
    choices  question -> of each choice what it is called in the page, its id in the item, its text; the order tells nothing. A
             question whose answer is written has none
    right    question -> the id of the right choice, for those that have one
    """

    key: str
    id: str
    texts: tuple[str, ...]
    choices: Mapping[str, tuple[tuple[str, str, str], ...]]
    right: Mapping[str, str]


def digest(value: Any) -> str:
    """SHA-256 of a value as JSON."""
    return hashlib.sha256(json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def find_form(name: str, folder: Path | None = None) -> Form:
    """The form of a name, or of a YAML file; as `form_path`, and ToolkitError with all problems of a form that is none."""
    return read_form(form_path(name, folder))


def form_path(name: str, folder: Path | None = None) -> Path:
    """The file of a form; one that ends in .yaml is looked for in the build's folder first. ToolkitError for other names."""
    if name.endswith((".yaml", ".yml")):
        local = (folder or Path()) / name
        return local if local.is_file() else Path(name)
    known = {path.stem: path for place in (FORMS, home() / "registry" / "forms") for path in sorted(place.glob("*.yaml"))}
    if name not in known:
        hint = f"{did_you_mean(name, known)}known: {', '.join(sorted(known))}; or a file ending in .yaml"
        raise ToolkitError(f"no form {name!r}", hint)
    return known[name]


def read_form(path: Path) -> Form:
    """The form in a file; ToolkitError with all its problems."""
    row = read_yaml(path, dict, HINT)
    form = to_spec(_FormFile, {key: value for key, value in row.items() if key != "questions"} | {"questions": []}, path)
    rows = row.get("questions")
    if not isinstance(rows, list) or not rows:
        raise ToolkitError(f"{path} asks no questions", HINT)
    questions = tuple(to_spec(Question, each, f"{path}, question {number}") for number, each in enumerate(rows, 1))
    problems = [] if form.fields else ["nothing of an item is shown: fields is a list of {name, label}"]
    problems += _twice("field", [field["name"] for field in form.fields])
    problems += _twice("question", [question.id for question in questions])
    for question in questions:
        problems += (f"question {question.id!r}: {problem}" for problem in _problems_of(question))
    if problems:
        raise ToolkitError(f"{path}: no form", HINT, problems=problems)
    return Form(path.stem, form.title, form.introduction, form.fields, questions, form.source)


@dataclass(frozen=True)
class _FormFile:
    """The keys of a form's file; questions are checked one by one."""

    title: str
    introduction: str
    fields: tuple[ShownField, ...]
    questions: tuple[str, ...]
    source: str = ""


def _twice(what: str, names: Sequence[str]) -> Iterator[str]:
    return (f"the {what} {name!r} comes twice" for name in dict.fromkeys(names) if names.count(name) > 1)


def _problems_of(question: Question) -> Iterator[str]:
    names = [choice["id"] for choice in question.choices]
    if invalid := [name for name in (question.id, *names) if not ID.fullmatch(name)]:
        yield f"{invalid[0]!r} is no id (small letters, digits and _ -, a letter first)"
    if [bool(names), bool(question.options), question.written].count(True) != 1:
        yield "either choices or options say what may be answered, or it is written"
    if names and not 2 <= len(set(names)) == len(names) <= LARGEST:
        yield f"2 to {LARGEST} choices, each with an id of its own"
    known = [*names, *([RIGHT] if question.right else [])]
    if unknown := [name for name in question.accepted if name not in known]:
        hint = "" if question.right else " (and right has no field)"
        yield f"accepted names {unknown[0]!r}, which is none of its choices{hint}"
    if bool(question.accepted) != bool(question.reason):
        yield "accepted and reason come together: why an item is rejected"


def check_items(form: Form, items: Sequence[Any], place: str) -> None:
    """ToolkitError with every field that the form needs and an item does not have, or has in another form.

    items  with `id` and `fields`
    """
    problems = [f"{item.id}: {problem}" for item in items for problem in _misfits(form, item.fields)]
    if problems:
        needed = ", ".join(_needed(form))
        hint = f"the form {form.name} needs {needed}; `fields` of the step says which field of an item is meant"
        raise ToolkitError(f"{place}: {len(problems)} fields are not as the form needs them", hint, problems=problems)


def sheet_of(form: Form, step: str, item: Any) -> Sheet:
    """An item (with `id` and `fields`) as the form shows it; `check_items` has seen it."""
    texts = tuple(as_text(item.fields[field["name"]]) for field in form.fields)
    offered = {each.id: item.fields[each.options] for each in form.questions if each.options}
    options = {name: [(option["id"], option["text"]) for option in each] for name, each in offered.items()}
    key = digest([form.sha256, step, item.id, texts, options])[:20]
    choices = {each.id: tuple((one["id"], one["id"], one["text"]) for one in each.choices) for each in form.questions}
    for name, offers in options.items():  # names that tell nothing, in their order: neither says which is the right one
        choices[name] = tuple(sorted((digest([key, option])[:12], option, text) for option, text in offers))
    right = {each.id: str(item.fields[each.right]) for each in form.questions if each.right}
    return Sheet(key, item.id, texts, choices, right)


def as_text(value: Any) -> str:
    """A field's value as reviewers read it: text as it is, a list a line each, anything else as JSON."""
    if isinstance(value, list):
        return "\n".join(as_text(each) for each in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _needed(form: Form) -> list[str]:
    hidden = (name for question in form.questions for name in question.hidden)
    return list(dict.fromkeys([*(field["name"] for field in form.fields), *hidden]))


def _misfits(form: Form, fields: Mapping[str, Any]) -> Iterator[str]:
    lacking = [name for name in _needed(form) if name not in fields]
    yield from (f"no field {name!r}" for name in lacking)
    for question in form.questions:
        if set(question.hidden) & set(lacking):
            continue
        names = [choice["id"] for choice in question.choices]
        if question.options:
            options = fields[question.options]
            if not _are_options(options):
                yield f"{question.options} is no list of 2 to {LARGEST} options {{id, text}} with ids of their own"
                continue
            names = [option["id"] for option in options]
        if question.right and fields[question.right] not in names:
            yield f"{question.right} is {fields[question.right]!r}, and none of {question.options or 'the choices'}"


def _are_options(value: Any) -> bool:
    if not isinstance(value, list) or not 2 <= len(value) <= LARGEST or not all(isinstance(each, Mapping) for each in value):
        return False
    are_texts = all(isinstance(each.get(key), str) for each in value for key in ("id", "text"))
    return are_texts and len({each["id"] for each in value}) == len(value)
