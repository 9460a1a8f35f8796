"""Make registered runs again, from the registry and nothing else, and compare everything that is registered of them."""

import math
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from toolkit import registry
from toolkit.core.errors import MissingExtra, ToolkitError
from toolkit.core.runs import Run
from toolkit.core.scores import Score, Scores
from toolkit.core.specs import RegressionSpec
from toolkit.core.system.files import REPLAY, home, temporary_folder
from toolkit.core.system.python_names import importing
from toolkit.datasets import load, present_groups
from toolkit.evaluation import evaluate
from toolkit.files.formats import read_run
from toolkit.files.runs.runs import parse_run
from toolkit.files.store.wheels import find_packaged
from toolkit.jobs import RunJob, search_job
from toolkit.jobs.search_jobs import retrievals
from toolkit.models.checkpoints.own_systems import NotNamedError
from toolkit.retrieval.index import verify_index
from toolkit.retrieval.search.lexical_engines import CORPUS
from toolkit.studies.regress.registered_entry import (
    RegressionPaths,
    benchmark_facts,
    call_of,
    corpus_digest,
    entry_text,
    flat,
    packaged_systems,
    paths_of,
    published_numbers,
    reference_of,
    run_lines,
    sha256,
)

# what a fresh TANDEM_HOME still has of the user's: published data, own entries, checkpoints of wheels
GIVEN = ("benchmarks", "registry", "packages", "converted")
OK, OKISH, FAIL, MISSING = ("OK", "OKish", "FAIL", "MISSING")
NEAR = 0.0005  # what a model may be off on another machine


class Check(NamedTuple):
    """expected and got as they are printed; outcome is empty for what is compared and not expected (published numbers)."""

    what: str
    expected: str
    got: str
    outcome: str


@dataclass(frozen=True)
class Result:
    """What came of one entry.

    checks   everything compared, in order
    changed_queries  where a check failed: the queries that differ from the baseline, a line each
    seconds  wall time
    """

    name: str
    checks: tuple[Check, ...]
    changed_queries: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def outcome(self) -> str:
        """OK, OKish, FAIL or MISSING."""
        return worst(self.checks)


def replay(specs: Iterable[RegressionSpec], paths: RegressionPaths | None = None) -> Iterator[Result]:
    """Make each run again in a folder of its own, under a TANDEM_HOME that begins empty and that all of them share.

    paths  where entries and baselines lie; without, where the registry has them from

    What an entry needs and this machine lacks is MISSING; whatever else keeps a run from being made is a FAIL.
    """
    with temporary_folder(Path(tempfile.gettempdir()), REPLAY) as folder:
        for number, spec in enumerate(specs):
            started, entry_paths = time.monotonic(), paths or paths_of(spec.name)
            output = Path(folder, str(number), f"{spec.name}.trec")
            try:
                checks, lines = _replay(spec, entry_paths, output, Path(folder, "home"))
            except MissingExtra as error:
                checks, lines = [Check("packages", "installed", error.hint, MISSING)], []
            except NotNamedError:
                raise
            except ToolkitError as error:
                checks, lines = [Check("the run", "made again", " ".join(error.lines()), FAIL)], []
            yield Result(spec.name, tuple(checks), tuple(lines), time.monotonic() - started)


@importing(of_data=True)
def _replay(spec: RegressionSpec, paths: RegressionPaths, output: Path, fresh: Path) -> tuple[list[Check], list[str]]:
    if missing := _missing(spec):
        return [missing], []
    reference = reference_of(spec.benchmark)
    checks: list[Check] = []
    if not spec.published:  # whether the entry, its baseline and the benchmark are what they were
        written = paths.entry(spec.name).read_text(encoding="utf-8")
        baseline_lines = run_lines(paths.baselines / spec.run["baseline"], spec.run.get("modes", ()))
        checks.append(same("entry", "as registered", "as registered" if written == entry_text(spec) else "edited by hand"))
        checks.append(same("baseline sha256", spec.run["sha256"], sha256(baseline_lines)))
        now = benchmark_facts(reference)
        checks += (same(f"benchmark {fact}", spec.benchmark[fact], now[fact]) for fact in ("queries", "topics", "qrels"))
    with _fresh_home(fresh):
        job = search_job(reference, spec.index or None, output=output, tag=spec.run.get("tag"), **call_of(spec.system))
        checks += _indexes(spec, job)
        if any(check.what.endswith(" files") and check.outcome == FAIL for check in checks):
            return checks, []  # what a damaged index finds says nothing
        job.make()
        unit = "both" if spec.published else "instruction"  # tables print either
        scores = evaluate(output, benchmark=reference, measures=spec.measures, ori_unit=unit)
    if spec.run:
        lines = run_lines(output)
        checks.append(same("run lines", spec.run["lines"], lines.count(b"\n")))
        checks += [same("run sha256", spec.run["sha256"], sha256(lines))] if spec.run["deterministic"] else []
    checks += _numbers(spec, scores)
    if not spec.run or worst(checks) != FAIL:
        return checks, []
    path = paths.baselines / spec.run["baseline"]
    baseline = parse_run(run_lines(path, spec.run.get("modes", ())), str(path))
    return checks, changed_queries(baseline, read_run(output)) or ["no query moved: the run is the baseline, line by line"]


@contextmanager
def _fresh_home(folder: Path) -> Iterator[None]:
    """A TANDEM_HOME for the time of the block, empty at first but for links to what the user was given."""
    before, user = os.environ.get("TANDEM_HOME"), home()
    if not folder.exists():
        folder.mkdir(parents=True)
        for name in GIVEN:
            if (user / name).is_dir():
                (folder / name).symlink_to(user / name)
    os.environ["TANDEM_HOME"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["TANDEM_HOME"]
        else:
            os.environ["TANDEM_HOME"] = before


def _missing(spec: RegressionSpec) -> Check | None:
    """What is not on this machine: data of the benchmark, a folder of the user's that it or the index lies in, a checkpoint in
    a wheel. Nothing is fetched to know it."""
    if name := spec.needs:
        benchmark = load(name)
        here = present_groups(benchmark)
        if absent := [group for group in benchmark.groups if group not in here]:
            found = f"not here: {', '.join(absent)} (`tandem benchmarks fetch {name}`, or with --from a local copy)"
            return Check(f"data of {name}", f"{len(benchmark.groups)} groups", found, MISSING)
    index = spec.index if os.path.isabs(spec.index) else ""
    for what, folder in {"the benchmark": spec.benchmark.get("folder", ""), "the index": index}.items():
        if folder and not Path(folder).is_dir():
            return Check(what, folder, "no such folder", MISSING)
    for name in packaged_systems(spec):
        if find_packaged(registry.system(name).checkpoint) is None:
            return Check(f"checkpoint of {name}", "here", f"not here (`tandem systems fetch {name}`)", MISSING)
    return None


def _indexes(spec: RegressionSpec, job: RunJob) -> list[Check]:
    """Whether each index holds the registered documents, and its files are what its own record says."""
    checks, registered = [], {index["name"]: index for index in spec.indexes}
    for index in (index for step in retrievals(job.step) for index in step.open(job.inputs)):
        if index.record is None:  # Anserini's own: its archive was checked when it was downloaded
            continue
        if index.kind != CORPUS:
            checks.append(same(f"index {index.name} files", "as built", "; ".join(verify_index(index.folder)) or "as built"))
        if spec.published:
            continue
        facts, expected = index.facts(), registered.get(index.name, {})
        checks.append(same(f"index {index.name} documents", expected.get("documents"), facts["documents"]))
        checks.append(same(f"index {index.name} content", expected.get("content"), corpus_digest(facts["corpus"])))
    return checks


def _numbers(spec: RegressionSpec, scores: Scores) -> list[Check]:
    """Every registered number beside the one found; published ones are shown beside theirs and have no outcome."""
    got, how = _by_place(scores.rows), {"tolerance": spec.tolerance, "deterministic": spec.run.get("deterministic", False)}
    expected, printed = _by_place(flat(spec.expected)), _by_place(flat(published_numbers(spec)))
    checks = [near(" ".join(place), value, got.get(place), **how) for place, value in expected.items()]
    for place, value in printed.items():
        found = f"{got[place]:.4f}" if place in got else "no value"
        checks.append(Check(f"published {' '.join(place)}", f"{value:.4f}", found, ""))
    return checks


def _by_place(rows: Iterable[Score]) -> dict[tuple[str, str, str], float]:
    return {(row.group, row.measure, row.mode): row.value for row in rows}


def same(what: str, expected: object, got: object) -> Check:
    """A check of two things that must be equal."""
    return Check(what, str(expected), str(got), OK if expected == got else FAIL)


def near(what: str, expected: float, got: float | None, *, tolerance: float, deterministic: bool) -> Check:
    """A check of two numbers; OKish is for systems whose runs are not the same bytes on every machine."""
    if got is None:
        return Check(what, repr(expected), "no value", FAIL)
    distance = 0.0 if math.isnan(expected) and math.isnan(got) else abs(expected - got)
    outcome = OK if distance <= tolerance else OKISH if distance <= NEAR and not deterministic else FAIL
    return Check(what, repr(expected), repr(got), outcome)


def worst(checks: Iterable[Check]) -> str:
    """The outcome of all together."""
    outcomes = {check.outcome for check in checks}
    return next((outcome for outcome in (FAIL, MISSING, OKISH) if outcome in outcomes), OK)


def changed_queries(before: Run, after: Run) -> list[str]:
    """A line for each query whose documents or scores differ, in sorted order of the ids; both runs in the file's order."""
    old, new = _lists(before), _lists(after)
    lines = []
    for query_id in sorted(old.keys() | new.keys()):
        if query_id not in new:
            lines.append(f"{query_id}: is not in the new run")
        elif query_id not in old:
            lines.append(f"{query_id}: is not in the baseline")
        elif old[query_id] != new[query_id]:
            pairs = list(zip_longest(old[query_id], new[query_id]))
            ranks = [rank for rank, (line, other) in enumerate(pairs, 1) if line != other]
            first = " -> ".join("nothing" if line is None else f"{line[0]} {line[1]!r}" for line in pairs[ranks[0] - 1])
            lines.append(f"{query_id}: {len(ranks)} of {len(pairs)} ranks differ, first rank {ranks[0]}: {first}")
    return lines


def _lists(run: Run) -> dict[str, list[tuple[str, float]]]:
    return {query_id: [(doc.doc_id, doc.score) for doc in ranking] for query_id, ranking in run.rankings("file")}
