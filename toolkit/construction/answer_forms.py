"""Answers read strictly: each function gives what an answer's text says, or raises ValueError with what is wrong."""

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

from toolkit.core.system.yaml_json import Malformed, decode_json
from toolkit.models.lucene.language_id import WORDS
from toolkit.retrieval.search.rules import SENTENCE_END

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


LONGEST_WISH = 80  # words of an instruction with its query; InfoSearch's have 14 to 20 (table 9)
# how the paper's prompts have answers begin (tables 3, 5, 7 and 8); what stands before that repeats what was given
KEYWORD, QUERY, REVERSE, NEGATIVE = "Condition", "Query_with_Instruction", "Reverse Instruction", "Hard negative document"
LONGEST_WORD = 3  # words of a keyword
LEAST_WORDS = 3  # of a document
QUOTES = {'"': '"', "“": "”", "'": "'", "「": "」"}
NUMBERED = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
VERDICT = re.compile(r"\W*(yes|no)\b(.*)", re.IGNORECASE | re.DOTALL)
# a model speaks of the text instead of writing it
PREAMBLE = re.compile(
    r"(?:sure|certainly|of course|okay|here (?:is|are|'s|’s)|as an ai|i (?:cannot|can't|can’t|am unable|am sorry)|i'm sorry"
    r"|(?:the )?(?:re)?written (?:text|version)\b[^.\n]*:|(?:new )?text:|sentences?:|rewrite:)",
    re.IGNORECASE,
)


def read_instructed_query(answer: str) -> tuple[str, str]:
    """The two sentences of an instructed query, each in a line: the query in other words, and the restriction."""
    text = _sentences(labelled(QUERY)(answer), 2)
    first = SENTENCE_END.search(text)
    assert first
    return text[: first.end()].strip(), text[first.end() :].strip()


def read_instruction(answer: str) -> str:
    """One sentence in a line, without quotes around it."""
    return _sentences(labelled(REVERSE)(answer), 1)


def _sentences(answer: str, count: int) -> str:
    text = " ".join(_unquoted(answer).split())
    _refuse_preamble(text)
    if not text or not SENTENCE_END.search(text[-3:]):
        raise ValueError("the last sentence has no end")
    if (found := len(SENTENCE_END.findall(text))) != count:
        raise ValueError(f"{found} sentences, not {count}")
    if _words(text) > LONGEST_WISH:
        raise ValueError(f"more than {LONGEST_WISH} words")
    return text


def read_document(answer: str) -> str:
    """A text of at least three words that does not begin by speaking of itself."""
    text = _unquoted(labelled(NEGATIVE)(answer))
    _refuse_preamble(text)
    if _words(text) < LEAST_WORDS:
        raise ValueError(f"fewer than {LEAST_WORDS} words")
    return text


def read_documents(*labels: str) -> Callable[[str], dict[str, str]]:
    """Reads a document behind each of some labels, each text up to the next label: `Blog: ... Forum: ...`."""
    whole = re.compile("(.*?)".join(map(_mark, labels)) + "(.*)", re.DOTALL | re.IGNORECASE | re.MULTILINE)

    def read(answer: str) -> dict[str, str]:
        if not (found := whole.search(answer)):
            raise ValueError(f"no {', '.join(f'{label}:' for label in labels)} in this order: {answer.strip()[:SHOWN]!r}")
        return {label: read_document(text) for label, text in zip(labels, [*map(text_of, found.groups())], strict=True)}

    return read


def read_keywords(answer: str) -> list[str]:
    """Words, one a line, each once and in their order; numbers and dashes before them do not count."""
    answer = labelled(KEYWORD)(answer) if answer.strip() else ""
    lines = [_unquoted(NUMBERED.sub("", line).strip().rstrip(",;")) for line in answer.splitlines() if line.strip()]
    if not lines:
        raise ValueError("no words")
    if long := [line for line in lines if not 1 <= len(line.split()) <= LONGEST_WORD or re.search(r"[.:?!,;]", line)]:
        raise ValueError(f"a line that is no word: {long[0][:40]!r}")
    return list(dict.fromkeys(lines))


def read_verdict(answer: str) -> bool:
    """Yes or No; behind it there may be a reason, but not the other word."""
    found = VERDICT.match(answer)
    if not found:
        raise ValueError("neither Yes nor No")
    other = "no" if found[1].lower() == "yes" else "yes"
    if re.search(rf"\b{other}\b", found[2], re.IGNORECASE):
        raise ValueError("both Yes and No")
    return found[1].lower() == "yes"


def _unquoted(text: str) -> str:
    """The text without white space, a Markdown fence and quotes around it."""
    text = text_of(text) if text.strip() else ""
    if len(text) > 1 and QUOTES.get(text[0]) == text[-1] and text[0] not in text[1:-1] and text[-1] not in text[1:-1]:
        return text[1:-1].strip()
    return text


def _refuse_preamble(text: str) -> None:
    if found := PREAMBLE.match(text):
        raise ValueError(f"it speaks of the text: {found[0]!r}")


def _words(text: str) -> int:
    """Words, a Han character being one."""
    han = WORDS["han"]
    return len(han.sub(" ", text).split()) + len(han.findall(text))
