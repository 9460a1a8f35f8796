"""What a step is given: the seeds, earlier items, prompts, and language models that answer in blocks, from the cache first."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from toolkit.construction.queries.seeds import Seeds
from toolkit.construction.steps import UNREADABLE, Item, Step
from toolkit.construction.text_models import TextModel
from toolkit.core.errors import ToolkitError
from toolkit.engine import Executor, LocalExecutor
from toolkit.engine.answers import divide_answers
from toolkit.models.llm import LLM, Answer, Prompt, Request, load_prompt
from toolkit.models.llm.prompts import BUILD, slot_problems

Value = TypeVar("Value")
BLOCK = 4096  # requests: what is in memory at once, whatever the number of items
REPAIR = "build-repair.v1"  # what is said to an answer that cannot be read
REPAIRS = 1  # how often an answer is asked for again
LONGEST_REPAIRED = 4000  # characters of such an answer that are sent back
NOTHING = "(no answer)"  # stands for an empty one: servers refuse empty turns
PROMPTS = "prompts"  # the folder of published prompts that steps send instead of ours, below the build's
RULE, PERSON = "rule", "person"  # who made something that no model made
BY_RULE = {"role": "filtered", "by": RULE}


@dataclass
class Asked:
    """What one model was asked in one step.

    requests           how many answers were wanted, repairs too
    cached             of these, already in the cache
    failed             unanswered after all retries, or refused
    prompt_tokens, completion_tokens   of all of them, cached ones too, as the server counts
    """

    requests: int = 0
    cached: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Writers:
    """The language models of a build, each loaded when it is first asked for and shared by all steps.

    executor  who answers: this process, or workers
    how       goes to `load_llm`: `cache`, `replay`, `concurrency`, `retries`, `timeout`, `loader`, `device`, ...
    """

    def __init__(self, models: Mapping[str, TextModel], executor: Executor | None = None, **how: Any):
        self.models, self.executor, self.how = models, executor or LocalExecutor(), how
        self._loaded: dict[str, LLM] = {}

    def __getitem__(self, name: str) -> LLM:
        if name not in self._loaded:
            model = self.models[name]
            llm = model.load(**self.how)
            divide_answers(SimpleNamespace(spec=model.spec, llm=llm), self.executor)
            self._loaded[name] = llm
        return self._loaded[name]

    def check(self, names: Iterable[str]) -> None:
        """Raise ToolkitError where one of them could not be asked; asks nothing."""
        for name in dict.fromkeys(names):
            self[name].check()

    def close(self) -> None:
        """Close the files of answers; SQLite then leaves nothing beside them."""
        for llm in self._loaded.values():
            if llm.cache:
                llm.cache.close()


@dataclass
class Tools:
    """What a step uses.

    folder   the build's
    seeds    what `build.yaml` names
    writers  its language models
    earlier  step -> a function that gives the items it passed on
    advance  is called with how many more answers there are
    systems  the user's own files with systems, for steps that search
    asked    model -> what it was asked so far
    errors   model -> why a request was not answered, of those that have answered none
    """

    folder: Path
    seeds: Seeds
    writers: Writers
    earlier: Mapping[str, Callable[[], list[Item]]] = field(default_factory=dict)
    advance: Callable[[int], None] = lambda count: None
    systems: tuple[Path, ...] = ()
    asked: dict[str, Asked] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    _heard: set[str] = field(default_factory=set)  # models that have answered

    def prompt(self, name: str) -> Prompt:
        """A prompt of kind `build`, by its name or its file; a file is looked for in the build's folder first."""
        return find_prompt(name, self.folder)

    def step(self, name: str) -> list[Item]:
        """The items that an earlier step passed on, in order. ToolkitError where the kind has no such step before this one."""
        if name not in self.earlier:
            raise ToolkitError(f"no step {name!r} before this one", f"known: {', '.join(self.earlier) or 'none'}")
        return self.earlier[name]()

    def made(self, role: str, model: str = "", prompt: str = "") -> dict[str, str]:
        """Who did something to an item, for `Item.by`: a model with a prompt; without a model a rule.

        role  wrote, filtered or judged
        """
        if not model:
            return {"role": role, "by": RULE}
        chosen, asked = self._model(model), self.prompt(prompt)
        by = {"role": role, "by": chosen.model, "family": chosen.family}
        whose = {"prompt_of": asked.said_of} if asked.published else {}
        return {**by, "prompt": asked.name, "sha256": asked.sha256, **whose}

    def answered(
        self,
        role: str,
        step: Step,
        items: Sequence[Item],
        rows: Iterable[Mapping[str, str]],
        read: Callable[[str], Value] | Iterable[Callable[[str], Value]],
        parameter: str = "prompt",
    ) -> Iterator[tuple[Item, Value | None]]:
        """Each item as passed on, made by the step's model, and what its answer says: None, and rejected, if it cannot be read.

        role        as of `made`
        rows, read  of each item, see `parsed`
        parameter   of the step, which names the prompt
        """
        prompt = getattr(step, parameter)
        made = self.made(role, step.model, prompt)
        for item, value in zip(items, self.parsed(step.model, prompt, rows, read), strict=True):
            yield item.passed().by(made).reject(UNREADABLE if value is None else ""), value

    def parsed(
        self,
        model: str,
        prompt: str,
        rows: Iterable[Mapping[str, str]],
        read: Callable[[str], Value] | Iterable[Callable[[str], Value]],
        *,
        options: Mapping[str, Any] | None = None,
    ) -> Iterator[Value | None]:
        """What the answers say, in the order of the rows; None for one that cannot be read, nor what it is asked for again.

        read     of an answer's text; ValueError, with what is wrong, where it is not in the form asked for (`answer_forms`):
                 the model is shown its answer, and told so, once. Several are of a row each
        options  instead of the model's own (`max_tokens`, `temperature`, `seed`, ...)
        """
        readers = itertools.repeat(read) if callable(read) else iter(read)
        chosen, system = self.prompt(prompt), self._system(model)
        given = {**self._model(model).options, **(options or {})}
        rows = iter(rows)
        while block := list(itertools.islice(rows, BLOCK)):
            if wrong := slot_problems(chosen, list(block[0])):
                hint = "see the prompts in toolkit/registry/prompts"
                raise ToolkitError(f"prompt {chosen.name} does not fit the step", hint, problems=wrong)
            requests = [Request(chosen.messages(row, system=system), given) for row in block]
            yield from self._read(model, requests, list(itertools.islice(readers, len(requests))))

    def _read(
        self, model: str, requests: Sequence[Request], readers: Sequence[Callable[[str], Value]]
    ) -> Iterator[Value | None]:
        values: dict[int, Value] = {}
        pending, failed = dict(enumerate(requests)), 0
        for _ in range(REPAIRS + 1):
            answers = dict(zip(pending, self._complete(model, list(pending.values())), strict=True))
            failed = sum(bool(answer.error) for answer in answers.values())
            wrong = {}
            for position, answer in answers.items():
                try:
                    values[position] = readers[position](answer.whole)
                except ValueError as error:
                    wrong[position] = request = pending[position]
                    if not answer.error:  # the chat with the answer and what is wrong with it
                        said = {"role": "assistant", "content": answer.text[:LONGEST_REPAIRED] or NOTHING}
                        asked = self.prompt(REPAIR).messages({"problem": str(error)}, system=self._system(model))
                        wrong[position] = request._replace(messages=[*request.messages, said, *asked])
            pending = wrong
        self.asked[model].failed += failed
        return (values.get(position) for position in range(len(requests)))

    def _system(self, model: str) -> str:
        return self._model(model).spec.parameters.get("system", "keep")

    def _model(self, name: str) -> TextModel:
        """A model by its name in build.yaml. ToolkitError where a step was given none and needs one after all."""
        if not name:
            raise ToolkitError("a step has to ask a model, and build.yaml names none for it", "name one of `models` there")
        return self.writers.models[name]

    def _complete(self, model: str, requests: Sequence[Request]) -> list[Answer]:
        llm, asked = self.writers[model], self.asked.setdefault(model, Asked())
        before = llm.usage.cached
        answers = llm.complete(requests, self.advance)
        asked.cached += llm.usage.cached - before
        asked.requests += len(answers)
        asked.prompt_tokens += sum(answer.prompt_tokens for answer in answers)
        asked.completion_tokens += sum(answer.completion_tokens for answer in answers)
        self.note_answered(model, [answer.error for answer in answers])
        return answers

    def note_answered(self, model: str, errors: Sequence[str]) -> None:
        """Note whether a model has answered; `errors` has for each request why it was not, empty where it was."""
        if not all(errors):
            self._heard.add(model)
            self.errors.pop(model, None)
        elif errors and model not in self._heard:
            self.errors.setdefault(model, errors[0])

    def check_answered(self) -> None:
        """Raise ToolkitError where a model has answered none of its requests: its server is not there, or refuses them all."""
        for model, error in self.errors.items():
            hint = "is the server there, and its address right? the same command asks again"
            raise ToolkitError(f"model {model}: none of its requests was answered: {error}", hint, status=1)


def find_prompt(name: str, folder: Path, kind: str = BUILD, published: str | Path | None = None) -> Prompt:
    """A prompt of a kind: a file of the build's folder, else of the registry, else any other file. Or ToolkitError.

    published  a folder whose files count as copied into the build's `PROMPTS`
    """
    given = Path(name).expanduser()
    places = [Path(published, given.name)] if published and given.parent == Path(PROMPTS) else []
    return load_prompt(str(next((place for place in (*places, folder / given) if place.is_file()), name)), kind)
