"""The one reader of YAML and JSON: a text that is damaged, ambiguous, endless or made to hurt is one error with its line.

Refused are, beside what is no YAML or JSON at all: bytes that are not UTF-8; files beyond a size; nesting beyond `DEEPEST`
levels, at which libyaml, or what walks over the value later, would end the process; a key that comes twice, of which both
formats silently take the last; numbers of thousands of digits, impossible dates, NaN and Infinity in JSON, half a surrogate
pair; and YAML whose aliases stand for themselves or for millions of values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import open_input
from toolkit.core.system.lazy_names import yaml

MOST = 1 << 26  # bytes of a file: libyaml reads 2 MB a second
DEEPEST = 100  # levels
LARGEST = 1_000_000  # values of a YAML file, those of an alias counted wherever it stands
SHORT = 1 << 13  # characters of a line of JSON that is worth reading quickly
LONGEST = 4000  # digits of a whole number: Python writes no more than 4,300
KINDS = {dict: "a mapping", list: "a list"}
SAVE, AGAIN = "save the file as UTF-8 text", "make or fetch the file again"
HALF = "half a surrogate pair, which is no text"
_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_FLOW = re.compile(r"[\[\]{}]")
_INDENT = re.compile(r"^[ ]*(?:[-?:][ \t]+)*", re.MULTILINE)
_MERGE, _INT, _DATE = (f"tag:yaml.org,2002:{name}" for name in ("merge", "int", "timestamp"))


class Malformed(ValueError):
    """What is wrong with a text.

    line  where, from 1; 0 where nobody knows
    """

    def __init__(self, why: str, line: int = 0):
        super().__init__(why)
        self.line = line


def read_yaml(path: str | Path, kind: type | None = None, hint: str = "", most: int = MOST) -> Any:
    """The value in a YAML file; None where it holds none. As `parse_yaml`, and ToolkitError for more than `most` bytes."""
    return parse_yaml(_bytes(path, most), str(path), kind, hint)


def read_json(path: str | Path, kind: type | None = None, hint: str = "", most: int = MOST, *, finite: bool = True) -> Any:
    """The value in a JSON file. As `parse_json`, and ToolkitError for more than `most` bytes."""
    return parse_json(_bytes(path, most), str(path), kind, hint, finite=finite)


def parse_yaml(data: bytes | str, place: str, kind: type | None = None, hint: str = "") -> Any:
    """The value in YAML, of this `kind` (dict or list) where one is named.

    Raises ToolkitError, which names the place, the line where it is known, and what is wrong; `hint` is in place of our own.
    """
    return _parsed(decode_yaml, "YAML", data, place, kind, hint, "a value with a colon or quote needs quotes")


def parse_json(data: bytes | str, place: str, kind: type | None = None, hint: str = "", *, finite: bool = True) -> Any:
    """The value in JSON; parameters and errors as of `parse_yaml`; finite: as of `decode_json`."""
    return _parsed(partial(decode_json, finite=finite), "JSON", data, place, kind, hint, AGAIN)


def decode_json(text: str, *, finite: bool = True, halves: bool = False) -> Any:
    """The value in JSON, for readers that have errors of their own. Raises Malformed.

    finite  NaN and Infinity are refused; without, they are read, as Python writes them
    halves  half a surrogate pair is read, for who can write it again
    """
    decoder = _DECODER if finite else _LENIENT
    try:
        if len(text) < SHORT:
            value = (_QUICK if finite else _QUICK_LENIENT).decode(text)
            # as many keys as there are, and nothing in them: none came twice
            if type(value) is dict and text.count('":') == len(value) and "\\u" not in text:
                return value
    except (ValueError, RecursionError):  # what it is, the careful way says
        pass
    try:
        value = decoder.decode(text)
    except json.JSONDecodeError as error:
        raise Malformed(f"{error.msg} at column {error.colno}", error.lineno) from error
    except RecursionError as error:
        raise Malformed("nested too deep") from error
    if not halves and _ESCAPED.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise Malformed(HALF) from error
    return value


def json_end(text: str) -> int | None:
    """Where the JSON value ends that a text begins with; None where it begins with none."""
    try:
        return _LENIENT.raw_decode(text)[1]
    except (ValueError, RecursionError):
        return None


def decode_yaml(text: str) -> Any:
    """The value in YAML, None where there is none, for readers that have errors of their own. Raises Malformed."""
    _check_depth(text)
    try:
        reader = _loader()(text)
        node = reader.get_single_node()
        if node is None:
            return None
        _check_nodes(node)
        if "*" in text:
            _measure(node, {})
        value = reader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        raise Malformed(str(error.problem), error.problem_mark.line + 1 if error.problem_mark else 1) from error
    except yaml.reader.ReaderError as error:
        raise Malformed(error.reason, text.encode()[: error.position].count(b"\n") + 1) from error
    except Malformed:
        raise
    # of a tag of another value
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, RecursionError) as error:
        raise Malformed("nested too deep" if isinstance(error, RecursionError) else f"impossible value ({error})") from error
    return value


def dump_yaml(value: Any, **how: Any) -> str:
    """A value as YAML in its own order, a long text in one line; `how` goes to `yaml.safe_dump`."""
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=1 << 16, **how)


def plain(value: Any) -> Any:
    """A value as YAML and JSON have it: mappings as dicts, sequences as lists."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def _bytes(path: str | Path, most: int) -> bytes:
    with open_input(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ToolkitError(f"{path} has more than {most >> 20} MiB", "it is larger than any file that Tandem reads here")
    return data


def _text(data: bytes | str) -> str:
    if isinstance(data, str):
        return data
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Malformed("not UTF-8 text", data.count(b"\n", 0, error.start) + 1) from error


def _parsed(
    decode: Callable[[str], Any], form: str, data: bytes | str, place: str, kind: type | None, hint: str, usual: str
) -> Any:
    try:
        value = decode(_text(data))
    except Malformed as error:
        where = f"{place}, line {error.line}" if error.line else place
        if isinstance(error.__cause__, UnicodeDecodeError):
            raise ToolkitError(f"{where}: {error}", SAVE) from error
        raise ToolkitError(f"{where}: not {form}: {error}", hint or usual) from error
    if kind and not isinstance(value, kind):
        raise ToolkitError(f"{place}: expected {KINDS[kind]}, found {type(value).__name__}", hint or AGAIN)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        raise Malformed(f"the key {next(key for key in keys if keys.count(key) > 1)!r} comes twice")
    return content


def _refuse(name: str) -> NoReturn:
    raise Malformed(f"{name} is no number of JSON")


def _int(digits: str) -> int:
    try:
        return int(digits)
    except ValueError as error:
        raise Malformed(f"a number of {len(digits):,} digits") from error


_QUICK, _QUICK_LENIENT = json.JSONDecoder(parse_constant=_refuse), json.JSONDecoder()
_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse, parse_int=_int)
_LENIENT = json.JSONDecoder(object_pairs_hook=_unique, parse_int=_int)


def _loader() -> type[yaml.SafeLoader]:
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # a PyYAML built without libyaml is ten times slower


def _check_depth(text: str) -> None:
    """Refuse what is nested too deep, before libyaml calls itself for each level. Brackets that are open and the columns in
    which blocks begin tell at once of nearly every text that it is not."""
    depth = deepest = 0
    for match in _FLOW.finditer(text):
        depth += 1 if match[0] in "[{" else -1
        deepest = max(deepest, depth)
    # a list in a mapping may begin in the column of the mapping
    if deepest + 2 * max(len(match[0]) for match in _INDENT.finditer(text)) < DEEPEST:
        return
    depth = 0
    try:
        for event in yaml.parse(text, _loader()):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise Malformed("nested too deep", event.start_mark.line + 1)
    except yaml.YAMLError:  # what is wrong with it is said by whoever reads it
        pass


def _check_nodes(node: yaml.Node) -> None:
    """Refuse a mapping that has a key twice, and what Python cannot make or write of a scalar."""
    rest, seen = [node], set()
    while rest:
        node = rest.pop()
        if node.id == "scalar":
            _check_scalar(node)
        elif id(node) not in seen:
            seen.add(id(node))
            rest += _children(node)
            if node.id == "mapping":
                _check_keys(node)


def _check_scalar(node: yaml.ScalarNode) -> None:
    if node.tag == _INT and len(node.value) > LONGEST:
        raise Malformed(f"a number of {len(node.value):,} digits", node.start_mark.line + 1)
    if node.tag == _DATE:
        try:
            yaml.constructor.SafeConstructor().construct_yaml_timestamp(node)
        except (ValueError, AttributeError) as error:
            raise Malformed(f"impossible date {node.value[:40]!r}", node.start_mark.line + 1) from error
    if _SURROGATE.search(node.value):
        raise Malformed(HALF, node.start_mark.line + 1)


def _check_keys(node: yaml.MappingNode) -> None:
    known: set[tuple[str, str]] = set()
    for key, _ in node.value:
        if key.id != "scalar" or key.tag == _MERGE:
            continue
        if (key.tag, key.value) in known:
            raise Malformed(f"the key {key.value!r} comes twice", key.start_mark.line + 1)
        known.add((key.tag, key.value))


def _measure(node: yaml.Node, known: dict[int, tuple[int, int] | None], depth: int = 1) -> tuple[int, int]:
    """How many values a node stands for and how deep they are, aliases written out. Refuses too many, and too deep."""
    if node.id == "scalar":
        return 1, 0
    if id(node) not in known:
        known[id(node)] = None  # its own parts may not contain it
        children = [_measure(child, known, depth + 1) for child in _children(node)] if depth <= DEEPEST else [(0, DEEPEST)]
        known[id(node)] = 1 + sum(size for size, _ in children), 1 + max((height for _, height in children), default=0)
    measured = known[id(node)]
    if measured is None or measured[0] > LARGEST or measured[1] > DEEPEST:
        raise Malformed("aliases stand for themselves, or for too many values", node.start_mark.line + 1)
    return measured


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    for value in node.value:
        yield from value if isinstance(value, tuple) else (value,)
