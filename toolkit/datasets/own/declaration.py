"""`benchmark.yaml`: name, modes and measures of a folder. All but the name has a default."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.modes import BASE, REVERSED, ROLES, Modes
from toolkit.core.specs import GroupSpec
from toolkit.core.system.files import AS_FILES, as_one
from toolkit.core.system.yaml_json import Malformed, decode_yaml
from toolkit.datasets.own.remarks import Remarks
from toolkit.registry.loader import NAME, did_you_mean

ONCE = (BASE, REVERSED)  # roles that one mode has
GROUP_KEYS = ("name", "language", "aliases", "measures", "counts", "conditions")


@dataclass(frozen=True)
class Declaration:
    """What the file says.

    groups    in the order of the table, each with its entry; empty where the topics alone name them
    language  of the documents of every group that names none
    refused   names of modes that cannot be names: what uses them is no problem of its own
    """

    name: str = ""
    description: str = ""
    modes: Modes = field(default_factory=Modes)
    measures: tuple[str, ...] = ()
    source: Mapping[str, str] = field(default_factory=dict)
    groups: tuple[GroupSpec, ...] = ()
    language: str = ""
    options: Mapping[str, list[str]] = field(default_factory=dict)
    selections: Mapping[str, list[str]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    smallest_effects: Mapping[str, float] = field(default_factory=dict)
    refused: tuple[str, ...] = ()


# key -> whether a value is what it has to be, and what that is in words
FORMS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "name": (lambda value: isinstance(value, str), "a text"),
    "description": (lambda value: isinstance(value, str), "a text"),
    "language": (lambda value: isinstance(value, str), "a text, as in en"),
    "modes": (lambda value: isinstance(value, dict), "names with roles, as in {base: base, pos: instructed}"),
    "measures": (lambda value: _is_list(value), "a list, as in [nDCG@10, pMRR]"),
    "source": (lambda value: _is_mapping(value, str), "keys with texts: paper, url, licence, citation"),
    "groups": (lambda value: isinstance(value, list), "a list of names, or of keys with a name each"),
    "options": (lambda value: _is_mapping(value, list), "keys with lists, as in {shown: [base]}"),
    "selections": (lambda value: _is_mapping(value, list), "names with lists of groups"),
    "counts": (lambda value: _is_mapping(value, int), "cores, queries and documents with numbers"),
    "smallest_effects": (lambda value: _is_mapping(value, float), "measures with fractions, as in {nDCG@10: 0.02}"),
}


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_mapping(value: Any, kind: type) -> bool:
    return isinstance(value, dict) and all(isinstance(key, str) and isinstance(one, kind) for key, one in value.items())


def read_declaration(path: Path, remarks: Remarks) -> Declaration:
    """What the file says, as far as it can be read; what is wrong goes to `remarks`."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        content = decode_yaml(text)
    except UnicodeDecodeError as error:
        remarks.problem(path, error.object.count(b"\n", 0, error.start) + 1, "not UTF-8 text", "save the file as UTF-8")
        return _assumed(path)
    except Malformed as error:
        remarks.problem(path, error.line, f"not YAML: {error}", "mend the file")
        return _assumed(path)
    if not isinstance(content, dict):
        remarks.problem(path, 0, "no keys with values", "write at least a line `name: NAME`")
        return _assumed(path)
    values = {}
    for key, value in content.items():
        if key not in FORMS:
            near = did_you_mean(str(key), FORMS)
            remarks.problem(path, line_of(text, key), f"unknown key {str(key)!r}", f"{near}known keys: {', '.join(FORMS)}")
        elif not FORMS[key][0](value):
            remarks.problem(path, line_of(text, key), f"{key}: expected {FORMS[key][1]}", f"write {key}: again")
        else:
            values[key] = value
    if not content.get("name"):
        remarks.problem(path, 1, "the benchmark has no name", f"add a line `name: {_as_name(path.resolve().parent.name)}`")
    elif "name" in values and (not NAME.fullmatch(values["name"]) or "/" in values["name"]):
        name = _as_name(values["name"])
        remarks.problem(path, line_of(text, "name"), f"{values['name']!r} is no name", f"letters, digits and . _ -: {name}")
        values["name"] = name
    given = values.get("modes", {})
    values["modes"] = _modes(given, path, text, remarks)
    values["refused"] = tuple(str(name) for name in given if name not in values["modes"])
    values["groups"] = tuple(_groups(values.get("groups", ()), path, text, remarks))
    values["measures"] = tuple(values.get("measures", ()))
    for key, named in values.get("options", {}).items():
        for mode in [mode for mode in named if mode not in values["modes"]]:
            line, known = line_of(text, "options", mode), ", ".join(values["modes"]) or "none"
            remarks.problem(path, line, f"{key}: there is no mode {mode!r}", f"modes: {known}")
    return Declaration(**values)


def _assumed(path: Path) -> Declaration:
    """In place of what cannot be read: modes as files are named by them, so that the other files can be looked at."""
    words = (file.name.split(".") for file in sorted(path.parent.glob("qrels.*.*")))
    names = dict.fromkeys(parts[-2] for parts in words if len(parts) > 2)
    return Declaration(modes=Modes(zip(names, ROLES, strict=False)), refused=tuple(names))


def line_of(text: str, key: object, *within: object) -> int:
    """The line, from 1, that a key of the file's own stands on, or a word in its value; 0 where it is not found."""
    start = re.search(rf"^[\"']?{re.escape(str(key))}[\"']?\s*:", text, re.MULTILINE)
    if start is None:
        return 0
    place = start.start()
    for word in within:
        found = re.compile(rf"(?<![\w.-]){re.escape(str(word))}(?![\w.-])").search(text, start.end())
        place = found.start() if found else place
    return text.count("\n", 0, place) + 1


def _as_name(text: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", text).strip("-.+") or "mine"


def _modes(given: Mapping[Any, Any], path: Path, text: str, remarks: Remarks) -> Modes:
    """The modes that can be used. A name or role that is none, and a role that comes twice, are problems. A mode of no role
    gets one that is free, so that what uses its name is no problem of its own."""
    modes: dict[str, str] = {}
    for name, role in given.items():
        line = line_of(text, "modes", name)
        try:
            Modes.declared({name: role}, "")
        except ToolkitError:
            if role in ROLES:
                remarks.problem(path, line, f"{name!r} is no name of a mode", "letters and digits, without - = / and blanks")
                continue
            todo = f"{did_you_mean(str(role), ROLES)}roles: {', '.join(ROLES)}"
            remarks.problem(path, line, f"mode {name}: {role!r} is no role", todo)
        if twins := as_one([*modes, name]):
            remarks.problem(path, line, f"the modes {twins[0]!r} and {twins[1]!r} {AS_FILES}", "rename one of the two")
            continue
        if role in ONCE and role in modes.values():
            first = next(other for other, known in modes.items() if known == role)
            what = f"modes {first} and {name} are both {role}"
            remarks.problem(path, line, what, "several may be instructed, one is base, one reversed")
        free = [one for one in ROLES if one not in {*modes.values(), *given.values()}]
        if role not in ROLES or (role in ONCE and role in modes.values()):
            role = free[0] if free else ""
        if role:
            modes[name] = role
    return Modes(modes)


def _groups(given: Any, path: Path, text: str, remarks: Remarks) -> Iterator[GroupSpec]:
    seen: set[str] = set()
    for one in given:
        row = {"name": one} if isinstance(one, str) else one
        name = row.get("name") if isinstance(row, dict) else None
        line = line_of(text, "groups", name or "groups")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            remarks.problem(path, line, f"{str(one)[:40]!r} is no group", "a group is a name, or keys with a name")
        elif unknown := [key for key in row if key not in GROUP_KEYS]:
            todo = f"{did_you_mean(str(unknown[0]), GROUP_KEYS)}known: {', '.join(GROUP_KEYS)}"
            remarks.problem(path, line_of(text, "groups", unknown[0]), f"group {name}: unknown key {unknown[0]!r}", todo)
        elif name in seen:
            remarks.problem(path, line, f"two groups are called {name}", "a name comes once")
        else:
            seen.add(name)
            yield row
