"""The rows of a study, planned, then made one after the other: what is up to date stays, and one that fails ends no other.

A row is a file with the job and the command that make it, and what its record says where it is the one that the job would make.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from toolkit import __version__
from toolkit.core.errors import ToolkitError
from toolkit.core.system.progress import say
from toolkit.engine import Executor
from toolkit.files.provenance import is_recorded, part, read_record, steps_of
from toolkit.files.texts.documents import ContentDigest
from toolkit.jobs.file_job import Job, RunJob, make_by
from toolkit.jobs.search_jobs import rerankers, retrievals
from toolkit.retrieval.index import corpus_name


@dataclass(frozen=True)
class PlannedRow:
    """One file of a study: a run, or what a run is made of or judged by.

    path      where it lies, with its record
    job       makes the job that makes it; only once what it is made of is there
    before    the row whose file is reranked, merged, ...; it is made first
    expected  what its record says where it is up to date, place -> value as `why_unlike` takes them; of a run that is searched
              or reranked `why_outdated` asks its job
    outdated  why it has to be made, where no record beside it says it (a folder); empty where it need not be
    kind      of the file, as its record has it: `run`, `qrels`, `expanded`
    command   what makes it by hand; empty where it is not shown
    benchmark that it is scored by, where it is scored by itself
    """

    path: Path
    job: Callable[[], Job]
    before: PlannedRow | None = None
    expected: Callable[[], Mapping[str, Any]] | None = None
    outdated: Callable[[], str] | None = None
    kind: str = "run"
    command: str = ""
    benchmark: str = ""

    @property
    def name(self) -> str:
        """Of the file, which is the tag of a run."""
        return self.path.stem

    @property
    def is_ready(self) -> bool:
        """Whether what it is made of is there."""
        return self.before is None or self.before.path.exists()

    def reason_to_make(self) -> str:
        """Why it has to be made, empty where it is there as it would be made now. ToolkitError where it cannot be made."""
        if self.outdated:
            return self.outdated()
        return why_unlike(self.path, self.kind, self.expected()) if self.expected else why_outdated(self.job(), self.path)


def shell_command(*given: object, **options: object) -> str:
    """A command of Tandem as a shell reads it: `hits=5` is `--hits 5`, `["a", "b"]` the option twice, True the option alone;
    what is None, False or empty is left out."""
    words = ["tandem", *map(str, given)]
    for name, value in options.items():
        for each in value if isinstance(value, list | tuple) else [value]:
            if each is True or not (each is None or each is False or each == ""):
                words += [f"--{name.replace('_', '-')}", *([] if each is True else [str(each)])]
    return shell_words(words)


def shell_words(words: Iterable[str]) -> str:
    """As `shlex.join`, but `"WISE(variant='release')@20"` for what has single quotes and nothing that the shell reads."""
    return " ".join(f'"{word}"' if "'" in word and not set('"$`\\!') & set(word) else shlex.quote(word) for word in words)


@dataclass(frozen=True)
class Failure:
    """What could not be done, and why."""

    what: str
    error: ToolkitError


def make_row(row: PlannedRow, failures: list[Failure], executor: Executor) -> bool:
    """Make what is not there or out of date; whether it is there then, and as it should be. What fails is added.

    executor  who computes: one for all rows, see `toolkit.jobs.file_job.opened`
    """
    if row.before and any(failure.what == str(row.before.path) for failure in failures):
        say(f"{row.path}: left out, as the run that it reranks is not there")
        return False
    with recorded(str(row.path), failures):
        reason = row.reason_to_make()
        say(f"{row.path}: {reason or 'up to date'}")
        if reason:
            make_by(executor, row.job())
        return True
    return False


@contextmanager
def recorded(what: str, failures: list[Failure], *, bugs: bool = True) -> Iterator[None]:
    """Put what a block raises among the failures: that of one system, a bug in its own code too, ends no other's work."""
    try:
        yield
    except ToolkitError as error:
        failures.append(Failure(what, error))
    except Exception as error:
        if not bugs:
            raise
        failed = ToolkitError(f"{type(error).__name__}: {error}", "make this run alone with --debug to see where", status=1)
        failures.append(Failure(what, failed))


class Differing(NamedTuple):
    """What of a step the record of a run says (`then`) and a job that is planned now (`now`)."""

    step: str
    key: str
    then: Any
    now: Any


def differing_steps(job: RunJob, record: Mapping[str, Any]) -> Iterator[Differing]:
    """Where the steps of a job are not those of a record, which has those of a search before a reranking, too.

    How exactly something was computed, its precision, says the run and not the entry of a system.
    """
    planned = [*(step.facts() for step in retrievals(job.step)), *(step.facts() for step in rerankers(job.step))]
    done = steps_of(record, "retrieval", "reranking")
    for now, then in zip(planned, done[len(done) - len(planned) :], strict=False):
        if then.get("prompt") == "ours":  # in the place of one that was not published: its name stands beside
            then = {**then, "prompt": then.get("prompt_name")}
        for key in dict.fromkeys(("templates", *now)):
            if key != "precision" and then.get(key) != now.get(key):
                yield Differing(then.get("name", ""), key, then.get(key), now.get(key))
    if len(planned) > len(done):
        yield Differing(planned[-1]["name"], "steps", len(done), len(planned))


def why_outdated(job: RunJob, path: Path) -> str:
    """Why the run in a file is not what a job would make, in words: its file or record, Tandem's version, a step, topics,
    documents, or the run that is reranked; empty where it is."""
    record = read_record(path) if path.exists() else None
    if reason := _why_unsound(record, path, "run"):
        return reason
    if differing := next(differing_steps(job, record), None):
        step, key, then, now = differing
        is_plain = all(isinstance(value, str | int | float) for value in (then, now))
        return f"{step}: {key} was {then}, is {now}" if is_plain else f"{step} has other {key}"
    if part(record, "method").get("instruction", "full") != job.inputs.instruction:
        return "made with other instructions"
    if part(record, "data", "topics").get("sha256") != job.inputs.topics_facts()["sha256"]:
        return "made of other topics"
    searched = {index["name"]: part(index, "corpus").get("content") for index in part(record, "data").get("indexes", ())}
    if any(searched.get(name, content) not in (content, None) for name, content in _corpora(job)):
        return "the documents are others now"
    named = {source.name for step in retrievals(job.step) if step.index for source in step.engine.sources}
    if named and named != searched.keys():
        return "searched in another index"
    reranked = [made.facts.get("sha256") for made in job.inputs.runs]
    if reranked and reranked != [part(record, "data", "candidates").get("sha256")]:
        return "the run that it reranks is another one now"
    return ""


def why_unlike(path: Path, kind: str, expected: Mapping[str, Any]) -> str:
    """The same of any file with a record (`run`, `qrels`, `expanded`), which has to say what is expected.

    expected  place in the record -> value: `{"data/topics/sha256": "9f...", "method/judging/0/depth": 10}`
    """
    record = read_record(path) if path.exists() else None
    if reason := _why_unsound(record, path, kind):
        return reason
    for place, value in expected.items():
        found: Any = record
        for name in place.split("/"):
            if isinstance(found, list):
                found = found[int(name)] if int(name) < len(found) else None
            else:
                found = found.get(name) if isinstance(found, Mapping) else None
        if found != value:
            return f"{place.rpartition('/')[2]} was {found}, is {value}"
    return ""


def is_sound(path: Path, kind: str = "run") -> bool:
    """Whether a file is there and the one of its record, whenever it was made."""
    return path.exists() and is_recorded(read_record(path), path, kind)


def _why_unsound(record: Mapping[str, Any] | None, path: Path, kind: str) -> str:
    """Whether there is a file with its record, made by this version."""
    if record is None:
        return "no record beside it" if path.exists() else "not there yet"
    if not is_recorded(record, path, kind):
        return "the file is not the one of its record"
    return f"made by tandem-ir {tandem_version(record)}" if tandem_version(record) != __version__ else ""


def tandem_version(record: Mapping[str, Any]) -> Any:
    """That of the toolkit that made a file; None where its record does not say."""
    return part(record, "implementation", "source").get("version")


def _corpora(job: RunJob) -> Iterator[tuple[str, str]]:
    """Name and digest of the benchmark's own documents, where its topics are searched in them; those of ir_datasets do not
    change."""
    topics = job.inputs.topics
    searched = {source.name for step in retrievals(job.step) for source in step.engine.sources}
    if topics.benchmark and topics.benchmark.spec.layout != "ir_datasets" and searched:
        for group in dict.fromkeys(topics.benchmark.spec.corpus(topic_part.group) for topic_part in topics.parts):
            if (name := corpus_name(topics.benchmark, group)) in searched:
                yield name, ContentDigest(topics.benchmark.docs(group)).hexdigest()
