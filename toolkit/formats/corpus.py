"""Documents from files: JSONL, TSV and TREC text, one after the other, each with its line."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.files import open_input

ID_COLUMNS = ("id", "_id", "doc_id", "docid", "docno", "pid")
_TITLE = re.compile(r"<(TITLE|HEADLINE|HEAD|HL|TTL)>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_TEXT = re.compile(r"<TEXT>(.*?)</TEXT>", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"<DOCNO>(.*?)</DOCNO>", re.IGNORECASE | re.DOTALL)
_NO_TEXT = re.compile(r"<(DOCNO|DOCID|DOCHDR)>.*?</\1>", re.IGNORECASE | re.DOTALL)
_decode = json.JSONDecoder().decode
_TAG = re.compile(r"<[^>]*>")


class Entry(NamedTuple):
    """One document of a file, or what is wrong in its place.

    line     where it begins, from 1
    problem  empty where there is a document
    """

    line: int
    doc: Doc | None
    problem: str = ""


class Digest(Protocol):
    """What takes bytes, such as hashlib.sha256()."""

    def update(self, data: bytes, /) -> None:
        """Take these bytes."""


class _Broken(ValueError):
    """What is wrong with a document."""


def corpus_files(path: str | Path) -> list[Path]:
    """The files of a corpus: the file itself, or all files of a folder (hidden ones apart) in the order of their names."""
    path = Path(path)
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    if not files:
        raise ToolkitError(f"{path} holds no files", "name a file or folder of documents (JSONL, TSV or TREC text)")
    return files


def read_corpus(path: str | Path, digest: Digest | None = None) -> Iterator[Entry]:
    """The documents of a file, in its order; never more than one of them in memory.

    JSONL has `id` or `_id`, and `contents`, or `text` with a `title` or without. TSV has id and text, or id, title and
    text, or a first line that names its columns. TREC text has <DOC> with <DOCNO>, and <TEXT> (without one, all of it).
    Which of them it is shows in its first characters; `.gz` and `.zst` are decompressed.

    digest  is given the bytes of the file, decompressed

    Raises ToolkitError where the file is missing, or compressed data break off.
    """
    with open_input(path) as file:
        try:
            lines = _decoded(file, digest)
            first = next(lines, None)
            if first is not None:
                yield from _reader(first[1])(_chained(first, lines))
        except (EOFError, zlib.error, OSError) as error:
            if getattr(error, "errno", None):  # the disk, not the data
                raise
            raise ToolkitError(
                f"{path}: the compressed data is damaged or breaks off", "make or fetch the file again"
            ) from error


Lines = Iterator[tuple[int, str]]


def _decoded(file: BinaryIO, digest: Digest | None) -> Lines:
    """Each line that is not blank, with its number; what is no UTF-8 stays visible as a lone surrogate."""
    for number, line in enumerate(file, 1):
        if digest is not None:
            digest.update(line)
        text = line.decode("utf-8-sig" if number == 1 else "utf-8", "surrogateescape")
        if not text.isspace():
            yield number, text


def _chained(first: tuple[int, str], rest: Lines) -> Lines:
    yield first
    yield from rest


def _reader(first: str) -> Callable[[Lines], Iterator[Entry]]:
    start = first.lstrip()
    if start.startswith("{"):
        return _read_jsonl
    return _read_trec if start[:4].upper() == "<DOC" else _read_tsv


def _read_jsonl(lines: Lines) -> Iterator[Entry]:
    for number, line in lines:
        try:
            yield Entry(number, _checked(_from_json(line)))
        except _Broken as problem:
            yield Entry(number, None, str(problem))


def _from_json(line: str) -> Doc:
    try:
        row = _decode(line)
    except ValueError as error:
        raise _Broken(f"no JSON ({error})") from error
    if not isinstance(row, dict):
        raise _Broken(f"expected an object, found {type(row).__name__}")
    doc_id = row.get("id", row.get("_id"))
    if type(doc_id) is int:  # true and false are no ids
        doc_id = str(doc_id)
    contents = row.get("contents")
    title, text = ("", contents) if contents is not None else (row.get("title") or "", row.get("text"))
    if doc_id is None or text is None:
        missing = "'id' (or '_id')" if doc_id is None else "'text' (or 'contents')"
        raise _Broken(f"no field {missing}")
    if not (isinstance(doc_id, str) and isinstance(title, str) and isinstance(text, str)):
        raise _Broken("id, title and text are to be strings")
    return Doc(doc_id, title, text)


def _read_tsv(lines: Lines) -> Iterator[Entry]:
    names: list[str] | None = None
    for number, line in lines:
        columns = line.rstrip("\r\n").split("\t")
        if names is None:
            names = [column.strip().lower() for column in columns]
            if names[0] in ID_COLUMNS and ("text" in names or "contents" in names):
                continue
            names = ["id", "title", "text"] if len(columns) == 3 else ["id", "text"]
        if len(columns) != len(names):
            yield Entry(number, None, f"expected {len(names)} columns divided by tabs, found {len(columns)}")
            continue
        row = dict(zip(names, columns, strict=True))
        try:
            text = row["text"] if "text" in row else row["contents"]
            yield Entry(number, _checked(Doc(columns[0], row.get("title", ""), text)))
        except _Broken as problem:
            yield Entry(number, None, str(problem))


def _read_trec(lines: Lines) -> Iterator[Entry]:
    start, held = 0, []
    for number, line in lines:
        tag = line.lstrip()[:6].upper()
        if tag.startswith("<DOC>"):
            if held:
                yield Entry(start, None, "no </DOC>")
            start, held = number, []
        held.append(line)
        if "</DOC>" in line.upper():
            try:
                yield Entry(start or number, _checked(_from_trec("".join(held))))
            except _Broken as problem:
                yield Entry(start or number, None, str(problem))
            held = []
    if held:
        yield Entry(start, None, "no </DOC>")


def _from_trec(block: str) -> Doc:
    number = _NUMBER.search(block)
    if not number:
        raise _Broken("no <DOCNO>")
    title = " ".join(_plain(found[2]) for found in _TITLE.finditer(block))
    texts = [found[1] for found in _TEXT.finditer(block)] or [_TITLE.sub(" ", _NO_TEXT.sub(" ", block))]
    return Doc(number[1].strip(), title, " ".join(map(_plain, texts)).strip())


def _plain(marked: str) -> str:
    """The text without tags, white space as one blank."""
    return " ".join(_TAG.sub(" ", marked).split())


def _checked(doc: Doc) -> Doc:
    """The document, unless its id could not stand in a run, or its text is no Unicode."""
    if doc.doc_id.split() != [doc.doc_id]:
        raise _Broken("an id without white space is needed" if doc.doc_id.strip() else "the id is empty")
    if not doc.text.isascii() or not doc.title.isascii() or not doc.doc_id.isascii():
        try:
            "".join(doc).encode()
        except UnicodeEncodeError as error:
            raise _Broken("not UTF-8 text") from error
    return doc
