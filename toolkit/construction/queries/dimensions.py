"""Dimensions: what documents may be like beside their subject, as a few lines of YAML (InfoSearch, section 2.1).

    name         the group of the benchmark
    description  in words
    conditions   name -> what an instruction demands (`a text of one single sentence`); or a mapping of `demand` with a
                 `satisfy` and a `check` of its own. `{proposed: DEMAND}`: a model proposes words of a document,
                 `{condition}` in DEMAND stands for the word
    satisfy      where a document comes from that meets a condition: `rewrite` (a model rewrites one of the query's), `keep`
                 (the first of the query's that does, as it was found), `select` (all of these), or a part of a post
                 (`{part: post}`, `{part: code}`, `{part: manual}`; with `else: rewrite` written where the post has none)
    check        who says whether it does: `{rule: length}` (language, length, keyword, code: `registry/rules.yaml`),
                 `model`, `person`
    wordings     `instructed` and `reversed`: lists of texts with `{demand}` and `{condition}`, from which instructions are
                 taken in turn. Left out, a model writes them
    sources      where InfoSearch took queries and documents (table 4): name -> `seeds` of build.yaml, or a note of what
                 has to be at hand

The six of InfoSearch lie in `registry/build-dimensions/` in this form.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.system.yaml_json import read_yaml
from toolkit.registry import FOLDER
from toolkit.registry.loader import NAME, did_you_mean
from toolkit.retrieval.search.rules import KINDS, Restriction, fits, known_values

DIMENSIONS = FOLDER / "build-dimensions"
NEEDED, OPTIONAL = ("name", "satisfy", "check", "conditions"), ("description", "wordings", "sources")
OF_CONDITION = ("demand", "satisfy", "check")
REWRITE, KEEP, SELECT, PART, ELSE = "rewrite", "keep", "select", "part", "else"
RULE, MODEL, PERSON = "rule", "model", "person"
PARTS = ("post", "code", "manual")
WORDINGS = ("instructed", "reversed")
SLOTS = re.compile(r"\{(\w*)\}")
PROPOSED = "proposed"


@dataclass(frozen=True)
class Condition:
    """One demand on documents.

    part, otherwise  of `satisfy: part`, which part of a post, and what is done without
    rule             of `check: rule`, its kind
    """

    name: str
    demand: str
    satisfy: str
    part: str = ""
    check: str = ""
    rule: str = ""
    otherwise: str = ""

    def fits(self, doc: Doc) -> bool:
        """Whether a document meets it by its rule; for `check: rule` only."""
        return fits(doc, Restriction(self.rule, self.name))


@dataclass(frozen=True)
class Dimension:
    """Conditions of which a document meets one.

    proposed   what holds for the conditions that are proposed of each document, its name empty; None where they are a list
    """

    name: str
    description: str
    conditions: tuple[Condition, ...]
    proposed: Condition | None = None
    wordings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sources: Mapping[str, Any] = field(default_factory=dict)

    def condition(self, word: str) -> Condition:
        """The condition of a proposed word."""
        assert self.proposed
        return replace(self.proposed, name=word, demand=fill(self.proposed.demand, word))


def fill(template: str, condition: str, demand: str = "") -> str:
    """A text with `{condition}` and `{demand}` filled in."""
    return SLOTS.sub(lambda slot: {"condition": condition, "demand": demand}[slot[1]], template)


def load_dimensions(names: Sequence[str], folder: Path = Path()) -> tuple[Dimension, ...]:
    """Dimensions by name, or by the path of a file, which is read in `folder` where it is relative.

    Raises one ToolkitError for all that is wrong with them, and for two of one name.
    """
    known = sorted(path.stem for path in DIMENSIONS.glob("*.yaml"))
    paths = {name: DIMENSIONS / f"{name}.yaml" if name in known else folder / name for name in names}
    if unknown := [name for name, path in paths.items() if not path.is_file()]:
        hint = f"{did_you_mean(unknown[0], known)}known: {', '.join(known)}; or a file"
        raise ToolkitError(f"no dimension {', '.join(map(repr, unknown))}", hint)
    rows = {path: read_yaml(path, dict) for path in paths.values()}
    problems = [f"{path}: {problem}" for path, row in rows.items() for problem in _problems(row)]
    if problems:
        hint = f"see the dimensions in {DIMENSIONS.relative_to(FOLDER.parent.parent)}"
        raise ToolkitError("what a dimension says is wrong", hint, problems=problems)
    dimensions = tuple(_dimension(row) for row in rows.values())
    if twice := {one.name for one in dimensions if [other.name for other in dimensions].count(one.name) > 1}:
        raise ToolkitError(f"two dimensions are called {', '.join(sorted(twice))}", "a name is a group of the benchmark")
    return dimensions


def _dimension(row: Mapping[str, Any]) -> Dimension:
    shared = {key: row[key] for key in ("satisfy", "check")}
    entries = {name: entry if isinstance(entry, dict) else {"demand": entry} for name, entry in row["conditions"].items()}
    conditions = {str(name): _condition(str(name), {**shared, **entry}) for name, entry in entries.items()}
    wordings = {role: tuple(texts) for role, texts in row.get("wordings", {}).items()}
    proposed = conditions.pop(PROPOSED, None)
    return Dimension(
        row["name"], row.get("description", ""), tuple(conditions.values()), proposed, wordings, row.get("sources", {})
    )


def _condition(name: str, entry: Mapping[str, Any]) -> Condition:
    (satisfy, part), (check, rule) = _named(entry["satisfy"], PART), _named(entry["check"], RULE)
    return Condition(name, entry["demand"], satisfy, part, check, rule, entry["satisfy"].get(ELSE, "") if part else "")


def _named(value: Any, key: str) -> tuple[str, str]:
    """`rewrite` -> (rewrite, ``); `{part: code}` -> (part, code)."""
    return (key, value[key]) if isinstance(value, dict) else (value, "")


def _problems(row: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the content of a file."""
    if missing := [key for key in NEEDED if key not in row]:
        yield f"{', '.join(missing)} is missing"
        return
    for key in row.keys() - {*NEEDED, *OPTIONAL}:
        yield f"unknown key {key!r}; {did_you_mean(str(key), [*NEEDED, *OPTIONAL])}known: {', '.join([*NEEDED, *OPTIONAL])}"
    if not isinstance(row["name"], str) or not NAME.fullmatch(row["name"]) or "/" in row["name"]:
        yield f"{row['name']!r} is no name: letters, digits and . _ -"
    conditions = row["conditions"]
    if not isinstance(conditions, dict) or not conditions:
        yield "conditions are names with what each demands"
        return
    if len(conditions) == 1 and PROPOSED not in conditions:
        yield "one condition alone: nothing breaks its instruction but documents that answer nothing"
    if len(conditions) > 1 and PROPOSED in conditions:
        yield "conditions are proposed, or they are a list"
    for name, entry in conditions.items():
        yield from (f"condition {name}: {problem}" for problem in _condition_problems(name, entry, row))
    wordings = row.get("wordings", {})
    if not isinstance(wordings, dict) or (wordings and wordings.keys() != {*WORDINGS}):
        yield f"wordings has the keys {' and '.join(WORDINGS)}"
        wordings = {}
    for role, texts in wordings.items():
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text.strip() for text in texts):
            yield f"wordings: {role} is a list of texts"
        elif unknown := {slot for text in texts for slot in SLOTS.findall(text)} - {"condition", "demand"}:
            yield f"wordings: {role}: unknown slot {', '.join(f'{{{slot}}}' for slot in sorted(unknown))}"
    if not isinstance(row.get("sources", {}), dict):
        yield "sources are names, each with seeds or a note"


def _condition_problems(name: Any, entry: Any, row: Mapping[str, Any]) -> Iterator[str]:
    entry = entry if isinstance(entry, dict) else {"demand": entry}
    if unknown := [str(key) for key in entry.keys() - {*OF_CONDITION}]:
        yield f"unknown key {', '.join(sorted(unknown))}; known: {', '.join(OF_CONDITION)}"
    demand = entry.get("demand")
    if not isinstance(demand, str) or not demand.strip():
        yield "demand is a text: `a text of one single sentence`"
    elif (slots := set(SLOTS.findall(demand))) and (slots != {"condition"} or name != PROPOSED):
        yield f"unknown slot {', '.join(f'{{{slot}}}' for slot in sorted(slots))} in its demand"
    satisfy = entry.get("satisfy", row["satisfy"])
    if not _is_satisfy(satisfy):
        yield f"satisfy is rewrite, keep, select or {{part: {' or '.join(PARTS)}}}, found {satisfy!r}"
    if name == PROPOSED and satisfy != SELECT:
        yield "what is proposed of a document's words is satisfied by `select`"
    check = entry.get("check", row["check"])
    if not (check in (MODEL, PERSON) or _is_rule(check)):
        yield f"check is {{rule: {' or '.join(KINDS)}}}, model or person, found {check!r}"
    elif _is_rule(check) and name not in ((values := known_values(check[RULE])) or (name,)):
        yield f"the rule {check[RULE]} knows no {name!r}; known: {', '.join(values)}"


def _is_satisfy(value: Any) -> bool:
    if isinstance(value, dict):
        return {PART} <= value.keys() <= {PART, ELSE} and value[PART] in PARTS and value.get(ELSE, REWRITE) == REWRITE
    return value in (REWRITE, KEEP, SELECT)


def _is_rule(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {RULE} and value[RULE] in KINDS
