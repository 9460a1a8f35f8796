"""The pages of a site beside those of its benchmarks: the index, a page a system, the runs, what a mini is."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from toolkit import __version__, registry
from toolkit.core.scores import PAIRED, Change, shown_measure
from toolkit.core.system.lazy_names import yaml
from toolkit.reporting import pages
from toolkit.reporting.diff.rankings import identical
from toolkit.reporting.figures.columns import Column, argued, keys
from toolkit.reporting.figures.intervals import interval
from toolkit.reporting.report.differences import compared
from toolkit.reporting.report.model import Key, ReportModel, RunFacts, best_of, known_values, leading, leading_columns
from toolkit.reporting.report.report_page import commands
from toolkit.reporting.site.contents import ASSETS, FILES, INDEX, MINIS, Contents, Download, Entry, relative
from toolkit.reporting.site.site_folder import MANIFEST
from toolkit.reporting.tables.rank_table import ranked, ranking
from toolkit.reporting.tables.text_table import BEST, DECIMALS

FOLDER = Path(__file__).parent
ALIKE = "alike"  # what does not differ significantly from the best
# what differs between any two runs, or is shown as rankings and scores
LEFT_OUT = ("data.run", "implementation.executable.wall time", "implementation.executable.peak memory")
LONGEST = 200  # characters of a value


class SitePages:
    """The pages of one site; command  the command line that makes it again"""

    def __init__(self, contents: Contents, command: str):
        self.contents, self.command = contents, command
        self._cells: dict[tuple[str, Column], dict[str, dict[str, Any]]] = {}

    def frame(self, page: str, title: str, *, model: ReportModel | None = None) -> pages.Frame:
        """What a page has around it; `model` is the benchmark that it is of."""
        contents = self.contents
        links = [("All results", INDEX), ("Runs and commands", FILES), *([("What a mini is", MINIS)] if contents.minis else [])]
        folds = []
        if model:
            links.append((model.name, contents.benchmark_page(model)))
            systems = dict.fromkeys(entry.system for entry in contents.entries if entry.model is model)
            folds = [
                ("Systems", [(called, relative(contents.system_page(called), page)) for called in systems]),
                ("Pairs", self._pairs(page, model)),
            ]
        links += [] if page in [address for _, address in links] else [(title, page)]
        shown = tuple((name, "" if address == page else relative(address, page)) for name, address in links)
        return pages.Frame(shown, relative(ASSETS, page), self.command, tuple(fold for fold in folds if fold[1]))

    def index(self) -> str:
        """Systems over benchmarks."""
        contents = self.contents
        columns = [(model, column) for model in contents.models for column in headline_columns(model)]
        shown = [self._marked(model, column) for model, column in columns]
        rows = [
            {
                "system": called,
                "name": name,
                "kind": next(iter(runs.values())).facts.heading,
                "cells": [
                    column.get(runs[model.name].facts.name) if model.name in runs else None
                    for (model, _), column in zip(columns, shown, strict=True)
                ],
                "pages": [relative(contents.benchmark_page(model), INDEX) for model, _ in columns],
            }
            for (called, name), runs in contents.rows.items()
        ]
        heads = [_head(*column) for _, column in columns]
        benchmarks = [self._benchmark(model, INDEX) for model in contents.models]
        title = f"{_count(len(contents.systems), 'system')} on {_count(len(contents.models), 'benchmark')}"
        return self._page(INDEX, title, "index.html", rows=rows, heads=heads, benchmarks=benchmarks)

    def _column(self, model: ReportModel, column: Column) -> Mapping[str, dict[str, Any]]:
        """Run -> its cell, with where value and interval lie on the column's scale, from 0 to 100."""
        if (model.name, column) not in self._cells:
            values = {}
            for facts in (facts for facts in model.runs if facts.value(*column, model.overall) is not None):
                bounds = interval(facts, model.judgments, keys(model, model.overall, column)) or (None, None)
                values[facts.name] = Value(facts.value(*column, model.overall), *bounds)
            ends = [end for value in values.values() for end in (value.value, value.low, value.high) if end is not None]
            scale = min(ends, default=0.0), max(ends, default=0.0)
            self._cells[model.name, column] = {name: _cell(value, scale) for name, value in values.items()}
        return self._cells[model.name, column]

    def _marked(self, model: ReportModel, column: Column) -> Mapping[str, dict[str, Any]]:
        """The same of the last versions, with what is best."""
        marked = marks(model, [entry.facts for entry in self.contents.latest if entry.model is model], column)
        return {name: {**cell, "mark": marked.get(name, "")} for name, cell in self._column(model, column).items()}

    def _benchmark(self, model: ReportModel, page: str) -> dict[str, Any]:
        spec = model.benchmark
        modes = model.judgments.modes
        queries = {modes.split(query_id)[0] for query_id in model.judgments.query_ids}
        cores = [set((part.cores or {}).values()) for part in model.judgments.parts]
        return {
            "name": model.name,
            "page": self.contents.benchmark_page(model),
            "mini": bool(spec and spec.mini),
            "description": spec.description.partition("; no score")[0] if spec else "judged by files",
            "groups": len(model.judgments.parts),
            "queries": len(queries),
            "cores": sum(map(len, cores)) if all(cores) else len(queries),
            "modes": ", ".join(f"{name} ({modes[name]})" for name in modes),
            "runs": len(model.runs),
            "width": len(headline_columns(model)),
            "licence": spec.source.get("licence", "") if spec else "",
            "pairs": self._pairs(page, model),
        }

    def _pairs(self, page: str, model: ReportModel) -> list[tuple[str, str]]:
        found = [(path, a, b) for path, (each, a, b) in self.contents.pair_pages.items() if each is model]
        return [(f"{a.name} and {b.name}", relative(path, page)) for path, a, b in found]

    def system(self, called: str) -> str:
        """One system: what it is, its runs over benchmarks, what changed from version to version, records and commands."""
        page = self.contents.system_page(called)
        entries = self.contents.systems[called]
        spec = entries[0].facts.system
        by_model = ((model, [entry for entry in entries if entry.model is model]) for model in self.contents.models)
        tables = [self._runs(page, model, own) for model, own in by_model]
        versions = [each for key, each in self.contents.versions.items() if key[1] == called and len(each) > 1]
        history = [{"benchmark": each[0].model.name, "series": each[0].series, "steps": steps(each)} for each in versions]
        records: list[tuple[Entry, list[tuple[Download, str]]]] = []
        for entry in entries:
            dumped = [yaml.safe_dump(dict(each), sort_keys=False, allow_unicode=True) for each in entry.facts.records]
            records.append((entry, list(zip((each for each in entry.downloads if each.record), dumped, strict=True))))
        return self._page(
            page,
            called,
            "system.html",
            kind=entries[0].facts.heading,
            spec=spec,
            tables=tables,
            history=history,
            records=records,
            commands="\n".join(dict.fromkeys(line for entry in entries for line in commands(entry.facts))),
        )

    def _runs(self, page: str, model: ReportModel, entries: Sequence[Entry]) -> dict[str, Any]:
        columns = leading_columns(model)
        shown = {column: self._column(model, column) for column in columns}
        runs = [
            {"entry": entry, "cells": [shown[column].get(entry.facts.name) for column in columns]}
            for entry in sorted(entries, key=lambda entry: (entry.series, entry.version or 0))
        ]
        about = {**self._benchmark(model, page), "heads": [_head(*column) for column in columns], "runs": runs}
        return about | {"pairs": [pair for pair in about["pairs"] if any(each.facts.name in pair[0] for each in entries)]}

    def files(self) -> str:
        """Every file of a run with its record and digest, and the commands that make all of it again."""
        return self._page(
            FILES,
            "Runs and commands",
            "runs.html",
            entries=self.contents.entries,
            commands="\n".join(dict.fromkeys([line for entry in self.contents.entries for line in commands(entry.facts)])),
            unknown=[entry.facts.name for entry in self.contents.entries if not commands(entry.facts)],
            command=self.command,
        )

    def minis(self) -> str:
        """What a mini is."""
        benchmarks = [self._benchmark(model, MINIS) for model in self.contents.minis]
        return self._page(MINIS, "What a mini is", "minis.html", benchmarks=benchmarks)

    def _page(self, page: str, title: str, template: str, **what: Any) -> str:
        own = {"link": functools.partial(relative, page=page), "contents": self.contents, "version": __version__}
        helpers = {"number": _number, "p": _p, "size": _size, "MINIS": MINIS, "FILES": FILES, "MANIFEST": MANIFEST}
        body = pages.template(FOLDER, template).render(**own, **helpers, **what)
        style, script = ((FOLDER / f"site.{suffix}").read_text(encoding="utf-8") for suffix in ("css", "js"))
        frame = self.frame(page, title)
        return pages.page(title, Markup(body), style=style, script=script, libraries=[pages.datatables()], frame=frame)


def _head(measure: str, mode: str) -> dict[str, str]:
    spec = registry.measure(measure)
    arrow = "\u2193" if spec.direction == "lower" else "\u2191"
    return {"measure": shown_measure(measure), "mode": "" if mode == PAIRED else mode, "arrow": arrow, "note": spec.title}


def _cell(value: Value, scale: tuple[float, float]) -> dict[str, Any]:
    low, high = scale
    width = (high - low) or 1.0
    ends = {"value": value.value, "low": value.low, "high": value.high}
    places = {name: None if end is None else round(100 * (end - low) / width, 1) for name, end in ends.items()}
    return {"value": value, "mark": "", "places": places, "zero": round(-100 * low / width, 1) if low < 0 < high else None}


def _number(value: float | None, *, signed: bool = False) -> str:
    """As the tables of a report have it; `-` where there is none."""
    if value is None or math.isnan(value):
        return "-"
    text = f"{value:{'+' * signed}z.{DECIMALS}f}"
    return text.replace("-", "\u2212") if float(text) else text.removeprefix("+")


def _p(change: Change) -> str:
    if math.isnan(change.p):
        return "-"
    return "< 0.001" if change.p < 0.001 else f"{change.p:.3f}"


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB" if count >= 1e3 else f"{count} bytes"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


@dataclass(frozen=True)
class Value:
    """One number of one run with its 95 % interval, None where it is no mean over queries."""

    value: float
    low: float | None
    high: float | None


def headline_columns(model: ReportModel) -> list[Column]:
    """Two: how well is searched, and the number that the benchmark is about; one where that is the same."""
    first, *others = argued(model) or [leading(model)]
    return [first, *(column for column in others if registry.measure(column[0]).name != registry.measure(first[0]).name)]


def marks(model: ReportModel, runs: Sequence[RunFacts], column: Column) -> dict[str, str]:
    """Run -> `best`, or `alike` for those that are not told apart from the best: over all pairs of these runs, as a report has
    it. Empty where all are equal or a run stands alone.
    """
    key = Key(model.overall, *column)
    known = known_values(runs, key)
    if len(set(known.values())) < 2:
        return {}
    marked = dict.fromkeys(best_of(known, key.measure), BEST)
    if key not in ranked(model):
        return marked
    found = ranking(model, key, tuple(facts for facts in runs if facts.name in known))
    alike = [each.name for place, each in enumerate(found.systems) if found.alike(0, place)]
    return dict.fromkeys(alike, ALIKE) | marked


def steps(versions: Sequence[Entry]) -> list[dict[str, Any]]:
    """From one version to the next, the last step first: `before` and `after`, and whether all rankings and scores are the
    `same`; the `settings` that differ (see `differing`), and the `rows` of the changes in the overall group, none where all is
    the same.
    """
    found = []
    for a, b in itertools.pairwise(versions):
        model, same = a.model, identical(a.facts.run, b.facts.run)
        of_all = [] if same else compared(model, a.facts, b.facts)
        changes = {Key(change.group, change.measure, change.mode): change for change in of_all}
        shown = [changes[key] for column in model.columns(model.overall) if (key := Key(model.overall, *column)) in changes]
        rows = [(_head(change.measure, change.mode), change) for change in shown]
        settings = list(differing(a.facts.records, b.facts.records))
        found.append({"before": a, "after": b, "same": same, "settings": settings, "rows": rows})
    return found[::-1]


def differing(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """(where, before, after) of all that two runs' records say differently, in their order."""
    a, b = (dict(_leaves(list(records) if len(records) > 1 else dict(*records), "")) for records in (before, after))
    for where in dict.fromkeys([*a, *b]):
        values = [pages.shortened(each.get(where, ""), LONGEST) for each in (a, b)]
        if a.get(where) != b.get(where) and not where.startswith(LEFT_OUT):
            yield where, *values


def _leaves(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Path -> text. What stands in a list is known by its name, a library by its own, anything else by its place."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _leaves(each, f"{where}.{name}" if where else str(name))
    elif isinstance(value, list):
        for place, each in enumerate(value, 1):
            name, version = str(each).split("==", 1) if isinstance(each, str) and "==" in each else ("", each)
            name = name or (str(each["name"]) if isinstance(each, Mapping) and "name" in each else str(place))
            yield from _leaves(version, f"{where}.{name}" if where else name)
    else:
        yield where, str(value)
