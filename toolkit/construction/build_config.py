"""`build.yaml`: what is built, from which seeds, with which models and steps. Read whole; all that is wrong is said at once."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from toolkit.construction.examples import write_example
from toolkit.construction.kinds import KINDS, kind_module, template
from toolkit.construction.queries.seeds import Seeds
from toolkit.construction.steps import Step
from toolkit.construction.text_models import TextModel, read_models
from toolkit.construction.tools import PROMPTS, find_prompt
from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import atomic_path, write_text
from toolkit.core.system.yaml_json import read_yaml
from toolkit.models.llm.prompts import prompt_of_folder, slot_problems
from toolkit.registry.loader import did_you_mean, to_spec

FILE = "build.yaml"
KEYS = ("kind", "seeds", "models", "steps", "systems")


@dataclass(frozen=True)
class BuildConfig:
    """What `build.yaml` says.

    kind    its name
    seeds   what it begins with
    models  name -> language model
    steps   those that are run, in the kind's order, each with its parameters
    systems the user's own files with systems, for models and for steps that search
    """

    kind: str
    seeds: Seeds
    models: Mapping[str, TextModel]
    steps: tuple[Step, ...]
    systems: tuple[Path, ...] = ()

    @property
    def module(self) -> ModuleType:
        """The kind's own: its steps and how they become a benchmark."""
        return kind_module(self.kind)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the steps, in order."""
        return tuple(step.name for step in self.steps)

    def step_number(self, name: str) -> int:
        """Where a step stands, from 0. ToolkitError where there is none of this name."""
        if name not in self.names:
            hint = f"{did_you_mean(name, self.names)}known: {', '.join(self.names)}"
            raise ToolkitError(f"the kind {self.kind} has no step {name!r}", hint)
        return self.names.index(name)


def new_build(kind: str, folder: str | Path) -> Path:
    """Write the `build.yaml` of a kind, with comments, and its example into a folder that has none yet; its path.

    Raises ToolkitError where one of the files is there.
    """
    text, path = template(kind), Path(folder) / FILE
    if path.exists():
        raise ToolkitError(f"{path} is there already", "name another folder, or edit the file")
    write_example(kind, path.parent)
    write_text(path, text.replace("{folder}", str(folder)))
    return path


def take_prompts(folder: str | Path, source: str | Path) -> list[Path]:
    """Copy the published prompts that a build's steps take into its folder, where every later call finds them; their paths.

    Raises ToolkitError for all that `read_config` refuses, before any is copied.
    """
    steps = read_config(folder, source).steps
    taken = [_place(name) for step in steps for sent, name in step.published.items() if getattr(step, sent) == _place(name)]
    copies = [Path(folder) / place for place in dict.fromkeys(taken) if (Path(source) / Path(place).name).is_file()]
    for path in copies:
        with atomic_path(path) as part:
            shutil.copyfile(Path(source) / path.name, part)
    return copies


def read_config(folder: str | Path, prompts: str | Path | None = None) -> BuildConfig:
    """What the build in a folder is; nothing is asked or loaded.

    prompts  a folder of published prompts that counts as copied into the build's own, whatever lies there

    Raises ToolkitError with every problem of `build.yaml`, or with every prompt of its steps that `prompts` has not.
    """
    folder = Path(folder)
    path = folder / FILE
    if not path.is_file():
        what = f"{folder} has no {FILE}" if folder.is_dir() else f"no folder {folder}"
        raise ToolkitError(what, f"`tandem build new KIND {folder}` begins one; kinds: {', '.join(KINDS)}")
    content = read_yaml(path, dict, "`tandem build new` writes one to begin with")
    unknown = (key for key in content if key not in KEYS)
    problems = [f"unknown key {key!r} ({did_you_mean(str(key), KEYS)}known: {', '.join(KEYS)})" for key in unknown]
    given = {key: value for key, value in content.items() if value is not None}  # `steps:` with nothing below it
    config = _config(given, folder, problems, prompts)
    if problems or config is None:
        raise ToolkitError(f"{path}: {len(problems)} problem{'s' * (len(problems) > 1)}", "mend the file", problems=problems)
    return config


def _config(content: Mapping[str, Any], folder: Path, problems: list[str], prompts: str | Path | None) -> BuildConfig | None:
    given = content.get("systems", [])
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        problems.append(f"systems: expected YAML files, found {given!r}")
        names = []
    paths = [folder / Path(name).expanduser() for name in names]
    problems += (f"systems: no file {path}" for path in paths if not path.is_file())
    systems = [path for path in paths if path.is_file()]
    models = read_models(content.get("models", {}), systems, problems)
    try:
        module = kind_module(str(content.get("kind", "")))
    except ToolkitError as error:
        problems.append(f"kind: {error.message} ({error.hint})")
        return None
    given = content.get("seeds", {})
    seeds = Seeds(dict(given) if isinstance(given, Mapping) else {}, folder)
    if isinstance(given, Mapping):
        problems += seeds.problems(getattr(module, "SEED_FILES", ()), getattr(module, "SEEDS_BY_GROUP", False))
    else:
        problems.append(f"seeds: expected keys, as in {{benchmark: infosearch-mini}}, found {given!r}")
    steps = _with_published([*_steps(content.get("steps", {}), module.STEPS, problems)], folder, prompts)
    named = content.get("models", {})
    for step in steps:
        problems += _step_problems(step, named if isinstance(named, Mapping) else {}, folder, prompts)
    if not problems:
        problems += (f"steps: {step.name}: {each}" for step in steps for each in step.problems(seeds, steps))
    return BuildConfig(content["kind"], seeds, models, steps, tuple(systems))


def _steps(given: Any, known: Sequence[type[Step]], problems: list[str]) -> Iterator[Step]:
    """The steps that are run, each with its parameters; `NAME: false` leaves an optional one out, and so does its absence."""
    names = [step.name for step in known]
    if not isinstance(given, Mapping):
        problems.append(f"steps: expected names, each with parameters, found {given!r}")
        given = {}
    for name in given:
        if name not in names:
            problems.append(f"steps: no step {name!r} ({did_you_mean(str(name), names)}known: {', '.join(names)})")
    for step in known:
        row = given.get(step.name, False if step.optional and not step.by_default else {})
        row = {} if row is None else row
        if row is False and step.optional:
            continue
        try:
            yield to_spec(step, row, f"step {step.name}")
        except ToolkitError as error:
            found = [*error.problems] or [error.message.removeprefix(f"step {step.name} ")]
            problems += (f"steps: {step.name}: {each}" for each in found)


def _with_published(steps: Sequence[Step], folder: Path, prompts: str | Path | None) -> tuple[Step, ...]:
    """The steps, which send published prompts where the build has them and where build.yaml chooses nothing but the default.

    prompts  a folder that has to have them all; without one the build's own, which may lack some
    """
    if prompts is None and not (folder / PROMPTS).is_dir():
        return tuple(steps)
    source = folder / PROMPTS if prompts is None else prompts
    free = [{sent: name for sent, name in step.published.items() if step.is_usual(sent)} for step in steps]
    try:
        found = {name: prompt_of_folder(name, source) for names in free for name in names.values()}
    except ToolkitError as error:
        again = f"`tandem build run {folder} --prompts DIR` copies it again; without the file ours is sent"
        raise ToolkitError(error.message, again if prompts is None else error.hint, problems=error.problems) from error
    lacks = [f"no {name}.yaml" for name, path in found.items() if path is None]
    if prompts is not None and (lacks or not found):
        hint = f"`tandem published prompts PAPER --from TEXT --to {source}` makes them of a text that you have"
        what = "no step of the build takes a published prompt"
        what = f"{source} has not all prompts of the build's steps" if lacks else what
        raise ToolkitError(what, hint if lacks else "leave --prompts out", problems=lacks)
    sending = []
    for step, names in zip(steps, free, strict=True):
        there = {sent: _place(name) for sent, name in names.items() if found[name]}
        # what the paper's prompt asks for, where it leaves no choice, is in the place of a default
        fixed = {name: value for name, value in step.fixed.items() if "prompt" in there and step.is_usual(name)}
        sending.append(replace(step, **there, **fixed))
    return tuple(sending)


def _place(name: str) -> str:
    """A published prompt as a step names its file."""
    return f"{PROMPTS}/{name}.yaml"


def _step_problems(step: Step, known: Mapping[str, Any], folder: Path, prompts: str | Path | None) -> Iterator[str]:
    for name in step.models():
        if name not in known:
            hint = f"{did_you_mean(name, map(str, known))}known: {', '.join(map(str, known)) or 'none'}"
            yield f"steps: {step.name}: no model {name!r} under models ({hint})"
    for name in step.prompts():
        try:
            prompt = find_prompt(name, folder, published=prompts)
        except ToolkitError as error:
            yield f"steps: {step.name}: {error.message} ({'; '.join(map(str, error.problems)) or error.hint})"
            continue
        for parameter, slots in step.slots.items():
            if getattr(step, parameter) == name:
                yield from (f"steps: {step.name}: prompt {name}: {problem}" for problem in slot_problems(prompt, slots))
        if step.fixed and name == step.parameters()["prompt"] and prompt.published:
            wrong = [each for each, value in step.fixed.items() if getattr(step, each) != value]
            for each in wrong:
                why = f"and {name} has no slot for it: it asks for {step.fixed[each] or 'none'}"
                yield f"steps: {step.name}: {each} is {getattr(step, each)!r}, {why}"
