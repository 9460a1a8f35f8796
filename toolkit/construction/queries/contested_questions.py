"""BERDS' first steps: contested questions with their perspectives, from arguments, statements, answers and surveys.

Items, by step:

    sources       form and group (the file of the seeds), and what the row has, see `FORMS`
    personal      the same: survey questions that only the person asked could answer are rejected
    questions     and question; of a survey perspectives, too
    perspectives  and perspectives

Source: BERDS (arXiv 2409.18110), section 4.1, tables 9, 10, 12: Arguana's pairs of arguments, Kialo's statements and answers,
OpinionQA's survey questions.
"""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from toolkit.construction import answer_forms
from toolkit.construction.queries.narratives import NO, YES, nfc
from toolkit.construction.steps import Item, Step
from toolkit.construction.tools import Tools
from toolkit.core.errors import ToolkitError
from toolkit.core.system.yaml_json import Malformed, decode_json
from toolkit.files.texts.lines import read_bytes, text_lines

TEXT, TEXTS = "a text", "a list of two or more different texts"
QUESTION_MARKS = ("?", "？", "؟")
BULLETS = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+", re.MULTILINE)
# before what is asked for: `Question:`, `Negative statement:`, `Perspective 2:`, `Negation of the statement:`
SIDE = r"(?:converted|generated|positive|negative|supporting|opposing|original|negated)"
LABEL = (
    rf"(?:{SIDE}\s+)*(?:{SIDE}|(?:question|statement|negation|perspective|answer)s?(?:\s+\d+)?(?:\s+of\s+the\s+statement)?)\s*:"
)
LABELS = re.compile(rf"^{LABEL}", re.IGNORECASE)
BREAKS = re.compile(rf"\n|(?<=[.?!])\s+(?={LABEL})", re.IGNORECASE)
Reader = Callable[[str], Mapping[str, Any]]
# file of the seeds -> form of a row -> its keys, and what their values are; the first form whose keys a row has is meant
FORMS: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "arguments": {"arguments": {"argument": TEXT, "counter": TEXT}},
    "statements": {
        "debate": {"question": TEXT, "statements": TEXTS},
        "claim": {"question": TEXT, "statement": TEXT},
        "statements": {"statements": TEXTS},
        "statement": {"statement": TEXT},
    },
    "answers": {"answers": {"question": TEXT, "answers": TEXTS}},
    "survey": {"survey": {"question": TEXT, "choices": TEXTS}},
}
SEED_FILES = tuple(FORMS)


@dataclass(frozen=True)
class Sources(Step):
    """The rows that questions are made of: JSON lines of the seeds' files."""

    name: ClassVar[str] = "sources"
    about: ClassVar[str] = "pairs of arguments, statements, lists of answers, survey questions"

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """An item a row, `<file>-<id>` or `<file>-<line>`. ToolkitError with every row that is none."""
        found: dict[str, Item] = {}
        problems = []
        files = ((key, path) for key in SEED_FILES for path in tools.seeds.paths(key))
        lines = ((*file, *line) for file in files for line in text_lines(read_bytes(file[1]), str(file[1])))
        for key, place, number, line in lines:
            try:
                item = read_source(key, number, line)
                if item.id in found:
                    raise ValueError(f"the id {item.id.removeprefix(f'{key}-')!r} comes again")
                found[item.id] = item
            except ValueError as error:
                problems.append(f"{place}, line {number}: {error}")
        if problems or not found:
            hint = "; ".join(f"{key}: {' or '.join(map(', '.join, forms.values()))}" for key, forms in FORMS.items())
            what = "the seeds have no rows that questions can be made of"
            raise ToolkitError(what, f"keys of a row: {hint}", problems=problems)
        return iter(found.values())


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
    form = next((form for form, keys in FORMS[key].items() if keys.keys() <= row.keys()), None)
    if form is None:
        raise ValueError(f"it has none of {'; '.join(map(', '.join, FORMS[key].values()))}")
    keys = FORMS[key][form]
    if wrong := [f"{name} is no {kind.removeprefix('a ')}" for name, kind in keys.items() if not _is(kind, row[name])]:
        raise ValueError(", ".join(wrong))
    return Item(f"{key}-{given}", {"form": form, "group": key, **{name: _plain(row[name]) for name in keys}})


def _is(kind: str, value: Any) -> bool:
    if kind == TEXT:
        return isinstance(value, str) and bool(value.strip())
    return isinstance(value, list) and len(value) > 1 and all(_is(TEXT, one) for one in value) and len(set(value)) == len(value)


def _plain(value: Any) -> Any:
    return [nfc(one).strip() for one in value] if isinstance(value, list) else nfc(value).strip()


@dataclass(frozen=True)
class Personal(Step):
    """Leaves out survey questions about the experience or the circumstances of the person asked, and not those about opinions.

    No document can argue for an answer to the first.
    """

    name: ClassVar[str] = "personal"
    about: ClassVar[str] = "survey questions about personal experience are left out"
    slots: ClassVar[Mapping[str, tuple[str, ...]]] = {"prompt": ("question", "choices")}
    published: ClassVar[Mapping[str, str]] = {"prompt": "berds-table12-filter"}
    model: str = "judge"
    prompt: str = "build-berds-personal.v2"

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """All items; those of a survey were asked about."""
        asked = [item for item in items if item.fields["form"] == "survey"]
        rows = (_filled(item, self.slots["prompt"]) for item in asked)
        verdicts = tools.answered("filtered", self, asked, rows, answer_forms.choice(YES, NO))
        for item in items:
            done, verdict = next(verdicts) if item.fields["form"] == "survey" else (item.passed(), NO)
            yield done.reject("it asks for personal experience") if verdict == YES else done


@dataclass(frozen=True)
class Writing(Step):
    """A model writes what the items of some forms lack; the others pass as they are.

    prompt_of  form -> the parameter with its prompt
    """

    prompt_of: ClassVar[Mapping[str, str]]
    model: str = "writer"

    @abstractmethod
    def reader(self, fields: Mapping[str, Any]) -> Reader:
        """What reads the answer about an item with these fields."""

    def written(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """All items in their order; rejected where an answer cannot be read."""
        answers: dict[str, Iterator[tuple[Item, Mapping[str, Any] | None]]] = {}
        for form, parameter in self.prompt_of.items():
            asked = [item for item in items if item.fields["form"] == form]
            rows = [_filled(item, self.slots[parameter]) for item in asked]
            answers[form] = tools.answered("wrote", self, asked, rows, (self.reader(item.fields) for item in asked), parameter)
        for item in items:
            form = item.fields["form"]
            if form not in answers:
                yield item.passed()
                continue
            done, found = next(answers[form])
            yield done.having(**(found or {}))


@dataclass(frozen=True)
class Questions(Writing):
    """A model writes the question behind arguments and behind statements that have none; of a survey with its two sides.

    The question of a survey is one that is answered by yes or no: its first choice is the one answer, its last the other.
    """

    name: ClassVar[str] = "questions"
    about: ClassVar[str] = "contested questions"
    slots: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "arguments_prompt": ("argument", "counter"),
        "statement_prompt": ("statement",),
        "statements_prompt": ("statements",),
        "survey_prompt": ("question", "choices"),
    }
    published: ClassVar[Mapping[str, str]] = {
        "arguments_prompt": "berds-table9-question",
        "survey_prompt": "berds-table12-conversion",
    }
    prompt_of: ClassVar[Mapping[str, str]] = {name.removesuffix("_prompt"): name for name in slots}
    arguments_prompt: str = "build-berds-arguments.v2"
    statement_prompt: str = "build-berds-statement.v2"
    statements_prompt: str = "build-berds-statements.v2"
    survey_prompt: str = "build-berds-survey.v2"

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """The sources with their questions; a question that comes again is rejected."""
        known: set[str] = set()
        for item in self.written(items, tools):
            again = not item.rejected and _key(item.fields["question"]) in known
            known |= {_key(item.fields["question"])} if not item.rejected else set()
            yield item.reject("the question of an earlier source") if again else item

    def reader(self, fields: Mapping[str, Any]) -> Reader:
        """A question alone, or with its two sides."""
        return read_converted if fields["form"] == "survey" else read_question


@dataclass(frozen=True)
class Perspectives(Writing):
    """A model writes the perspectives of questions that lack some: from the question, from one side, or from short answers.

    Statements that the seeds have are perspectives as they are.
    """

    name: ClassVar[str] = "perspectives"
    about: ClassVar[str] = "perspectives on the questions, as whole sentences"
    slots: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "negation_prompt": ("question",),
        "opposing_prompt": ("question", "statement"),
        "answers_prompt": ("question", "answers"),
    }
    published: ClassVar[Mapping[str, str]] = {
        "negation_prompt": "berds-table9-perspectives",
        "opposing_prompt": "berds-table10-opposing",
        "answers_prompt": "berds-table10-statements",
    }
    prompt_of: ClassVar[Mapping[str, str]] = {
        "arguments": "negation_prompt",
        "claim": "opposing_prompt",
        "statement": "opposing_prompt",
        "answers": "answers_prompt",
    }
    negation_prompt: str = "build-berds-negation.v1"
    opposing_prompt: str = "build-berds-opposing.v2"
    answers_prompt: str = "build-berds-answers.v2"

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """The questions with their perspectives."""
        for item in self.written(items, tools):
            given = item.fields.get("statements")
            yield item.having(perspectives=given) if given else item

    def reader(self, fields: Mapping[str, Any]) -> Reader:
        """The side that is lacking, both sides, or as many statements as there are answers."""
        given = [fields["statement"]] if "statement" in fields else []
        return statements(len(fields.get("answers", (1, 2))) - len(given), *given)


def read_question(text: str) -> dict[str, str]:
    """Reads a question, perhaps behind a label, and nothing beside it."""
    match lines_of(text):
        case [question] if question.endswith(QUESTION_MARKS):
            return {"question": question}
        case lines:
            raise ValueError(f"{len(lines)} lines, and not one that ends with a question mark")


def read_converted(text: str) -> dict[str, Any]:
    """Reads a question, and below it the statement that affirms it and the one that denies it."""
    lines = lines_of(text)
    if len(lines) != 3:
        raise ValueError(f"{len(lines)} lines, and not three: the question, the statement for it and the one against it")
    return {**read_question(lines[0]), **statements(2)("\n".join(lines[1:]))}


def statements(count: int, *given: str) -> Reader:
    """Reads so many statements, a line each, none like another one; those that are given stand before them."""

    def read(text: str) -> dict[str, list[str]]:
        found = lines_of(text)
        if len(found) != count:
            raise ValueError(f"{len(found)} lines, and not {count} with a statement each")
        if len({_key(each) for each in (*given, *found)}) < len(given) + count:
            raise ValueError("a statement comes twice")
        return {"perspectives": [*given, *found]}

    return read


def lines_of(text: str) -> list[str]:
    """The lines of an answer without numbers, bullets and labels (`Negative statement: ...`), which may share a line."""
    parts = BREAKS.split(BULLETS.sub("", answer_forms.text_of(text).replace("**", "")))
    lines = (nfc(" ".join(LABELS.sub("", part.strip()).split())).strip('"') for part in parts)
    return [line for line in lines if line]


def _filled(item: Item, slots: Iterable[str]) -> dict[str, str]:
    """What fills the slots: the choices of a survey in brackets, another list a line each."""
    values = {slot: item.fields[slot] for slot in slots}
    for slot, value in values.items():
        if slot == "choices":
            values[slot] = str(list(value))
        elif isinstance(value, list):
            values[slot] = "\n".join(f"{number}. {text}" for number, text in enumerate(value, 1))
    return values


def _key(text: str) -> str:
    return " ".join(text.casefold().split())
