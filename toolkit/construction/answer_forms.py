"""Answers read strictly: each function gives what an answer's text says, or raises ValueError with what it says instead."""

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

from toolkit.core.system.yaml_json import Malformed, decode_json

Value = TypeVar("Value")

FENCE = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL)
NUMBER = re.compile(r"\[?(\d{1,6})\]?\.?")
SHOWN = 60  # characters of an answer in a message


def text_of(text: str) -> str:
    """The whole answer, without white space and a Markdown fence around it."""
    stripped = text.strip()
    fenced = re.fullmatch(r"```\w*\s*\n(.*)\n\s*```", stripped, re.DOTALL)
    stripped = fenced[1].strip() if fenced else stripped
    if not stripped:
        raise ValueError("the answer is empty")
    return stripped


def number(lowest: int, highest: int) -> Callable[[str], int]:
    """Reads a whole number and nothing else but a full stop or brackets, from `lowest` to `highest`."""

    def read(text: str) -> int:
        found = NUMBER.fullmatch(text.strip())
        if not found or not lowest <= int(found[1]) <= highest:
            raise ValueError(f"no whole number from {lowest} to {highest}: {text.strip()[:SHOWN]!r}")
        return int(found[1])

    return read


def choice(*known: str) -> Callable[[str], str]:
    """Reads one of some words, in any case and with a full stop or without."""
    words = {word.casefold(): word for word in known}

    def read(text: str) -> str:
        said = text.strip().removesuffix(".").casefold()
        if said not in words:
            raise ValueError(f"none of {', '.join(known)}: {text.strip()[:SHOWN]!r}")
        return words[said]

    return read


def json_value(text: str) -> Any:
    """The JSON value that an answer is, perhaps in a Markdown fence."""
    fenced = FENCE.fullmatch(text.strip())
    try:
        return decode_json(fenced[1] if fenced else text)
    except Malformed as error:
        raise ValueError(f"no JSON ({error}): {text.strip()[:SHOWN]!r}") from error


def texts(count: int | None = None) -> Callable[[str], list[str]]:
    """Reads a JSON list of texts, none of them empty and no two alike; of `count` texts, where that is given."""

    def read(text: str) -> list[str]:
        value = json_value(text)
        if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
            raise ValueError(f"no JSON list of texts: {text.strip()[:SHOWN]!r}")
        found = [" ".join(one.split()) for one in value]
        if count is not None and len(found) != count:
            raise ValueError(f"{len(found)} texts, and not {count}")
        if len({one.casefold() for one in found}) < len(found):
            raise ValueError("a text comes twice")
        return found

    return read


def json_object(*keys: str) -> Callable[[str], dict[str, str]]:
    """Reads a JSON object of texts: exactly these keys, or any where none is named."""

    def read(text: str) -> dict[str, str]:
        value = json_value(text)
        if not isinstance(value, dict) or not value or (keys and set(value) != set(keys)):
            what = f" with {', '.join(keys)}" if keys else ""
            raise ValueError(f"no JSON object{what}: {text.strip()[:SHOWN]!r}")
        if not all(isinstance(one, str) and one.strip() for one in value.values()):
            raise ValueError("a value is no text")
        return {key: one.strip() for key, one in value.items()}

    return read


def labelled(*labels: str) -> Callable[[str], str]:
    """Reads what stands behind the last of some labels (`PLAN: ... [END] REVISED DOCUMENT: ... [END]`), up to [END] or the end.

    An answer without any of the labels is the text itself; one that has others of them alone is refused.
    """
    parts = [re.compile(rf"{_mark(label)}(.*?)(?:\[END\]|\Z)", re.DOTALL | re.IGNORECASE | re.MULTILINE) for label in labels]

    def read(text: str) -> str:
        *others, last = (part.search(text) for part in parts)
        if last is None and any(others):
            raise ValueError(f"no {labels[-1]}: {text.strip()[:SHOWN]!r}")
        return text_of(last[1] if last else text)

    return read


def sections(*labels: str) -> Callable[[str], dict[str, str]]:
    """Reads what stands behind each of some labels, each text up to the next label: `Blog: ... Forum: ...`."""
    whole = re.compile("(.*?)".join(map(_mark, labels)) + "(.*)", re.DOTALL | re.IGNORECASE | re.MULTILINE)

    def read(text: str) -> dict[str, str]:
        if not (found := whole.search(text)):
            raise ValueError(f"no {', '.join(f'{label}:' for label in labels)} in this order: {text.strip()[:SHOWN]!r}")
        return dict(zip(labels, map(text_of, found.groups()), strict=True))

    return read


def numbered(label: str, count: int) -> Callable[[str], list[str]]:
    """Reads `count` texts, each behind its label and number (`Scenario 1: ... [END]`), or a JSON list of as many."""
    mark = _mark(rf"{label} \d+")
    part = re.compile(rf"{mark}(.*?)(?:\[END\]|(?={mark})|\Z)", re.DOTALL | re.IGNORECASE | re.MULTILINE)
    return lambda text: texts(count)(json.dumps(found) if (found := part.findall(text)) else text)


def tagged(tag: str, read: Callable[[str], Value]) -> Callable[[str], Value]:
    """Reads what stands between `<tag>` and `</tag>`, whatever is around them, or the whole answer where they are not in it."""
    part = re.compile(rf"<{tag}>(.*?)</{tag}>", re.DOTALL | re.IGNORECASE)
    return lambda text: read(found[1] if (found := part.search(text)) else text)


def _mark(label: str) -> str:
    """The pattern of a label at the beginning of a line, with the Markdown that models put around it."""
    return rf"^[\s*#]*{label}[\s*]*:\**"
