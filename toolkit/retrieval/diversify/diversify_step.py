"""The step that diversifies: runs in an order in which documents do not repeat one another, for given lambdas or the
one that serves development questions best (BERDS, section 5).
"""

import functools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolkit.core.errors import ToolkitError, three
from toolkit.core.qrels import Qrels, join_qrels
from toolkit.core.runs import Run, join_runs
from toolkit.core.system.progress import say
from toolkit.core.system.yaml_json import read_yaml
from toolkit.core.topics import check_among
from toolkit.datasets import TopicSet
from toolkit.metrics.families.join import positions
from toolkit.metrics.families.perspectives import mrecall
from toolkit.models import choose_system
from toolkit.registry.loader import FOLDER, did_you_mean
from toolkit.retrieval.diversify.embeddings import (
    DEFAULT_RECIPE,
    DEFAULT_SYSTEM,
    Embedded,
    StoredVectors,
    SystemVectors,
    Wanted,
)
from toolkit.retrieval.diversify.mmr import DEPTH, check, mmr, scales
from toolkit.retrieval.rerank.candidates import wanted_ids
from toolkit.retrieval.steps import Made, Results, Step, Tools
from toolkit.retrieval.texts import TextSource, downloads, texts_from


class Group(NamedTuple):
    """Queries whose documents are from one corpus. texts: where these are read; None where vectors need no texts."""

    name: str
    query_ids: Sequence[str]
    texts: TextSource | None = None


class Diversify(Step):
    """Maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998; BERDS, section 5); see
    `toolkit.retrieval.diversify.mmr`.

    lams            weights of relevance, each of which makes a run of every run given; the paper's five where none are given
    scale           a number, or a constant of the release (`wikipedia/bm25`)
    setting         lambda and scale of the paper for a corpus and a retriever (`wikipedia/bm25`), instead of those
    dev, judged     runs by name and the judgments of each of their data sets, on which one lambda is tuned
    system          a dense system, whose vectors say how much alike documents are (uae-large-v1 by BERDS' recipe where none
                    is named); or `vectors`, a folder of `tandem encode`; `how` is that of the encoder
    topics          of all runs, where texts come from their own corpora or data sets are their groups

    Raises ToolkitError.
    """

    tag = "mmr"

    def __init__(
        self,
        *,
        lams: Sequence[float] = (),
        normalisation: str = "paper",
        depth: int = DEPTH,
        scale: str | float | None = None,
        tail: str = "keep",
        setting: str | None = None,
        dev: Mapping[str, Run] | None = None,
        judged: Sequence[Qrels] = (),
        system: str | None = None,
        systems: Sequence[str | Path] = (),
        recipe: str | None = None,
        vectors: str | Path | None = None,
        topics: Sequence[TopicSet] = (),
        index: str | None = None,
        docs: str | None = None,
        **how: Any,
    ):
        if setting is not None:
            if lams or scale is not None or dev:
                raise ToolkitError(f"{setting} sets lambda and scale", "leave out --lam, --scale and --tune, or --setting")
            lams, scale = [_published(setting)["lambda"]], setting
        self.scale, self.scale_name = _scale(scale)
        self.lams = lams or _registered()["lambdas"]
        self.normalisation, self.depth, self.tail = normalisation, depth, tail
        check(self.lams, normalisation, tail, depth)
        given = {name: value for name, value in how.items() if value is not None}
        self.vectors = _vectors(vectors, system, systems, recipe, given)
        self.dev, self.judged = dict(dev or {}), list(judged)
        if bool(self.dev) != bool(self.judged):
            missing = "judgments of the runs to tune on" if self.dev else "runs to tune on"
            raise ToolkitError(f"no {missing}", "--tune RUN... and --qrels F... belong together")
        self.topics, self.index, self.docs = list(topics), index, docs
        self.groups: list[Group] = []

    @property
    def name(self) -> str:
        """`mmr-0.75`; without the lambda where there are several."""
        return self.method(self.lams[0]) if len(self.lams) == 1 else self.method(None)

    def method(self, lam: float | None) -> str:
        """`mmr-0.75`, and what is not its default."""
        changed = [self.normalisation] if self.normalisation != "paper" else []
        changed += [f"depth-{self.depth}"] if self.depth != DEPTH else []
        changed += [self.tail] if self.tail != "keep" else []
        return ".".join(["mmr" if lam is None else f"mmr-{lam:g}", *changed])

    @property
    def is_cached(self) -> bool:
        """Vectors that a system makes are."""
        return self.vectors.needs_texts

    def prepare(self, results: Results) -> None:
        """Which corpus each query is of; judgments by data set. Nothing is encoded."""
        runs = [made.run for made in results.runs]
        if not runs:
            return  # a step before this one makes them
        for run in (*runs, *self.dev.values()):
            scales(run, self.normalisation, self.scale)
        self._prepare_groups(runs, results)

    def _prepare_groups(self, runs: Sequence[Run], results: Results) -> None:
        topics = self.topics or ([results.topics] if results.topics else [])
        self.groups = _groups([*runs, *self.dev.values()], topics, self.index, self.docs, self.vectors.needs_texts)
        if self.dev:
            if len(self.groups) > 1:  # the judgments of each; otherwise the files as they are
                rows, self.judged = list(join_qrels(self.judged)), []
                for group in self.groups:
                    wanted = set(group.query_ids)
                    if judged := [row for row in rows if row.query_id in wanted]:
                        self.judged.append(Qrels.from_rows(judged, source=group.name))
            tuned: set[str] = set()
            for name, run in self.dev.items():
                if again := tuned.intersection(run.query_ids):
                    what = f"{name}: {len(again)} queries are in another run, too ({three(again)})"
                    raise ToolkitError(what, "tune on one system")
                tuned.update(run.query_ids)
            check_judged(tuned, self.judged)

    def plan(self, results: Results) -> list[str]:
        """What is encoded, tuned and diversified; nothing is downloaded or encoded to know it."""
        if not results.runs:
            return [f"diversify the best {self.depth} of each query ({self.name})"]
        lams = ", ".join(f"{lam:g}" for lam in self.lams)
        which = "as tuned" if self.dev else lams
        how = f"best {self.depth}, {self.normalisation}, lambda {which}, {self.tail} the tail"
        tuning = f"tune lambda ({lams}) for MRecall@{CUTOFF} on {', '.join(self.dev)}, {len(self.judged)} data sets"
        runs = [made.run for made in results.runs]
        encoding = f"{len({doc_id for group in self.groups for doc_id in self._doc_ids(runs, group)}):,} documents"
        if fetched := downloads(group.texts for group in self.groups if group.texts):
            encoding += f" from {fetched}; how many are encoded depends on the texts"
        else:
            if missing := self.vectors.missing(self._wanted(runs)):
                self.vectors.check()
            encoding += f", {missing:,} texts to be encoded"
        return [
            ", ".join(f"{name} {value}" for name, value in self.vectors.facts().items()),
            encoding,
            *([tuning] if self.dev else []),
            *(f"diversify {made.source}: {how}" for made in results.runs),
        ]

    def apply(self, results: Results, tools: Tools) -> Results:
        """A run for every run and lambda."""
        runs = [made.run for made in results.runs]
        if not self.groups:
            self._prepare_groups(runs, results)
        embedded = self.vectors.embed(self._wanted(runs))
        lams, tuned = self.lams, {}  # the second is what the record says of the tuning
        if self.dev:
            parts = [self._mmr(run, embedded, self.lams) for run in self.dev.values()]
            values = tune({lam: join_runs(part[lam] for part in parts) for lam in self.lams}, self.judged)
            say(f"MRecall@{CUTOFF}: " + ", ".join(f"{value:.4f} with lambda {lam:g}" for lam, value in values.items()))
            lams = [best_lambda(values)]
            tried = [{"lambda": lam, "value": value} for lam, value in values.items()]
            sets = [each.source for each in self.judged]
            tuned = {"tuned": {"measure": f"MRecall@{CUTOFF}", "runs": list(self.dev), "data sets": sets, "values": tried}}
        new: list[Made] = []
        for made in results.runs:
            constant = scales(made.run, self.normalisation, self.scale)
            for lam, run in self._mmr(made.run, embedded, lams).items():
                facts = {**self._report(lam, constant), **tuned}
                provenance = made.provenance.inherited().step("diversification", facts).having(made_of=dict(made.facts))
                tag, slots = f"{made.run.tag or 'run'}.{self.method(lam)}", {"lam": f"{lam:g}", "method": self.method(lam)}
                new.append(Made(replace(run, tag=tag), provenance, made.source, slots=slots))
        return replace(results, runs=tuple(new))

    def _mmr(self, run: Run, embedded: Embedded, lams: Sequence[float]) -> dict[float, Run]:
        return mmr(run, embedded, lams, self.normalisation, self.depth, scale=self.scale, tail=self.tail)

    def _report(self, lam: float, constant: np.ndarray) -> dict[str, Any]:
        largest = "each question's largest score" if self.normalisation == "release" else float(constant[0])
        named = {"constant": self.scale_name or self.scale} if self.scale is not None else {}
        report = {"name": "mmr", "lambda": lam, "normalisation": self.normalisation, "divided by": largest, **named}
        return report | {"depth": self.depth, "tail": self.tail, "similarity": {"measure": "cosine", **self.vectors.facts()}}

    def _wanted(self, runs: Sequence[Run]) -> list[Wanted]:
        """The best documents of all runs, group by group, with their texts where these are needed."""
        wanted = []
        for group in self.groups:
            doc_ids = self._doc_ids(runs, group)
            query_docs = (group.texts.find(doc_ids), group.texts.place) if group.texts else ({}, "")
            wanted.append(Wanted(group.query_ids, doc_ids, *query_docs))
        return wanted

    def _doc_ids(self, runs: Sequence[Run], group: Group) -> list[str]:
        """The documents down to the depth of any query of the group, in order."""
        doc_ids: set[str] = set()
        for run in (*runs, *self.dev.values()):
            doc_ids.update(wanted_ids(run.select(group.query_ids), self.depth))
        return sorted(doc_ids)


def _scale(given: str | float | None) -> tuple[float | None, str]:
    """A number and, of a constant of the release, its name."""
    known = _registered()["recipes"]
    if given is None or given in known:
        return (known[given]["scale"], given) if given else (None, "")
    try:
        return float(given), ""
    except ValueError as error:
        hint = f"{did_you_mean(given, known)}a number above 0, or one of {', '.join(known)}"
        raise ToolkitError(f"scale is {given!r}", hint) from error


def _published(setting: str) -> dict[str, float]:
    """Lambda and scale of the paper for a corpus and a retriever."""
    known = _registered()["recipes"]
    if setting not in known:
        raise ToolkitError(f"no setting {setting!r}", f"{did_you_mean(setting, known)}known: {', '.join(known)}")
    return known[setting]


@functools.cache
def _registered() -> dict[str, Any]:
    """`registry/mmr.yaml`: the paper's recipes, and the weights that it chose from."""
    return read_yaml(FOLDER / "mmr.yaml")


def _vectors(
    folder: str | Path | None, system: str | None, systems: Sequence[str | Path], recipe: str | None, how: dict[str, Any]
) -> StoredVectors | SystemVectors:
    if folder is not None:
        if system or recipe:
            raise ToolkitError("vectors come from a folder or from a system, not from both", "leave one of them out")
        return StoredVectors(Path(folder))
    if system is None:
        recipe = recipe or DEFAULT_RECIPE
    return SystemVectors(choose_system(system or DEFAULT_SYSTEM, files=systems, recipe=recipe), how)


def _groups(
    runs: Sequence[Run], topics: Sequence[TopicSet], index: str | None, docs: str | None, needs_texts: bool
) -> list[Group]:
    """The queries of all runs by the corpus that they belong to."""
    searched = dict.fromkeys(query_id for run in runs for query_id in run.query_ids)
    if not needs_texts and (index or docs):
        raise ToolkitError("vectors of a folder need no texts", "leave --index and --docs out")
    if not topics:
        if needs_texts and not (index or docs):
            hint = "name --index, --docs, --topics, or --vectors"
            raise ToolkitError("no source for the texts of the documents is given", hint)
        texts = texts_from(TopicSet("all", [], None), index=index, docs=docs)("all") if needs_texts else None
        return [Group("all", list(searched), texts)]
    check_among(searched, {topic.query_id for topic_set in topics for topic in topic_set.topics}, "the runs")
    groups = []
    for topic_set in topics:
        texts = texts_from(topic_set, index=index, docs=docs) if needs_texts else None
        for part in topic_set.parts:
            query_ids = [topic.query_id for topic in part.topics if topic.query_id in searched]
            groups += [Group(part.group, query_ids, texts(part.group) if texts else None)] if query_ids else []
    return groups


CUTOFF = 5


def macro_mrecall(run: Run, sets: Sequence[Qrels], cutoff: int = CUTOFF) -> float:
    """MRecall@cutoff as a mean over data sets of the mean over each one's judged questions; one that the run lacks counts 0."""
    means = [mrecall(positions(run, qrels), cutoff) for qrels in sets]
    return math.fsum(float(values.mean()) for values in means) / len(means)


def tune(diversified: Mapping[float, Run], sets: Sequence[Qrels]) -> dict[float, float]:
    """lambda -> macro MRecall@5 of the run of all development questions, by the judgments of each data set."""
    return {lam: macro_mrecall(run, sets) for lam, run in diversified.items()}


def best_lambda(values: Mapping[float, float]) -> float:
    """The lambda with the highest value; of equal ones the largest, which moves the retriever's order least."""
    return max(values, key=lambda lam: (values[lam], lam))


def check_judged(query_ids: Collection[str], sets: Sequence[Qrels]) -> None:
    """ToolkitError where a data set judges none of these questions, and where two judge the same one."""
    seen: set[str] = set()
    for qrels in sets:
        if twice := seen.intersection(qrels.query_ids):
            message = f"{qrels.source}: {len(twice)} questions are judged twice ({three(twice)})"
            raise ToolkitError(message, "a file is a data set")
        if not set(query_ids).intersection(qrels.query_ids):
            raise ToolkitError(f"{qrels.source} judges no question of the runs to tune on", "name their qrels")
        seen.update(qrels.query_ids)
