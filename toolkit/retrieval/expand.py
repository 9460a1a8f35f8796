"""Query expansion: perspectives, given (by the benchmark, a file) or written by a language model, and a topic for each."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError, check_counts, three
from toolkit.core.specs import SystemSpec
from toolkit.core.system.progress import progress
from toolkit.core.system.yaml_json import Malformed, decode_json, parse_json
from toolkit.core.topics import Topic
from toolkit.datasets import Benchmark, TopicSet
from toolkit.engine import Executor, LocalExecutor, units_of
from toolkit.files.provenance import file_digest
from toolkit.files.texts.lines import read_bytes, source_name, text_lines
from toolkit.models.llm import LLM, Answer, Prompt, Request, chosen_prompt, load_llm, load_prompt

GIVEN, RELEASED = "given", "released"
FORM = 'a line is {"query_id": "...", "perspectives": ["...", ...]}; or `id` and, as BERDS has them, `expansions` with `text`'
FORMS = ("perspective", "question+perspective")
Perspectives = Mapping[str, Sequence[str]]  # query id -> texts
DEFAULT_PROMPT = "expander-perspectives.v1"
ATTEMPTS = 3
UNIT = 256  # questions
MAX_TOKENS = 2048  # of an answer, where the entry does not say it: some dozen perspectives of two sentences
FENCE = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL)


def is_given(name: Any) -> bool:
    """Whether a source needs no model."""
    return isinstance(name, str | Path) and (name in (GIVEN, RELEASED) or Path(name).is_file())


def read_given(name: str, topics: TopicSet) -> tuple[Perspectives, dict[str, Any]]:
    """The perspectives of a source that needs no model, and what the record says of it.

    name  `given`: the benchmark's own, by which documents are judged; `released`: those that its paper expanded queries with;
          or a file, see `read_perspectives`

    Raises ToolkitError.
    """
    if name == GIVEN:
        return {topic.query_id: topic.perspectives for topic in topics.topics}, {"from": "the benchmark's own perspectives"}
    if name == RELEASED:
        benchmark = topics.benchmark
        parts = [benchmark.part(part.group) for part in topics.parts] if isinstance(benchmark, Benchmark) else []
        written = {query_id: pairs for part in parts for query_id, pairs in part.published.get("expansions", {}).items()}
        if not written:
            where = "BERDS' release has them for its development questions"
            hint = f"{where}: `tandem benchmarks fetch berds --from DIR` takes its files"
            raise ToolkitError(f"{topics.name} comes without perspectives for query expansion", hint)
        texts = {query_id: tuple(" ".join(text.split()) for _, text in pairs) for query_id, pairs in written.items()}
        return texts, {"from": "the perspectives that the benchmark's release expanded queries with"}
    return read_perspectives(name, topics.topics), {"from": Path(name).name, "sha256": file_digest(Path(name))}


def read_perspectives(path: str | Path, topics: Sequence[Topic]) -> dict[str, tuple[str, ...]]:
    """query id -> perspectives, of those topics that a JSONL file has, by their id or their published id.

    Of a row with `expansions`, what was written for query expansion, these count; `perspectives` otherwise. Raises
    ToolkitError for a row that is something else, an id that comes twice, and one that several topics have.
    """
    known: dict[str, list[str]] = {}
    for topic in topics:
        for name in dict.fromkeys((topic.query_id, topic.original_id)):
            known.setdefault(name, []).append(topic.query_id)
    found: dict[str, tuple[str, ...]] = {}
    for number, line in text_lines(read_bytes(path), source_name(path)):
        place = f"{source_name(path)}, line {number}"
        row = parse_json(line, place, hint=FORM)
        values = row if isinstance(row, dict) else {}
        name, written = values.get("query_id", values.get("id")), values.get("expansions", values.get("perspectives"))
        texts = tuple(map(_text, written if isinstance(written, list) else []))
        if not isinstance(name, str | int) or not texts or not all(texts):
            raise ToolkitError(f"{place}: no id, or no perspectives", FORM)
        meant = known.get(str(name), [])
        if len(meant) > 1:
            raise ToolkitError(f"{place}: {name} is the id of {len(meant)} questions ({three(meant)})", "write whole ids")
        if meant and meant[0] in found:
            raise ToolkitError(f"{place}: {name} comes twice", "keep one of the rows")
        found |= dict.fromkeys(meant, texts)
    return found


def _text(value: Any) -> str:
    """White space made one blank; empty for what is no text."""
    text = value.get("text") if isinstance(value, Mapping) else value
    return " ".join(text.split()) if isinstance(text, str) else ""


def expand_topics(topics: Sequence[Topic], perspectives: Perspectives, query: str = "perspective") -> list[Topic]:
    """A topic for each perspective of each question, with the id `<question>.<n>`, n from 1 in their order.

    Its text is the perspective alone (the paper), or question, one blank, perspective (the release: `question+perspective`).
    Raises ToolkitError where a question has no perspectives.
    """
    if query not in FORMS:
        raise ToolkitError(f"query is {query!r}", f"known: {', '.join(FORMS)}")
    if without := [topic.query_id for topic in topics if not perspectives.get(topic.query_id)]:
        message = f"{len(without)} of {len(topics)} questions have no perspectives ({three(without)})"
        raise ToolkitError(message, "take them from elsewhere with --from: a file, or a system that writes them")
    expanded = []
    for topic in topics:
        for number, text in enumerate(perspectives[topic.query_id], start=1):
            sent = text if query == "perspective" else f"{topic.query or topic.text} {text}"
            ids = {"group_id": topic.query_id, "original_id": topic.original_id}  # the question's: its corpus has one of them
            expanded.append(Topic(f"{topic.query_id}.{number}", sent, query=sent, **ids))
    return expanded


def sizes(perspectives: Perspectives) -> dict[str, Any]:
    """How many and how long they are: `questions`, `perspectives` (mean over questions), `words` (mean over perspectives)."""
    texts = [text for each in perspectives.values() for text in each]
    return {
        "questions": len(perspectives),
        "perspectives": len(texts) / len(perspectives) if perspectives else 0.0,
        "words": sum(len(text.split()) for text in texts) / len(texts) if texts else 0.0,
    }


class Expander:
    """A system of kind `expander`: a language model and its prompt (BERDS, section 5).

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
            raise ToolkitError(message, hint, problems=[f"{query_id}: {problems[query_id]}" for query_id in without], status=1)
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
        asked = {**self.llm.facts(), **self.prompt.facts(spec), "usage": usage}
        return {"name": spec.name, **spec.entry_facts, "method": spec.kind, **asked}


def load_expander(spec: SystemSpec, *, prompt: str | None = None, prompts: str | Path | None = None, **how: Any) -> Expander:
    """The expander of a system of kind `expander`; how: see `load_llm`.

    A prompt is a name or a file instead of the entry's; `prompts` a folder of published ones, of which it is sent its own.
    Raises ToolkitError for what cannot be looked up or loaded; asks nothing yet.
    """
    if spec.kind != "expander":
        raise ToolkitError(f"{spec.name} is of kind {spec.kind}, no expander", "`tandem systems list` names those there are")
    chosen = load_prompt(chosen_prompt(spec, prompt, prompts) or spec.parameters.get("prompt", DEFAULT_PROMPT), "expander")
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
