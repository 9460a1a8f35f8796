"""`datasheet.md` of a benchmark: what is in it, how and by whom it was made, what its checks found, and what it is not for.

After Gebru et al., Datasheets for Datasets (Communications of the ACM 64(12), 2021). What only the build knows (its funnel,
models, prompts, reviewers) lies beside it in `datasheet.yaml`; all else is read from the folder, so that the page can be made
again. The same folder gives the same bytes: there is no date in it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from toolkit.construction.build_tables import with_reasons
from toolkit.construction.checks.benchmark_check import BenchmarkCheck, check_benchmark
from toolkit.construction.checks.check_tables import cues, duplicates, effects, makers
from toolkit.core.system.files import write_text
from toolkit.core.system.yaml_json import read_yaml
from toolkit.core.tables.aligned_table import Column, Number, Table, labels
from toolkit.core.tables.table_forms import to_markdown
from toolkit.core.topics import Topic
from toolkit.datasets.own import provenance_file
from toolkit.datasets.own.item_provenance import NO_MODEL, Provenances, read_provenances
from toolkit.datasets.own.own_check import check_folder, smallest_difference
from toolkit.datasets.own.own_folder import OwnFolder, open_folder
from toolkit.retrieval.judge.corrected_measures import Estimate

if TYPE_CHECKING:
    from toolkit.construction.build_folder import BuildFolder

FILE, FACTS = "datasheet.md", "datasheet.yaml"
MOST = 2000  # documents, and core queries, that are compared with one another
SHORT = 12  # characters of a digest
UNKNOWN = "not stated"


def write_datasheet(folder: str | Path) -> Path:
    """Write the datasheet of the benchmark in a folder; its path. Raises ToolkitError as `check_benchmark`."""
    path = Path(folder) / FILE
    write_text(path, datasheet(folder))
    return path


def datasheet(folder: str | Path) -> str:
    """The datasheet of the benchmark in a folder, in Markdown."""
    own = open_folder(folder)
    own.check()
    known = _Known.of(own)
    among = f"Compared are {min(known.documents, MOST):,} of {known.documents:,} documents, and at most as many core queries."
    sections = {
        "What is in it": _counts(known),
        "Where it comes from": _sources(known),
        "How it was made": _steps(known.steps),
        "Who made it": _makers(known),
        "Who reviewed it": _reviewers(known),
        "Who should not be compared on it": _circularity(known.check),
        "Does the instruction matter": _section(effects(known.check.effects), "No query has an instruction."),
        "Surface cues": _section(cues(known.check.cues), "Nothing could be compared."),
        "Near-duplicates": [among, "", *_section(duplicates(known.check.pairs), "There are none.")],
        "What it is not for": [f"- {line}" for line in _limits(known)],
    }
    spec, kind = own.spec, known.facts.get("kind")
    built = f"Built by `tandem build`, kind `{kind}`." if kind else "It was not built by `tandem build`."
    lines = [f"# Datasheet of {spec.name}", "", f"{spec.description[:1].upper()}{spec.description[1:].rstrip('.')}. {built}"]
    for title, text in sections.items():
        lines += ["", f"## {title}", "", *text]
    return "\n".join(lines) + "\n"


class _Known(NamedTuple):
    """All that a datasheet is made from.

    facts  of `datasheet.yaml`; empty where the benchmark was not built
    made   what was done with each item; None where nothing says it
    """

    own: OwnFolder
    documents: int
    facts: Mapping[str, Any]
    made: Provenances | None
    check: BenchmarkCheck

    @classmethod
    def of(cls, own: OwnFolder) -> _Known:
        path, provenance = own.path / FACTS, provenance_file(own.path)
        facts = read_yaml(path, dict, "`tandem build benchmark` writes it again") if path.is_file() else {}
        made = read_provenances(provenance) if provenance else None
        return cls(own, check_folder(own.path).counts["documents"], facts, made, check_benchmark(own.path, most=MOST))

    @property
    def steps(self) -> Sequence[Mapping[str, Any]]:
        return self.facts.get("steps", ())


def _section(table: Table, without: str) -> list[str]:
    """A table in Markdown, with its notes; the sentence where it has no rows."""
    if not table.rows:
        return [without]
    return [*to_markdown(table).splitlines(), *(line for note in table.notes for line in ("", note))]


def _counts(known: _Known) -> list[str]:
    own, rows = known.own, []
    of_query = Counter(row.query_id for row in own.qrels or ())
    relevant = Counter(row.query_id for row in own.qrels or () if row.relevance > 0)
    for group in own.spec.groups:
        by_mode = own.topics.topics[group["name"]]
        first = next(iter(by_mode.values()))
        ids = dict.fromkeys(topic.query_id for topics in by_mode.values() for topic in topics)
        counts = (len(first), len(ids), sum(of_query[query] for query in ids), sum(relevant[query] for query in ids))
        rows.append((group["name"], _cores(first), *counts, group.get("language", UNKNOWN)))
    names = ("core queries", "queries", "in all modes", "judgments", "relevant", "language")
    table = Table((*labels("group"), *map(Column, names)), rows)
    modes = ", ".join(f"`{name}` ({role})" for name, role in own.modes.items()) or "none"
    return [*to_markdown(table).splitlines(), "", f"Documents: {known.documents:,}. Modes: {modes}."]


def _cores(topics: Sequence[Topic]) -> int:
    return len({topic.group_id or topic.base_id for topic in topics})


def _sources(known: _Known) -> list[str]:
    seeds = []
    for key, value in known.facts.get("seeds", {}).items():
        named = value.get("name", value) if isinstance(value, Mapping) else value
        if isinstance(named, Mapping):  # files with the beginnings of their SHA-256
            named = ", ".join(f"{name} ({digest[:SHORT]})" for name, digest in named.items())
        seeds.append(f"- seeds, {key}: {named}")
    source = {key: " ".join(str(text).split()) for key, text in known.own.spec.source.items() if text}
    licence = source.pop("licence", UNKNOWN)
    return [*seeds, *(f"- {key}: {text}" for key, text in source.items()), f"- licence of the seeds: {licence}"]


def _steps(steps: Sequence[Mapping[str, Any]]) -> list[str]:
    """The funnel: what entered each step, what left it, and why the others did not."""
    columns = (*labels("step"), *map(Column, ("entered", "left", "rejected", "waiting", "tokens")))
    counts = ({**step, "rejected": sum(step["rejected"].values())} for step in steps)
    rows = ([row[column.name] for column in columns] for row in counts)
    table = with_reasons(columns, zip(rows, (step["rejected"] for step in steps), strict=True))
    return _section(table, "Nothing says in which steps.")


def _makers(known: _Known) -> list[str]:
    """Who had a part in how many queries and documents, with which prompt; and the models as they were asked."""
    if known.made is None:
        return ["Nothing says who wrote, filtered and judged the items."]
    counts: Counter[tuple[str, ...]] = Counter()
    for made in known.made.values():
        counts.update({(one.step, one.role, one.by, one.family, one.prompt, one.sha256[:SHORT]) for one in made})
    place = {step["step"]: number for number, step in enumerate(known.steps)}
    rows = [(*key, counts[key]) for key in sorted(counts, key=lambda key: (place.get(key[0], len(place)), key))]
    table = Table((*labels("step", "role", "by", "family", "prompt", "its SHA-256"), Column("items")), rows)
    lines = _section(table, "Nobody had a part in an item: all were taken as they are.")
    models = known.facts.get("models", {}).items()
    asked = [f"- `{name}`: {', '.join(f'{key} {value}' for key, value in facts.items())}" for name, facts in models]
    return [*lines, *(["", *asked] if asked else [])]


def _reviewers(known: _Known) -> list[str]:
    """How far reviewers agree, where people have reviewed items."""
    texts, numbers = ("step", "question", "measure"), ("value", "low", "high")
    rows = [
        (*(row[name] for name in (*texts, "items")), *(Number(row[name], decimals=2) for name in numbers))
        for row in known.facts.get("agreement", ())
    ]
    columns = (*labels(*texts), Column("items"), *map(Column, numbers))
    people = sum(any(one.by == "person" for one in each) for each in (known.made or {}).values())
    part = f"People had a part in {people:,} items; how far they agree is not known."
    table = Table(columns, rows, ["low, high: 95 % intervals."])
    return _section(table, part if people else "No person reviewed an item.")


def _circularity(check: BenchmarkCheck) -> list[str]:
    if check.shares is None:
        return ["Nothing says who made the items: whether a system is scored on what it made cannot be checked."]
    what = "Systems that are one of these models, are made from one, or are of its family: `tandem evaluate` warns of them."
    return [what, "", *_section(makers(check.shares), "No model had a part in what is scored.")]


def _limits(known: _Known) -> Iterator[str]:
    """What it is not for: what follows from the above, and what holds of every benchmark that was built so."""
    cores = {group: _cores(next(iter(by_mode.values()))) for group, by_mode in known.own.topics.topics.items()}
    small = ", ".join(f"{group} {smallest_difference(count):.2f}" for group, count in cores.items() if count)
    yield f"Differences between systems below these, which are hardly seen (80 % power, of nDCG@10): {small}."
    yield "Comparison with numbers that a paper prints: documents, models and people are others."
    yield "Training a system that is scored on it."
    yield "Claims about what was not judged: documents without a label count as not relevant."
    if known.made is None or any(one.by not in NO_MODEL for each in known.made.values() for one in each):
        yield "Claims about how people word instructions or judge texts, as far as models wrote and judged them."
    yield from (f"Any use before this is mended: {problem}." for problem in known.check.problems)


def build_facts(build: BuildFolder) -> dict[str, Any]:
    """`datasheet.yaml`: kind, seeds and prompts (each with its SHA-256), steps with their counts, models as they were asked.

    What differs between two runs of one build (seconds, requests that the cache saved) is left out.
    """
    from toolkit.construction.review.review_status import agreement_rows

    ran = [state for state in build.states() if state.record]
    records = [state.record for state in ran]
    counts = ("entered", "left", "waiting", "rejected", "tokens")
    return {
        "kind": build.config.kind,
        "seeds": {key: str(each["name"]) if "name" in each else dict(each) for key, each in build.config.seeds.facts().items()},
        "steps": [{"step": state.step.name, **{name: getattr(state.record, name) for name in counts}} for state in ran],
        "models": {name: _flat(facts) for record in records for name, facts in record.depends.get("models", {}).items()},
        "prompts": {name: sha256 for record in records for name, sha256 in record.depends.get("prompts", {}).items()},
        # pairs of reviewers are left out
        "agreement": [
            row | {name: round(row[name], 6) for name in Estimate._fields}
            for row in agreement_rows(build)
            if not math.isnan(row["value"])
        ],
    }


def _flat(facts: Mapping[str, Any]) -> dict[str, str]:
    """A model's facts as texts, without a mapping in them."""
    rows: dict[str, str] = {}
    for key, value in facts.items():
        rows |= _flat(value) if isinstance(value, Mapping) else {str(key): str(value)}
    return rows
