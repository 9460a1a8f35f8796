"""What models were asked to write for a benchmark, read strictly: an answer of another form is none.

Each reader raises ValueError with what is wrong, and guesses nothing.
"""

import re
from collections.abc import Callable

from toolkit.construction.answer_forms import labelled, sections, text_of
from toolkit.models.lucene.language_id import WORDS
from toolkit.retrieval.search.rules import SENTENCE_END

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
    """Reads a document behind each of the labels."""
    read = sections(*labels)
    return lambda answer: {label: read_document(text) for label, text in read(answer).items()}


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
