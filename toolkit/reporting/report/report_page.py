"""The page of a report: tables, figures, queries and where all of it comes from, in one file that asks no network."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from toolkit import __version__
from toolkit.core.system.lazy_names import yaml
from toolkit.files.provenance import part
from toolkit.reporting import pages
from toolkit.reporting.figures.drawing import applying, caption, file_stem, to_spec
from toolkit.reporting.figures.theme import run_labels
from toolkit.reporting.report.differences import differences
from toolkit.reporting.report.headline import headline
from toolkit.reporting.report.model import RunFacts
from toolkit.reporting.report.page_tables import ROLES, abouts, page_table
from toolkit.reporting.tables.report_tables import warning
from toolkit.reporting.tables.sections import Section
from toolkit.reporting.tables.text_table import Table

FOLDER = Path(__file__).parent
PLACES = ("argument", "paper", "appendix")  # of figures: openly below the main table, or in a fold


def render(
    sections: Sequence[Section],
    browsers: Sequence[tuple[pages.Browsed, list[str]]],
    overview: Table | None,
    command: str,
    frame: pages.Frame | None = None,
) -> str:
    """The page as HTML. Tags, ids and texts come from outside: they are text in it, whatever they hold.

    browsers  parallel to sections, each with notes of its own
    command   the command line that makes the page
    frame     of a page of a site
    """
    runs = [facts for section in sections for facts in section.model.runs]
    parts = [_part(number, section) for number, section in enumerate(sections, 1)]
    template = functools.partial(
        pages.template(FOLDER, "report.html").render,
        overview=overview and page_table(overview, "overview"),
        version=__version__,
        commands="\n".join(dict.fromkeys([*(line for facts in runs for line in commands(facts)), command])),
        unknown=[facts.name for facts in runs if not commands(facts)],
    )
    page = functools.partial(
        pages.page,
        "Report: " + ", ".join(section.model.name for section in sections),
        style=_file("figures.css") + _file("report.css"),
        script=_file("figures.js") + _file("tables.js") + _file("report.js"),
        libraries=[pages.vega(), pages.datatables()],
        frame=frame,
    )
    room = pages.LIMIT - len(page(Markup(template(parts=parts))).encode())  # what tables, figures and libraries leave
    shown = pages.browsers(browsers, max(room, pages.LIMIT // 10))
    return page(Markup(template(parts=[{**part, "browser": browser} for part, browser in zip(parts, shown, strict=True)])))


def _part(number: int, section: Section) -> dict[str, Any]:
    model, id = section.model, f"b{number}"
    figures: dict[str, list[dict[str, Any]]] = {place: [] for place in PLACES}
    for plot in applying(model):
        figures[plot.place].append(
            {
                "title": plot.title,
                "caption": caption(plot, model),
                "name": f"{id}-{plot.name}",
                "file": file_stem(plot, model),
                "spec": pages.gzipped(to_spec(plot, model)),
            }
        )
    about = abouts(model, id)
    scores = functools.partial(page_table, model=model, about=about)
    more = [page_table(table, f"{id}-{table.kind}-table", model, about) for table in section.more]
    names = run_labels(model)
    part = {
        "id": id,
        "name": model.name,
        "description": model.benchmark.description if model.benchmark and not model.benchmark.mini else "",
        "headline": headline(model),
        "baseline": model.baseline,
        "baselines": [(name, names[name]) for name in differences(model).baselines],
        "abouts": list(about.values()),
        "modes": "; ".join(f"{mode}: {ROLES[role]}" for mode, role in model.judgments.modes.items() if role in ROLES),
        "main": scores(section.main, f"{id}-main"),
        "tested": section.main.caption,
        "groups": [scores(table, f"{id}-group-{place}") for place, table in enumerate(section.groups)],
        "measures": scores(section.measures, f"{id}-all"),
        "more": more,
        "references": [page_table(table, f"{id}-orders", None, about) for table in section.references],
        "figures": figures,
        "browser": "",
        "notes": [note for note in model.notes if f"{note}." != warning(model)],
        "runs": [_run(facts) for facts in model.runs],
    }
    return {**part, "contents": _contents(part)}


def _contents(part: dict[str, Any]) -> list[tuple[str, str]]:
    """What a benchmark's section has, as (end of the id, words)."""
    known = [
        ("table", "Systems", True),
        ("argument", "Figures", part["figures"]["argument"]),
        ("groups", "Groups", part["groups"]),
        ("queries", "Query by query", True),
        ("measures", "All measures", True),
        *((table["kind"], table["title"].removeprefix(f"{part['name']}: ").capitalize(), True) for table in part["more"]),
        ("paper", "Figures as in the papers", part["figures"]["paper"]),
        ("appendix", "More figures", part["figures"]["appendix"]),
        ("notes", "Notes and runs", True),
    ]
    return [(place, words) for place, words, there in known if there]


def _run(facts: RunFacts) -> dict[str, Any]:
    about = [f"{facts.called}: {facts.heading}"]
    if facts.system:
        about += filter(None, (facts.system.description, facts.system.checkpoint, facts.system.licence))
    if not facts.records:
        about.append("no record stands beside its file")
    dumped = [yaml.safe_dump(dict(each), sort_keys=False, allow_unicode=True) for each in facts.records]
    return {"name": facts.name, "about": "; ".join(about), "records": dumped}


def commands(facts: RunFacts) -> list[str]:
    """The command lines that made a run, one a file."""
    lines = [part(each, "implementation", "executable").get("cmd") for each in facts.records]
    return [str(line) for line in lines if line]


def _file(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
