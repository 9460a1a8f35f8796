"""Scores of runs, differences between runs, reports; what is known of measures, and what their numbers can be trusted with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from toolkit.core.system.lazy_names import pandas

if TYPE_CHECKING:
    import altair

    from toolkit.core.tables.aligned_table import Table
    from toolkit.reporting.diff.diff_output import Differences
    from toolkit.reporting.report.make_report import ReportText
    from toolkit.reporting.site.site_folder import Written
    from toolkit.studies.cite import Citations
    from toolkit.studies.experiment import Results
    from toolkit.studies.measure_cards.measure_card import Card
    from toolkit.studies.reproduce import Outcome


def cite(
    runs: str | Path | Sequence[str | Path] = (),
    *,
    benchmarks: str | Sequence[str] = (),
    measures: Any | Sequence[Any] = (),
    systems: str | Sequence[str] = (),
) -> Citations:
    """BibTeX of runs (files, as their records say), benchmarks, measures and systems; `text` has all of it, Tandem first.

    `entries` are by key, `unverified` says what has no citation that was verified. Raises ToolkitError.
    """
    from toolkit.studies.cite import cite as cited

    runs = [runs] if isinstance(runs, str | Path) else runs
    benchmarks, measures, systems = ([each] if isinstance(each, str) else each for each in (benchmarks, measures, systems))
    return cited(runs, benchmarks=benchmarks, measures=measures, systems=systems)


def diff(
    *runs: Any,
    benchmark: str | None = None,
    qrels: Any = None,
    modes: Mapping[str, str] | None = None,
    measures: str | Sequence[str] | None = None,
    depth: int | None = None,
    ids: Literal["tandem", "published"] = "tandem",
    unjudged: Literal["refuse", "negative"] = "refuse",
    missing: Literal["worst", "skip", "error"] = "worst",
    test: Literal["t", "randomisation", "wilcoxon"] = "t",
    samples: int = 10_000,
    seed: int = 0,
    primary: Sequence[str] = (),
) -> Differences:
    """Compare each run with the first: a row for each number, with its test, interval and effect size.

    runs     two or more, one by one, in a list, or as `{name: run}`
    test     how differences are tested; `samples` and `seed` are of randomisation
    primary  the numbers that are marked, as MEASURE or MEASURE-MODE; the others are as for `evaluate`

    What is returned prints as the command does; `to_frame()` has the columns first, second, group, mode, measure, a, b,
    difference, relative, queries, core_queries, low, high, p, holm, effect, state, up, down, same, and no row where neither
    benchmark nor qrels are known, and of runs that are identical. Raises ToolkitError.
    """
    from toolkit.evaluation.comparison.comparison import Testing
    from toolkit.evaluation.scores.run_inputs import given_together
    from toolkit.reporting.diff.compare_runs import diff as compared
    from toolkit.reporting.diff.diff_output import Differences

    testing = Testing(test, samples, seed, tuple(primary))
    judging = {"benchmark": benchmark, "qrels": qrels, "modes": modes, "depth": depth, "ids": ids, "unjudged": unjudged}
    pairs = compared(given_together(runs), measures=measures, missing=missing, testing=testing, **judging)
    return Differences(tuple(pairs))


def experiment(
    names: str | Sequence[str],
    benchmarks: str | Sequence[str],
    *,
    output: str | Path,
    rerank: str | Sequence[str] = (),
    **how: Any,
) -> Results:
    """Search, rerank, evaluate and report several systems on several benchmarks; what is in `output` and up to date stays.

    names   of systems: of the registry, folders, Hugging Face ids
    rerank  rerankers, each of which reranks the run of every system
    output  a folder: a folder for each benchmark with its runs, their records and `scores.json`; `report.html`
    how     `hits`, `depth`, `measures`, `missing`, `recipe`, `systems`, `threads`, `device`, `precision`, `batch_size`,
            `trust_remote_code`; `controls`, False for no placebo run of each system;
            `reranking`, a mapping, has what rerankers alone take
            of a cluster `engine`, `workers`, `threads_per_worker`, `gpus_per_worker`, `units`

    Its `scores` are by benchmark, `runs` the files, `failures` what could not be made. Raises ToolkitError, with everything
    that is wrong, before anything is made.
    """
    from toolkit.jobs.file_job import engine_of
    from toolkit.studies.experiment import Experiment

    made_by = engine_of(how)
    names, benchmarks, rerank = ([each] if isinstance(each, str) else list(each) for each in (names, benchmarks, rerank))
    return Experiment(names, benchmarks, output=output, rerank=rerank, **how).make(**made_by)


def plot(
    name: str,
    runs: Any,
    benchmark: str | None = None,
    *,
    baseline: str | None = None,
    qrels: Any = None,
    modes: Mapping[str, str] | None = None,
    measures: str | Sequence[str] | None = None,
    depth: int | None = None,
    x: Literal["parameters", "seconds", "tokens", "memory"] = "parameters",
) -> altair.TopLevelMixin:
    """A figure of `report`, as an Altair chart, which a notebook shows and `save("x.pdf")` writes.

    name      one of `plots()`
    baseline  the run that others are compared with; x  what cost is drawn by; the others are as for `evaluate`

    Raises ToolkitError for a figure that there is not, and for one that has nothing to draw of these runs.
    """
    from toolkit.reporting.figures.drawing import chart
    from toolkit.reporting.report.collect import collect

    judging = {"qrels": qrels, "modes": modes, "measures": measures, "depth": depth}
    [model] = collect(runs, [benchmark] if benchmark else [], baseline=baseline, x=x, radar=True, **judging)
    return chart(name, model)


def plots() -> pandas.DataFrame:
    """The figures of `plot`, one a row: name, title, caption."""
    from toolkit.reporting.figures import PLOTS

    return pandas.DataFrame([(each.name, each.title, each.caption) for each in PLOTS], columns=["name", "title", "caption"])


def report(
    runs: Any,
    benchmark: str | Sequence[str] = (),
    *,
    format: Literal["html", "latex", "markdown", "csv"] = "html",
    output: str | Path | None = None,
    index: str | None = None,
    docs: str | None = None,
    published: bool = False,
    claims: bool = False,
    percent: bool = False,
    decimals: int | None = None,
    tables: Sequence[str] = (),
    transpose: bool = False,
    width: Literal["column", "page"] | None = None,
    qrels: Any = None,
    modes: Mapping[str, str] | None = None,
    measures: str | Sequence[str] | None = None,
    depth: int | None = None,
    ids: Literal["tandem", "published"] = "tandem",
    unjudged: Literal["refuse", "negative"] = "refuse",
    missing: Literal["worst", "skip", "error"] = "worst",
    ori_unit: Literal["instruction", "core"] = "instruction",
    x: Literal["parameters", "seconds", "tokens", "memory"] = "parameters",
    radar: bool = False,
    baseline: str | None = None,
    perspectives: Sequence[Any] = (),
    stances: str | Path | None = None,
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
    from toolkit.core.tables.aligned_table import TableStyle
    from toolkit.reporting.report.collect import collect
    from toolkit.reporting.report.make_report import ReportText, to_html, to_text
    from toolkit.reporting.report.make_report import report as made_of

    names = list(map(str, benchmark)) if isinstance(benchmark, list | tuple) else [str(benchmark)]
    judging = {"qrels": qrels, "modes": modes, "measures": measures, "depth": depth, "ids": ids, "unjudged": unjudged}
    drawn = {"ori_unit": ori_unit, "x": x, "radar": radar, "baseline": baseline}
    models = collect(runs, names, missing=missing, perspectives=perspectives, stances=stances, **judging, **drawn)
    style = TableStyle(percent=percent, decimals=decimals)
    made = made_of(models, missing=missing, published=published, claims=claims, style=style)
    if format == "html":
        text = ReportText(to_html(made, index=index, docs=docs, missing=missing))
    else:
        text = ReportText(to_text(made, format, tables=tables, transpose=transpose, width=width))
    if output is not None:
        text.save(output)
    return text


def report_site(
    runs: Sequence[str | Path] | Mapping[str, Any],
    benchmark: str | Sequence[str] = (),
    *,
    output: str | Path,
    pairs: Sequence[tuple[str, str]] = (),
    **how: Any,
) -> Written:
    """A static site of runs in a folder: an index of systems over benchmarks, a page for each of both, runs and records.

    runs    files, as for `evaluate`; runs in memory are refused, as a site has the files themselves
    output  a new or empty folder, or a site, which is updated: only files that the site made are replaced or removed
    pairs   names of two runs or systems each, that get a page side by side on every benchmark that has both
    how     `index`, `docs`, `missing`, `published`, `claims` as for `report`, and what that has in its `how`

    What is returned says how many `files` the site has, how many of them are `changed` (new or other than before), how many
    were `removed`. Raises ToolkitError, and writes nothing then.
    """
    from toolkit.reporting.site.make_site import report_site as made_of

    names = [benchmark] if isinstance(benchmark, str) else list(benchmark)
    return made_of(runs, names, output=output, pairs=pairs, **how)


def reproduce(
    paper: str, *, tables: Sequence[str] = (), systems: Sequence[str] = (), output: str | Path | None = None, **how: Any
) -> Outcome:
    """Make a paper's tables of results again, or some of its tables and systems; what is in `output` and up to date stays.

    paper   infosearch, instructir, mfollowir or berds
    output  a folder; `reproduced-<paper>` where none is named
    how     `models` (`device`, `precision`, `batch_size`, `trust_remote_code`), `asking` (how servers are asked), `indexes` (of
            one's own, as `--own-index` names them), `prompts` (a folder, see `published_prompts`); of a cluster `engine`,
            `workers`, `threads_per_worker`, `gpus_per_worker`

    Its `cells` are every printed number with ours, `claims` what the paper claims and whether it holds, `failures` what could
    not be made. Raises ToolkitError before anything is made.
    """
    from toolkit.jobs.file_job import engine_of
    from toolkit.studies.reproduce import Reproduction

    made_by = engine_of(how)
    return Reproduction(paper, tables, systems, output=output, **how).make(**made_by)


def published_prompts(paper: str, files: Sequence[str | Path], folder: str | Path) -> list[Path]:
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


def measure_card(name: str) -> Card:
    """The card of one measure (`WISE`, `p-MRR`): a named tuple with the columns of `measures`. Raises ToolkitError."""
    from toolkit.studies.measure_cards.measure_card import card

    return card(name)


def measure_axioms() -> pandas.DataFrame:
    """Every measure, in every variant, against every axiom.

    `yes`; `no` where there is a counterexample; empty where the axiom is not about the measure. What the columns are is in
    `tandem measures axioms`.
    """
    from toolkit.studies.measure_cards.card_tables import overview

    return _frame(overview())


def measure_references(names: str | Sequence[str] = (), *, measures: str | Sequence[str] | None = None) -> pandas.DataFrame:
    """What BM25, its placebo, and blind, random, oracle and reversed orders score.

    names     of benchmarks, or of groups of them; none for all that are on this machine and have an instructed mode
    measures  as ir_measures writes them; None for those of each benchmark's own table

    Columns: benchmark, measure, mode, bm25, placebo, blind, random, oracle, reversed. Raises ToolkitError.
    """
    from toolkit.studies.measure_cards.reference_scores import reference_scores

    names, measures = ([each] if isinstance(each, str) else each for each in (names, measures))
    return _frame(reference_scores(names, measures))


def measure_sensitivity(
    runs: Any, *, digits: int = 3, depths: Sequence[int] = (100, 20, 10), **judged: Any
) -> pandas.DataFrame:
    """The values of runs beside those of the same runs with rounded scores, ties the other way, and shorter lists.

    runs    as `evaluate` takes them
    digits  after the point that scores keep
    depths  documents of a list that are kept
    judged  `benchmark`, or `qrels` and `modes`; `measures`

    Columns: run, measure, mode, change, before, after, changed (the share of queries whose value becomes another one), queries.
    Raises ToolkitError.
    """
    from toolkit.studies.measure_cards.sensitivity import sensitivity

    return _frame(sensitivity(runs, digits=digits, depths=depths, **judged))


def measure_discrimination(runs: Any = None, *, seed: int = 0, **judged: Any) -> pandas.DataFrame:
    """How many core queries measures need to decide between two runs as other core queries do, and significantly.

    runs    two or more, as `evaluate` takes them; None for the registered runs of the benchmark
    seed    of the parts of the core queries
    judged  `benchmark`, or `qrels` and `modes`; `measures`

    Columns: measure, mode, core queries, agree, significant, pairs. Raises ToolkitError.
    """
    from toolkit.studies.measure_cards.discrimination import discrimination

    return _frame(discrimination(runs, seed=seed, **judged))


def _frame(table: Table) -> pandas.DataFrame:
    from toolkit.core.tables.aligned_table import value_of

    rows = [map(value_of, row) for row in table.rows]
    return pandas.DataFrame(rows, columns=[column.title for column in table.columns])
