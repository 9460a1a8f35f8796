"""What kinds of questions there are: judgments divided by what each question asks for, whatever group it is of."""

from __future__ import annotations

from collections import defaultdict

from toolkit.core.errors import ToolkitError
from toolkit.evaluate.judgments import Judgments, Part
from toolkit.evaluate.subtopics import has_subtopics, perspectives

MANY = 3  # perspectives from which on questions are of one kind


def by_type(judgments: Judgments) -> tuple[tuple[Part, ...], list[str]]:
    """A part `type <name>` for each kind of question, by name, and what is to be said of them.

    A kind is what the benchmark says (`Topic.condition`); where it says nothing, the number of perspectives that are judged.
    Raises ToolkitError where there is neither.
    """
    qrels, notes = judgments.qrels, []
    types = {query_id: kind for part in judgments.parts for query_id, kind in part.types.items()}
    if not types:
        if not has_subtopics(qrels):
            raise ToolkitError(f"{judgments.name} has no types of questions", "leave --by-type out")
        types = {query_id: _counted(m) for query_id, m in zip(qrels.query_ids, perspectives(qrels).tolist(), strict=True)}
        notes.append("types of questions are their numbers of perspectives: the data name none")
    members = defaultdict(set)
    for query_id in qrels.query_ids:
        if query_id in types:
            members[types[query_id]].add(query_id)
    if without := len(qrels.query_ids) - sum(map(len, members.values())):
        notes.append(f"{without:,} queries without a type are in no row of types")
    known = {base: core for part in judgments.parts for base, core in (part.cores or {}).items()}
    parts, split = [], judgments.modes.split
    for kind, query_ids in sorted(members.items()):
        cores = {base: known[base] for base in (split(query_id)[0] for query_id in query_ids) if base in known}
        parts.append(Part(f"type {kind}", qrels.select(query_ids), cores or None))
    return tuple(parts), notes


def _counted(perspectives: int) -> str:
    if perspectives >= MANY:
        return f"{MANY} or more perspectives"
    return f"{perspectives} perspective{'s' if perspectives > 1 else ''}"
