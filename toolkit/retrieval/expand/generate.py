"""Perspectives that a language model writes: one request a question, a JSON object of names and texts (BERDS, section 5)."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError, check_counts
from toolkit.core.specs import SystemSpec
from toolkit.core.system.progress import progress
from toolkit.core.system.yaml_json import Malformed, decode_json
from toolkit.core.topics import Topic
from toolkit.engine import Executor, LocalExecutor, units_of
from toolkit.models.llm import LLM, Answer, Prompt, Request, chosen_prompt, load_llm, load_prompt

DEFAULT_PROMPT = "expander-perspectives.v1"
ATTEMPTS = 3
UNIT = 256  # questions
MAX_TOKENS = 2048  # of an answer, where the entry does not say it: some dozen perspectives of two sentences
FENCE = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL)


class Expander:
    """A system of kind `expander`: a language model and its prompt.

    llm  answers are cached: what was interrupted, or failed in part, is resumed
    """

    def __init__(self, spec: SystemSpec, llm: LLM, prompt: Prompt):
        self.spec, self.llm, self.prompt = spec, llm, prompt

    def perspectives(
        self, topics: Sequence[Topic], attempts: int = ATTEMPTS, executor: Executor | None = None
    ) -> dict[str, list[str]]:
        """query id -> the texts of its perspectives, in the order in which they were written; in units of UNIT questions.

        attempts  how often a question is asked whose answer cannot be read; each time with another seed

        Raises ToolkitError, which names the questions and what is wrong with their last answers, where some stay without.
        """
        check_counts(attempts=attempts)
        self.llm.check()
        with progress(f"asking {self.llm.model}", len(topics), "questions") as advance:
            units = (executor or LocalExecutor()).map(lambda unit: self._ask(unit, attempts, advance), units_of(topics, UNIT))
            asked = list(units)
        texts = {query_id: written for unit, _ in asked for query_id, written in unit.items()}
        problems = {query_id: problem for _, unit in asked for query_id, problem in unit.items()}
        if without := [topic.query_id for topic in topics if topic.query_id not in texts]:
            message = f"{self.llm.model} gave no perspectives for {len(without)} of {len(topics)} questions"
            hint = "run it again: readable answers are cached; raise --attempts, or use another --prompt"
            lines = [f"{query_id}: {problems[query_id]}" for query_id in without]
            raise ToolkitError(message, hint, problems=lines, status=1)
        return {topic.query_id: texts[topic.query_id] for topic in topics}

    def _ask(
        self, topics: Sequence[Topic], attempts: int, advance: Callable[[int], None]
    ) -> tuple[dict[str, list[str]], dict[str, str]]:
        """The perspectives of a unit of questions; what is wrong with the last answers that could not be read."""
        texts: dict[str, list[str]] = {}
        problems: dict[str, str] = {}
        for attempt in range(attempts):
            pending = [topic for topic in topics if topic.query_id not in texts]
            requests = [self.request(topic, attempt) for topic in pending]
            # a question counts once, however often it is asked
            answers = self.llm.complete(requests, advance if attempt == 0 else lambda count: None) if pending else []
            for topic, answer in zip(pending, answers, strict=True):
                try:
                    texts[topic.query_id] = read_answer(answer)
                except ValueError as error:
                    problems[topic.query_id] = str(error)
        return texts, problems

    def request(self, topic: Topic, attempt: int = 0) -> Request:
        """What is asked for a question; attempts differ in their seed, so that each has an answer of its own."""
        parameters = self.spec.parameters
        options = {"max_tokens": parameters.get("max_tokens", MAX_TOKENS)}
        if parameters.get("temperature") is not None:
            options["temperature"] = parameters["temperature"]
        if attempt:
            options["seed"] = attempt
        system = parameters.get("system", "keep")
        return Request(self.prompt.messages({"question": topic.query or topic.text}, system=system), options)

    def facts(self) -> dict[str, Any]:
        """For the record: system, model, prompt, and what was asked."""
        spec, usage = self.spec, self.llm.usage.facts()
        return {
            "name": spec.name,
            **spec.entry_facts,
            "method": spec.kind,
            **self.llm.facts(),
            **self.prompt.facts(spec),
            "usage": usage,
        }


def load_expander(spec: SystemSpec, *, prompt: str | None = None, prompts: str | Path | None = None, **how: Any) -> Expander:
    """The expander of a system of kind `expander`.

    prompt  a name or a file instead of the entry's (`expander-perspectives.v1` where it names none)
    prompts a folder of published prompts, of which it is sent its own
    how     goes to `toolkit.models.llm.load_llm`

    Raises ToolkitError for what cannot be looked up or loaded; asks nothing yet.
    """
    if spec.kind != "expander":
        raise ToolkitError(f"{spec.name} is of kind {spec.kind}, no expander", "`tandem systems list` names those there are")
    named = chosen_prompt(spec, prompt, prompts) or spec.parameters.get("prompt", DEFAULT_PROMPT)
    chosen = load_prompt(named, "expander")
    return Expander(spec, load_llm(spec, tolerant=True, **how), chosen)


def read_answer(answer: Answer) -> list[str]:
    """The texts of an answer: one JSON object of names and texts and nothing beside it, but perhaps a Markdown fence around it.

    Raises ValueError, which says what it is instead.
    """
    fenced = FENCE.fullmatch(answer.whole.strip())
    try:
        texts = decode_json(fenced[1] if fenced else answer.text)
    except Malformed as error:
        raise ValueError(f"no JSON object: {error} of {answer.text[:60]!r}") from error
    if not isinstance(texts, dict):
        raise ValueError(f"no JSON object: {answer.text[:60]!r}")
    if not texts:
        raise ValueError("an object without perspectives")
    if blank := [name for name, text in texts.items() if not (isinstance(text, str) and text.strip())]:
        raise ValueError(f"the value of {blank[0]!r} is no text")
    return [" ".join(text.split()) for text in texts.values()]
