"""Tables of a data repository: JSON lines, JSON, TSV or CSV with a header, Parquet; found by their configuration's name.

And the repositories of the Hugging Face hub that hold them, at a pinned revision.
"""

import csv
import io
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import RATIO, SAFE, open_input
from toolkit.core.system.progress import say
from toolkit.core.system.yaml_json import Malformed, decode_json, decode_yaml, read_json
from toolkit.files.store import home, lock, without_secrets
from toolkit.files.store.hub import HubError, endpoint, fetch_files, is_offline, list_files

# a folder may hold the same table in two places or forms: the first of these counts
PLACES = ("{name}{form}", "{name}/*{form}", "{name}-*{form}", "data/{name}-*{form}")
FORMATS = (".jsonl", ".jsonl.gz", ".tsv", ".tsv.gz", ".parquet", ".json", ".csv")
LONGEST = 1 << 26  # bytes of a line
ROWS = 256  # of a Parquet file at once
SNIFFED = 1 << 16  # bytes that tell JSON from JSON lines
SHARD = re.compile(r"-\d{5}-of-(\d{5})\.")
README = "README.md"  # its head names the files of each configuration
TABLES = ("*.jsonl", "*.jsonl.gz", "*.tsv", "*.parquet")


class Record(NamedTuple):
    """One row of a table, and where it stands (`corpus.jsonl, line 3`)."""

    place: str
    values: Mapping[str, Any]


def read_table(folder: Path, configuration: str) -> Iterator[Record]:
    """The rows of a configuration (`corpus`, `qrels_og`), in the order of its files and lines.

    Raises ToolkitError where there is no such table, one without rows, or one of several shards is missing, and at a row that
    cannot be read, with file and line.
    """
    if not (paths := _find(folder, configuration)):
        forms = f"{configuration}.jsonl, {configuration}/*.tsv or {configuration}/*.parquet"
        raise ToolkitError(f"{folder} has no table {configuration!r}", f"expected {forms}")
    shards = {SHARD.split(path.name)[0]: int(match[1]) for path in paths if (match := SHARD.search(path.name))}
    wanted, found = sum(shards.values()), sum(SHARD.search(path.name) is not None for path in paths)
    if found != wanted:
        raise ToolkitError(f"{paths[0].parent}: expected {wanted} shards, found {found}", "get the missing files")
    empty = True
    for path in paths:
        for record in READERS[path.suffixes[-2 if path.suffix == ".gz" else -1]](path):
            empty = False
            yield record
    if empty:
        raise ToolkitError(f"{paths[0]} has no rows", "get the file again")


def repository_folder(root: Path, repository: str) -> Path | None:
    """The folder of a data repository inside a local copy: under its name, or its owner's and its name; None without one."""
    return next((place for place in (root / repository.rpartition("/")[2], root / repository) if place.is_dir()), None)


def folder_with(
    root: Path, group: Mapping[str, Any], configurations: Iterable[str], folders: Iterable[str] = (".",)
) -> Path | None:
    """The first place in a local copy that has one of these configurations: the group's repository, a former one, `folders`."""
    repositories = filter(None, (group.get("repository"), *group.get("former", ())))
    places = [*(repository_folder(root, name) for name in repositories), *(root / name for name in folders)]
    return next((place for place in places if place and any(has_table(place, name) for name in configurations)), None)


def has_table(folder: Path, configuration: str) -> bool:
    """Whether a folder holds a configuration, complete or not."""
    return bool(_find(folder, configuration))


def _find(folder: Path, configuration: str) -> list[Path]:
    """The files of a configuration: those that the repository's README declares, else by their names; empty for none."""
    named = [place.format(name=configuration, form=form) for place in PLACES for form in FORMATS]
    for patterns in (_declared(folder, configuration), *([pattern] for pattern in named)):
        paths: set[Path] = set()
        for pattern in patterns:
            with suppress(ValueError, IndexError):  # a README may declare what is no pattern
                paths.update(path for path in list(folder.glob(pattern)) if path.name.endswith(FORMATS) and path.is_file())
        if paths:
            return sorted(paths)
    return []


def _declared(folder: Path, configuration: str) -> list[str]:
    """Patterns of a configuration's files, from the head of a hub repository's README (`configs`). Empty where the README says
    something else: a local copy may have one of its own."""
    readme = folder / "README.md"
    text = readme.read_text(encoding="utf-8", errors="replace") if readme.is_file() else ""
    if not text.startswith("---\n"):
        return []
    try:
        configs = decode_yaml(text[4:].partition("\n---")[0])["configs"]
        declared = {config["config_name"]: config["data_files"] for config in configs}
        name, _, split = configuration.partition("/")
        if configuration in declared or not split:
            files = declared[configuration]
        else:  # `documents/biology` is the split `biology` of `documents`
            files = [entry for entry in declared[name] if entry["split"] == split]
        return [pattern for pattern in _patterns(files) if not pattern.startswith("/") and ".." not in pattern]
    except (Malformed, StopIteration, TypeError, KeyError, AttributeError):
        return []


def _patterns(data_files: str | list) -> list[str]:
    if isinstance(data_files, str):
        return [data_files]
    return [pattern for entry in data_files for pattern in (_patterns(entry["path"]) if isinstance(entry, dict) else [entry])]


def _jsonl(path: Path) -> Iterator[Record]:
    for place, line in _lines(path):
        try:
            values = decode_json(line, finite=False)
        except Malformed as error:
            raise ToolkitError(f"{place}: not JSON: {error}", "every line is one JSON object") from error
        if not isinstance(values, dict):
            raise ToolkitError(f"{place}: expected a JSON object, found {line.strip()[:40]}", "every line is one JSON object")
        yield Record(place, values)


def _tsv(path: Path) -> Iterator[Record]:
    header: list[str] = []
    for place, line in _lines(path):
        columns = line.rstrip("\r\n").split("\t")
        if not header:
            header = columns
        elif len(columns) != len(header):
            raise ToolkitError(f"{place}: expected {len(header)} columns, found {len(columns)}", "columns are divided by tabs")
        else:
            yield Record(place, dict(zip(header, columns, strict=True)))


def _json(path: Path) -> Iterator[Record]:
    """A list of objects; a mapping of objects, whose keys become `_id`; a list of texts, whose places, from 0, become `_id`."""
    with open_input(path) as file:
        start = file.read(SNIFFED).lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:1] == b"{" and start.partition(b"\n")[0].rstrip().endswith(b"}") and b"\n" in start.rstrip():
        yield from _jsonl(path)  # JSON lines under another name
        return
    content = read_json(path, most=SAFE, finite=False)
    if not isinstance(content, dict | list):
        raise ToolkitError(f"{path}: expected a list or a mapping, found {str(content)[:40]}", "get the file again")
    for key, value in content.items() if isinstance(content, dict) else enumerate(content):
        place = f"{path}, entry {key + 1 if isinstance(key, int) else repr(key)}"
        if isinstance(value, str):
            yield Record(place, {"_id": str(key), "text": value})
        elif isinstance(value, dict):
            yield Record(place, value if isinstance(content, list) else {"_id": key, **value})
        else:
            raise ToolkitError(f"{place}: expected a JSON object, found {str(value)[:40]}", "every entry is one object")


def _csv(path: Path) -> Iterator[Record]:
    number, header = 0, []
    csv.field_size_limit(LONGEST)
    try:
        with open_input(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            for number, values in enumerate(csv.reader(text, strict=True), 1):
                if not header:
                    header = values
                elif len(values) == len(header):
                    yield Record(f"{path}, row {number - 1}", dict(zip(header, values, strict=True)))
                elif values:
                    message = f"{path}, row {number - 1}: expected {len(header)} columns, found {len(values)}"
                    raise ToolkitError(message, "a value with a comma or a line break needs quotes")
    except UnicodeDecodeError as error:
        raise ToolkitError(f"{path}: no UTF-8 after row {max(number - 1, 0)}", "save the file as UTF-8") from error
    except (csv.Error, EOFError, OSError, zlib.error) as error:
        raise ToolkitError(f"{path}: damaged after row {max(number - 1, 0)} ({error})", "get the file again") from error


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Non-empty lines with their places."""
    with open_input(path) as file:
        number = 0
        try:
            for number, line in enumerate(iter(partial(file.readline, LONGEST), b""), 1):
                if len(line) == LONGEST:
                    raise ToolkitError(f"{path}, line {number}: more than {LONGEST >> 20} MB", "a line is one row")
                if line.strip():
                    yield f"{path}, line {number}", line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise ToolkitError(f"{path}, line {number}: no UTF-8", "save the file as UTF-8") from error
        except (EOFError, OSError, zlib.error) as error:
            raise ToolkitError(f"{path}: damaged after line {number} ({error})", "get the file again") from error


def _parquet(path: Path) -> Iterator[Record]:
    import pyarrow.parquet

    number, size, most = 0, 0, max(SAFE, RATIO * path.stat().st_size)
    too_large = ToolkitError(f"{path} unpacks to more than {RATIO} times its size", "get it again, or store it as JSON lines")
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
            if sum(group.total_byte_size for group in groups) > most:
                raise too_large
            for batch in file.iter_batches(ROWS):
                size += batch.nbytes  # a value that a page has once may stand in every row
                if size > most:
                    raise too_large
                for values in batch.to_pylist():
                    number += 1
                    yield Record(f"{path}, row {number}", values)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        hint = "get the file again (a clone without Git LFS holds pointers only)"
        raise ToolkitError(f"{path} is no Parquet file", hint) from error


READERS = {".jsonl": _jsonl, ".tsv": _tsv, ".parquet": _parquet, ".json": _json, ".csv": _csv}


@contextmanager
def fetched(repository: str, revision: str, hint: str, patterns: Sequence[str] = TABLES) -> Iterator[Path]:
    """The folder of a data repository at one revision, named by its commit, for the length of the block.

    What has arrived stays where the download is interrupted. It goes when the block ends well, and when the block cannot
    use it (ToolkitError): the next call downloads it again.
    HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE count.

    hint      the way out where the repository cannot be had (ToolkitError)
    patterns  of the files that are wanted, beside the README
    """
    cache, place = home() / "hub" / repository.replace("/", "--"), without_secrets(endpoint())
    with lock(f"hub {repository}"):
        say(f"fetching {repository} from {place}")
        try:
            if is_offline():
                raise HubError("HF_HUB_OFFLINE is set")
            commit, files = list_files("datasets", repository, revision)
            wanted = [file for file in files if any(fnmatch(file.name, pattern) for pattern in (README, *patterns))]
            folder = cache / commit
            fetch_files("datasets", repository, commit, wanted, folder)
        except HubError as error:
            message = f"cannot fetch {repository} at {revision[:12]} from {place} ({error})"
            raise ToolkitError(message, hint, status=1) from error
        try:
            yield folder
        except ToolkitError as error:
            shutil.rmtree(cache)  # or a damaged file would be met again for ever
            here, there = f"{folder}/", f"{repository} at {revision[:12]}: "
            problems = [str(problem).replace(here, "") for problem in error.problems]
            message = error.message.replace(here, there).replace(str(folder), there.rstrip(": "))
            raise ToolkitError(message, f"run again, or {hint}", problems=problems, status=1) from error
        shutil.rmtree(cache)
