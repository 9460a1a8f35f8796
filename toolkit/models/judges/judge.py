"""A judge: pairs of a document and a statement in, verdicts out, asked once and remembered."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.models.llm import LLM, Answer, Prompt, Request
from toolkit.models.llm.estimate import longest_that_fits
from toolkit.models.llm.messages import SAMPLING, Message, Usage
from toolkit.models.llm.prompts import OF_USER

TOKEN, ENTAILMENT, WORDS = "token", "entailment", "yes-ends"
YES, NO = "Yes", "No"
BEGINNINGS, END = ("yes", "true", "entail"), "yes"
PERSPECTIVE = re.compile(r"\bperspective\W*([12])\b|^\W*(?:answer\W+)?([12])\W*$")  # as an answer of a stance names one


@dataclass(frozen=True)
class Settings:
    """How a judge is asked and how its answer is read.

    positive             `yes-ends`: it writes, and the answer begins or ends with yes, or begins with true or entail, in lower
                         case; `token`: one pass, the share of the first of two tokens where the answer would begin;
                         `entailment`: one pass of a classifier, the share of its class of that name
    tokens               of `token`: ids, or pieces of the vocabulary
    threshold            the share from which on the answer is positive
    length               tokens of what it reads: the document is shortened to it; None for what the model says
    document_characters  the most characters of a document that are shown; None for all
    max_tokens           of an answer in words; None for what a server thinks right
    temperature, top_k, top_p, seed   of an answer in words
    chat                 whether the checkpoint's chat template goes around the prompt; None: where it has one
    system               `keep`, `merge` or `drop` the prompt's system turn
    """

    positive: str = WORDS
    tokens: tuple[str | int, ...] = ()
    threshold: float = 0.5
    length: int | None = None
    document_characters: int | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None
    chat: bool | None = None
    system: str = "keep"

    def __post_init__(self):
        if self.positive == TOKEN and len(set(self.tokens)) != 2:
            raise ToolkitError(f"tokens are {list(self.tokens)}", "two different ones, positive first")
        if not 0 < self.threshold < 1:
            raise ToolkitError(f"threshold is {self.threshold}", "a share between 0 and 1")

    @property
    def in_words(self) -> bool:
        """Whether the judge answers in words."""
        return self.positive == WORDS

    def options(self) -> dict[str, Any]:
        """Of a request for an answer in words."""
        options = {name: getattr(self, name) for name in ("max_tokens", *SAMPLING)}
        return {name: value for name, value in options.items() if value is not None}


class Pair(NamedTuple):
    """What is judged: whether the document holds the statement."""

    document: str
    statement: str


class Sides(NamedTuple):
    """What is judged of a stance: which of a question's two perspectives supports. The question is in a document's place."""

    document: str
    first: str
    second: str


class Verdict(NamedTuple):
    """What a judge says of a pair.

    holds  None where the request failed; of a stance, whether the first perspective is the one that supports
    share  the model's own probability, where it gives one
    said   its answer in words; why there is none, where there is none
    """

    holds: bool | None
    share: float | None = None
    said: str = ""


class Plan(NamedTuple):
    """What judging would take: pairs, how many of them are answered already, requests for the others, tokens of these."""

    pairs: int
    cached: int
    requests: int
    tokens: int


@dataclass
class Counts:
    """What happened, over all pairs that were judged.

    pairs      `positive` and `unjudged` of them
    unclear    answers that neither begin nor end with yes or no: they count as negative
    shortened  documents that were truncated to fit
    """

    pairs: int = 0
    positive: int = 0
    unjudged: int = 0
    unclear: int = 0
    shortened: int = 0


class Judge:
    """A judging model behind its cache: a server, a language model here, or one forward pass. prompt: None of a classifier."""

    def __init__(self, spec: SystemSpec, llm: LLM, prompt: Prompt | None, settings: Settings):
        self.spec, self.llm, self.prompt, self.settings = spec, llm, prompt, settings
        self.counts, self._truncated = Counts(), 0

    def start_counts(self) -> None:
        """Count from zero again, for another file that this judge labels."""
        self.counts, self.llm.usage = Counts(), Usage()
        self._truncated = getattr(self.llm.backend, "truncated", 0)

    def check(self) -> None:
        """Raise ToolkitError where nothing could be asked; asks nothing."""
        self.llm.check()

    def judge(self, pairs: Sequence[Pair | Sides], advance: Callable[[int], None] = lambda n: None) -> list[Verdict]:
        """A verdict for each pair, in their order; what was answered before is not asked again.

        A pair whose request fails to the end is not lost: its verdict is None, and a later call asks again. Raises ToolkitError
        where none can be asked (a wrong key or address, a server that is gone).
        """
        answers = self.llm.complete([self._request(pair, count=True) for pair in pairs], advance)
        verdicts = [self.read(answer) for answer in answers]
        self.counts.unclear += sum(map(self.is_unclear, verdicts))
        self.counts.pairs += len(verdicts)
        self.counts.positive += sum(bool(verdict.holds) for verdict in verdicts)
        self.counts.unjudged += sum(verdict.holds is None for verdict in verdicts)
        return verdicts

    def known(self, pairs: Sequence[Pair | Sides]) -> list[Verdict | None]:
        """The verdicts that are in the cache; None for the others. Asks nothing and downloads nothing."""
        if not self.llm.backend.here:
            return [None] * len(pairs)
        return [self.read(answer) if answer else None for answer in (self.llm.peek(self._request(pair)) for pair in pairs)]

    def plan(self, pairs: Sequence[Pair | Sides]) -> Plan:
        """What `judge` would ask. Tokens are an estimate where the checkpoint is not on this machine."""
        known = self.known(pairs)
        missing = {pair for pair, verdict in zip(pairs, known, strict=True) if verdict is None}
        tokens = sum(self.llm.counter.count_tokens(self._request(pair).messages) for pair in missing)
        return Plan(len(pairs), len(pairs) - known.count(None), len(missing), tokens)

    def messages(self, pair: Pair | Sides) -> list[Message]:
        """The chat that is sent, the document shortened as it has to be. ToolkitError for a judge without a prompt.

        Of a model that is read by its logits, what has to go beyond `document_characters` its own tokenizer decides.
        """
        if self.prompt is None:
            message = f"{self.spec.name} is sent no prompt: it reads document and statement as they are"
            raise ToolkitError(message, "take a judge that is a language model")
        return self._chat(self._shown(pair))

    def read(self, answer: Answer) -> Verdict:
        """What an answer says."""
        if answer.error:
            return Verdict(None, said=answer.error)
        if not self.settings.in_words:
            share = float(answer.text)
            return Verdict(share >= self.settings.threshold, share, YES if share >= self.settings.threshold else NO)
        text = answer.text.strip().lower()
        holds = _named(text) == {"1"} if self._is_stance else text.startswith(BEGINNINGS) or text.endswith(END)
        return Verdict(holds, said=answer.text)

    def is_unclear(self, verdict: Verdict) -> bool:
        """Whether an answer in words neither begins nor ends with yes or no; of a stance, names not just one side."""
        text = verdict.said.strip().lower()
        if self._is_stance:
            return verdict.holds is not None and len(_named(text)) != 1
        said_no = text.startswith("no") or text.rstrip(".").endswith("no")
        return self.settings.in_words and verdict.holds is False and not said_no

    def facts(self) -> dict[str, Any]:
        """For records: model and prompt, how answers are read, what was judged (`Counts`) and asked (`Usage`)."""
        settings = {name: value for name, value in vars(self.settings).items() if value not in (None, ())}
        settings = {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}
        prompt = self.prompt.facts(self.spec) if self.prompt else {}
        counts = dict(vars(self.counts))
        # a model that reads tokens truncates them itself
        counts["shortened"] += getattr(self.llm.backend, "truncated", 0) - self._truncated
        counted = {"judgments": counts, "usage": self.llm.usage.facts()}
        return {**self.spec.entry_facts, **self.llm.facts(), **prompt, **settings, **counted}

    def remark(self) -> str:
        """What is to be said before its judgments are set beside published ones; empty where nothing is."""
        source = self.spec.parameters.get("prompt_source")
        if not (self.prompt and source) or (self.prompt.published and not self.prompt.shots):
            return ""
        whose = f"is our {self.prompt.name}" if self.prompt.ours else f"is {self.prompt.name}, taken as it is"
        whose += f", with examples {OF_USER}" if self.prompt.shots else ""
        trained = f"{self.spec.name} was trained or run with the wording published in {source}"
        return f"{trained}; the prompt here {whose}: only that wording's judgments compare with published numbers"

    @property
    def _is_stance(self) -> bool:
        return bool(self.prompt and "second" in self.prompt.slots)

    def _request(self, pair: Pair | Sides, *, count: bool = False) -> Request:
        shown = self._shown(pair)
        if not self.settings.in_words:
            turns = [{"role": "document", "content": shown.document}, {"role": "statement", "content": shown.statement}]
            return Request(turns, {})
        self.counts.shortened += count and shown.document != pair.document
        return Request(self._chat(shown), self.settings.options())

    def _chat(self, shown: Pair | Sides) -> list[Message]:
        return self.prompt.messages({**shown._asdict(), "question": shown.document}, system=self.settings.system)

    def _shown(self, pair: Pair | Sides) -> Pair | Sides:
        """The pair with as much of its document as is shown, for an answer in words as prompt and answer leave room for."""
        pair = pair._replace(document=pair.document[: self.settings.document_characters])
        length = self.settings.length
        if length is None or not self.settings.in_words:
            return pair
        room = length - (self.settings.max_tokens or 0)

        def fits(characters: int) -> bool:
            return self.llm.counter.count_tokens(self._chat(pair._replace(document=pair.document[:characters]))) <= room

        characters = longest_that_fits(len(pair.document), fits)
        if not characters and (pair.document or not fits(0)):
            hint = f"give {self.spec.name} a larger `length` in an entry of your own (--systems)"
            raise ToolkitError(f"a statement leaves no room for a document in {length} tokens: {pair[1][:60]!r}", hint)
        return pair._replace(document=pair.document[:characters])


def _named(answer: str) -> set[str]:
    """The numbers of the perspectives that an answer in lower case names."""
    return {first or second for first, second in PERSPECTIVE.findall(answer)}
