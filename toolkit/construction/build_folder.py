"""A build: a folder with `build.yaml`, whose steps are run where they are not up to date, and become a benchmark."""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

from toolkit.construction.build_config import BuildConfig, read_config
from toolkit.construction.examples import ANSWERS
from toolkit.construction.step_files import DONE, FOLDER, BuiltSteps, StepFile, StepRecord, StepState, digest_of
from toolkit.construction.steps import Item
from toolkit.construction.text_models import entry_identity
from toolkit.construction.tools import REPAIR, Tools, Writers, find_prompt
from toolkit.core.errors import MissingExtra, ToolkitError, missing_module
from toolkit.core.system.files import write_text
from toolkit.core.system.progress import progress, say
from toolkit.core.system.python_names import importing
from toolkit.core.system.yaml_json import dump_yaml, plain
from toolkit.engine import Executor
from toolkit.files.store import lock_folder
from toolkit.files.store.digests import file_sha256
from toolkit.jobs.file_job import engine_of, opened
from toolkit.models import choose_system
from toolkit.models.judges.loading import SUPPORT

NOT_RUN = "not run"


class BuildFolder:
    """The build in a folder. Its `build.yaml` is read and checked when this is made: ToolkitError with all that is wrong.

    prompts  a folder of published prompts, to see how far the steps are once `take_prompts` has copied them; not to run any
    """

    def __init__(self, path: str | Path, prompts: str | Path | None = None):
        self.path, self._prompts = Path(path), prompts
        self.config: BuildConfig = read_config(self.path, prompts)

    @cached_property
    def files(self) -> Mapping[str, StepFile]:
        """Step -> its file, in order."""
        return {name: StepFile(self.path / FOLDER / f"{name}.jsonl") for name in self.config.names}

    @importing(of_data=True)
    def run(self, step: str | None = None, **how: Any) -> list[StepState]:
        """Run what is not up to date, up to a step, or all; the states of these steps. What was interrupted resumes.

        how  `replay` (no request: ToolkitError where an answer is not cached), `cache` (the file of answers; by default the
             build's own, if it has one), what `toolkit.models.llm.load_llm` takes, and who computes, see
             `toolkit.jobs.file_job.opened`

        Raises ToolkitError for a model that cannot be asked, before anything is.
        """
        last = self.config.step_number(step) if step else len(self.config.steps) - 1
        steps = self.config.steps[: last + 1]
        own = self.path / ANSWERS
        how = {"cache": own if own.is_file() else None, **how}
        with lock_folder("build", self.path), opened(**engine_of(how)) as executor, ExitStack() as ending:
            writers = Writers(self.config.models, executor, **{name: value for name, value in how.items() if value is not None})
            ending.callback(writers.close)
            first = next((number for number in range(last + 1) if not self._state(number).is_done), last + 1)
            writers.check(name for one in steps[first:] for name in one.models())
            for number in range(first, last + 1):
                if not self._state(number).is_done:
                    self._run(number, writers, executor)
        return self.states(step)

    def states(self, last: str | None = None) -> list[StepState]:
        """How far each step is, or each up to the last that is named; nothing is run, and no item is read."""
        states: list[StepState] = []
        for number in range(self.config.step_number(last) + 1 if last else len(self.config.steps)):
            state = self._state(number)
            inputs = {*self._before(number), *state.step.reads}
            before = next((each for each in states if not each.is_done and each.step.name in inputs), None)
            if state.is_done and before:  # its input will be another, or may be
                how = NOT_RUN if before.state == NOT_RUN else "out of date"
                state = StepState(state.step, f"{before.step.name} is {how}", state.record)
            states.append(state)
        return states

    def check_left(self, last: str | None = None) -> None:
        """ToolkitError where the steps have left no item, and none waits for people."""
        records = [state.record for state in self.states(last) if state.record]
        if records and not records[-1].left and not any(record.waiting for record in records):
            hint = f"`tandem build status {self.path}` says which step rejected them, and why"
            raise ToolkitError("no item is left: all were rejected", hint, status=1)

    def benchmark(self, to: str | Path) -> Path:
        """Write the benchmark that the steps make into a folder; its path. ToolkitError where a step is not up to date."""
        from toolkit.construction.documents.built_benchmark import written

        if waiting := [state for state in self.states() if not state.is_done]:
            what = f"the step {waiting[0].step.name} is not done: {waiting[0].state}"
            raise ToolkitError(what, f"`tandem build run {self.path}` does it")
        build = BuiltSteps(self.config, self.files, Path(to))
        return written(build.to, lambda part: self._write(build, part))

    def _write(self, build: BuiltSteps, folder: Path) -> None:
        """The benchmark of the kind, and its datasheet, without which it is written where the checks' libraries are missing."""
        from toolkit.construction.datasheet import FACTS, build_facts, write_datasheet

        self.config.module.benchmark(build, folder)
        try:
            write_text(folder / FACTS, dump_yaml(build_facts(self)))
            write_datasheet(folder)
        except (ModuleNotFoundError, MissingExtra) as error:
            missing = error if isinstance(error, MissingExtra) else missing_module(error)
            if missing is None:
                raise
            say(f"warning: no datasheet: {missing.message}: {missing.hint}, then build the benchmark again")

    def steps(self) -> BuiltSteps:
        """The items of all steps and their histories."""
        return BuiltSteps(self.config, self.files)

    def depends(self, number: int) -> dict[str, Any]:
        """What the items of a step depend on; of an earlier step that was not run the digest is empty."""
        step, config = self.config.steps[number], self.config
        prompts = dict.fromkeys((*step.prompts(), *([REPAIR] if step.models() else [])))
        earlier = dict.fromkeys((*self._before(number), *step.reads))
        judging = {name: find_prompt(name, self.path, SUPPORT).sha256 for name in step.judge_prompts(config.models)}
        searched = (choose_system(name, files=config.systems) for name in step.parameters().get("systems", ()))
        return {
            "version": step.version,
            "parameters": plain(step.parameters()),
            "prompts": {name: find_prompt(name, self.path, published=self._prompts).sha256 for name in prompts} | judging,
            "systems": {spec.name: entry_identity(spec) for spec in searched},
            "models": {name: config.models[name].facts() for name in step.models()},
            "seeds": config.seeds.facts(),
            "files": {str(path): _sha256(path) for path in step.files(self.path)},
            "steps": {name: _sha256(self.files[name].path) for name in earlier if name in self.files},
        }

    def _before(self, number: int) -> tuple[str, ...]:
        """The step whose items a step is given; none for the first one."""
        return (self.config.steps[number].after or self.config.names[number - 1],) if number else ()

    def _state(self, number: int) -> StepState:
        step = self.config.steps[number]
        record = self.files[step.name].record()
        if record is None:
            return StepState(step, "its file was changed" if self.files[step.name].path.exists() else NOT_RUN)
        depends = self.depends(number)
        if record.digest != digest_of(depends):
            changed = [name for name in depends if digest_of({"": record.depends.get(name)}) != digest_of({"": depends[name]})]
            return StepState(step, f"changed: {', '.join(changed)}", record)
        if record.failed:
            return StepState(step, f"{record.failed:,} requests unanswered", record)
        return StepState(step, DONE, record)

    def _run(self, number: int, writers: Writers, executor: Executor) -> None:
        """Run one step, and write its file and its record."""
        step, started = self.config.steps[number], time.monotonic()
        items = [item for name in self._before(number) for item in self.files[name].passed()]
        file, depends = self.files[step.name], self.depends(number)
        earlier = {name: self.files[name].passed for name in self.config.names[:number]}
        with executor.job(file.path), progress(step.name, None, "answers") as advance:
            tools = Tools(self.path, self.config.seeds, writers, earlier, advance, self.config.systems)
            try:
                counts = file.write(_answered(step.run(items, tools), tools), {item.id: item for item in items})
            except KeyboardInterrupt as end:
                end.add_note("the same command resumes")
                raise
        record = StepRecord(
            depends,
            counts.sha256,
            entered=len(items) if number else counts.all,
            left=counts.left,
            waiting=counts.waiting,
            rejected=dict(counts.rejected),
            asked=tools.asked,
            figures={name: dict(each) for name, each in step.figures(file.items()).items()},
            seconds=round(time.monotonic() - started, 3),
        )
        file.write_record(step, record)
        if record.failed:
            say(f"warning: {step.name}: {record.failed:,} requests unanswered: the next run asks again")
        waiting = f", {record.waiting:,} wait for people" if record.waiting else ""
        say(f"{step.name}: {record.entered:,} entered, {record.left:,} left{waiting}")


def _answered(items: Iterable[Item], tools: Tools) -> Iterator[Item]:
    """The items of a step. ToolkitError behind the last one, before its file is there, where a model has answered nothing."""
    yield from items
    tools.check_answered()


def _sha256(path: Path) -> str:
    return file_sha256(path) if path.is_file() else ""
