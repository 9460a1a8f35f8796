"""What may be expected of a measure, as statements that a small case can contradict.

A case is one query in three modes. Everybody can check a counterexample by hand: it has a few documents, called by letters.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from toolkit import registry
from toolkit.core.modes import join_mode
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.core.specs import MeasureSpec
from toolkit.core.system.yaml_json import read_yaml
from toolkit.registry.loader import FOLDER

ORI, INS, REV = MODES = ("ori", "ins", "rev")
QUERY = "q-1"  # the one instruction of core query q
CUTOFF = 3  # of measures that have to have one: small, so that small cases reach beyond it
OUTSIDE = "x"  # a document that nobody judged
DOCUMENTS = 10  # of the corpus
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Case:
    """A run and its judgments.

    lists   mode -> documents, best first; scores are 1 / rank
    labels  mode -> document -> label: the pool, the same in all modes. Every other letter is of perspective 2, the rest of 1
    change  what the axiom changes: `doc` that moves up, `place` of a new document, `order` of the lines of equal scores
    """

    lists: Mapping[str, tuple[str, ...]]
    labels: Mapping[str, Mapping[str, int]]
    change: Mapping[str, Any] = field(default_factory=dict)

    def run(self) -> Run:
        """The lists as a run; an `order` of lines makes all scores of the instructed mode equal."""
        scored = {mode: {doc: 1 / rank for rank, doc in enumerate(docs, 1)} for mode, docs in self.lists.items()}
        if "order" in self.change:
            scored[INS] = dict.fromkeys(self.lists[INS], 1.0)
        return Run.from_dict({join_mode(QUERY, mode): docs for mode, docs in scored.items()})

    def qrels(self) -> Qrels:
        """The judgments."""
        rows = (
            Qrel(join_mode(QUERY, mode), doc, label, str(1 + (ord(doc) - ord("a")) % 2))
            for mode, labels in self.labels.items()
            for doc, label in labels.items()
        )
        return replace(Qrels.from_rows(rows), documents=lambda: DOCUMENTS)

    def with_instructed(self, docs: Iterable[str]) -> Case:
        """The case with another list in the instructed mode."""
        return replace(self, lists={**self.lists, INS: tuple(docs)})


class Counterexample(NamedTuple):
    """A case that contradicts an axiom, and the measure's values before and after the change."""

    case: Case
    before: float
    after: float


@dataclass(frozen=True)
class Axiom:
    """One statement.

    name      of a column
    text      the statement
    changed   the case after the change; None where the case has nothing to change
    said      how a counterexample's change is put into words
    is_about  whether a measure can be held to it
    broken    whether the values before and after contradict it
    """

    name: str
    text: str
    changed: Callable[[Case], Case | None]
    said: Callable[[Case], str]
    is_about: Callable[[MeasureSpec], bool] = lambda spec: True
    broken: Callable[[MeasureSpec, float, float], bool] = lambda spec, before, after: abs(after - before) > TOLERANCE


def _risen(case: Case) -> Case | None:
    """The gold document one place up, past one that is not relevant when instructed."""
    docs, gold = list(case.lists[INS]), case.change.get("doc")
    place = docs.index(gold) if gold in docs else 0
    is_gold = place and all(case.labels[mode].get(gold, 0) > 0 for mode in (ORI, INS))
    if not is_gold or case.labels[INS].get(docs[place - 1], 0) > 0:
        return None
    docs[place - 1 : place + 1] = docs[place], docs[place - 1]
    return case.with_instructed(docs)


def _inserted(case: Case) -> Case | None:
    place = case.change.get("place", -1)
    docs = case.lists[INS]
    return case.with_instructed((*docs[:place], OUTSIDE, *docs[place:])) if 0 <= place <= len(docs) else None


def _reordered(case: Case) -> Case | None:
    order = case.change.get("order", ())
    return case.with_instructed(order) if sorted(order) == sorted(case.lists[INS]) else None


AXIOMS = (
    Axiom(
        "rise",
        "a gold document that moves up in the instructed mode, past one that is not relevant there, makes nothing worse",
        _risen,
        lambda case: f"{case.change['doc']} moves up one place when instructed",
        lambda spec: spec.direction != "none",
        lambda spec, before, after: (after > before + TOLERANCE) if spec.direction == "lower" else (after < before - TOLERANCE),
    ),
    Axiom(
        "swap",
        "exchanging the instructed and the reversed list changes the sign",
        lambda case: replace(case, lists={**case.lists, INS: case.lists[REV], REV: case.lists[INS]}),
        lambda case: "the instructed and the reversed list are exchanged",
        lambda spec: "reversed" in spec.needs and spec.direction != "none",
        lambda spec, before, after: abs(before + after) > TOLERANCE,
    ),
    Axiom(
        "blind",
        "the base list in every mode, as of a system that ignores instructions, gives 0",
        lambda case: replace(case, lists=dict.fromkeys(MODES, case.lists[ORI])),
        lambda case: "the base list in every mode",
        lambda spec: spec.over == "paired" and spec.direction != "none",
        lambda spec, before, after: abs(after) > TOLERANCE,
    ),
    Axiom(
        "outside",
        "a document outside the pool, put anywhere into the instructed list, changes nothing",
        _inserted,
        lambda case: f"{OUTSIDE}, which nobody judged, comes in at rank {case.change['place'] + 1} when instructed",
    ),
    Axiom(
        "below",
        "a document outside the pool, put below the instructed list, changes nothing",
        lambda case: case.with_instructed((*case.lists[INS], OUTSIDE)),
        lambda case: f"{OUTSIDE}, which nobody judged, comes in below the instructed list",
    ),
    Axiom(
        "ties",
        "the order of lines with equal scores changes nothing",
        _reordered,
        lambda case: f"equal scores when instructed, lines in the order {' '.join(case.change['order'])}",
    ),
)


def held() -> tuple[str, ...]:
    """The measures that are held to axioms, as ir_measures writes them: each as it is by default, and each other variant."""
    return tuple(name for spec in registry.measures().values() if spec.over != "aggregate" for name in forms(spec))


def forms(spec: MeasureSpec) -> list[str]:
    """A measure with its default parameters, and with each other published definition."""
    cutoff = f"@{CUTOFF}" if spec.parameters.get("cutoff", {}).get("required") else ""
    variant = spec.parameters.get("variant", {})
    others = [choice for choice in variant.get("choices", ()) if choice != variant["default"]]
    return [f"{spec.name}{cutoff}", *(f"{spec.name}(variant='{other}'){cutoff}" for other in others)]


def values(names: Iterable[str], case: Case) -> dict[str, float]:
    """Measure -> its value of the case, in the instructed mode where it is of one; NaN where it is not about such a case."""
    from toolkit.metrics import evaluate, parse

    written = {str(parse(name)): name for name in names}
    found = dict.fromkeys(written.values(), math.nan)
    for each in evaluate(list(written), case.run(), case.qrels()):
        if each.mode in ("paired", INS):
            found[written[each.measure]] = each.aggregate
    return found


def contradicted(axiom: Axiom, names: Iterable[str], case: Case) -> dict[str, tuple[float, float]]:
    """The measures for which a case is a counterexample -> values before and after the change."""
    about = [name for name in names if axiom.is_about(registry.measure(name))]
    after_change = axiom.changed(case)
    if after_change is None or not about:
        return {}
    before, after = values(about, case), values(about, after_change)
    return {
        name: (before[name], after[name])
        for name in about
        if not math.isnan(before[name] + after[name]) and axiom.broken(registry.measure(name), before[name], after[name])
    }


@functools.cache
def counterexamples() -> dict[str, dict[str, Counterexample]]:
    """Axiom -> measure -> the smallest case that contradicts it (`registry/counterexamples.yaml`)."""
    found: dict[str, dict[str, Counterexample]] = {}
    for axiom, rows in read_yaml(FOLDER / "counterexamples.yaml").items():
        found[axiom] = {}
        for name, row in rows.items():
            lists = {mode: tuple(docs) for mode, docs in row["lists"].items()}
            found[axiom][name] = Counterexample(Case(lists, row["labels"], row.get("change", {})), *row["values"])
    return found
