"""What reaches a terminal: no control characters, no secrets."""

import argparse
import io
import logging
import sys

import pytest

from toolkit.core.errors import ToolkitError
from toolkit.core.system.progress import say
from toolkit.core.system.terminal import redact_logs, safe_streams, visible, without_secrets
from toolkit.parsers import command
from toolkit.printing import note
from toolkit.shell import guard

EVIL = "a\x1b[2J\x1b]0;title\x07\rb\x9b31m\u202ec"
SHOWN = r"a\x1b[2J\x1b]0;title\x07\rb\x9b31m\u202ec"
SECRET = "s3cret-pass/word"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_control_characters_are_shown_and_texts_stay():
    assert visible(EVIL) == SHOWN
    assert visible("tab\tline\nپنج\u200cشنبه 中文 é \U0001f34e") == "tab\tline\nپنج\u200cشنبه 中文 é \U0001f34e"


def run(args: argparse.Namespace) -> None:
    say(f"said {EVIL}")
    note(f"noted {EVIL}")
    print(f"printed {EVIL}")
    raise ToolkitError(f"failed {EVIL}", f"do {EVIL}", problems=[EVIL])


def test_a_command_shows_no_control_characters_wherever_they_come_from(capsys, monkeypatch):
    assert guard(lambda: command("x", "for a test"), run, []) == 2
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [
        f"said {SHOWN}", f"noted {SHOWN}", f"error: failed {SHOWN}", f"  {SHOWN}", f"hint:  do {SHOWN}",
    ]  # fmt: skip
    assert printed.out == f"printed {EVIL}\n"  # a file or a pipe gets the bytes
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    guard(lambda: command("x", "for a test"), run, [])
    assert terminal.getvalue() == f"printed {SHOWN}\n"


@pytest.mark.parametrize("name", ["HF_TOKEN", "OPENAI_API_KEY"])
def test_keys_of_the_environment_are_not_shown(capsys, monkeypatch, name):
    monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("HF_ENDPOINT", "http://user:an%40other-one@hub")
    with safe_streams():
        print(f"Bearer {SECRET}; an@other-one; http://user:an%40other-one@hub/x", file=sys.stderr)
    assert capsys.readouterr().err == "Bearer ***; ***; http://***@hub/x\n"


def test_a_short_key_is_not_looked_for_within_words(capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    with safe_streams():
        print("example", file=sys.stderr)
    assert capsys.readouterr().err == "example\n"


@pytest.mark.parametrize("library", ["huggingface_hub.file_download", "urllib3.connectionpool", "httpx", "requests", ""])
def test_logs_of_libraries_have_no_secrets(library):
    redact_logs()
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logger = logging.getLogger(library)
    logger.addHandler(handler)
    try:
        logger.warning("cannot reach %s (try %d)", f"http://user:{SECRET}@host/f?X-Amz-Signature=abcdef&x=1", 2)
        try:
            raise OSError(f"https://cdn/f?Signature={SECRET}")
        except OSError:
            logger.exception("broken")
        logger.error("arguments that %s do not fit %s", 1)
    finally:
        logger.removeHandler(handler)
    assert SECRET not in stream.getvalue()
    assert "abcdef" not in stream.getvalue()
    assert "cannot reach http://***@" in stream.getvalue()
    assert "OSError: https://cdn/f?***" in stream.getvalue()


def test_addresses_are_shown_without_what_may_be_a_key():
    text = "see (https://u:p@h/a?X=1) and http://h/b?token=x, why?"
    assert without_secrets(text) == "see (https://***@h/a?***) and http://h/b?*** why?"
