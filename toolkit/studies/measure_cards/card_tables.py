"""The tables of a card, on the terminal and on its page in the docs alike.

Axioms and what contradicts them, and how the measure orders the systems of papers beside other measures.
"""

import functools
from dataclasses import replace

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.tables.aligned_table import Column, Number, Table, labels
from toolkit.core.tables.table_forms import to_markdown
from toolkit.metrics.agreement import Agreement, between_groups, lay_out_between, printed_agreement
from toolkit.registry.published.paper_tables import graded, papers, reading, sources
from toolkit.studies.measure_cards.axioms import AXIOMS, MODES, Axiom, Counterexample, counterexamples, forms, held
from toolkit.studies.measure_cards.control_evidence import between_parts
from toolkit.studies.measure_cards.evidence import evidence_tables
from toolkit.studies.measure_cards.measure_card import Card, as_table

BLIND = next(axiom for axiom in AXIOMS if axiom.name == "blind")
FOUND = "yes: no counterexample was found; no: there is one, which `tandem measures show NAME` prints; empty: not about it"


def tables_of(name: str) -> list[Table]:
    """Axioms, what is published, and what is recorded of the registered runs: those that there is something to say of."""
    from_papers = (counterexample_table(name), published_table(name), agreement_table(name), sets_table(name))
    return [*(table for table in from_papers if table.rows), *evidence_tables(name)]


def published_table(name: str) -> Table:
    """What is published of a measure, a row a paper and mode: how many systems, their range, how many stand below blind."""
    columns = (Column("paper", label=True), Column("mode"), *map(Column, ("systems", "lowest", "highest", "below blind")))
    compared, rows = BLIND.is_about(registry.measures()[name]), []
    for paper in papers():
        by_mode: dict[str, list[float]] = {}
        for _, measure, mode, value in graded(paper):
            if ours(paper, measure) == name:
                by_mode.setdefault(mode, []).append(value)
        for mode, values in by_mode.items():
            below = sum(value < 0 for value in values) if compared else None
            rows.append((paper, mode, len(values), Number(min(values)), Number(max(values)), below))
    return Table(columns, rows, title="In papers")


def agreement_table(name: str) -> Table:
    """Kendall's tau-b between the orders of a paper's systems by this measure and by each other one, a row a pair."""
    columns = (*labels("paper", "measure", "other"), Column("tau"), Column("systems"))
    rows = [
        (paper, pair.first, pair.second, Number(pair.tau, decimals=2), pair.systems)
        for paper in papers()
        for pair in _pairs(paper)
        if ours(paper, pair.first.partition(" ")[0]) == name and pair.first != pair.second
    ]
    return Table(columns, rows, title="Agreement with other measures, in papers")


def sets_table(name: str) -> Table:
    """Whether public results (`benchmarks published --between-groups`), and systems on groups with controls, are ordered alike
    on sister sets."""
    found = [*(between_groups(source) for source in sources() if source not in papers()), between_parts()]
    rows = [row for rows, _ in found for row in rows if registry.measure(row.measure).name == name]
    notes = [note for _, notes in found for note in notes]
    return replace(lay_out_between(rows, notes), title="Agreement between sister sets")


@functools.cache
def _pairs(paper: str) -> list[Agreement]:
    """All pairs of a paper's measures; none where it has one alone."""
    try:
        return printed_agreement(paper)
    except ToolkitError:
        return []


def ours(paper: str, printed: str) -> str:
    """The name of a measure as a paper prints it (`gold_rank`) in the registry; empty where nothing of ours is like it."""
    return reading(paper)["measures"].get(printed, "").partition("@")[0].partition("(")[0]


def outcome(axiom: Axiom, measure: str) -> str:
    """Whether a measure, as `held` writes it, meets an axiom, `yes` or `no`; empty where the axiom is not about it."""
    if not axiom.is_about(registry.measure(measure)):
        return ""
    return "no" if measure in counterexamples()[axiom.name] else "yes"


def measure_axioms() -> Table:
    """Every measure, in every variant, against every axiom: `yes`, `no` where there is a counterexample, else empty."""
    columns = (Column("measure", label=True), *(Column(axiom.name) for axiom in AXIOMS))
    rows = [(measure, *(outcome(axiom, measure) for axiom in AXIOMS)) for measure in held()]
    return Table(columns, rows, notes=[FOUND, *(f"{axiom.name}: {axiom.text}" for axiom in AXIOMS)])


def counterexample_table(name: str) -> Table:
    """The axioms that a measure is held to, in each of its variants, and what contradicts them."""
    columns = (*labels("axiom", "measure"), Column("holds"), Column("smallest counterexample", prose=True))
    spec, rows = registry.measures()[name], []
    for axiom in AXIOMS:
        for measure in forms(spec) if spec.over != "aggregate" else ():
            if found := outcome(axiom, measure):
                against = counterexamples()[axiom.name].get(measure)
                rows.append((axiom.name, measure, found, in_words(axiom, against) if against else ""))
    return Table(columns, rows, title="Axioms")


def in_words(axiom: Axiom, against: Counterexample) -> str:
    """`ori a b, ins a b, rev b a; relevant b (ori, ins); b moves up one place when instructed: 0 to -0.5`."""
    case = against.case
    lists = {mode: " ".join(case.lists[mode]) or "nothing" for mode in MODES}
    labels = {mode: " ".join(f"{doc}={label}" for doc, label in case.labels[mode].items() if label) for mode in MODES}
    shown = ", ".join(f"{mode} {docs}" for mode, docs in lists.items())
    judged = ", ".join(f"{mode} {labels[mode]}" for mode in MODES if labels[mode]) or "nothing"
    return f"lists {shown}; relevant {judged}; {axiom.said(case)}: {against.before:.4g} becomes {against.after:.4g}"


def card_page(of: Card) -> str:
    """One card."""
    lines = [f"# {of.name}", "", to_markdown(as_table(of))]
    for table in tables_of(of.name):
        lines += [f"## {table.title}", "", to_markdown(table)]
        lines += [*(f"- {note}" for note in table.notes), ""] if table.notes else []
    return "\n".join(lines)
