#!/usr/bin/env python
"""Debian's package lists as tagged documents, for the example of docs/guides/build-facets.md.

    scripts/debian_packages.py FOLDER --to DIR    FOLDER holds apt's lists, and the debtags vocabulary as `vocabulary`

writes DIR/packages.jsonl (id, title, text, tags) and, of a vocabulary, DIR/vocabulary.yaml (tag -> name).

`Packages` has volunteers' tags, `Translation-en` the long descriptions. Both are control files: paragraphs of `Name: value`
fields with blank lines between them; a line that begins with a blank or a tab continues the field above. Sources:
deb-control(5); Debian policy, section 5.1 (syntax), 5.6.12 (how versions compare), 5.6.13 (descriptions); the debtags
vocabulary, which is a control file too.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cmp_to_key
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import open_input, open_output
from toolkit.files.texts.lines import is_text
from toolkit.parsers import command
from toolkit.shell import guard

LISTS = ("Packages", "Translation-en", "vocabulary")  # what a name ends in, behind the mirror's in apt's names
READ = ("", ".gz", ".zst")
GET = "apt-get -o Acquire::Languages=en -o Acquire::GzipIndexes=false -o Dir::State::Lists=DIR update"
_FIELD = re.compile(r"([!-9;-~]+):[ \t]*(.*)")  # a field's name has neither blanks nor colons
_TAG = re.compile(r"[a-z0-9][a-z0-9+.-]*::[A-Za-z0-9][A-Za-z0-9+.:-]*")
_VERSION = re.compile(r"(?:([0-9]+):)?([A-Za-z0-9.+:~-]+?)(?:-([A-Za-z0-9.+~]+))?")


@dataclass(frozen=True)
class Paragraph:
    """Fields of one paragraph by their names in lower case, and the line of each (from 1)."""

    fields: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    @property
    def line(self) -> int:
        """Where it begins."""
        return next(iter(self.lines.values()))


@dataclass(frozen=True)
class Package:
    """One package: `summary` is the line that lists show, `text` the long description (empty where there is none)."""

    name: str
    version: str
    summary: str
    text: str
    tags: tuple[str, ...]


def paragraphs(path: str | Path) -> Iterator[Paragraph]:
    """The paragraphs of a control file, one after the other; values of several lines have line feeds.

    Raises ToolkitError, once the file is read, that names every line that is wrong; what they spoil is not given.
    """
    problems: list[str] = []
    paragraph, name, sound = Paragraph(), "", True
    for number, line in enumerate(itertools.chain(_lines(path), [b""]), 1):
        if line.strip():
            problem, name = _take(line.rstrip(b"\r\n"), number, paragraph, name)
            if problem:
                problems.append(f"line {number}: {problem}")
                sound = False
        else:
            if paragraph.fields and sound:
                yield paragraph
            paragraph, name, sound = Paragraph(), "", True
    _refuse(path, problems)


def _lines(path: str | Path) -> Iterator[bytes]:
    """The lines as bytes; ToolkitError with the line at which compressed data break off."""
    number = 0
    with open_input(path) as file:
        try:
            for number, line in enumerate(file, 1):  # noqa: B007 - the last number is the line of the break
                yield line
        except (EOFError, zlib.error, OSError) as error:
            if getattr(error, "errno", None):  # the disk, not the data
                raise
            message = f"{path}, line {number + 1}: the compressed data is damaged or breaks off here"
            raise ToolkitError(message, "fetch the file again") from error


def _take(line: bytes, number: int, paragraph: Paragraph, name: str) -> tuple[str, str]:
    """Put a line into the paragraph; what is wrong with it, and the field that the next line may continue."""
    if not is_text(line):
        return "not UTF-8 text", name
    text = line.decode()
    if text[0] in " \t":
        if not name:
            return "continues no field", name
        paragraph.fields[name] += f"\n{text}"
        return "", name
    if not (found := _FIELD.fullmatch(text)):
        return "expected `Name: value`, or a blank first that continues the field above", name
    name = found[1].lower()
    if name in paragraph.fields:
        return f"field {found[1]} comes a second time (line {paragraph.lines[name]})", name
    paragraph.fields[name], paragraph.lines[name] = found[2].rstrip(), number
    return "", name


def _refuse(path: str | Path, problems: list[str]) -> None:
    hint = f"fetch the lists again: {GET}"
    if len(problems) == 1:
        raise ToolkitError(f"{path}, {problems[0]}", hint)
    if problems:
        raise ToolkitError(f"{path}: {len(problems)} problems", hint, problems=problems)


def list_files(folder: str | Path) -> dict[str, list[Path]]:
    """The files of a folder by the list that they are (`LISTS`), each in the order of names.

    Raises ToolkitError where there is no `Packages`, or a file is compressed as nothing here reads it.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ToolkitError(f"no folder {folder}", f"fetch Debian's lists into it: {GET}")
    files: dict[str, list[Path]] = {name: [] for name in LISTS}
    for file in sorted(folder.iterdir()):
        name, dot, suffix = file.name.rpartition("_")[2].partition(".")
        if name in files and file.is_file():
            if dot + suffix not in READ:
                raise ToolkitError(f"{file}: compressed lists are read as .gz and .zst", f"fetch them plain: {GET}")
            files[name].append(file)
    if not files["Packages"]:
        raise ToolkitError(f"{folder} holds no file Packages", f"fetch Debian's lists into it: {GET}")
    return files


def read_packages(folder: str | Path) -> Iterator[Package]:
    """The packages of apt's lists in a folder, by name; of several versions the highest, of equal ones the first.

    A long description stands in the package's own paragraph, or in `Translation-en` under the same name and
    `Description-md5`. Raises ToolkitError with every line that is wrong in a file.
    """
    files = list_files(folder)
    texts = {key: text for file in files["Translation-en"] for key, text in _translations(file)}
    packages: dict[str, Package] = {}
    for file in files["Packages"]:
        for package in _checked(file, lambda paragraph: _package(paragraph, texts)):
            other = packages.get(package.name)
            if other is None or version_key(package.version) > version_key(other.version):
                packages[package.name] = package
    return (packages[name] for name in sorted(packages))


def _checked(path: Path, make: Callable[[Paragraph], Package | str]) -> Iterator[Package]:
    """What is made of the paragraphs; all that could not be made in one error."""
    problems = []
    for paragraph in paragraphs(path):
        made = make(paragraph)
        if isinstance(made, str):
            problems.append(made)
        else:
            yield made
    _refuse(path, problems)


def _package(paragraph: Paragraph, texts: dict[tuple[str, str], str]) -> Package | str:
    """The package of a paragraph, or what is wrong with it."""
    fields = paragraph.fields
    missing = [name for name in ("Package", "Version", "Description") if not fields.get(name.lower())]
    if missing:
        return f"line {paragraph.line}: a package without {' and '.join(missing)}"
    if not _VERSION.fullmatch(fields["version"]):
        return f"line {paragraph.lines['version']}: {fields['version']!r} is no version"
    tags = tuple(dict.fromkeys(fields.get("tag", "").replace(",", " ").split()))
    if wrong := [tag for tag in tags if not _TAG.fullmatch(tag)]:
        return f"line {paragraph.lines['tag']}: {wrong[0]!r} is no tag: expected facet::value"
    summary, _, own = fields["description"].partition("\n")
    text = own or texts.get((fields["package"], fields.get("description-md5", "")), "")
    return Package(fields["package"], fields["version"], summary, flowing(text), tags)


def _translations(path: Path) -> Iterator[tuple[tuple[str, str], str]]:
    """((package, digest of the description), long description) pairs of a `Translation-en`."""
    for paragraph in paragraphs(path):
        fields = paragraph.fields
        if "package" in fields and "description-md5" in fields:
            text = fields.get("description-en", "").partition("\n")[2]
            yield (fields["package"], fields["description-md5"]), text


def flowing(description: str) -> str:
    """A long description as text: the lines of a paragraph are joined, ` .` is an empty line, `  ` begins a line as it is."""
    lines: list[str] = []
    joins = False
    for line in description.split("\n"):
        prose = line[:1] in (" ", "\t") and line[1:2] not in (" ", "\t", "")
        words = "" if line.strip() == "." else line.strip()
        if prose and joins and words:
            lines[-1] += f" {words}"
        else:
            lines.append(words)
        joins = prose and bool(words)
    return "\n".join(lines).strip()


def read_vocabulary(path: str | Path) -> dict[str, str]:
    """Tag -> its short description, of the debtags vocabulary; facets have no `::`."""
    names = {}
    for paragraph in paragraphs(path):
        tag = paragraph.fields.get("tag") or paragraph.fields.get("facet", "")
        names[tag] = paragraph.fields.get("description", "").partition("\n")[0]
    return {tag: name for tag, name in names.items() if tag and name}


def compare_versions(one: str, other: str) -> int:
    """Below 0 where the first version is older, above 0 where it is newer, 0 where they are equal; as dpkg compares them."""
    pairs = zip(_parts(one), _parts(other), strict=True)
    return next((difference for pair in pairs if (difference := _compare_parts(*pair))), 0)


version_key = cmp_to_key(compare_versions)


def _parts(version: str) -> tuple[str, ...]:
    """Epoch, upstream version, and revision; a part that is not there counts as 0."""
    return tuple(part or "0" for part in _VERSION.fullmatch(version).groups())


def _compare_parts(one: str, other: str) -> int:
    """Signs and numbers take turns."""
    pieces = itertools.zip_longest(*(re.findall(r"([^0-9]*)([0-9]*)", part) for part in (one, other)), fillvalue=("", ""))
    for (signs, number), (other_signs, other_number) in pieces:
        if difference := _compare_signs(signs, other_signs) or _compare_numbers(number.lstrip("0"), other_number.lstrip("0")):
            return difference
    return 0


def _compare_signs(one: str, other: str) -> int:
    pairs = itertools.zip_longest(map(_weight, one), map(_weight, other), fillvalue=0)
    return next((weight - other_weight for weight, other_weight in pairs if weight != other_weight), 0)


def _compare_numbers(one: str, other: str) -> int:
    """Of digits without leading zeros, of whatever length."""
    return len(one) - len(other) or (one > other) - (one < other)


def _weight(sign: str) -> int:
    """`~` comes before the end (0), the end before letters, letters before other signs."""
    return -1 if sign == "~" else ord(sign) + 256 * (not sign.isalpha())


def parser() -> argparse.ArgumentParser:
    made = command("debian_packages", __doc__)
    made.prog = "debian_packages.py"
    made.add_argument("folder", type=Path)
    made.add_argument("--to", type=Path, required=True)
    return made


def main(args: argparse.Namespace) -> int:
    rows = [
        {"id": each.name, "title": each.summary, "text": each.text, "tags": each.tags} for each in read_packages(args.folder)
    ]
    names = [read_vocabulary(path) for path in list_files(args.folder)["vocabulary"]]
    args.to.mkdir(parents=True, exist_ok=True)
    with open_output(args.to / "packages.jsonl") as file:
        file.writelines(f"{json.dumps(row, ensure_ascii=False)}\n".encode() for row in rows)
    for vocabulary in names:
        with open_output(args.to / "vocabulary.yaml") as file:
            file.write(f"{json.dumps(vocabulary, ensure_ascii=False, indent=1)}\n".encode())
    return 0


if __name__ == "__main__":
    sys.exit(guard(parser, main))
