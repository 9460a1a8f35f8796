"""Evaluation: runs and judgments in, scores out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from toolkit.core.scores import Scores

if TYPE_CHECKING:
    from toolkit.datasets import Benchmark
    from toolkit.datasets.accepted import Ids, Judging, Measures, Missing, Modes, Runs, Unjudged
    from toolkit.evaluation.comparison.comparison import Baseline


def evaluate(
    *runs: Runs,
    benchmark: str | Benchmark | None = None,
    qrels: Judging | None = None,
    modes: Modes | None = None,
    measures: Measures | None = None,
    by_query: bool = False,
    by_type: bool = False,
    references: bool = False,
    intervals: bool = False,
    depth: int | None = None,
    missing: Missing | None = None,
    ids: Ids = "tandem",
    unjudged: Unjudged = "refuse",
    baseline: str | Baseline | None = None,
    primary: Sequence[str] = (),
    ori_unit: Literal["instruction", "core", "both"] = "instruction",
) -> Scores:
    """Score runs against a benchmark, against qrels, or against qrels of a benchmark's queries.

    runs        whatever `toolkit.files.runs.conversion.as_run` takes, several of them in a list, a mapping from modes to
                them (`{"ori": run, "ins": run}`), or from names to any of these (`{"bm25": run, "e5": run}`); the path
                "ins=F" is file F of mode ins. Those of one tag with disjoint query ids are parts of one run, otherwise each
                is a run. Several arguments are the same as one list of them
    benchmark   one of ours (`infosearch`, `infosearch-audience`, `infosearch-audience-ins`) or an id of ir_datasets;
                where neither it nor qrels are named, the one that the records of the runs name
    qrels       given as runs are, as `as_qrels` takes them. Beside a benchmark they take the place of its own judgments
    modes       name -> role (`base`, `instructed`, `reversed`) of the modes that ids of qrels carry, where they are no
                benchmark's: {"plain": "base", "pos": "instructed", "neg": "reversed"}
    measures    as ir_measures writes them, in a list or in one text (`"nDCG@10 WISE@20"`); without, those of the
                benchmark's own table
    by_query    also a row for each query and measure, after the aggregate rows of its run
    by_type     also a row for each kind of question, over all groups
    references  also what blind, random, oracle and reversed orders of the run's own lists would score
                (`toolkit.evaluation.comparison.references`)
    intervals   also where each value may lie (`Scores.intervals`): 95 %, Student's t over core queries
    depth       look only at the best so many documents of each query
    missing     a query that the run lacks counts its `worst` value, is left out (`skip`), or is an `error`. Without a
                word it is `worst`, and a run that has no query of a mode is refused: more likely a file was forgotten
    ids         `published`: query ids are the benchmark's own, in the runs and in the scores
    unjudged    pairs of a document and a perspective that a judge was asked for and did not answer are refused (`refuse`),
                or count as `negative`
    baseline    the tag or the file of the run that the others are compared with (`Scores.changes`); a `Baseline` says how
    primary     which numbers of the average are marked, as MEASURE or MEASURE-MODE; the benchmark's leading one where none are
    ori_unit    what counts once in a mean over the base mode: a query (`instruction`), or a `core` query, as in InfoSearch's
                table 1; `both`: also rows in the mode `ori by core`

    Raises ToolkitError for input that cannot be read, for a run of another benchmark, and where a mode is missing.
    """
    from toolkit.evaluation.comparison.comparison import Baseline, Testing
    from toolkit.evaluation.scores.evaluation import prepare
    from toolkit.evaluation.scores.run_inputs import given_together

    how = {"modes": modes, "measures": measures, "every_mode": missing != "worst"}
    prepared = prepare(given_together(runs), benchmark, qrels, depth, ids, unjudged, **how)
    first = Baseline(baseline, Testing(primary=tuple(primary))) if isinstance(baseline, str) else baseline
    more = {"by_query": by_query, "by_type": by_type, "references": references, "intervals": intervals}
    return prepared.scores(measures, missing=missing or "worst", baseline=first, ori_unit=ori_unit, **more)
