"""Which measure contradicts which axiom, as a table and in words."""

from __future__ import annotations

from collections.abc import Iterator

from toolkit import registry
from toolkit.core.aligned_table import Column, Table
from toolkit.measure_cards.axioms import AXIOMS, MODES, Axiom, Counterexample, counterexamples, forms, held

HOLDS, CONTRADICTED, NOT_ABOUT = "yes", "no", ""
FOUND = "yes: no counterexample was found; no: there is one, which `tandem measures show NAME` prints; empty: not about it"


def outcome(axiom: Axiom, measure: str) -> str:
    """Whether a measure, as `held` writes it, meets an axiom."""
    if not axiom.is_about(registry.measure(measure)):
        return NOT_ABOUT
    return CONTRADICTED if measure in counterexamples()[axiom.name] else HOLDS


def overview() -> Table:
    """Every measure against every axiom."""
    columns = (Column("measure", label=True), *(Column(axiom.name) for axiom in AXIOMS))
    rows = [(measure, *(outcome(axiom, measure) for axiom in AXIOMS)) for measure in held()]
    return Table(columns, rows, notes=[FOUND, *(f"{axiom.name}: {axiom.text}" for axiom in AXIOMS)])


def counterexample_table(name: str) -> Table:
    """The axioms that a measure is held to, in each of its variants, and what contradicts them."""
    labels = (Column("axiom", label=True), Column("measure", label=True))
    columns = (*labels, Column("holds"), Column("smallest counterexample", prose=True))
    return Table(columns, list(_outcomes(name)), title="Axioms")


def _outcomes(name: str) -> Iterator[tuple[str, str, str, str]]:
    spec = registry.measures()[name]
    for axiom in AXIOMS:
        for measure in forms(spec) if spec.over != "aggregate" else ():
            if found := outcome(axiom, measure):
                against = counterexamples()[axiom.name].get(measure)
                yield axiom.name, measure, found, in_words(axiom, against) if against else ""


def in_words(axiom: Axiom, against: Counterexample) -> str:
    """`ori a b, ins a b, rev b a; relevant b (ori, ins); b moves up one place when instructed: 0 to -0.5`."""
    case = against.case
    lists = {mode: " ".join(case.lists[mode]) or "nothing" for mode in MODES}
    labels = {mode: " ".join(f"{doc}={label}" for doc, label in case.labels[mode].items() if label) for mode in MODES}
    shown = ", ".join(f"{mode} {docs}" for mode, docs in lists.items())
    judged = ", ".join(f"{mode} {labels[mode]}" for mode in MODES if labels[mode]) or "nothing"
    return f"lists {shown}; relevant {judged}; {axiom.said(case)}: {against.before:.4g} becomes {against.after:.4g}"
