"""YAML files into specs, checked as they are loaded."""

from __future__ import annotations

import difflib
import functools
import re
import reprlib
import typing
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from toolkit.core.errors import ToolkitError
from toolkit.core.modes import Modes
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.system.files import AS_FILES, as_one, file_word, home
from toolkit.core.system.yaml_json import read_yaml

if TYPE_CHECKING:  # it loads numpy, which completing a line does without
    from toolkit.core.qrels import Qrels

Spec = TypeVar("Spec")

FOLDER = Path(__file__).resolve().parent
SHOWN_NAMES = 20
NAME = re.compile(r"\w[\w.+-]*(/\w[\w.+-]*)*")
HUB_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
# what of a group becomes part of a path: what that may be, in words
PATH_PARTS = {
    "repository": (HUB_ID, "no id of a repository (owner/name)"),
    "revision": (re.compile(r"\w[\w.-]*"), "no revision (letters, digits and . _ -)"),
    "table": (re.compile(r"\w[\w &-]*(/\w[\w &-]*)*"), "no name of a table (letters, digits, blanks and & _ - /)"),
    "subset": (re.compile(r"\w[\w.-]*"), "no name of a subset (letters, digits and . _ -)"),
}
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_shortened = reprlib.Repr()
_shortened.maxlevel, _shortened.maxstring, _shortened.maxother = 2, 100, 100
NOT_INHERITED = ("name", "papers", "printed", "verified", "recipe", "like", "override")
OF_CHECKPOINT = ("revision", "licence", "size", "gated", "source")  # what another checkpoint does not have of the first
MERGED = ("parameters", "templates", "recipes")
_types = functools.cache(typing.get_type_hints)  # evaluates each annotation: a third of the time that an entry takes
MOST_MODES = 6  # more endings than these are numbers or names, not modes


class Unread(NamedTuple):
    """A file of the user's whose entries are left out.

    error  what is wrong with it
    name   where that is a name which another entry has: the name
    """

    error: ToolkitError
    name: str = ""

    def __str__(self) -> str:
        return ": ".join([self.error.message, *(["; ".join(map(str, self.error.problems))] if self.error.problems else [])])


class NameTaken(ToolkitError):
    """An entry has a name that another one has, or that becomes one with another's, its `twin`."""

    def __init__(self, place: str, name: str, twin: str = ""):
        what = f"the names {twin!r} and {name!r} {AS_FILES}" if twin else f"the name {name!r} is taken already"
        override = "" if twin else "; a system or index may say `override: true`"
        super().__init__(f"{place}: {what}", f"choose another name{override}")
        self.name = name


def entries(kind: str, spec: type[Spec], taken: frozenset[str] = frozenset()) -> tuple[dict[str, Spec], tuple[Unread, ...]]:
    """Every entry of one kind by name, and the user's files that are no entries: they are for the caller to report.

    `<kind>/*.yaml` beside this file is read, then TANDEM_HOME/registry, where names that are `taken` are refused, too.
    """
    known, unread = _entries(kind, spec, home(), taken)
    return dict(known), unread


@functools.cache
def _entries(kind: str, spec: type[Spec], user_home: Path, taken: frozenset[str]) -> tuple[dict[str, Spec], tuple[Unread, ...]]:
    known = _shipped(kind, spec)
    more, unread = read_each(_files(user_home / "registry" / kind), spec, {**dict.fromkeys(taken), **known})
    return known | more, unread


@functools.cache
def _shipped(kind: str, spec: type[Spec]) -> dict[str, Spec]:
    return read_entries(_files(FOLDER / kind), spec)


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.yaml"), key=lambda path: path.stem)


def read_each(
    paths: Iterable[Path], spec: type[Spec], taken: Mapping[str, Spec | None]
) -> tuple[dict[str, Spec], tuple[Unread, ...]]:
    """The entries of those of the files that can be read, and the others; arguments as of `read_entries`."""
    known: dict[str, Spec] = {}
    unread = []
    for path in paths:
        try:
            mine = read_entries([path], spec, taken)
            if again := [name for name in mine if name in known]:
                raise NameTaken(str(path), again[0])
            if twins := as_one([*known, *mine]):
                raise NameTaken(str(path), *twins[::-1])
            known |= mine
        except ToolkitError as error:
            unread.append(Unread(error, error.name if isinstance(error, NameTaken) else ""))
        except OSError as error:
            unread.append(Unread(ToolkitError(f"{path}: {error.strerror}", "check the path")))
    return known, tuple(unread)


def read_entries(
    paths: Iterable[Path], spec: type[Spec], taken: Mapping[str, Spec | None] = MappingProxyType({})
) -> dict[str, Spec]:
    """The entries of YAML files by name, in their order; a file holds one entry or a list of entries.

    taken  the entries that there are already (None for a name alone). An entry with `like: NAME` has all that it does not say
           itself from one of these, or from one above it; one with `override: true` may have the name of one of these

    Raises ToolkitError, which names file and entry, where one is not what `spec` says, or its name is `taken` or comes twice.
    """
    known: dict[str, Spec] = {}
    files = {file_word(name): name for name in taken}
    for path in paths:
        content = read_yaml(path)
        for number, row in enumerate(content if isinstance(content, list) else [content], start=1):
            place = f"{path}, entry {number}" if isinstance(content, list) else str(path)
            entry = to_spec(spec, _inherited(row, {**taken, **known}, place), place)
            if problem := _problem(entry):
                raise ToolkitError(f"{place}: {problem}", "see the entries in toolkit/registry")
            override = getattr(entry, "override", False)
            if entry.name in known or (entry.name in taken and not override):
                raise NameTaken(place, entry.name)
            if (other := files.setdefault(file_word(entry.name), entry.name)) != entry.name:
                raise NameTaken(place, entry.name, other)
            if override and entry.name not in taken:
                near = did_you_mean(entry.name, taken)
                raise ToolkitError(f"{place}: override, but there is no {entry.name!r} yet", f"{near}leave `override` out")
            known[entry.name] = entry
    return known


def _inherited(row: Any, bases: Mapping[str, Any], place: str) -> Any:
    """A row with what it has of the entry that it is `like`.

    Parameters, templates and recipes are merged by their names, null takes one out; an entry of another kind has none of its
    base's. With another checkpoint what was known of the first (`OF_CHECKPOINT`) goes. What papers report of it never comes
    along.
    """
    like = row.get("like") if isinstance(row, dict) else None
    if not isinstance(like, str) or not like:
        return row
    base = bases.get(like)
    if base is None:
        raise ToolkitError(f"{place}: like: no entry {like!r}", f"{did_you_mean(like, bases)}it names an entry that is known")
    left_out = {*NOT_INHERITED, *(OF_CHECKPOINT if row.get("checkpoint", base.checkpoint) != base.checkpoint else ())}
    merged = {field.name: getattr(base, field.name) for field in fields(base) if field.name not in left_out}
    merged = {name: list(value) if isinstance(value, tuple) else value for name, value in merged.items()}
    for name in MERGED:
        mine, theirs = row.get(name, {}), merged[name] if row.get("kind", base.kind) == base.kind else {}
        if isinstance(mine, dict):
            merged[name] = {key: value for key, value in {**theirs, **mine}.items() if value is not None}
    return {**merged, **{name: value for name, value in row.items() if name not in MERGED or not isinstance(value, dict)}}


def _problem(entry: Any) -> str:
    """What the type of a value does not tell: names become parts of paths, addresses end in a file's name."""
    groups = getattr(entry, "groups", ())
    names = [entry.name, *(group["name"] for group in groups)]
    if invalid := [name for name in names if not NAME.fullmatch(name)]:
        return f"{invalid[0]!r} is no name (letters, digits and . _ + -, in parts divided by /)"
    for group in groups:
        for key, (form, what) in PATH_PARTS.items():
            if key in group and not form.fullmatch(group[key]):
                return f"{group[key]!r} is {what}"
    if len(set(names[1:])) < len(groups):
        return "two of its groups have one name"
    if twins := as_one(names[1:]):
        return f"the groups {twins[0]!r} and {twins[1]!r} {AS_FILES}"
    if getattr(entry, "recipe", ""):
        return "a recipe is chosen with --recipe; an entry has `recipes`"
    urls = getattr(entry, "urls", ["x/y"])
    return "" if urls and all("/" in url and not url.endswith("/") for url in urls) else "urls must be addresses of files"


def shown(value: Any) -> str:
    """A value for a message, however large or deep it is."""
    return _shortened.repr(value)


def to_spec(spec: type[Spec], row: Any, place: Path | str) -> Spec:
    """A spec from a mapping; all unknown, missing and wrong keys in one ToolkitError that names the place."""
    if not isinstance(row, Mapping):
        raise ToolkitError(f"{place} is no mapping of keys to values", "see the entries in toolkit/registry")
    types = {field.name: _types(spec)[field.name] for field in fields(spec)}  # a class may have further names (ClassVar)
    needed = [field.name for field in fields(spec) if field.default is MISSING and field.default_factory is MISSING]
    problems = [f"unknown key {shown(key)} {did_you_mean(str(key), types)}".rstrip() for key in row if key not in types]
    problems += [f"missing key {key!r}" for key in needed if key not in row]
    for key, value in row.items():
        if key in types:
            problems += _misfits(value, types[key], f"key {key!r}") or _unprintable(value, f"key {key!r}")
    if problems:
        message = f"{place}: {len(problems)} invalid key{'s' if len(problems) > 1 else ''}"
        raise ToolkitError(message, f"known keys: {', '.join(types)}", problems=problems)
    return spec(**{key: tuple(value) if typing.get_origin(types[key]) is tuple else value for key, value in row.items()})


def look_up(kind: str, name: str, known: Mapping[str, Spec], unread: Iterable[Unread] = ()) -> Spec:
    """The entry of this name; a ToolkitError with the nearest right one, and the files that are `unread`, where there is none.

    A name that an unread file has as well is refused: which of the two is meant is not known.
    """
    refuse_taken(name, unread)
    if name in known:
        return known[name]
    names = ", ".join(known) if len(known) <= SHOWN_NAMES else f"{len(known)} names"
    raise ToolkitError(f"no {kind} {name!r}", f"{did_you_mean(name, known)}known: {names}", problems=list(map(str, unread)))


def refuse_taken(name: str, unread: Iterable[Unread]) -> None:
    """Raise ToolkitError where an unread file has this name, which another entry has."""
    for one in unread:
        if one.name == name:
            raise one.error


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean 'x'? ` where something known is near, else nothing: the beginning of a hint."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean '{close[0]}'? " if close else ""


def _misfits(value: Any, kind: Any, place: str) -> list[str]:
    """Where a YAML value, or what it holds, is not what a field's type says; lists stand for tuples."""
    origin, inner = typing.get_origin(kind) or kind, typing.get_args(kind)
    if kind is Any:
        return []
    if isinstance(kind, UnionType):
        fits = any(not _misfits(value, option, place) for option in inner)
        return [] if fits else [f"{place}: expected {_wanted(kind)}, found {shown(value)}"]
    type_of = {float: (int, float), Modes: dict, tuple: list}.get(origin, dict if typing.is_typeddict(kind) else origin)
    if not isinstance(value, type_of) or (origin in (int, float) and isinstance(value, bool)):
        return [f"{place}: expected {_wanted(kind)}, found {shown(value)}"]
    if origin in (tuple, list):
        return [problem for number, item in enumerate(value, 1) for problem in _misfits(item, inner[0], f"{place}, {number}")]
    if origin is dict:
        keys = [problem for key in value for problem in _misfits(key, inner[0], f"{place}, {shown(key)}")]
        return keys + [problem for key, item in value.items() for problem in _misfits(item, inner[1], f"{place}, {shown(key)}")]
    if typing.is_typeddict(kind):
        lacking = [f"{place}: missing key {key!r}" for key in sorted(kind.__required_keys__ - value.keys())]
        for key in [key for key in value if key in _types(kind)]:
            lacking += _misfits(value[key], _types(kind)[key], f"{place}, {key!r}")
        return lacking
    return []


def _unprintable(value: Any, place: str) -> list[str]:
    """Control characters and halves of characters in any text of a value: they would reach a terminal."""
    rest, seen = [value], set()
    while rest:
        part = rest.pop()
        if isinstance(part, str) and (found := UNPRINTABLE.search(part)):
            return [f"{place} holds the character {found[0]!r}"]
        if isinstance(part, dict | list) and id(part) not in seen:
            seen.add(id(part))
            rest += [*part, *part.values()] if isinstance(part, dict) else part
    return []


def _wanted(kind: Any) -> str:
    words = {
        str: "text",
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        tuple: "a list",
        list: "a list",
        dict: "keys and values",
        Modes: "names and their roles",
        NoneType: "null",
    }
    if isinstance(kind, UnionType):
        return " or ".join(_wanted(option) for option in typing.get_args(kind))
    return words[dict if typing.is_typeddict(kind) else typing.get_origin(kind) or kind]


def known_modes() -> Modes:
    """Every name of a mode that a benchmark declares; where two give it different roles, with that of the first."""
    roles: dict[str, str] = {}
    for name, role in (item for modes in _declared() for item in modes.items()):
        roles.setdefault(name, role)
    return Modes(roles)


def modes_of(qrels: Qrels) -> Modes:
    """`qrels.modes`, or without, those of the benchmark whose modes all ids carry, else those of any that some ids carry.

    Raises ToolkitError where benchmarks give a name that the ids carry different roles.
    """
    if qrels.modes is not None:
        return qrels.modes
    split = [query_id.rpartition("-") for query_id in qrels.query_ids]
    endings = {ending for base, _, ending in split if base}
    touched = [modes for modes in _declared() if not endings.isdisjoint(modes)] if endings else []
    whole = [modes for modes in touched if endings <= modes.keys()] if all(base for base, _, _ in split) else []
    roles = defaultdict(set)
    for name, role in (item for modes in whole or touched for item in modes.items()):
        roles[name].add(role)
    if unclear := sorted(name for name in endings & roles.keys() if len(roles[name]) > 1):
        raise ToolkitError(f"the role of mode {unclear[0]} differs between benchmarks", "say which: --modes NAME=ROLE")
    return whole[0] if whole else Modes((name, min(role_names)) for name, role_names in roles.items() if name in endings)


def unnamed_modes(query_ids: Iterable[str], modes: Modes) -> tuple[str, ...]:
    """Endings of query ids that look like modes and are none of these: every id has one of a few, each query several."""
    endings = defaultdict(set)
    for base, _, ending in (query_id.rpartition("-") for query_id in query_ids):
        endings[base].add(ending)
    names = set().union(*endings.values())
    if "" in endings or len(endings) < 2 or len(names) > MOST_MODES or any(ending.isdigit() for ending in names):
        return ()
    return tuple(sorted(names - modes.keys())) if all(len(each) > 1 for each in endings.values()) else ()


def _declared() -> list[Modes]:
    """The different modes of all benchmarks, ours before the user's."""
    declared: list[Modes] = []
    for spec in entries("benchmarks", BenchmarkSpec)[0].values():
        if spec.modes and spec.modes not in declared:
            declared.append(spec.modes)
    return declared
