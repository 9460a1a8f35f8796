"""Reviewers' answers: which sheets an export had, what reviewers send back, and what is stored of it.

`reviews/exports/<digest>.json`  what was exported: step, form, sheets (key -> item), whether it settles disagreements
`reviews/<step>.jsonl`           all answers of a step, a line each reviewer and item

A file that reviewers send back is imported whole or not at all.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from toolkit.construction.review.review_forms import Form, Sheet, digest
from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import open_output, write_text
from toolkit.core.system.yaml_json import Malformed, decode_json, read_json
from toolkit.files.store.sharing import lock_folder
from toolkit.files.texts.lines import read_bytes, text_lines
from toolkit.registry.loader import UNPRINTABLE

FOLDER = "reviews"
MARK = "tandem_review"  # the key by which a reviewer's file is known, with the version of its form
DIGEST = re.compile(r"[0-9a-f]{16}")
LONGEST = 100, 10_000  # characters of a reviewer's name, and of a comment
AGAIN = "ask for the file that the page saves, or export the form again"


@dataclass(frozen=True)
class Export:
    """What was handed to reviewers.

    form       name of the form, `form_sha256` its digest, `form_source` by what it is found: its name or its file
    reviewers  who may answer; () for anybody
    settles    whether it has only what reviewers did not agree on: these answers decide
    items      key of a sheet -> id of its item
    """

    step: str
    form: str
    form_sha256: str
    form_source: str
    seed: int
    reviewers: tuple[str, ...]
    settles: bool
    items: Mapping[str, str]

    @property
    def digest(self) -> str:
        """What it is called by in files: a part of the SHA-256 of all of it."""
        return digest(asdict(self))[:16]


class Answer(NamedTuple):
    """What one reviewer says of one item.

    key      of the sheet that was answered
    choices  question -> id of a choice, or what was written, for every question of the form
    settles  whether it was asked because others did not agree
    """

    item: str
    reviewer: str
    key: str
    choices: Mapping[str, str]
    settles: bool = False
    comment: str = ""


SheetsOf = Callable[[str], tuple[Form, Mapping[str, Sheet]]]
AnswerKey = tuple[str, str, bool]  # item, reviewer, whether it settles: one answer each


class Imported(NamedTuple):
    """What an import did: new answers, those that were there already, and items answered in part, which are left out."""

    new: int
    known: int
    partial: int
    reviewers: tuple[str, ...]


class Given(NamedTuple):
    """An answer as a file has it, before it is checked: `sheet` and `choices` are any JSON."""

    place: str
    export: Any
    form: Any
    reviewer: Any
    sheet: Any
    choices: Any
    comment: Any


def write_export(folder: Path, export: Export) -> Path:
    """Remember an export in a build's folder; the same one is the same file."""
    path = folder / FOLDER / "exports" / f"{export.digest}.json"
    write_text(path, json.dumps(asdict(export), ensure_ascii=False, indent=1) + "\n")
    return path


def read_export(folder: Path, name: str) -> Export | None:
    """The export of this digest; None where the build has made no such one, or its file is not as it was written."""
    path = folder / FOLDER / "exports" / f"{name}.json"
    if not DIGEST.fullmatch(name) or not path.is_file():
        return None
    try:
        row = read_json(path, dict)
        export = Export(**{**row, "reviewers": tuple(row["reviewers"])})
    except (TypeError, KeyError):
        return None
    return export if export.digest == name else None


def exports_of(folder: Path) -> list[Export]:
    """All exports of a build, by digest."""
    found = (read_export(folder, path.stem) for path in sorted((folder / FOLDER / "exports").glob("*.json")))
    return [export for export in found if export]


def answers_path(folder: Path, step: str) -> Path:
    """Where the answers of a step are stored."""
    return folder / FOLDER / f"{step}.jsonl"


def read_answers(folder: Path, step: str) -> list[Answer]:
    """All stored answers of a step, by item and reviewer; none where nobody has answered.

    Raises ToolkitError, with line numbers, for lines that are no answers.
    """
    path = answers_path(folder, step)
    if not path.exists():
        return []
    answers, problems = [], []
    for number, line in text_lines(read_bytes(path), str(path)):
        try:
            row = decode_json(line)
            answer = Answer(**row) if isinstance(row, dict) else None
            texts = answer and (answer.item, answer.reviewer, answer.key, answer.comment)
            if not answer or not all(isinstance(text, str) for text in texts) or not isinstance(answer.settles, bool):
                raise ValueError("no answer")
            if not isinstance(answer.choices, dict) or not all(isinstance(value, str) for value in answer.choices.values()):
                raise ValueError("choices are no texts")
            answers.append(answer)
        except (Malformed, TypeError, ValueError) as error:
            problems.append(f"line {number}: {error}")
    if problems:
        hint = "import the reviewers' files into a folder without it"
        raise ToolkitError(f"{path}: not as it was written", hint, problems=problems)
    return answers


def import_files(folder: Path, paths: Sequence[str | Path], step: SheetsOf) -> Imported:
    """Take reviewers' files into a build's folder: all of them, or none where there is a problem.

    step  name of a step -> its form, and its sheets by the id of the item

    Raises ToolkitError with every problem: no such export, another form, items that are unknown or have changed, unknown
    questions and choices, two answers of one reviewer to one item, or another than was imported before.
    """
    given = [each for path in paths for each in read_given(path)]
    with lock_folder("reviews", folder):
        checked = _Checked(folder, step)
        for each in given:
            checked.add(each)
        return checked.stored()


def read_given(path: str | Path) -> Iterator[Given]:
    """The answers in a file that a page saved. Raises ToolkitError where it is none."""
    content = read_json(path, hint=AGAIN)
    if not isinstance(content, dict) or content.get(MARK) != 1 or not isinstance(content.get("answers"), list):
        raise ToolkitError(f"{path} is no file of a review", AGAIN)
    about = [content.get(name) for name in ("export", "form", "reviewer")]
    for number, row in enumerate(content["answers"], 1):
        if not isinstance(row, dict):
            raise ToolkitError(f"{path}, answer {number}: expected a mapping, found {type(row).__name__}", AGAIN)
        yield Given(f"{path}, answer {number}", *about, row.get("item"), row.get("choices"), row.get("comment", ""))


class _Checked:
    """Answers of files, checked one after the other; written when all of them are right."""

    def __init__(self, folder: Path, step: SheetsOf):
        self.folder, self.step = folder, step
        self.problems: list[str] = []
        self.stored_answers: dict[str, dict[AnswerKey, Answer]] = {}
        self.taken: dict[tuple[str, AnswerKey], str] = {}  # step and answer -> where it was given
        self.export_of = cache(partial(read_export, folder))
        self.partial, self.new, self.known = 0, 0, 0

    def add(self, given: Given) -> None:
        """Check one answer and add it, or note what is wrong with it."""
        export = self.export_of(given.export) if isinstance(given.export, str) else None
        problem = self._problem(given, export) if export else f"is of an export that {self.folder} did not make"
        if problem or export is None:
            self.problems.append(f"{given.place}: {problem}")
            return
        form, sheets = self.step(export.step)
        sheet = sheets[export.items[given.sheet]]
        if set(given.choices) != {question.id for question in form.questions}:
            self.partial += 1
            return
        named = {question: _choice_id(sheet, question, choice) for question, choice in given.choices.items()}
        answer = Answer(sheet.id, given.reviewer.strip(), sheet.key, named, export.settles, given.comment)
        self._take(given, export.step, answer)

    def stored(self) -> Imported:
        """Write what was added; ToolkitError where anything was wrong."""
        if self.problems:
            raise ToolkitError(f"{len(self.problems)} answers cannot be imported, and none was", AGAIN, problems=self.problems)
        for step, answers in self.stored_answers.items():
            with open_output(answers_path(self.folder, step)) as out:
                for answer in sorted(answers.values(), key=lambda each: (each.item, each.settles, each.reviewer)):
                    out.write((json.dumps(answer._asdict(), ensure_ascii=False, sort_keys=True) + "\n").encode())
        return Imported(self.new, self.known, self.partial, tuple(sorted({reviewer for _, (_, reviewer, _) in self.taken})))

    def _problem(self, given: Given, export: Export) -> str:
        """What is wrong with an answer; nothing where it is right as far as it goes."""
        form, sheets = self.step(export.step)
        if given.form not in (None, export.form) or export.form_sha256 != form.sha256:
            return f"answers the form {given.form or export.form}, and {export.step} asks {form.name} as it is now"
        if not isinstance(given.reviewer, str) or wrong_name(given.reviewer.strip()):
            return "says not who answers (`reviewer`)"
        if export.reviewers and given.reviewer.strip() not in export.reviewers:
            return f"no reviewer {given.reviewer!r}: the form was exported for {', '.join(export.reviewers)}"
        if not isinstance(given.sheet, str) or given.sheet not in export.items:
            return f"no item {_short(given.sheet)} in the export"
        item = export.items[given.sheet]
        if item not in sheets or sheets[item].key != given.sheet:
            return f"{item} has changed since it was exported"
        if not isinstance(given.comment, str) or len(given.comment) > LONGEST[1]:
            return f"the comment on {item} is no text of at most {LONGEST[1]:,} characters"
        if not isinstance(given.choices, dict):
            return f"{item}: choices are no mapping of questions to choices"
        names = [question.id for question in form.questions]
        if unknown := [name for name in given.choices if name not in names]:
            return f"{item}: no question {_short(unknown[0])}"
        for name, choice in given.choices.items():
            if _choice_id(sheets[item], name, choice) is None:
                return f"{item}: {name} cannot be answered with {_short(choice)}"
        return ""

    def _take(self, given: Given, step: str, answer: Answer) -> None:
        key = (answer.item, answer.reviewer, answer.settles)
        place = self.taken.setdefault((step, key), given.place)
        if place != given.place:
            self.problems.append(f"{given.place}: {answer.reviewer} has answered {answer.item} already ({place})")
            return
        if step not in self.stored_answers:
            rows = read_answers(self.folder, step)
            self.stored_answers[step] = {(each.item, each.reviewer, each.settles): each for each in rows}
        stored = self.stored_answers[step]
        before = stored.get(key)
        if before is None or before.key != answer.key:  # nothing, or what the item was before it changed
            stored[key] = answer
            self.new += 1
        elif before.choices == answer.choices:
            self.known += 1
        else:
            self.problems.append(f"{given.place}: {answer.reviewer} has answered {answer.item} otherwise before")


def wrong_name(reviewer: str) -> bool:
    """Whether this is no name of a person: empty, too long, with control characters."""
    return not 1 <= len(reviewer) <= LONGEST[0] or bool(UNPRINTABLE.search(reviewer))


def _choice_id(sheet: Sheet, question: str, choice: Any) -> str | None:
    """What a choice is called in the item, or a text that was written; None for any other."""
    known = {shown: name for shown, name, _ in sheet.choices[question]}
    text = choice.strip() if isinstance(choice, str) else ""
    is_written = not known and 0 < len(text) <= LONGEST[1] and not UNPRINTABLE.search(text)
    return text if is_written else known.get(choice) if isinstance(choice, str) else None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
