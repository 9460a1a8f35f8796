"""Circularity: is a system scored on items that it, its base model or its family wrote, filtered or judged?

What a model made suits models like it: queries are worded as it words them, what it would not have found was left out, and
what it takes for relevant is. Such scores are not comparable with those of other systems.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from toolkit.core.modes import BASE, INSTRUCTED
from toolkit.core.runs import Run
from toolkit.datasets.own.item_provenance import NO_MODEL, ROLES, Provenances, read_provenances
from toolkit.evaluation.scores.judgments import Judgments
from toolkit.files.provenance import Recorded, part
from toolkit.metrics.families.pairs import followed
from toolkit.registry.families import Lineage, lineage

GOLD, NEGATIVE, QUERY = "gold documents", "instruction negatives", "queries"
RELEVANT, OTHER = "relevant documents", "other judged documents"
SYSTEM, BASE_MODEL, FAMILY = RELATIONS = ("system", "base", "family")  # the closest first
VERBS = dict(zip(ROLES, ("were written by", "were filtered by", "were judged by"), strict=True))
STEPS = ("retrieval", "reranking", "expansion")  # of a record, whose systems a run is of

Items = Mapping[str, frozenset[str]]  # what they are -> their ids


class Share(NamedTuple):
    """How much of what is scored a model wrote, filtered or judged (its role): `count` of the `total` items of a kind."""

    role: str
    by: str
    family: str
    items: str
    count: int
    total: int

    @property
    def text(self) -> str:
        """`31 of 96 gold documents`."""
        return f"{self.count:,} of {self.total:,} {self.items}"


class Circular(NamedTuple):
    """A share of a model that is close to one of a run's systems, and how close: one of `RELATIONS`."""

    run: str
    system: str
    relation: str
    share: Share


def scored_items(judgments: Judgments) -> Items:
    """The items of what is judged, by kind; empty kinds are left out. Queries are named without their mode."""
    judged, relevant, gold, negative, queries = (set() for _ in range(5))
    paired = bool(judgments.modes.of(BASE) and judgments.modes.of(INSTRUCTED))
    for each in judgments.parts:
        qrels = each.qrels
        doc_ids = qrels.doc_ids.to_pylist()
        judged.update(doc_ids[code] for code in set(qrels.docs.tolist()))
        relevant.update(doc_ids[code] for code in set(qrels.docs[qrels.relevance > 0].tolist()))
        queries.update(judgments.known_modes.split(query_id)[0] for query_id in qrels.query_ids)
        if paired:
            rows, _ = followed(qrels)
            gold.update(doc for doc, is_gold in zip(rows.doc_ids, rows.gold.tolist(), strict=True) if is_gold)
            negative.update(doc for doc, is_gold in zip(rows.doc_ids, rows.gold.tolist(), strict=True) if not is_gold)
    kinds = {GOLD: gold, NEGATIVE: negative} if paired else {RELEVANT: relevant}
    kinds |= {OTHER: judged.difference(*kinds.values()), QUERY: queries}
    return {kind: frozenset(ids) for kind, ids in kinds.items() if ids}


def shares(items: Items, provenances: Provenances, judgments: Judgments) -> list[Share]:
    """What each model did with how many of the items: models by name, then roles and kinds in their order."""
    counts: dict[tuple[str, str, str, str], set[str]] = {}
    split = judgments.known_modes.split
    of_query = {split(item)[0]: item for item in provenances}  # a query may be named in one of its modes
    for kind, ids in items.items():
        for item in ids:
            named = item if item in provenances or kind != QUERY else of_query.get(item, item)
            for made in provenances.get(named, ()):
                if made.by not in NO_MODEL:
                    counts.setdefault((made.by, made.role, made.family, kind), set()).add(item)
    for by in judgments.judges:
        counts |= {(by, "judged", "", kind): set(ids) for kind, ids in items.items() if kind != QUERY}
    found = []
    for (by, role, family, kind), ids in counts.items():
        found.append(Share(role, by, family or lineage(by).family, kind, len(ids), len(items[kind])))
    kinds = list(items)
    return sorted(found, key=lambda share: (share.by, ROLES.index(share.role), kinds.index(share.items)))


def shares_of(judgments: Judgments) -> list[Share]:
    """The same of what is judged, by the benchmark's provenance and the records of the judgments."""
    provenances = read_provenances(Path(judgments.provenance)) if judgments.provenance else {}
    return shares(scored_items(judgments), provenances, judgments)


def relation(system: Lineage, model: Lineage, family: str = "") -> str:
    """How close a model (of a family, where its name says none) is to a system: one of `RELATIONS`, or empty."""
    names, bases = (set(map(_plain, each)) for each in (system.names, system.bases))
    models, behind = (set(map(_plain, each)) for each in (model.names, model.bases))
    if names & models:
        return SYSTEM
    if bases & models:
        return BASE_MODEL
    same_family = system.family and system.family in (model.family, family)
    return FAMILY if same_family or behind & (names | bases) else ""


def _plain(name: str) -> str:
    """A name without the organisation before it and without case: `openai/gpt-4o` is `gpt-4o`. Places stay whole."""
    return name if ":" in name or name.startswith(("/", ".")) else name.rpartition("/")[2].lower()


def systems_of(run: Run) -> list[Lineage]:
    """Every system that had a part in a run: as its files' records say, otherwise as its tag does."""
    files = [name for name in (run.source, *run.source.split(", ")) if name and Path(name).is_file()]
    methods = [part(Recorded(name, run).record, "method") for name in dict.fromkeys(files)]
    lists = [steps for method in methods for name in STEPS if isinstance(steps := method.get(name), list)]
    recorded = []  # the entry of the registry; of a system that has none, what the record says
    for step in (step for steps in lists for step in steps if isinstance(step, dict) and "name" in step):
        known = lineage(str(step["name"]))
        model = step.get("checkpoint") or step.get("model")
        if not (known.bases or known.family or not model):
            found = lineage(str(model))
            bases = (str(step["base"]), *lineage(str(step["base"])).bases) if step.get("base") else found.bases
            family = found.family or (lineage(bases[0]).family if bases else "")
            known = Lineage((*known.names, *found.names), bases, family)
        recorded.append(known)
    names = [run.tag, *run.tag.split("+"), run.tag.partition(".rerank-")[2]]
    return recorded or [lineage(name) for name in dict.fromkeys(filter(None, names))]


def circular(runs: Sequence[Run], found: Sequence[Share]) -> list[Circular]:
    """The shares of models that are close to systems of the runs: of several systems of a run the closest."""
    rows = []
    for run in runs:
        systems = systems_of(run)
        for share in found:
            model = lineage(share.by)
            close = [(relation(system, model, share.family), system.names[0]) for system in systems]
            known = sorted((RELATIONS.index(how), name) for how, name in close if how)
            rows += [Circular(run.tag, name, RELATIONS[place], share) for place, name in known[:1]]
    return rows


def circularity_notes(runs: Sequence[Run], judgments: Judgments) -> list[str]:
    """A warning for each run, model and role. Nothing is read where no run is of a model (BM25, rules)."""
    if not any(system.is_model for run in runs for system in systems_of(run)):
        return []
    return [f"warning: {circularity_text(alike)}" for alike in grouped(circular(runs, shares_of(judgments)))]


def grouped(rows: Sequence[Circular]) -> list[list[Circular]]:
    """Those of one run, model and role together."""
    key = lambda row: (row.run, row.system, row.relation, row.share.by, row.share.role)  # noqa: E731
    return [list(alike) for _, alike in groupby(rows, key)]


def circularity_text(alike: Sequence[Circular]) -> str:
    """`bm25.rerank-x: 31 of 96 gold documents were written by y, the base of x: its scores may be too high`."""
    first = alike[0]
    verb, by = VERBS[first.share.role], first.share.by
    closeness = {
        SYSTEM: "the system itself" if by == first.system else f"the model of {first.system}",
        BASE_MODEL: f"the base of {first.system}",
        FAMILY: f"of the family of {first.system}" + (f" ({first.share.family})" if first.share.family else ""),
    }
    counted = " and ".join(row.share.text for row in alike)
    return f"{first.run}: {counted} {verb} {by}, {closeness[first.relation]}: its scores may be too high"
