"""The system that a user names: an entry of the registry or of a file of theirs, or a checkpoint that no entry knows."""

from __future__ import annotations

import functools
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.progress import say
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import without_slots
from toolkit.registry.loader import HUB_ID, Unread, did_you_mean, entries, read_each, refuse_taken
from toolkit.registry.system_kinds import check_system

UNLISTED = "a checkpoint that no entry knows"
PLAIN = "Texts are sent as they are, without the prompts that the checkpoint may name; templates and entries change that."


def known_systems(
    files: Iterable[str | Path] = (),
) -> tuple[dict[str, SystemSpec], tuple[Unread, ...], tuple[Unread, ...]]:
    """The registry's systems by name, then those of the user's files; what is no entry in the registry, and in the files.

    Raises OSError for a file that is not there.
    """
    paths = [Path(file) for file in files]
    for path in paths:
        path.stat()
    known, unread = entries("systems", SystemSpec)
    mine, broken = read_each(paths, SystemSpec, taken=known)
    return known | mine, unread, broken


def choose_system(
    name: str,
    *,
    files: Iterable[str | Path] = (),
    recipe: str | None = None,
    kind: str | None = None,
    query_template: str | None = None,
    plain_template: str | None = None,
    passage_template: str | None = None,
    pooling: str | None = None,
) -> SystemSpec:
    """The system of this name, as it is to be used.

    name    of the registry or of `files`, or a folder or Hugging Face id; an id that one entry has is that entry
    files   the user's own YAML files, in the form of `registry/systems/*.yaml`
    recipe  one of the entry's recipes; without it the model card's
    kind    what runs a checkpoint that no entry knows (`dense` unless said)
    query_template, plain_template, passage_template, pooling
            instead of the entry's; in a template `\\\\n` stands for a line feed. Of a query template without a plain one,
            queries without instruction get what `templates.without_slots` leaves of it

    A file that is no entry is a warning where the name is found elsewhere.

    Raises ToolkitError for an unknown name or recipe, a recipe that was never published, and what the kind does not know.
    """
    known, unread, broken = known_systems(files)
    refuse_taken(name, (*unread, *broken))
    spec = _find(name, known, kind)
    if spec is None:
        hint = (
            "it may also be a folder, a Hugging Face id, or an entry of a file (--systems); `tandem systems list` has the names"
        )
        missing = ToolkitError(f"no system {name!r}", did_you_mean(name, known) + hint, problems=list(map(str, unread)))
        raise broken[0].error if broken else missing
    for one in broken:
        _warn_once(f"warning: left out: {one}")
    check_system(spec)  # with all of its recipes, before one of them is followed
    if recipe:
        spec = spec.with_recipe(recipe)
    if pooling is not None:
        spec = replace(spec, parameters={**spec.parameters, "pooling": pooling})
    spec = replace(spec, templates=_templates(spec.templates, query_template, plain_template, passage_template))
    check_system(spec)
    return spec


@functools.cache
def _warn_once(message: str) -> None:
    """A command may look up several systems, each in the same files."""
    say(message)


def _find(name: str, known: Mapping[str, SystemSpec], kind: str | None) -> SystemSpec | None:
    if name in known:
        if kind and kind != known[name].kind:
            raise ToolkitError(f"{name} is of kind {known[name].kind}, not {kind}", "leave --kind out")
        return known[name]
    if Path(name).is_dir():
        return _unlisted(str(Path(name).resolve()), known, kind)
    if HUB_ID.fullmatch(name):
        same = [spec for spec in known.values() if spec.checkpoint == name and kind in (None, spec.kind)]
        if len(same) > 1:
            names = ", ".join(spec.name for spec in same)
            raise ToolkitError(f"{name} is the checkpoint of {len(same)} systems", f"name one of them: {names}")
        return same[0] if same else _unlisted(name, known, kind)
    return None


def _unlisted(checkpoint: str, known: Container[str], kind: str | None) -> SystemSpec:
    """A checkpoint of which only the place is known, named by its last part: by all of it where a system has that name."""
    name = _as_name(checkpoint.rpartition("/")[2])
    if not name or name in known:
        name = _as_name(checkpoint)
    if not name:
        raise ToolkitError(f"{checkpoint} cannot name a system", "give the folder a name with letters or digits")
    kind = kind or "dense"
    parameters = {"pooling": "own", "similarity": "cos"} if kind == "dense" else {}
    return SystemSpec(name=name, description=UNLISTED, kind=kind, checkpoint=checkpoint, parameters=parameters, notes=PLAIN)


def _as_name(place: str) -> str:
    return re.sub(r"[^\w.+-]", "-", place).lstrip(".+-")


def _templates(known: Mapping[str, str], query: str | None, plain: str | None, passage: str | None) -> dict[str, str]:
    """The system's templates with the user's in their place; the user's query template is for every mode."""
    given = {"query": query, "plain": plain, "passage": passage}
    mine = {name: template.replace("\\n", "\n") for name, template in given.items() if template is not None}
    if "{instruction}" in mine.get("query", ""):
        mine = {"plain": without_slots(mine["query"], ("instruction",)), **mine}
    return {name: template for name, template in known.items() if name != "plain" or "query" not in mine} | mine
