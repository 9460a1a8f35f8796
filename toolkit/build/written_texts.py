"""What models were asked to write for a benchmark, read strictly: an answer of another form is none.

Each reader raises ValueError with what is wrong, and guesses nothing.
"""

from __future__ import annotations

import re

from toolkit.build.answer_forms import text_of
from toolkit.models.language_id import WORDS
from toolkit.search.rules import SENTENCE_END

SENTENCES = 2  # of an instruction (InfoSearch, section 2.2)
LONGEST_WISH = 80  # words of an instruction; InfoSearch's have 14 to 20 with their queries (table 9)
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


def read_instruction(answer: str) -> str:
    """Two sentences in one line, without quotes around them."""
    text = " ".join(_unquoted(answer).split())
    _refuse_preamble(text)
    if not text or not SENTENCE_END.search(text[-3:]):
        raise ValueError("the last sentence has no end")
    if (count := len(SENTENCE_END.findall(text))) != SENTENCES:
        raise ValueError(f"{count} sentences, not {SENTENCES}")
    if _words(text) > LONGEST_WISH:
        raise ValueError(f"more than {LONGEST_WISH} words")
    return text


def read_document(answer: str) -> str:
    """A text of at least three words that does not begin by speaking of itself."""
    text = _unquoted(answer)
    _refuse_preamble(text)
    if _words(text) < LEAST_WORDS:
        raise ValueError(f"fewer than {LEAST_WORDS} words")
    return text


def read_keywords(answer: str) -> list[str]:
    """Words, one a line, each once and in their order; numbers and dashes before them do not count."""
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
