"""Who wrote, filtered and judged the items of a benchmark: `provenance.jsonl` in its folder, a line an item.

    {"id": "d7", "made": [{"role": "wrote", "by": "gpt-4o", "family": "gpt", "prompt": "build-target", "step": "targets"}]}

`id` is of a document or of a query (with or without its mode). `by` is a model, `rule` or `person`.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.system.yaml_json import Malformed, decode_json
from toolkit.files.texts.lines import read_bytes, text_lines

ROLES = ("wrote", "filtered", "judged")
NO_MODEL = ("rule", "person")
SHOWN = 20  # problems of a file


class Made(NamedTuple):
    """What somebody did with an item.

    role    one of `ROLES`
    by      a model as the registry or its server calls it, or one of `NO_MODEL`
    family  of the model, empty where it is not known
    prompt  the name of the prompt; empty where none was used
    step    of the build; empty where it was not built so
    sha256  of the prompt
    """

    role: str
    by: str
    family: str = ""
    prompt: str = ""
    step: str = ""
    sha256: str = ""


_LINE = re.compile(r'\{"id": "([^"\\]*)", "made": (\[.*\])\}')  # as builds write it, of an id without escapes

Provenances = Mapping[str, tuple[Made, ...]]  # item id -> what was done with it, each once, in order


def read_provenances(path: Path) -> Provenances:
    """What the file says. Raises ToolkitError with all lines that say nothing of an item."""
    found: dict[str, dict[Made, None]] = {}
    problems: list[str] = []
    # what a text between `"made": ` and the end of a line says; few say different things
    known: dict[str, dict[Made, None]] = {}
    for number, line in text_lines(read_bytes(path), str(path)):
        match = _LINE.fullmatch(line)
        if match is not None and match[2] in known:
            found.setdefault(match[1], {}).update(known[match[2]])
            continue
        try:
            row = decode_json(line)
        except Malformed as error:
            problems.append(f"line {number}: not JSON: {error}")
            continue
        if not isinstance(row, dict) or not isinstance(row.get("id"), str) or not isinstance(row.get("made"), list):
            problems.append(f"line {number}: expected the keys id (a text) and made (a list)")
        elif wrong := [str(one)[:60] for one in row["made"] if not _is_made(one)]:
            problems.append(f"line {number}: {row['id']}: a role is one of {', '.join(ROLES)}, `by` a name: {wrong[0]}")
        else:
            made = dict.fromkeys(Made(*(each.get(key) or "" for key in Made._fields)) for each in row["made"])
            if match is not None and row.keys() == {"id", "made"}:
                known[match[2]] = made
            found.setdefault(row["id"], {}).update(made)
    if problems:
        more = [f"and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
        hint = 'a line is {"id": "d1", "made": [{"role": "wrote", "by": "gpt-4o", "family": "gpt"}]}'
        message = f"{path}: {len(problems)} line{'s are' if len(problems) > 1 else ' is'} no provenance"
        raise ToolkitError(message, hint, problems=problems[:SHOWN] + more)
    return {item: tuple(made) for item, made in found.items()}


def _is_made(one: Any) -> bool:
    texts = isinstance(one, dict) and all(isinstance(one.get(key, ""), str | None) for key in Made._fields)
    return texts and one.get("role") in ROLES and bool(one.get("by"))
