"""Runs to diversified runs, for given lambdas or for the one that was tuned, written with their metadata."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolkit.core.columns import to_arrow
from toolkit.core.files import is_stream
from toolkit.core.progress import say
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run, join_runs
from toolkit.diversify.embeddings import Embedded, StoredVectors, SystemVectors, Wanted
from toolkit.diversify.mmr import DEPTH, mmr, scales
from toolkit.diversify.tune import CUTOFF, best_lambda, tune
from toolkit.formats import write_metadata, write_run
from toolkit.formats.derived import derived_metadata, origin_of
from toolkit.texts import TextSource

SUFFIXES = (".gz", ".zst", ".trec", ".txt", ".run")


class Settings(NamedTuple):
    """See `toolkit.diversify.mmr`. scale_name: the release's constant that `scale` is; empty for a number and for none."""

    lams: Sequence[float]
    normalisation: str = "paper"
    depth: int = DEPTH
    scale: float | None = None
    scale_name: str = ""
    tail: str = "keep"


class Group(NamedTuple):
    """Queries whose documents are from one corpus. texts: where these are read; None where vectors need no texts."""

    name: str
    query_ids: Sequence[str]
    texts: TextSource | None = None


@dataclass(frozen=True)
class Job:
    """Runs to diversify: everything is read and checked, but neither texts nor vectors are touched yet.

    runs     by file
    dev      those to tune on, by file; none where the lambdas are given
    judged   the judgments of each of their data sets
    vectors  what says how much alike documents are
    groups   the queries of all runs
    output   a file's name with the slots {run}, {lam} and {method}
    """

    runs: Mapping[str, Run]
    settings: Settings
    vectors: SystemVectors | StoredVectors
    groups: Sequence[Group]
    dev: Mapping[str, Run]
    judged: Sequence[Qrels]
    output: str
    tag: str | None = None

    def describe(self) -> list[str]:
        """What making the runs does, a line a step; nothing is downloaded or encoded to know it."""
        told = self.settings
        lams = ", ".join(f"{lam:g}" for lam in told.lams)
        how = f"best {told.depth}, {told.normalisation}, lambda {'as tuned' if self.dev else lams}, {told.tail} the tail"
        tuning = f"tune lambda ({lams}) for MRecall@{CUTOFF} on {', '.join(self.dev)}, {len(self.judged)} data sets"
        return [
            ", ".join(f"{name} {value}" for name, value in self.vectors.facts().items()),
            self._encoding(),
            *([tuning] if self.dev else []),
            *(f"diversify {name}: {how}" for name in self.runs),
            f"write {self.output}",
        ]

    def _encoding(self) -> str:
        """How many documents need a vector, and how many have none yet."""
        documents = len({doc_id for group in self.groups for doc_id in self._doc_ids(group)})
        fetched = dict.fromkeys(group.texts.fetch for group in self.groups if group.texts and group.texts.fetch)
        if fetched:
            return f"{documents:,} documents from {', '.join(fetched)}; how many are to be encoded is known with the texts"
        return f"{documents:,} documents, {self.vectors.missing(self._wanted()):,} texts to be encoded"

    def make(self) -> dict[str, Run]:
        """Diversify and write; the new runs by file."""
        started, told = time.time(), self.settings
        origins = {name: origin_of(name, run) for name, run in self.runs.items()}
        embedded = self.vectors.embed(self._wanted())
        tuning = self._tune(embedded) if self.dev else {}
        lams = [best_lambda({row["lambda"]: row["value"] for row in tuning["values"]})] if tuning else told.lams
        made = {}
        for name, run in self.runs.items():
            constant = scales(run, told.normalisation, told.scale)
            for lam, new in self._mmr(run, embedded, lams).items():
                file, method = self.place(name, lam), self.method(lam)
                tagged = replace(new, tag=self.tag or f"{run.tag or 'run'}.{method}")
                report = {**self._report(lam, constant), **({"tuned": tuning} if tuning else {})}
                write_run(tagged, file)
                if not is_stream(file):
                    seconds = time.time() - started
                    facts = derived_metadata(tagged, origins[name], "diversification", report, file=Path(file), seconds=seconds)
                    write_metadata(file, facts)
                made[file] = tagged
        return made

    def method(self, lam: float) -> str:
        """`mmr-0.75`, and what is not as usual."""
        told = self.settings
        odd = [told.normalisation] if told.normalisation != "paper" else []
        odd += [f"depth-{told.depth}"] if told.depth != DEPTH else []
        odd += [told.tail] if told.tail != "keep" else []
        return ".".join([f"mmr-{lam:g}", *odd])

    def place(self, name: str, lam: float) -> str:
        """The file of a run's result."""
        stem = "stdin" if name == "-" else Path(name).name
        while (suffix := Path(stem).suffix) in SUFFIXES:
            stem = stem.removesuffix(suffix)
        slots = {"{run}": stem, "{lam}": f"{lam:g}", "{method}": self.method(lam)}
        output = self.output
        for slot, value in slots.items():
            output = output.replace(slot, value)
        return output

    def _mmr(self, run: Run, embedded: Embedded, lams: Sequence[float]) -> dict[float, Run]:
        told = self.settings
        how = {"scale": told.scale, "tail": told.tail}
        return mmr(run, embedded, lams, told.normalisation, told.depth, **how)

    def _tune(self, embedded: Embedded) -> dict[str, Any]:
        """What the metadata say of the tuning: each lambda with its value."""
        parts = [self._mmr(run, embedded, self.settings.lams) for run in self.dev.values()]
        runs = {lam: join_runs(part[lam] for part in parts) for lam in self.settings.lams}
        values = tune(runs, self.judged)
        rows = [{"lambda": lam, "value": value} for lam, value in values.items()]
        sets = [qrels.source for qrels in self.judged]
        say(f"MRecall@{CUTOFF}: " + ", ".join(f"{value:.4f} with lambda {lam:g}" for lam, value in values.items()))
        return {"measure": f"MRecall@{CUTOFF}", "runs": list(self.dev), "data sets": sets, "values": rows}

    def _report(self, lam: float, constant: np.ndarray) -> dict[str, Any]:
        told = self.settings
        largest = "each question's largest score" if told.normalisation == "release" else float(constant[0])
        named = {"constant": told.scale_name or told.scale} if told.scale is not None else {}
        report = {"name": "mmr", "lambda": lam, "normalisation": told.normalisation, "divided by": largest, **named}
        return report | {"depth": told.depth, "tail": told.tail, "similarity": {"measure": "cosine", **self.vectors.facts()}}

    def _wanted(self) -> list[Wanted]:
        """The best documents of all runs, group by group, with their texts where these are needed."""
        wanted = []
        for group in self.groups:
            doc_ids = self._doc_ids(group)
            found = (group.texts.find(doc_ids), group.texts.place) if group.texts else ({}, "")
            wanted.append(Wanted(group.query_ids, doc_ids, *found))
        return wanted

    def _doc_ids(self, group: Group) -> list[str]:
        """The documents down to the depth of any query of the group, in order."""
        found: set[str] = set()
        for run in (*self.runs.values(), *self.dev.values()):
            best = run.select(group.query_ids).head(self.settings.depth)
            found.update(run.doc_ids.take(to_arrow(np.unique(best.docs))).to_pylist())
        return sorted(found)
