"""BERDS' first steps: contested questions with their perspectives, from arguments, statements, answers and surveys.

Items, by step:

    sources     form and group (the file of the seeds), and what the row has, see `FORMS`
    personal    the same: survey questions that only the person asked could answer are rejected
    questions   and question, perspectives

Source: BERDS (arXiv 2409.18110), section 4.1: Arguana's pairs of arguments, Kialo's statements, OpinionQA's survey questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from toolkit.build import answer_forms
from toolkit.build.items import Item
from toolkit.build.narratives import NO, YES, nfc
from toolkit.build.seeds import Seeds
from toolkit.build.steps import UNREADABLE, Step
from toolkit.build.tools import Tools
from toolkit.core.errors import ToolkitError
from toolkit.core.yaml_json import Malformed, decode_json
from toolkit.formats.lines import read_bytes, text_lines

TEXT, TEXTS = "a text", "a list of two or more different texts"
QUESTION_MARKS = ("?", "？", "؟")
TWO = 2  # perspectives of a claim and its denial


@dataclass(frozen=True)
class Form:
    """One kind of rows that questions are made of.

    keys   of a row -> what its value is
    count  perspectives that come of it: two, or the key that has a text for each
    """

    name: str
    keys: Mapping[str, str]
    count: int | str = TWO

    def perspectives(self, fields: Mapping[str, Any]) -> int:
        """How many perspectives a row gives."""
        return len(fields[self.count]) if isinstance(self.count, str) else self.count


# file of the seeds -> what its rows may be; the first whose keys a row has is meant
FORMS: Mapping[str, tuple[Form, ...]] = {
    "arguments": (Form("arguments", {"argument": TEXT, "counter": TEXT}),),
    "statements": (
        Form("debate", {"question": TEXT, "statements": TEXTS}, "statements"),
        Form("claim", {"question": TEXT, "statement": TEXT}),
        Form("statements", {"statements": TEXTS}, "statements"),
        Form("statement", {"statement": TEXT}),
    ),
    "answers": (Form("answers", {"question": TEXT, "answers": TEXTS}, "answers"),),
    "survey": (Form("survey", {"question": TEXT, "choices": TEXTS}),),
}
SEED_FILES = tuple(FORMS)
BY_NAME = {form.name: form for forms in FORMS.values() for form in forms}
WHOLE = "debate"  # has question and perspectives already
CLAIM = "claim"  # has the question and the perspective that affirms, as Kialo's rows: the other one is written


@dataclass(frozen=True)
class Sources(Step):
    """The rows that questions are made of: JSON lines of the seeds' files."""

    name: ClassVar[str] = "sources"
    about: ClassVar[str] = "pairs of arguments, statements, lists of answers, survey questions"

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """An item a row, `<file>-<id>` or `<file>-<line>`. ToolkitError with every row that is none."""
        found: dict[str, Item] = {}
        problems = []
        for key, place, number, line in _lines(tools.seeds):
            try:
                item = read_source(key, number, line)
                if item.id in found:
                    raise ValueError(f"the id {item.id.removeprefix(f'{key}-')!r} comes again")
                found[item.id] = item
            except ValueError as error:
                problems.append(f"{place}, line {number}: {error}")
        if problems or not found:
            hint = "; ".join(f"{key}: {' or '.join(', '.join(form.keys) for form in forms)}" for key, forms in FORMS.items())
            raise ToolkitError(
                "the seeds have no rows that questions can be made of", f"keys of a row: {hint}", problems=problems
            )
        return iter(found.values())


def _lines(seeds: Seeds) -> Iterator[tuple[str, Path, int, str]]:
    """(key of the seeds, file, number of the line, line)."""
    for key in SEED_FILES:
        for path in seeds.paths(key):
            yield from ((key, path, number, line) for number, line in text_lines(read_bytes(path), str(path)))


def read_source(key: str, number: int, line: str) -> Item:
    """The item of a line; ValueError with what is wrong with it."""
    try:
        row = decode_json(line)
    except Malformed as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(row, dict):
        raise ValueError("no JSON object")
    given = row.get("id", number)
    if not isinstance(given, str | int) or not str(given).split() == [str(given)]:
        raise ValueError(f"the id {given!r} is no text without white space")
    form = next((form for form in FORMS[key] if form.keys.keys() <= row.keys()), None)
    if form is None:
        raise ValueError(f"it has none of {'; '.join(', '.join(form.keys) for form in FORMS[key])}")
    if wrong := [f"{name} is no {kind.removeprefix('a ')}" for name, kind in form.keys.items() if not _is(kind, row[name])]:
        raise ValueError(", ".join(wrong))
    values = {name: _plain(row[name]) for name in form.keys}
    return Item(f"{key}-{given}", {"form": form.name, "group": key, **values})


def _is(kind: str, value: Any) -> bool:
    if kind == TEXT:
        return isinstance(value, str) and bool(value.strip())
    return isinstance(value, list) and len(value) > 1 and all(_is(TEXT, one) for one in value) and len(set(value)) == len(value)


def _plain(value: Any) -> Any:
    return [nfc(one).strip() for one in value] if isinstance(value, list) else nfc(value).strip()


@dataclass(frozen=True)
class Personal(Step):
    """Leaves out survey questions that ask for personal experience: no document can argue for an answer."""

    name: ClassVar[str] = "personal"
    about: ClassVar[str] = "survey questions about personal experience are left out"
    slots: ClassVar[Mapping[str, tuple[str, ...]]] = {"prompt": ("question", "choices")}
    model: str = "judge"
    prompt: str = "build-berds-personal.v1"

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """All items; those of a survey were asked about."""
        asked = [item for item in items if item.fields["form"] == "survey"]
        rows = ({"question": item.fields["question"], "choices": listed(item.fields["choices"])} for item in asked)
        verdicts = tools.parsed(self.model, self.prompt, rows, answer_forms.choice(YES, NO))
        answers = dict(zip((item.id for item in asked), verdicts, strict=True))
        made = tools.made("filtered", self.model, self.prompt)
        why = {YES: "it asks for personal experience", NO: "", None: UNREADABLE}
        for item in items:
            yield item.passed().by(made).reject(why[answers[item.id]]) if item.id in answers else item.passed()


@dataclass(frozen=True)
class Questions(Step):
    """A model writes the question behind each source, and its perspectives as whole sentences; a prompt for each form."""

    name: ClassVar[str] = "questions"
    about: ClassVar[str] = "contested questions with their perspectives"
    slots: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "arguments_prompt": ("argument", "counter"),
        "claim_prompt": ("question", "statement"),
        "statement_prompt": ("statement",),
        "statements_prompt": ("statements",),
        "answers_prompt": ("question", "answers"),
        "survey_prompt": ("question", "choices"),
    }
    model: str = "writer"
    arguments_prompt: str = "build-berds-arguments.v1"
    claim_prompt: str = "build-berds-opposing.v1"
    statement_prompt: str = "build-berds-statement.v1"
    statements_prompt: str = "build-berds-statements.v1"
    answers_prompt: str = "build-berds-answers.v1"
    survey_prompt: str = "build-berds-survey.v1"

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """The sources with what was written, in their order; a question that comes again is rejected."""
        written = {form: self._written(form, items, tools) for form in BY_NAME if form != WHOLE}
        known: set[str] = set()
        for item in items:
            form = item.fields["form"]
            if form == WHOLE:
                done = item.passed(perspectives=item.fields["statements"])
            else:
                done = self._asked(item, next(written[form]), tools)
            again = not done.rejected and _key(done.fields["question"]) in known
            known |= {_key(done.fields["question"])} if not done.rejected else set()
            yield done.reject("the question of an earlier source") if again else done

    def _written(self, form: str, items: Sequence[Item], tools: Tools) -> Iterator[dict[str, Any] | None]:
        """What the model wrote for each source of a form; None where it cannot be read."""
        slots = self.slots[f"{form}_prompt"]
        meant = [item.fields for item in items if item.fields["form"] == form]
        rows = ({slot: _slot(fields[slot]) for slot in slots} for fields in meant)
        return tools.parsed(
            self.model, getattr(self, f"{form}_prompt"), rows, read_opposing if form == CLAIM else read_question
        )

    def _asked(self, item: Item, written: Mapping[str, Any] | None, tools: Tools) -> Item:
        form = BY_NAME[item.fields["form"]]
        made = tools.made("wrote", self.model, getattr(self, f"{form.name}_prompt"))
        if written is None:
            return item.passed().by(made).reject(UNREADABLE)
        if form.name == CLAIM:
            sides = [item.fields["statement"], written["opposing"]]
            same = "the opposing statement is the same" if _key(sides[0]) == _key(sides[1]) else ""
            return item.passed(perspectives=sides).by(made).reject(same)
        wanted = form.perspectives(item.fields)
        why = "" if len(written["perspectives"]) == wanted else f"{len(written['perspectives'])} perspectives, and not {wanted}"
        return item.passed(**written).by(made).reject(why)


def read_question(text: str) -> dict[str, Any]:
    """Reads {"question": ..., "perspectives": [...]}: a question, and two or more different texts."""
    value = answer_forms.json_value(text)
    if not isinstance(value, dict) or set(value) != {"question", "perspectives"}:
        raise ValueError("no JSON object with question and perspectives")
    if not _is(TEXT, value["question"]) or not value["question"].strip().endswith(QUESTION_MARKS):
        raise ValueError("the question is no text that ends with a question mark")
    sides = value["perspectives"]
    if not _is(TEXTS, sides) or not _is(TEXTS, sides := [_line(one) for one in sides]):
        raise ValueError(f"perspectives are no {TEXTS.removeprefix('a ')}")
    return {"question": _line(value["question"]), "perspectives": sides}


def read_opposing(text: str) -> dict[str, Any]:
    """Reads {"opposing": ...}: one text."""
    value = answer_forms.json_value(text)
    if not isinstance(value, dict) or set(value) != {"opposing"} or not _is(TEXT, value["opposing"]):
        raise ValueError("no JSON object with the text opposing")
    return {"opposing": _line(value["opposing"])}


def _line(text: str) -> str:
    return " ".join(nfc(text).split())


def _slot(value: Any) -> str:
    return listed(value) if isinstance(value, list) else value


def listed(texts: Iterable[str]) -> str:
    """Texts as a model reads a list: numbered, a line each."""
    return "\n".join(f"{number}. {text}" for number, text in enumerate(texts, 1))


def _key(question: str) -> str:
    return " ".join(question.casefold().split())
