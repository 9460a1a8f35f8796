"""What must be known before a number is trusted: its denominators, what the measures note, and runs that differ in depth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from toolkit import metrics as tandem
from toolkit import registry
from toolkit.core.notes import MISLEADS, ROUTINE, Note, weighed, weight_of
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.scores import SIGNIFICANT
from toolkit.core.system.lazy_names import compute, pyarrow
from toolkit.core.tables.columns import AT_ONCE, to_arrow
from toolkit.evaluation.scores.core_queries import core_queries
from toolkit.evaluation.scores.judgments import Judgments
from toolkit.evaluation.scores.subtopics import unlined_note
from toolkit.metrics.families.diagnostics import Findings, describe, findings
from toolkit.metrics.families.paired import gold_rank, pmrr, selection
from toolkit.metrics.families.pairs import BASE, CHANGED, pairs
from toolkit.metrics.inference import Cores, Estimate, estimate


def run_findings(runs: Sequence[Run], judgments: Judgments) -> dict[str, Findings]:
    """Tag -> what is found of each run and its judgments."""
    cores = [part.cores for part in judgments.parts]
    groups = None if None in cores else {base: core for each in cores for base, core in each.items()}
    qrels = judgments.qrels
    return {run.tag: findings(run, qrels, groups) for run in runs}


def run_notes(
    runs: Sequence[Run],
    judgments: Judgments,
    measures: Sequence[str],
    missing: str,
    found: Mapping[str, Findings] | None = None,
) -> list[str]:
    """A line of denominators for each run, and warnings about it or about them together; found  as of `run_findings`"""
    found = run_findings(runs, judgments) if found is None else found
    qrels = judgments.qrels
    notes = []
    for run in runs:
        judged, absent = len(qrels.query_ids), len(set(qrels.query_ids).difference(run.query_ids))
        scored = judged - absent if missing == "skip" else judged
        counts = f"{judged:,} queries judged, {len(run.query_ids):,} in the run, {scored:,} scored, {absent:,} absent"
        lines = [Note(counts, MISLEADS if absent else ROUTINE)]
        lines += weighed(describe(found[run.tag], measures=measures, missing=missing), MISLEADS)
        lines += weighed(unlined_note(run, qrels, measures), MISLEADS)
        optimists = [measure for measure in measures if tandem.parse(measure).DEFAULT is None]
        if absent and missing == "worst" and optimists:
            lines.append(f"{', '.join(optimists)} have no worst value and leave absent queries out")
        if np.all(run.documents.find(qrels.doc_ids) < 0):
            unjudged = "no document of the run is judged: was it made over another corpus? compare such runs with diff"
            lines.append(Note(unjudged, MISLEADS))
        lines += weighed(near_ids(run, qrels), MISLEADS)
        notes += [Note(f"{run.tag}: {line}", weight_of(line)) for line in lines]
    depths = {run.tag: int(run.lengths.max(initial=0)) for run in runs}
    if len(set(depths.values())) > 1:
        shown = ", ".join(f"{tag} {depth}" for tag, depth in depths.items())
        said = f"the runs differ in depth ({shown}), on which the rank of a missing document depends"
        notes.append(Note(f"{said}: --depth {min(depths.values())} truncates all", MISLEADS))
    if names := dict.fromkeys(spec.name for spec in map(registry.measure, measures) if spec.experimental):
        notes.append(f"experimental, of this project, and not shown to be better than WISE and p-MRR: {', '.join(names)}")
    return notes


def rank_notes(runs: Sequence[Run]) -> list[Note]:
    """A line for each file of a run whose ranks contradict the scores in every query (R102): distances, perhaps."""
    from toolkit.files.runs.lint import always_contradicted

    names = dict.fromkeys(name for run in runs for name in run.source.split(", ") if Path(name).is_file())
    said = "ranks contradict scores in every query, and scores alone count: is a lower score the better one there?"
    return [Note(f"{name}: {said}", MISLEADS) for name in names if always_contradicted(name)]


def falling_notes(runs: Sequence[Run], judgments: Judgments, measures: Sequence[str]) -> list[Note]:
    """A line for each run whose p-MRR is above 0 although gold documents fall, and negatives do not fall behind them.

    Gold documents fall where their mean rank is significantly worse than in the base mode, and negatives fall behind where the
    selection of the instructed mode is significantly above 0.
    """
    if not any(registry.measure(measure).name == "pMRR" for measure in measures):
        return []
    found = []
    for run in runs:
        if not (moved := _moves(run, judgments)):
            continue
        value, fall = moved["p-MRR"].mean, moved["fall"]
        if value > 0 and fall.mean > 0 and fall.p < SIGNIFICANT and not moved["selection"].interval()[0] > 0:
            ranks = f"gold documents from rank {moved['before'].mean:.0f} to {moved['before'].mean + fall.mean:.0f}"
            found.append(Note(f"{run.tag}: p-MRR {value:.2f} rises because everything falls: {ranks}", MISLEADS))
    return found


def _moves(run: Run, judgments: Judgments) -> dict[str, Estimate]:
    """Over the core queries of all groups: p-MRR, gold documents' mean rank in the base mode, its growth, and selection."""
    sums: dict[str, list[Cores]] = {}
    for part in judgments.parts:
        followed = pairs(run, part.qrels)
        here = ~followed.absent(BASE, CHANGED) & followed.has(followed.gold) & followed.has(~followed.gold)
        if not here.any():
            continue
        before = gold_rank(followed, BASE)
        fall = gold_rank(followed, CHANGED) - before
        values = {"p-MRR": pmrr(followed), "before": before, "fall": fall, "selection": selection(followed, CHANGED)}
        _, cores = core_queries(followed.query_ids, part)
        for name, each in values.items():
            sums.setdefault(name, []).append(Cores.of(np.where(here, each, np.nan), cores))
    return {name: estimate(groups) for name, groups in sums.items()}


def near_ids(run: Run, qrels: Qrels) -> list[str]:
    """A line where judged documents are not in the run, and ids are that read alike: in lists of queries of which no judged
    document was found, or one was not whose id is more than ASCII.
    """
    is_missed = np.ones(len(qrels.doc_ids) + 1, bool)
    is_missed[run.documents.find(qrels.doc_ids)] = False  # the last one is of what is not judged
    missed = np.flatnonzero(is_missed[:-1])
    if not len(missed):
        return []
    theirs, is_odd = qrels.doc_ids.take(to_arrow(missed)), np.zeros(len(is_missed), bool)
    is_odd[missed] = [not doc_id.isascii() for doc_id in theirs.to_pylist()]
    queries = qrels.queries
    codes = {*np.unique(queries)} - {*np.unique(queries[~is_missed[qrels.docs]])} | {*np.unique(queries[is_odd[qrels.docs]])}
    looked_through = {qrels.query_ids[code] for code in codes}
    lines = np.flatnonzero(np.array([query_id in looked_through for query_id in run.query_ids], bool)[run.queries])
    forms, ours = _written_alike(theirs), {}
    for first in range(0, len(lines), AT_ONCE):  # a copy of all ids would be as large as the run
        texts = run.documents.texts(lines[first : first + AT_ONCE])
        written = _written_alike(texts)
        found = compute.is_in(written, forms)
        for form, text in zip(written.filter(found).to_pylist(), texts.filter(found).to_pylist(), strict=True):
            ours.setdefault(form, text)
    pairs = zip(theirs.to_pylist(), map(ours.get, forms.to_pylist()), strict=True)
    alike = [f"{one!a} and {text!a}" for one, text in pairs if text is not None]
    said = "ids of judged documents are in the run but for case, composed letters or no-break spaces"
    return [f"{len(alike):,} {said} ({alike[0]})"] if alike else []


def _written_alike(ids: pyarrow.StringArray) -> pyarrow.StringArray:
    return compute.replace_substring_regex(compute.utf8_lower(compute.utf8_normalize(ids, "NFC")), "[\u00a0\u2007\u202f]", "")
