"""Tandem from Python: does my retriever follow instructions, and does it show every side?

Searches a benchmark in all its modes (as it is, instructed, reversed), scores how the rankings move, compares and reports runs:

    import tandem_ir as tandem

    run = tandem.search("infosearch-mini", system="bm25")
    scores = tandem.evaluate(run, benchmark="infosearch-mini")
    print(scores["WISE@20"])

Calls are the commands of the same name, with the same options: `search`, `rerank`, `fuse`, `diversify`, `expand`, `judge`,
`index`, `encode` make something; `evaluate`, `diff`, `gate`, `report` say what it is worth, `plot` draws it (`plots` has the
figures), `measures` what a measure is, `report_site` publishes it; `experiment` does all of it for several systems; `Build`
makes a benchmark of your own documents; `load`, `read_run`, `read_qrels`, `read_topics` read. `measure_card` is what is known
of one measure; `measure_axioms`, `measure_references`, `measure_sensitivity` and `measure_discrimination` say what its numbers
can be trusted with.
Steps (`Retrieve`, `Rerank`, `Fuse`, ...) compose, and take topics as a name, a file, a DataFrame or a list:

    steps = tandem.Retrieve("bm25") >> tandem.Rerank("bge-reranker-v2-m3", depth=50)
    run = steps("infosearch-mini")

Runs and qrels are taken as a path, a Run or Qrels, a DataFrame (`query_id, doc_id, score`; also `qid, docno`),
`{query_id: {doc_id: score}}`, a ranx Run, or rows. What a user can act on is raised as `tandem.ToolkitError`.
Importing this loads nothing heavy; each call loads what it needs.

Where to go on: `help(tandem.search)` has the options of a call, `tandem.load("infosearch-mini")` a benchmark to look into; in
the repository `docs/notebooks/tutorial.ipynb` (tables and a figure), `docs/guides/python.md`, and `docs/errors.md` for what was
raised.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tandem_ir.benchmarks import Build, load, read_run, read_topics
from tandem_ir.evaluation import (
    check_system,
    diff,
    measure_axioms,
    measure_discrimination,
    measure_references,
    measure_sensitivity,
    measures,
    plot,
    plots,
    published_prompts,
    report,
)
from toolkit import __version__
from toolkit.core.system.lazy_names import lazy_names, when_imported
from toolkit.evaluation import evaluate

if TYPE_CHECKING:
    from toolkit.construction.checks.benchmark_check import check_benchmark
    from toolkit.construction.datasheet import datasheet
    from toolkit.core.errors import ToolkitError
    from toolkit.core.qrels import Qrels
    from toolkit.core.runs import Run
    from toolkit.core.scores import Scores
    from toolkit.core.topics import Topic
    from toolkit.evaluation.decisions.decision import gate
    from toolkit.files.formats import read_qrels
    from toolkit.jobs.diversify_job import diversify
    from toolkit.jobs.encode_jobs import encode, index
    from toolkit.jobs.expand_jobs import expand
    from toolkit.jobs.file_job import fuse
    from toolkit.jobs.judge_jobs import judge
    from toolkit.jobs.search_jobs import rerank, search
    from toolkit.models.checkpoints.own_systems import ChatModel, ListRanker, PairScorer, TextEncoder
    from toolkit.reporting.site.make_site import report_site
    from toolkit.retrieval.diversify.diversify_step import Diversify
    from toolkit.retrieval.fuse import Fuse
    from toolkit.retrieval.merge_lists import MergeLists
    from toolkit.retrieval.rerank.rerank_step import Rerank
    from toolkit.retrieval.search.retrieve import FilterByRules, Retrieve
    from toolkit.studies.cite import cite
    from toolkit.studies.experiment import experiment
    from toolkit.studies.measure_cards.measure_card import measure_card
    from toolkit.studies.reproduce import reproduce

# what is loaded when it is first asked for
__getattr__, _ = lazy_names(
    __name__,
    {
        "toolkit.construction.checks.benchmark_check": ("check_benchmark",),
        "toolkit.construction.datasheet": ("datasheet",),
        "toolkit.core.errors": ("ToolkitError",),
        "toolkit.core.qrels": ("Qrels",),
        "toolkit.core.runs": ("Run",),
        "toolkit.core.scores": ("Scores",),
        "toolkit.core.topics": ("Topic",),
        "toolkit.evaluation.decisions.decision": ("gate",),
        "toolkit.files.runs.conversion": ("read_qrels",),
        "toolkit.jobs.diversify_job": ("diversify",),
        "toolkit.jobs.encode_jobs": ("encode", "index"),
        "toolkit.jobs.expand_jobs": ("expand",),
        "toolkit.jobs.judge_jobs": ("judge",),
        "toolkit.jobs.file_job": ("fuse",),
        "toolkit.jobs.search_jobs": ("rerank", "search"),
        "toolkit.models.checkpoints.own_systems": ("ChatModel", "ListRanker", "PairScorer", "TextEncoder"),
        "toolkit.reporting.site.make_site": ("report_site",),
        "toolkit.retrieval.diversify.diversify_step": ("Diversify",),
        "toolkit.retrieval.merge_lists": ("MergeLists",),
        "toolkit.retrieval.fuse": ("Fuse",),
        "toolkit.retrieval.rerank.rerank_step": ("Rerank",),
        "toolkit.retrieval.search.retrieve": ("FilterByRules", "Retrieve"),
        "toolkit.studies.cite": ("cite",),
        "toolkit.studies.experiment": ("experiment",),
        "toolkit.studies.measure_cards.measure_card": ("measure_card",),
        "toolkit.studies.reproduce": ("reproduce",),
    },
)

__all__ = [
    "Build",
    "ChatModel",
    "Diversify",
    "FilterByRules",
    "Fuse",
    "ListRanker",
    "MergeLists",
    "PairScorer",
    "Qrels",
    "Rerank",
    "Retrieve",
    "Run",
    "Scores",
    "TextEncoder",
    "ToolkitError",
    "Topic",
    "__version__",
    "check_benchmark",
    "check_system",
    "cite",
    "datasheet",
    "diff",
    "diversify",
    "encode",
    "evaluate",
    "expand",
    "experiment",
    "fuse",
    "gate",
    "index",
    "judge",
    "load",
    "measure_axioms",
    "measure_card",
    "measure_discrimination",
    "measure_references",
    "measure_sensitivity",
    "measures",
    "plot",
    "plots",
    "published_prompts",
    "read_qrels",
    "read_run",
    "read_topics",
    "report",
    "report_site",
    "reproduce",
    "rerank",
    "search",
]


when_imported("ir_datasets", lambda: import_module("toolkit.datasets"))  # which registers our ids


def __dir__() -> list[str]:
    return __all__
