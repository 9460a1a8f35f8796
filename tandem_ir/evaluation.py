"""Scores of runs, differences between runs, reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

    from toolkit.core.scores import Scores


def evaluate(
    runs: Any,
    *,
    benchmark: str | None = None,
    qrels: Any = None,
    modes: Mapping[str, str] | None = None,
    measures: Sequence[str] | None = None,
    by_query: bool = False,
    by_type: bool = False,
    references: bool = False,
    depth: int | None = None,
    missing: str | None = None,
    ids: str = "tandem",
    unjudged: str = "refuse",
    baseline: Any = None,
) -> Scores:
    """Score runs against a benchmark, against qrels, or against qrels of a benchmark's queries.

    runs        one, several in a list, or a mapping from modes to them
    benchmark   one of ours (`infosearch`, `infosearch-audience-ins`) or an id of ir_datasets; what the runs' records say, where
                neither it nor qrels are given
    qrels       given as runs are; beside a benchmark they take the place of its own judgments
    modes       name -> role (`base`, `instructed`, `reversed`) of modes that are no benchmark's
    measures    as ir_measures writes them; without, those of the benchmark's own table
    by_query, by_type  also a row for each query, or for each kind of question
    references  also what blind, random, obedient and disobedient orders of the run's own lists would score
    depth       look only at the best so many documents of each query
    missing     a query that the run lacks counts its `worst` value, is left out (`skip`), or is an `error`
    ids         `published`: query ids are the benchmark's own
    unjudged    pairs that a judge did not answer are refused (`refuse`), or count as `negative`
    baseline    the tag of the run that the others are compared with (`Scores.changes`)

    `scores["WISE@20"]` is a number, `scores.to_frame()` a DataFrame, `scores.notes` what to know before trusting a number.
    Raises ToolkitError.
    """
    from toolkit.evaluate import evaluate

    return evaluate(
        runs,
        benchmark=benchmark,
        qrels=qrels,
        modes=modes,
        measures=measures,
        by_query=by_query,
        by_type=by_type,
        references=references,
        depth=depth,
        missing=missing,
        ids=ids,
        unjudged=unjudged,
        baseline=baseline,
    )


def diff(runs: Sequence[Any], *, benchmark: str | None = None, qrels: Any = None, **how: Any) -> pandas.DataFrame:
    """Compare each run with the first: one row a number, with its test, interval and effect size.

    how  `measures`, `modes`, `depth`, `ids`, `unjudged`, `missing`, `test` (`default`, `randomisation`, `wilcoxon`, `t`),
         `samples`, `seed`

    Columns: first, second, group, mode, measure, a, b, difference, relative, queries, low, high, effect, test, p, holm, up,
    down, same. Empty where neither a benchmark nor qrels are given. Raises ToolkitError.
    """
    from dataclasses import asdict

    import pandas

    from toolkit.core.scores import Change
    from toolkit.diff.compare_runs import diff as compared

    columns = ["first", "second", *Change.__dataclass_fields__]
    rows = [
        {"first": pair.a, "second": pair.b, **asdict(change)}
        for pair in compared(runs, benchmark=benchmark, qrels=qrels, **how)
        for change in (pair.comparison.changes if pair.comparison else ())
    ]
    return pandas.DataFrame(rows, columns=columns)


def report(
    runs: Sequence[Any],
    benchmark: str | Sequence[str] = (),
    *,
    format: str = "html",
    output: str | Path | None = None,
    index: str | None = None,
    docs: str | None = None,
    missing: str = "worst",
    published: bool = False,
    claims: bool = False,
    **how: Any,
) -> str:
    """One self-contained HTML page with tables, figures and the queries of runs; or its tables as text.

    format       `html`, `latex`, `markdown`, `csv`
    output       a file to write it to as well
    index, docs  where the texts of documents are; the benchmarks' corpora where nothing is named
    published, claims  also what the benchmarks' papers print and claim
    how          `qrels`, `measures`, `modes`, `depth`, `ids`, `x`, `perspectives`, `stances`

    Raises ToolkitError.
    """
    from toolkit.core.files import open_output
    from toolkit.report.collect import gather
    from toolkit.report.make_report import report as made_of
    from toolkit.report.make_report import to_html, to_text

    names = [benchmark] if isinstance(benchmark, str) else list(benchmark)
    made = made_of(gather(runs, names, missing=missing, **how), missing=missing, published=published, claims=claims)
    text = to_html(made, index=index, docs=docs, missing=missing) if format == "html" else to_text(made, format)
    if output is not None:
        with open_output(output) as file:
            file.write(text.encode())
    return text
