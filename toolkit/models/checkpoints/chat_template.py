"""A checkpoint's chat template around turns: a small program of somebody else's, given little time and memory."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import FrameType
from typing import Any

from toolkit.core.system.lazy_names import transformers
from toolkit.core.system.memory import memory_bound
from toolkit.files.store import reason
from toolkit.models.llm.messages import Message

# Llama's templates state a date: today's would change scores and answers from one day to the next
DATE = "26 Jul 2024"
SECONDS, MEMORY = 5.0, 1 << 30  # that filling a template may take: it takes a millisecond
LONGEST = 1 << 20  # characters that a template may add


class Refused(Exception):
    """The template does not take these turns; why, in a line."""


def filled(tokenizer: transformers.PreTrainedTokenizerBase, turns: Sequence[Message], *, thinks: bool = False) -> str:
    """The text that a chat becomes, the beginning of an answer at its end. `Refused` for whatever a template raises.

    thinks  whether the model may think aloud first, where its template asks (Qwen's)
    """
    _check_powers(str(tokenizer.chat_template))
    options = {"date_string": DATE, "enable_thinking": thinks}
    try:
        with _in_time(SECONDS), memory_bound(MEMORY):
            text = tokenizer.apply_chat_template(list(turns), tokenize=False, add_generation_prompt=True, **options)
    except MemoryError:
        raise Refused("it takes more memory than any template") from None
    except Exception as error:  # Jinja's own, and whatever a template raises
        raise Refused(reason(error)) from error
    if len(text) > LONGEST + 2 * sum(len(turn["content"]) for turn in turns):
        raise Refused(f"it makes {len(text):,} characters of the turns")
    return text


@contextmanager
def _in_time(seconds: float) -> Iterator[None]:
    """TimeoutError where the Python code of the block, line by line, goes on for longer; in whichever thread."""
    until, before = time.monotonic() + seconds, sys.gettrace()

    def watch(frame: FrameType, event: str, value: Any) -> Any:
        if time.monotonic() > until:
            raise TimeoutError(f"it takes more than {seconds:g} seconds")
        return watch

    sys.settrace(watch)
    try:
        yield
    finally:
        sys.settrace(before)


@lru_cache
def _check_powers(template: str) -> None:
    """`Refused` for a template with `**`: one power can take hours within a single line."""
    from jinja2 import Environment, TemplateSyntaxError, nodes

    try:
        parsed = Environment(extensions=["jinja2.ext.loopcontrols"]).parse(template)
    except (TemplateSyntaxError, RecursionError):  # or an extension's tag: transformers says what is wrong
        if "**" in template:
            raise Refused("it computes powers") from None
        return
    if next(parsed.find_all(nodes.Pow), None):
        raise Refused("it computes powers")
