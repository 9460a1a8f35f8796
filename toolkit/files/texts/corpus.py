"""Documents from files: JSONL, TSV and TREC text, one after the other, each with its line."""

import io
import itertools
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import open_input
from toolkit.core.system.lazy_names import compute, pyarrow
from toolkit.core.system.yaml_json import Malformed, decode_json

BATCH = 4096  # documents
BLOCK = 1 << 18  # bytes of JSON lines
LONGEST = 32_766  # bytes of an id, as of any of Lucene's terms
PEEK = 1024  # bytes in which a file shows its form
ID_COLUMNS = ("id", "_id", "doc_id", "docid", "docno", "pid")
_TITLE = re.compile(r"<(TITLE|HEADLINE|HEAD|HL|TTL)>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_TEXT = re.compile(r"<TEXT>(.*?)</TEXT>", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"<DOCNO>(.*?)</DOCNO>", re.IGNORECASE | re.DOTALL)
_NO_TEXT = re.compile(r"<(DOCNO|DOCID|DOCHDR)>.*?</\1>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


class Entry(NamedTuple):
    """One document of a file, or what is wrong in its place.

    line      where it begins, from 1
    problem   empty where there is a document
    question  the id of the question whose corpus it belongs to, where the file names one; its own id may then be empty
    page      its text is the source of a page, see `toolkit.files.texts.pages`
    """

    line: int
    doc: Doc | None
    problem: str = ""
    question: str = ""
    page: bool = False


@dataclass(frozen=True)
class Batch:
    """Documents of a file that follow each other.

    ready    where all of them are valid and in the form that Anserini reads: their lines
    ids      the ids of the documents in `ready`
    entries  gives them one by one, with what is wrong in between
    """

    entries: Callable[[], list[Entry]]
    ready: bytes = b""
    ids: Sequence[str] = ()


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


def read_corpus(path: str | Path, digest: Any = None) -> Iterator[Batch]:
    """The documents of a file, in its order, some thousand at a time.

    JSONL has `id` or `_id`, and `contents`, or `text` with a `title` or without. TSV has id and text, or id, title and
    text, or a first line that names its columns. TREC text has <DOC> with <DOCNO>, and <TEXT> (without one, all of it).
    Which of them it is shows in its first characters; `.gz` and `.zst` are decompressed. JSONL and named columns may have
    the question whose corpus a document belongs to (`query_id` or `question_id`), and JSONL `html` in place of a text.

    digest  is given the bytes of the file, decompressed: of hashlib, or None

    Raises ToolkitError where the file is missing, or compressed data break off.
    """
    with open_input(path) as raw:
        try:
            file = io.BufferedReader(raw) if not hasattr(raw, "peek") else raw
            start = file.peek(1)[:PEEK].decode("utf-8-sig", "replace").lstrip()
            blocks = _blocks(file, digest)
            if start.startswith("{"):
                for line, block in blocks:  # one that arrow finds nothing wrong with is not looked at line by line
                    entries, ids = partial(_json_entries, block, line), ready_ids(block)
                    yield Batch(entries, block if block.endswith(b"\n") else block + b"\n", ids) if ids else Batch(entries)
            else:
                reader = _read_trec if start[:4].upper() == "<DOC" else _read_tsv
                yield from batches_of(reader(itertools.chain.from_iterable(map(_decoded, blocks))))
        except (EOFError, zlib.error, OSError) as error:
            if getattr(error, "errno", None):  # the disk, not the data
                raise
            hint = "make or fetch the file again"
            raise ToolkitError(f"{path}: the compressed data is damaged or breaks off", hint) from error


def batches_of(entries: Iterator[Entry]) -> Iterator[Batch]:
    """Some thousand documents at a time."""
    while batch := list(itertools.islice(entries, BATCH)):
        yield Batch(partial(list, batch))


Block = tuple[int, bytes]  # the number of its first line, and whole lines


def _blocks(file: BinaryIO, digest: Any) -> Iterator[Block]:
    """Whole lines of a file; blocks of mere white space, of which a small packed file may hold gigabytes, are left out."""
    line = 1
    while block := file.read(BLOCK) + file.readline():
        if digest is not None:
            digest.update(block)
        if not block.isspace():
            yield line, block
        line += block.count(b"\n")


def _json_entries(block: bytes, line: int) -> list[Entry]:
    entries = []
    for number, text in _decoded((line, block)):
        try:
            entries.append(_from_json(number, text))
        except _Broken as problem:
            entries.append(Entry(number, None, str(problem)))
    return entries


def ready_ids(block: bytes) -> list[str]:
    """The ids of JSON lines in Anserini's own form: `id` and `contents`, nothing else, valid and not empty.

    None at all where a single line is not.
    """
    from pyarrow import json

    schema = pyarrow.schema([("id", pyarrow.string()), ("contents", pyarrow.string())])
    reading = json.ReadOptions(use_threads=False, block_size=len(block) + 1)
    parsing = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    try:
        table = json.read_json(pyarrow.BufferReader(block), reading, parsing)
        table.validate(full=True)
    except pyarrow.ArrowInvalid:
        return []
    ids, contents = table["id"].combine_chunks(), table["contents"].combine_chunks()
    if ids.null_count or contents.null_count or (compute.max(compute.binary_length(ids)).as_py() or 0) > LONGEST:
        return []
    usable = compute.match_substring_regex(ids, r"^[^\s\x00-\x20\x7f-\xa0]+$")
    filled = compute.match_substring_regex(contents, r"[^\x00-\x20]")
    return ids.to_pylist() if usable.true_count == filled.true_count == len(ids) else []


Lines = Iterator[tuple[int, str]]


def _decoded(block: Block) -> Lines:
    """Each line that is not blank, with its number; what is no UTF-8 stays visible as a lone surrogate."""
    for number, line in enumerate(io.BytesIO(block[1]), block[0]):
        text = line.decode("utf-8-sig" if number == 1 else "utf-8", "surrogateescape")
        if not text.isspace():
            yield number, text


def _from_json(number: int, line: str) -> Entry:
    try:
        row = decode_json(line, halves=True)  # a page may be anything; other texts are checked by `_entry`
    except Malformed as error:
        raise _Broken(f"not JSON: {error}") from error
    if not isinstance(row, dict):
        raise _Broken(f"expected an object, found {type(row).__name__}")
    doc_id, question = _id(row.get("id", row.get("_id"))), _question(row)
    contents, title, text = row.get("contents"), row.get("title") or "", row.get("text")
    page = contents is None and text is None and "html" in row
    if contents is not None:
        title, text = "", contents
    elif page:
        text = row["html"] or ""  # nothing was saved: a page without text
    if doc_id is None and question:
        doc_id = ""
    if doc_id is None or text is None:
        missing = "'id' (or '_id')" if doc_id is None else "'text' (or 'contents')"
        raise _Broken(f"no field {missing}")
    if not (isinstance(doc_id, str) and isinstance(title, str) and isinstance(text, str)):
        raise _Broken("id, title and text are to be strings")
    return _entry(number, Doc(doc_id, title, text), question, page)


def _question(row: Mapping[str, Any]) -> str:
    """The id of the question that a row names; empty where it names none."""
    question_id = _id(next((row[name] for name in ("query_id", "question_id") if row.get(name) is not None), ""))
    if not isinstance(question_id, str) or len(question_id.split()) > 1 or question_id != question_id.strip():
        raise _Broken("the id of a question is to be a string without white space")
    return question_id


def _id(value: Any) -> Any:
    """Whole numbers as text; true and false are no ids."""
    return str(value) if type(value) is int else value


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
            yield _entry(number, Doc(columns[0], row.get("title", ""), text), _question(row))
        except _Broken as problem:
            yield Entry(number, None, str(problem))


def _read_trec(lines: Lines) -> Iterator[Entry]:
    start, block = 0, []
    for number, line in lines:
        if line.lstrip()[:6].upper().startswith("<DOC>"):
            if block:
                yield Entry(start, None, "no </DOC>")
            start, block = number, []
        block.append(line)
        if "</DOC>" in line.upper():
            try:
                yield _entry(start or number, _from_trec("".join(block)))
            except _Broken as problem:
                yield Entry(start or number, None, str(problem))
            block = []
    if block:
        yield Entry(start, None, "no </DOC>")


def _from_trec(block: str) -> Doc:
    number = _NUMBER.search(block)
    if not number:
        raise _Broken("no <DOCNO>")
    title = " ".join(_plain(match[2]) for match in _TITLE.finditer(block))
    texts = [match[1] for match in _TEXT.finditer(block)] or [_TITLE.sub(" ", _NO_TEXT.sub(" ", block))]
    return Doc(number[1].strip(), title, " ".join(map(_plain, texts)).strip())


def _plain(marked: str) -> str:
    """The text without tags, white space as one blank."""
    return " ".join(_TAG.sub(" ", marked).split())


def _entry(line: int, doc: Doc, question: str = "", page: bool = False) -> Entry:
    """The document, unless its id could not stand in a run, or its text is no Unicode (a page may be anything)."""
    if doc.doc_id.split() != [doc.doc_id] and not (question and not doc.doc_id):
        raise _Broken("an id without white space is needed" if doc.doc_id.strip() else "the id is empty")
    if not page and not (doc.text.isascii() and doc.title.isascii() and doc.doc_id.isascii() and question.isascii()):
        try:
            "".join((*doc, question)).encode()
        except UnicodeEncodeError as error:
            raise _Broken("not UTF-8 text") from error
    if (size := len(doc.doc_id.encode(errors="replace"))) > LONGEST:
        raise _Broken(f"the id {doc.doc_id[:20]}... has {size:,} bytes: an index takes {LONGEST:,}")
    return Entry(line, doc, "", question, page)
