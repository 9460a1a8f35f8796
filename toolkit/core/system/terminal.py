"""What may be shown to people: no control characters, which move a terminal's cursor or hide text, and no secrets."""

import os
import re
import shutil
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import wrap
from typing import Any, TextIO
from urllib.parse import unquote, urlsplit

# C0 but tab and line feed, DEL and C1; line separators, and those that turn the direction of what follows
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
KEYS = re.compile(r"\w+_API_KEY|HF_TOKEN|HUGGING_FACE_HUB_TOKEN")
ADDRESSES = re.compile(r"OPENAI_BASE_URL|HF_ENDPOINT|TANDEM_INDEX_MIRROR|(?i:(http|https|all)_proxy)")
SHORTEST = 8  # characters of a key that is looked for within words: `x` and `EMPTY` are none


def visible(text: str) -> str:
    """The text with control characters as Python writes them (`\\x1b`); tabs and line feeds stay."""
    return CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def without_secrets(text: str) -> str:
    """The same text, its addresses without user, password and query: those may be keys."""
    return re.sub(r"(\S\?)[^\s)'\"]+", r"\1***", without_keys(text))


def without_keys(text: str) -> str:
    """The same text without `user:password@` of addresses, and without the keys and passwords of the environment."""
    text = re.sub(r"//\S*@", "//***@", text)
    found = {value.strip() for name, value in os.environ.items() if KEYS.fullmatch(name)}
    for address in (value for name, value in os.environ.items() if ADDRESSES.fullmatch(name)):
        try:
            password = urlsplit(address if "://" in address else f"//{address}").password or ""
        except ValueError:
            continue
        found |= {password, unquote(password)}
    for secret in {secret for secret in found if len(secret) >= SHORTEST}:
        text = text.replace(secret, "***")
    return text


class SafeStream:
    """A text stream for people: what is written to it is `visible`, and `without_keys` where `keys` says so."""

    def __init__(self, stream: TextIO, *, keys: bool):
        self.stream, self._keys = stream, keys

    def write(self, text: str) -> int:
        """As of the stream."""
        self.stream.write(visible(without_keys(text) if self._keys else text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """As of the stream."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def safe_streams() -> Iterator[None]:
    """Whatever is written within the block to standard error, and to standard output where that is a terminal, is safe.

    Results that go to a file or a pipe stay as they are. Tracebacks and the logs of libraries are safe from then on, too.
    """
    before = sys.stdout, sys.stderr
    sys.stderr = SafeStream(sys.stderr, keys=True)
    if sys.stdout.isatty():
        sys.stdout = SafeStream(sys.stdout, keys=False)
    sys.excepthook = lambda *error: SafeStream(sys.stderr, keys=True).write("".join(traceback.format_exception(*error)))
    redact_logs()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def raw(stream: TextIO) -> TextIO:
    """The stream itself, for a library that draws with control characters of its own."""
    return stream.stream if isinstance(stream, SafeStream) else stream


CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33"}


def has_colour(stream: TextIO) -> bool:
    """Whether colours are shown: on a terminal that has them, unless NO_COLOR (https://no-color.org) is set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def painted(text: str, colour: str) -> str:
    """The text in one of `CODES`, for a terminal's `raw` stream."""
    return f"\x1b[{CODES[colour]}m{text}\x1b[0m"


def width_of(stream: TextIO) -> int | None:
    """How many characters a line of the terminal has; None where the stream is none."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def wrapped(text: str, width: int | None, first: str = "", rest: str | None = None, *, exact: bool = False) -> list[str]:
    """A line in lines of at most `width` characters, those after the first set in; words (paths, ids) are never broken.

    first, rest  what stands before the first line, and before the others (by default as many blanks, or two)
    exact        every blank stays, and lines end wherever they are full
    """
    rest = " " * (len(first) or 2) if rest is None else rest
    if width is None or length(first + text) <= width:
        return [first + text]
    if exact:
        room, start = max(width - len(rest), 1), width - len(first)
        return [first + text[:start], *(rest + text[at : at + room] for at in range(start, len(text), room))]
    how = {"break_long_words": False, "break_on_hyphens": False}
    return wrap(text, max(width, len(rest) + 1), initial_indent=first, subsequent_indent=rest, **how) or [first]


def length(text: str) -> int:
    """How many columns of a terminal a text takes: Chinese characters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def redact_logs() -> None:
    """Keep secrets out of what any library logs, whichever handler writes it."""
    import logging

    make = logging.getLogRecordFactory()
    if getattr(make, "redacts", False):
        return

    def redacted(*given: Any, **named: Any) -> logging.LogRecord:
        """A record without secrets in its text and traceback."""
        record = make(*given, **named)
        try:
            record.msg, record.args = without_secrets(record.getMessage()), ()
        except (TypeError, ValueError):  # arguments that do not fit: logging says so itself
            record.args = ()
        if record.exc_info:
            record.exc_text = without_secrets(logging.Formatter().formatException(record.exc_info))
        return record

    redacted.redacts = True
    logging.setLogRecordFactory(redacted)
