"""Listwise reranking with a language model: it is shown a window of passages and answers with their order.

Here are the prompt, the token budget, passages as a prompt can take them, and what was repaired on the way.
"""

from __future__ import annotations

import itertools
import re
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.system.python_names import is_dry
from toolkit.core.templates import check_template
from toolkit.models.llm import LLM, Prompt, Request, load_llm, load_prompt
from toolkit.models.llm.estimate import Estimate, longest_that_fits
from toolkit.models.llm.messages import Backend
from toolkit.models.rerankers.base import Window
from toolkit.registry.system_kinds import check_system

if TYPE_CHECKING:
    from toolkit.models.checkpoints.own_systems import OwnRanker
    from toolkit.models.rerankers.library import LibraryRanker

DEFAULTS = {"length": 4096, "passage_words": 300, "ids": "brackets", "system": "keep", "temperature": 0}
DEFAULT_PROMPT = "listwise.v1"
SPARE = 32  # tokens an answer may have beyond the ids themselves
SAMPLING = ("temperature", "top_p", "seed")
BRACKETED, DIGITS = re.compile(r"\[\s*(\d+)\s*\]"), re.compile(r"\d+")
THOUGHTS = "</think>"  # what a reasoning model says before is not its answer
NUMBER = re.compile(r"\[(\d+)\]")
# scripts that are written without blanks (Thai to Khmer, kana, Han): each character counts as a word; and so does each 30
# characters of what has no blanks elsewhere (addresses, encoded data)
DENSE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
WORD = re.compile(rf"[{DENSE}]|[^\s{DENSE}]{{1,30}}")


def plain(text: str) -> str:
    """One line, with `(3)` for `[3]`, which would be taken for the number of a passage."""
    return NUMBER.sub(r"(\1)", " ".join(text.split()))


class Passage(NamedTuple):
    """A passage to be truncated. ends: where each of its words ends, as far as it may be shown and one more."""

    text: str
    ends: Sequence[int]

    def first(self, words: int) -> str:
        """Its beginning, up to its `words`-th word."""
        return self.text if len(self.ends) <= words else self.text[: self.ends[words - 1]]


@lru_cache(maxsize=10_000)  # windows overlap, passes are repeated, and the modes of a query share their documents
def passage(text: str, most: int) -> Passage:
    """A text as it is shown, of which at most `most` words will be."""
    text = plain(text)
    ends = array("I", (word.end() for word in itertools.islice(WORD.finditer(text), most + 1)))
    return Passage(text[: ends[-1]] if len(ends) > most else text, ends)  # the rest of a book is not needed


class Repairs(NamedTuple):
    """What was wrong with an answer, in numbers of ids.

    doubled       named again, dropped
    out_of_range  no number of a passage, dropped
    missing       not named, appended in their old order
    unreadable    1 where not one id could be read and the old order stays, else 0
    """

    doubled: int = 0
    out_of_range: int = 0
    missing: int = 0
    unreadable: int = 0


@dataclass
class Counts:
    """What happened, over all windows that were ranked.

    windows    answers that were read; `repaired`: of these, not a permutation as they came
    repairs    ids, see `Repairs`
    passages   shown; `cut`: of these, truncated to `passage_words` or less
    shortened  windows whose passages were truncated below `passage_words`; `fewest_words` is the fewest
    """

    windows: int = 0
    repaired: int = 0
    passages: int = 0
    cut: int = 0
    shortened: int = 0
    fewest_words: int | None = None
    repairs: Counter[str] = field(default_factory=Counter)


class _Fitted(NamedTuple):
    """A window as it is sent. words: the most of a passage; truncated: passages that are longer; tokens: of the prompt."""

    request: Request
    words: int
    truncated: int
    tokens: int


class ListwiseRanker:
    """A language model that orders windows of passages.

    prompt  of kind `listwise`

    What the system's entry says: `length` (tokens, prompt and answer), `passage_words` (the most of a passage that is
    shown), `ids` (how answers are read), `system` (`keep`, `merge` or `drop` the prompt's system turn), `output` (tokens of an
    answer; what the ids need and 32 more where it is not said), `temperature` (0 unless said), `top_p` and `seed` (sent as they
    are; null leaves one out). ToolkitError for others, and for values without meaning.
    """

    def __init__(self, spec: SystemSpec, llm: LLM, prompt: Prompt):
        self.spec, self.llm, self.prompt = spec, llm, prompt
        given = {name: value for name, value in spec.parameters.items() if value is not None}
        check_system(replace(spec, parameters=given))
        check_template("passage", given.get("titled_passage", ""))
        self.settings = {**DEFAULTS, **spec.parameters}
        self.counts = Counts()

    def check(self) -> None:
        """Raise ToolkitError where nothing could be asked; asks nothing."""
        self.llm.check()

    def rank(self, windows: Sequence[Window], advance: Callable[[int], None] = lambda n: None) -> list[tuple[int, ...]]:
        """For each window the positions of its passages, best first; `advance` is told how many more windows are answered."""
        fitted = [self._fit(window, self.llm.backend) for window in windows]
        answers = self.llm.complete([one.request for one in fitted], advance)
        orders = []
        for window, one, answer in zip(windows, fitted, answers, strict=True):
            order, repairs = read_permutation(answer.text, len(window.passages), ids=self.settings["ids"])
            counts, numbers = self.counts, repairs._asdict()
            counts.windows += 1
            counts.passages += len(window.passages)
            counts.cut += one.truncated
            counts.repaired += any(numbers.values())
            counts.repairs.update(numbers)
            if one.words < self.settings["passage_words"]:
                counts.shortened += 1
                counts.fewest_words = min(one.words, counts.fewest_words or one.words)
            orders.append(order)
        return orders

    def peek(self, window: Window) -> tuple[tuple[int, ...] | None, int]:
        """(the order if its answer is in the cache, tokens of the prompt); asks, counts and downloads nothing.

        The tokens are an estimate where the checkpoint is not on this machine yet.
        """
        one = self._fit(window, self.llm.counter)
        answer = self.llm.peek(one.request) if self.llm.backend.here else None
        order = read_permutation(answer.text, len(window.passages), ids=self.settings["ids"])[0] if answer else None
        return order, one.tokens

    def facts(self) -> dict[str, Any]:
        """For records: model and prompt, what was repaired and shortened (`Counts`), what was asked (`Usage`)."""
        counts = {**vars(self.counts), "repairs": dict(self.counts.repairs)}
        return {**self.llm.facts(), **self.prompt.facts(self.spec), "windows": counts, "usage": self.llm.usage.facts()}

    def _fit(self, window: Window, counter: Backend | Estimate) -> _Fitted:
        """The request with the longest passages with which prompt and answer keep within `length` tokens of `counter`."""
        most = self.settings["passage_words"]
        passages = [passage(text, most) for text in window.passages]
        count = len(passages)
        ids = " > ".join(f"[{number}]" for number in range(1, count + 1))
        answer = self.settings.get("output") or SPARE + counter.count_text(ids)
        values = {"query": plain(window.query), "count": str(count)}
        tokens = {}

        def messages(words: int) -> list[dict[str, str]]:
            shown = ({"number": str(number), "passage": one.first(words)} for number, one in enumerate(passages, 1))
            return self.prompt.messages(values, shown, system=self.settings["system"])

        def fits(words: int) -> bool:
            tokens[words] = counter.count_tokens(messages(words))
            return tokens[words] + answer <= self.settings["length"]

        words = longest_that_fits(most, fits)
        if not words:
            message = f"{window.label}: {tokens[1]} tokens with passages of one word, and {answer} for the answer"
            hint = f"{self.spec.name} takes {self.settings['length']} in all: use a smaller window, or raise its `length`"
            raise ToolkitError(message, hint)
        options = {name: self.settings[name] for name in SAMPLING if self.settings.get(name) is not None}
        request = Request(messages(words), {"max_tokens": answer, **options})
        return _Fitted(request, words, sum(len(one.ends) > words for one in passages), tokens[words])


def read_permutation(answer: str, count: int, *, ids: str = "brackets") -> tuple[tuple[int, ...], Repairs]:
    """Positions (from 0) of `count` passages, best first: always a permutation; and what it took to make it one.

    ids  `brackets`: numbers in square brackets where there is any, so that numbers in the prose around them do not count,
         else every number; `digits`: every number, as RankGPT's and rank_llm's code do
    """
    answer = answer.rpartition(THOUGHTS)[2]
    numbers = (ids == "brackets" and BRACKETED.findall(answer)) or DIGITS.findall(answer)
    # int() refuses numbers of thousands of digits, which a model that repeats itself writes
    named = [int(number) - 1 if len(number) < 10 else -1 for number in numbers]
    valid = [position for position in named if 0 <= position < count]
    order = list(dict.fromkeys(valid))
    missing = [position for position in range(count) if position not in order]
    repairs = Repairs(len(valid) - len(order), len(named) - len(valid), len(missing), int(not order and count > 0))
    return (*order, *missing), repairs


def load_ranker(spec: SystemSpec, *, prompt: str | None = None, **how: Any) -> ListwiseRanker | OwnRanker | LibraryRanker:
    """The ranker of a system of kind `listwise`; prompt: a name or a file instead of the entry's; how: see `load_llm`.

    An object of Python with `rank` is asked by that. Raises ToolkitError for what cannot be looked up or loaded; asks nothing
    yet.
    """
    if spec.is_python:
        from toolkit.models.checkpoints.own_systems import OwnRanker, check_own, load_own, methods_of

        check_own(spec, device=how.get("device"), precision=how.get("precision"), trust=bool(how.get("trust_remote_code")))
        if is_dry() or "rank" in methods_of(load_own(spec)):
            if prompt:
                raise ToolkitError(f"{spec.name} is called as rank(query, docs): it has no prompt", "leave --prompt out")
            return OwnRanker(spec)
    if spec.kind == "rerankers":
        from toolkit.models.rerankers.library import LibraryRanker

        return LibraryRanker(spec, **how)
    chosen = load_prompt(prompt or spec.parameters.get("prompt", DEFAULT_PROMPT), "listwise")
    return ListwiseRanker(spec, load_llm(spec, **how), chosen)
