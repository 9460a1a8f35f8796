"""What a user says of a diversification, looked up and checked before anything is read twice, encoded or written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from toolkit.benchmarks import TopicSet, join_topics, resolve_topics
from toolkit.core.errors import ToolkitError, three
from toolkit.core.qrels import Qrels, join_qrels
from toolkit.core.runs import Run
from toolkit.diversify.embeddings import DEFAULT_RECIPE, DEFAULT_SYSTEM, StoredVectors, SystemVectors
from toolkit.diversify.job import Group, Job, Settings
from toolkit.diversify.mmr import check, scales
from toolkit.diversify.tune import check_judged
from toolkit.formats import read_qrels, read_run
from toolkit.formats.ids import check_ids
from toolkit.registry import choose_system
from toolkit.registry.loader import FOLDER, did_you_mean, read_yaml
from toolkit.texts import texts_from

OUTPUT = "runs/{run}.{method}.trec"


def plan_diversify(
    runs: Sequence[str],
    *,
    lams: Sequence[float] = (),
    normalisation: str = "paper",
    depth: int = 100,
    scale: str | None = None,
    tail: str = "keep",
    dev: Sequence[str] = (),
    qrels: Sequence[str] = (),
    system: str | None = None,
    systems: Sequence[str | Path] = (),
    recipe: str | None = None,
    vectors: str | None = None,
    topics: Sequence[str] | None = None,
    index: str | None = None,
    docs: str | None = None,
    output: str | None = None,
    tag: str | None = None,
    **how: Any,
) -> Job:
    """Look everything up that diversifying will need.

    runs, dev    files, in any form that `runs convert` reads; `dev` are those that lambda is tuned on, `qrels` their judgments:
                 a file is a data set, or, with `topics` of several groups, a group is
    lams         the paper's five where none are given
    scale        a number, or a constant of the release (`wikipedia/bm25`)
    system       uae-large-v1, by BERDS' recipe, where none is named; or `vectors`, a folder of `tandem encode`
    topics       of all runs, where texts come from their own corpora or data sets are their groups
    index, docs  where texts come from, see `toolkit.texts`
    output       a file, with the slots {run}, {lam} and {method} where there are several
    how          of the encoder

    Raises ToolkitError.
    """
    number, name = _scale(scale)
    lams = lams or read_yaml(FOLDER / "mmr.yaml")["lambdas"]
    settings = Settings(lams, normalisation, depth, number, name, tail)
    check(lams, normalisation, tail, depth)
    source = _vectors(vectors, system, systems, recipe, how)
    found = [resolve_topics(topic) for topic in topics or ()]
    join_topics(found)  # a query of two of them would be in two groups
    read, tuned_on = _read(runs), _read(dev)
    for run in (*read.values(), *tuned_on.values()):
        scales(run, normalisation, number)
    groups = _groups([*read.values(), *tuned_on.values()], found, index, docs, source.needs_texts)
    judged = _judged(tuned_on, qrels, groups)
    job = Job(read, settings, source, groups, tuned_on, judged, OUTPUT if output is None else output, tag)
    if tag:
        check_ids("tag", [tag])
    _check_output(job)
    return job


def _scale(text: str | None) -> tuple[float | None, str]:
    """A number and, of a constant of the release, its name."""
    known = read_yaml(FOLDER / "mmr.yaml")["scales"]
    if text is None or text in known:
        return (known[text], text) if text else (None, "")
    try:
        return float(text), ""
    except ValueError as error:
        hint = f"{did_you_mean(text, known)}a number above 0, or one of {', '.join(known)}"
        raise ToolkitError(f"scale is {text!r}", hint) from error


def _vectors(
    folder: str | None, system: str | None, systems: Sequence[str | Path], recipe: str | None, how: dict[str, Any]
) -> StoredVectors | SystemVectors:
    if folder is not None:
        if system or recipe:
            raise ToolkitError("vectors come from a folder or from a system, not from both", "leave one of them out")
        return StoredVectors(Path(folder))
    if system is None:
        recipe = recipe or DEFAULT_RECIPE
    return SystemVectors(choose_system(system or DEFAULT_SYSTEM, files=systems, recipe=recipe), how)


def _read(paths: Sequence[str]) -> dict[str, Run]:
    if twice := {path for path in paths if paths.count(path) > 1}:
        raise ToolkitError(f"{three(twice)} is named twice", "name each run once")
    return {path: read_run(path) for path in paths}


def _groups(
    runs: Sequence[Run], topics: Sequence[TopicSet], index: str | None, docs: str | None, needs_texts: bool
) -> list[Group]:
    """The queries of all runs by the corpus that they belong to."""
    asked = dict.fromkeys(query_id for run in runs for query_id in run.query_ids)
    if not needs_texts and (index or docs):
        raise ToolkitError("vectors of a folder need no texts", "leave --index and --docs out")
    if not topics:
        if needs_texts and not (index or docs):
            raise ToolkitError("nothing says where the documents' texts are", "name --index, --docs, --topics, or --vectors")
        texts = texts_from(TopicSet("all", [], None), index=index, docs=docs)("all") if needs_texts else None
        return [Group("all", list(asked), texts)]
    known = {topic.query_id for found in topics for topic in found.topics}
    if unknown := [query_id for query_id in asked if query_id not in known]:
        message = f"{len(unknown)} of {len(asked)} queries are not among the topics ({three(unknown)})"
        raise ToolkitError(message, "name the topics that the runs were made with")
    groups = []
    for found in topics:
        texts = texts_from(found, index=index, docs=docs) if needs_texts else None
        for part in found.parts:
            query_ids = [topic.query_id for topic in part.topics if topic.query_id in asked]
            groups += [Group(part.group, query_ids, texts(part.group) if texts else None)] if query_ids else []
    return groups


def _judged(dev: dict[str, Run], qrels: Sequence[str], groups: Sequence[Group]) -> list[Qrels]:
    """The judgments of each data set of the development runs."""
    if bool(dev) != bool(qrels):
        missing = "judgments of the runs to tune on" if dev else "runs to tune on"
        raise ToolkitError(f"no {missing}", "--tune RUN... and --qrels F... belong together")
    if not dev:
        return []
    sets = list(_by_group([read_qrels(path) for path in qrels], groups))
    seen: set[str] = set()
    for path, run in dev.items():
        if again := seen.intersection(run.query_ids):
            raise ToolkitError(f"{path}: {len(again)} queries are in another run, too ({three(again)})", "tune on one system")
        seen.update(run.query_ids)
    check_judged(seen, sets)
    return sets


def _by_group(qrels: Sequence[Qrels], groups: Sequence[Group]) -> Iterator[Qrels]:
    """The files as they are; where there are several groups, the judgments of each."""
    if len(groups) < 2:
        yield from qrels
        return
    rows = list(join_qrels(qrels))
    for group in groups:
        wanted = set(group.query_ids)
        if own := [row for row in rows if row.query_id in wanted]:
            yield Qrels.from_rows(own, source=group.name)


def _check_output(job: Job) -> None:
    """ToolkitError where two results would be one file."""
    lams = job.settings.lams if not job.dev else job.settings.lams[:1]
    places = [job.place(name, lam) for name in job.runs for lam in lams]
    if len(set(places)) < len(places):
        message = f"{len(places)} runs would be written to {len(set(places))} files"
        raise ToolkitError(message, "put {run} and {lam} into --output, as in runs/{run}.mmr-{lam}.trec")
    for place in places:
        if Path(place).is_dir():
            raise ToolkitError(f"{place} is a folder, not a file", "name a file in it")
