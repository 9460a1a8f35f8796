"""Scores of runs, differences between runs, reports; what is known of measures, and what their numbers can be trusted with."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from toolkit.core.system.lazy_names import pandas

if TYPE_CHECKING:
    import altair

    from toolkit.datasets import Benchmark
    from toolkit.datasets.accepted import File, Ids, Judging, Measures, Missing, Modes, RunForm, Runs, Unjudged, X
    from toolkit.reporting.diff.diff_output import Differences
    from toolkit.reporting.report.make_report import ReportText


def check_system(system: object) -> list[str]:
    """What an object of one's own, or `python:module:factory`, does not do as its methods have to; empty where all is well.

    It is asked for a handful of texts; compared are the form of each answer, whether it repeats, and whether it depends on what
    is asked beside it.
    """
    from toolkit.models.systems.contract import check_system

    return [f"{check.method}: {check.problem}" for check in check_system(system) if check.problem]


def diff(
    *runs: Runs,
    benchmark: str | Benchmark | None = None,
    qrels: Judging | None = None,
    modes: Modes | None = None,
    measures: Measures | None = None,
    depth: int | None = None,
    ids: Ids = "tandem",
    unjudged: Unjudged = "refuse",
    missing: Missing = "worst",
    rankings: bool = False,
    test: Literal["t", "randomisation", "wilcoxon"] = "t",
    samples: int = 10_000,
    seed: int = 0,
    primary: Sequence[str] = (),
    top: int = 5,
    by: str | None = None,
) -> Differences:
    """Compare each run with the first: a row for each number, with its test, interval and effect size.

    runs      two or more, one by one, in a list, or as `{name: run}`
    rankings  compare rankings alone, whatever benchmark the records name
    test      how differences are tested; `samples` and `seed` are of randomisation
    primary   the numbers that are marked, as MEASURE or MEASURE-MODE; the others are as for `evaluate`
    top, by   how many of the queries that moved most are shown, by which measure

    What is returned prints as the command does; `to_frame()` has the columns first, second, group, mode, measure, a, b,
    difference, relative, queries, core_queries, low, high, p, holm, effect, state, up, down, same, and no row where neither
    benchmark nor qrels are known, and of runs that are identical. Raises ToolkitError.
    """
    how = dict(locals())
    from toolkit.evaluation.comparison.comparison import Testing
    from toolkit.evaluation.scores.run_inputs import given_together
    from toolkit.reporting.diff.compare_runs import diff as compared
    from toolkit.reporting.diff.diff_output import Differences

    how["testing"] = Testing(how.pop("test"), how.pop("samples"), how.pop("seed"), tuple(how.pop("primary")))
    return Differences(tuple(compared(given_together(how.pop("runs")), **how)))


def plot(
    name: str,
    runs: Runs,
    benchmark: str | Benchmark | None = None,
    *,
    baseline: str | None = None,
    qrels: Judging | None = None,
    modes: Modes | None = None,
    measures: Measures | None = None,
    depth: int | None = None,
    x: X = "parameters",
) -> altair.TopLevelMixin:
    """A figure of `report`, as an Altair chart, which a notebook shows and `save("x.pdf")` writes.

    name      one of `plots()`
    baseline  the run that others are compared with; x  what cost is drawn by; the others are as for `evaluate`

    Raises ToolkitError for a figure that there is not, and for one that has nothing to draw of these runs.
    """
    how = dict(locals())
    from toolkit.reporting.figures.drawing import chart
    from toolkit.reporting.report.collect import collect

    del how["name"], how["benchmark"]
    [model] = collect(benchmarks=[str(benchmark)] if benchmark else [], radar=True, **how)
    return chart(name, model)


def plots() -> pandas.DataFrame:
    """The figures of `plot`, one a row: name, title, caption."""
    from toolkit.reporting.figures import PLOTS

    return pandas.DataFrame([(each.name, each.title, each.caption) for each in PLOTS], columns=["name", "title", "caption"])


def report(
    runs: Runs,
    benchmark: str | Benchmark | Sequence[str | Benchmark] = (),
    *,
    format: Literal["html", "latex", "markdown", "csv"] = "html",
    output: File | None = None,
    index: str | None = None,
    docs: str | None = None,
    published: bool = False,
    claims: bool = False,
    percent: bool = False,
    decimals: int | None = None,
    tables: Sequence[str] = (),
    transpose: bool = False,
    width: Literal["column", "page"] | None = None,
    qrels: Judging | None = None,
    modes: Modes | None = None,
    measures: Measures | None = None,
    depth: int | None = None,
    ids: Ids = "tandem",
    unjudged: Unjudged = "refuse",
    missing: Missing = "worst",
    ori_unit: Literal["instruction", "core"] = "instruction",
    x: X = "parameters",
    radar: bool = False,
    baseline: str | None = None,
    perspectives: Sequence[RunForm] = (),
    stances: File | None = None,
) -> ReportText:
    """One self-contained HTML page with tables, figures and the queries of runs; or its tables as text.

    runs         as for `evaluate`: one, a list, or `{name: run}`
    output       a file to write it to as well; `path` of what is returned, which a notebook shows as the page in a frame
    index, docs  where the texts of documents are; the benchmarks' corpora where nothing is named
    published, claims  also what the benchmarks' papers print and claim
    percent, decimals  how fractions are shown: times 100, with so many digits (default: 3, in per cent 1)
    tables, transpose, width  of tables as text, as `tandem report` has them
    x, radar     what cost is drawn by, and whether groups are drawn as a radar, too
    baseline     the run that others are compared with; the others are as for `evaluate`
    perspectives, stances     of questions with two sides, as `tandem report` has them

    Raises ToolkitError.
    """
    how = dict(locals())
    from toolkit.core.tables.aligned_table import TableStyle
    from toolkit.reporting.report.collect import collect
    from toolkit.reporting.report.make_report import ReportText, to_html, to_text
    from toolkit.reporting.report.make_report import report as made_of

    names = benchmark if isinstance(benchmark, list | tuple) else [benchmark]
    read = {name: how[name] for name in signature(collect).parameters if name in how}
    models = collect(benchmarks=list(map(str, names)), **read)
    style = TableStyle(percent=percent, decimals=decimals)
    made = made_of(models, missing=missing, published=published, claims=claims, style=style)
    if format == "html":
        text = ReportText(to_html(made, index=index, docs=docs, missing=missing))
    else:
        text = ReportText(to_text(made, format, tables=tables, transpose=transpose, width=width))
    if output is not None:
        text.save(output)
    return text


def published_prompts(paper: str, files: Sequence[File], folder: File) -> list[Path]:
    """Write the prompts that a paper prints as files, out of texts of it; `prompts=folder` of other calls sends them.

    paper  infosearch, instructir, berds; infosearch-code, mteb, rank_llm for prompts in code
    files  that have all of them together, in any layout

    Raises ToolkitError, with every prompt that is not there word by word, before anything is written.
    """
    from toolkit.models.llm.paper_prompts import write_prompts

    return [path for _, path in write_prompts(paper, files, folder)]


def measures() -> pandas.DataFrame:
    """The measures that Tandem adds to ir_measures, one a row.

    Columns: name, title, definition, source, status (`published` or `experimental`), variants, direction, range, over, needs,
    modes, absent, parameters, related.
    """
    from toolkit.studies.measure_cards.measure_card import Card, cards

    return pandas.DataFrame(cards(), columns=list(Card._fields))
