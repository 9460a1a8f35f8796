"""What must be known before a number is trusted: its denominators, and runs that differ in depth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolkit.core.columns import lookup
from toolkit.core.runs import Run
from toolkit.evaluate.inputs import three
from toolkit.evaluate.judgments import Judgments

COUNTED = {"worst": "each counts with its worst value", "skip": "left out (--missing skip)"}


def run_notes(runs: Sequence[Run], judgments: Judgments, missing: str) -> list[str]:
    """A line of denominators for each run, and lines for what is odd about it."""
    judged = set(judgments.query_ids)
    notes = []
    for run in runs:
        notes += [_denominators(run, judged, missing), *_unjudged(run, judged, judgments)]
    return notes + _depths(runs)


def _denominators(run: Run, judged: set[str], missing: str) -> str:
    absent = judged.difference(run.query_ids)
    scored = len(judged) - len(absent) * (missing == "skip")
    in_run = len(run.query_ids)
    line = f"{run.tag}: {len(judged):,} queries judged, {in_run:,} in the run, {scored:,} scored, {len(absent):,} absent"
    return f"{line}: {three(absent)}; {COUNTED[missing]}" if absent else line


def _unjudged(run: Run, judged: set[str], judgments: Judgments) -> list[str]:
    notes = []
    others = set(run.query_ids).difference(judged)
    if others:
        notes.append(f"{run.tag}: {len(others):,} queries of the run are not judged and do not count: {three(others)}")
    if all(np.all(lookup(part.qrels.doc_ids, run.doc_ids) < 0) for part in judgments.parts):
        notes.append(
            f"{run.tag}: no document of the run is judged; was it made over another corpus? (compare such runs with diff)"
        )
    return notes


def _depths(runs: Sequence[Run]) -> list[str]:
    """The rank of a missing document depends on the depth of the run."""
    depths = {run.tag: int(run.lengths.max(initial=0)) for run in runs}
    if len(set(depths.values())) == 1:
        return []
    shown = ", ".join(f"{tag} {depth}" for tag, depth in depths.items())
    cure = f"--depth {min(depths.values())} cuts all"
    return [f"the runs differ in depth ({shown}), on which the rank of a missing document depends: {cure}"]
