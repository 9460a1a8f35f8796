"""From a system's entry, and labelled examples of a file, to a judge."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.files.texts.lines import json_rows, read_bytes, source_name, text_lines
from toolkit.models.judges.judge import ENTAILMENT, NO, YES, Judge, Settings
from toolkit.models.llm import LLM, AnswerCache, Prompt, chosen_prompt, default_cache, load_llm, load_prompt
from toolkit.models.rerankers.prompts import DOCUMENT, QUERY, skeleton
from toolkit.registry.system_kinds import parameters_as

KIND = "judge"  # of systems
SUPPORT, STANCE = "judge", "judge-stance"  # of prompts: what is asked
DEFAULT_PROMPTS = {SUPPORT: "judge-support.v1", STANCE: "judge-stance.v2"}
# what stands in place of an entry's own prompt where a stance is asked for
OF_STANCE = {
    "prompt": DEFAULT_PROMPTS[STANCE],
    "prompt_source": "BERDS (arXiv 2409.18110), table 16",
    "published_prompt": "berds-table16",
}
MOST_WRITTEN = 16  # tokens of an answer, where neither entry nor server says
OF_SERVERS = ("concurrency", "retries", "timeout")
FORM = 'each line is {"document": text, "statement": text, "label": 0 or 1}'


class Shot(NamedTuple):
    """A labelled example that stands before the question: the document holds the statement (label 1) or does not (0)."""

    document: str
    statement: str
    label: int


def read_shots(path: str | Path) -> list[Shot]:
    """The examples of a file, in their order. ToolkitError with all problems of the file."""
    source = source_name(path)
    problems: list[str] = []
    shots = list(json_rows(text_lines(read_bytes(path), source), _shot, problems))
    if problems or not shots:
        raise ToolkitError(f"{source}: no labelled examples", FORM, problems=problems)
    return shots


def _shot(row: Any) -> Shot:
    """An example; ValueError with what is wrong with the row."""
    if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in ("document", "statement")):
        raise ValueError("document and statement are texts")
    if type(row.get("label")) not in (int, bool) or row["label"] not in (0, 1):
        raise ValueError("label is 0 or 1")
    if any(slot in row[name] for slot in (DOCUMENT, QUERY) for name in ("document", "statement")):
        raise ValueError(f"{DOCUMENT} and {QUERY} are slots of prompts")
    return Shot(row["document"], row["statement"], int(row["label"]))


def load_judge(
    spec: SystemSpec,
    *,
    task: str = SUPPORT,
    prompt: str | None = None,
    prompts: str | Path | None = None,
    shots: Sequence[Shot] = (),
    seed: int | None = None,
    loader: str | None = None,
    cache: Path | None = None,
    replay: bool = False,
    **how: Any,
) -> Judge:
    """The judge that a system's entry describes. Asks nothing and loads no weights yet.

    task    `judge`: does a document hold a statement; `judge-stance`: which of two perspectives takes a question's side
    prompt  a name or a file instead of the entry's; `prompts` is a folder of published ones, `shots` stand before the question
    loader  `endpoint` or `transformers`, and `seed`, instead of the entry's; `cache` and `replay` as of `load_llm`
    how     `concurrency`, `retries`, `timeout` of a server; of a checkpoint on this machine as `load_encoder`

    Raises ToolkitError for what is no judge, and for what cannot be looked up.
    """
    if spec.kind != KIND:
        raise ToolkitError(f"{spec.name} is of kind {spec.kind}, no judge", "`tandem systems list --kind judge` names them")
    settings, spec = parameters_as(Settings, spec), of_task(spec, task)
    if seed is not None:
        settings = replace(settings, seed=seed)
    if settings.in_words and settings.max_tokens is None and (loader or spec.loader) != "endpoint":
        settings = replace(settings, max_tokens=MOST_WRITTEN)
    chosen = _prompt(spec, settings, task, chosen_prompt(spec, prompt, prompts), shots)
    if settings.positive != ENTAILMENT and (loader or spec.loader) != "endpoint":
        _refuse_classifier(spec)
    if settings.in_words:
        llm = load_llm(spec, loader=loader, cache=cache, replay=replay, tolerant=True, **how)
    else:
        make = partial(_scoring, spec, settings, chosen, loader, **how)
        llm = LLM(make(), cache=AnswerCache(cache or default_cache()), replay=replay, make=make)
    return Judge(spec, llm, chosen, settings)


def _refuse_classifier(spec: SystemSpec) -> None:
    """Raise ToolkitError where a folder holds a classifier, and nothing says that it is to be read as one."""
    from toolkit.models.checkpoints.checkpoint_files import read_json, sound

    with sound(Path(spec.checkpoint)):
        config = read_json(Path(spec.checkpoint) / "config.json", {}) if spec.checkpoint else {}
        made_as = config.get("architectures") or [""]
        is_classifier = made_as[0].endswith("ForSequenceClassification")
    if is_classifier:
        hint = "name it by an entry of kind judge (--systems F) that has `parameters: {positive: entailment}`"
        raise ToolkitError(f"{spec.name} is a classifier ({made_as[0]}), which writes no answer", hint)


def judge_prompt(
    spec: SystemSpec, *, task: str = SUPPORT, prompt: str | None = None, prompts: str | None = None, shots: Sequence[Shot] = ()
) -> Prompt | None:
    """The prompt that a judge would be sent; None for a classifier."""
    settings, spec = parameters_as(Settings, spec), of_task(spec, task)
    return _prompt(spec, settings, task, chosen_prompt(spec, prompt, prompts), shots)


def of_task(spec: SystemSpec, task: str) -> SystemSpec:
    """A judge with the prompt of a task."""
    return replace(spec, parameters={**spec.parameters, **OF_STANCE}) if task == STANCE else spec


def _prompt(spec: SystemSpec, settings: Settings, task: str, name: str | None, shots: Sequence[Shot]) -> Prompt | None:
    if settings.positive == ENTAILMENT:
        if name or shots or task != SUPPORT:
            hint = "leave --prompt, --shots and --task out, or take a judge that is a language model"
            raise ToolkitError(f"{spec.name} is a classifier: it reads a document and a statement, and no prompt", hint)
        return None
    if task == STANCE and (shots or not settings.in_words):
        why = "examples of --shots are answered by yes or no" if shots else f"{spec.name} is read by its logits"
        hint = "leave --shots out" if shots else "take a judge that answers in words"
        raise ToolkitError(f"a stance is answered by the name of a perspective, and {why}", hint)
    prompt = load_prompt(name or spec.parameters.get("prompt", DEFAULT_PROMPTS[task]), task)
    if shots and any(role == "assistant" for role, *_ in prompt.turns):
        raise ToolkitError(f"prompt {prompt.name} has an example of its own", "leave --shots out, or name another prompt")
    examples = [({"document": shot.document, "statement": shot.statement}, YES if shot.label else NO) for shot in shots]
    return replace(prompt, shots=tuple(examples))


def _scoring(spec: SystemSpec, settings: Settings, prompt: Prompt | None, loader: str | None, **how: Any) -> Any:
    from toolkit.models.judges.scoring import Scoring

    if (loader or spec.loader) == "endpoint":
        message = f"{spec.name} is read by its logits (positive: {settings.positive}), which a server does not give"
        raise ToolkitError(message, "leave --loader out, or write an entry with `positive: yes-ends`")
    if prompt and skeleton(prompt).count(DOCUMENT) != 1:
        message = f"prompt {prompt.name} has the document more than once, and {spec.name} is read by its logits"
        raise ToolkitError(message, "name it once: there it is truncated when it is too long")
    return Scoring(spec, prompt, settings, **{name: value for name, value in how.items() if name not in OF_SERVERS})
