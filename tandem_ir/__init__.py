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

from importlib import import_module
from typing import TYPE_CHECKING

from toolkit import __version__ as __version__
from toolkit.core.system.lazy_names import lazy_names, when_imported

if TYPE_CHECKING:
    from tandem_ir.benchmarks import Build as Build
    from tandem_ir.benchmarks import load as load
    from tandem_ir.benchmarks import read_run as read_run
    from tandem_ir.benchmarks import read_topics as read_topics
    from tandem_ir.evaluation import check_system as check_system
    from tandem_ir.evaluation import diff as diff
    from tandem_ir.evaluation import measures as measures
    from tandem_ir.evaluation import plot as plot
    from tandem_ir.evaluation import plots as plots
    from tandem_ir.evaluation import published_prompts as published_prompts
    from tandem_ir.evaluation import report as report
    from toolkit.construction.checks.benchmark_check import check_benchmark as check_benchmark
    from toolkit.construction.datasheet import datasheet as datasheet
    from toolkit.core.errors import ToolkitError as ToolkitError
    from toolkit.core.qrels import Qrels as Qrels
    from toolkit.core.runs import Run as Run
    from toolkit.core.scores import Scores as Scores
    from toolkit.core.topics import Topic as Topic
    from toolkit.evaluation import evaluate as evaluate
    from toolkit.evaluation.decisions.decision import gate as gate
    from toolkit.files.runs.conversion import read_qrels as read_qrels
    from toolkit.jobs.diversify_job import diversify as diversify
    from toolkit.jobs.encode_jobs import encode as encode
    from toolkit.jobs.encode_jobs import index as index
    from toolkit.jobs.expand_jobs import expand as expand
    from toolkit.jobs.file_job import fuse as fuse
    from toolkit.jobs.judge_jobs import judge as judge
    from toolkit.jobs.search_jobs import rerank as rerank
    from toolkit.jobs.search_jobs import search as search
    from toolkit.models.checkpoints.own_systems import ChatModel as ChatModel
    from toolkit.models.checkpoints.own_systems import ListRanker as ListRanker
    from toolkit.models.checkpoints.own_systems import PairScorer as PairScorer
    from toolkit.models.checkpoints.own_systems import TextEncoder as TextEncoder
    from toolkit.reporting.site.make_site import report_site as report_site
    from toolkit.retrieval.diversify.diversify_step import Diversify as Diversify
    from toolkit.retrieval.fuse import Fuse as Fuse
    from toolkit.retrieval.merge_lists import MergeLists as MergeLists
    from toolkit.retrieval.rerank.rerank_step import Rerank as Rerank
    from toolkit.retrieval.search.retrieve import FilterByRules as FilterByRules
    from toolkit.retrieval.search.retrieve import Retrieve as Retrieve
    from toolkit.studies.cite import cite as cite
    from toolkit.studies.experiment import experiment as experiment
    from toolkit.studies.measure_cards.card_tables import measure_axioms as measure_axioms
    from toolkit.studies.measure_cards.discrimination import measure_discrimination as measure_discrimination
    from toolkit.studies.measure_cards.measure_card import measure_card as measure_card
    from toolkit.studies.measure_cards.reference_scores import measure_references as measure_references
    from toolkit.studies.measure_cards.sensitivity import measure_sensitivity as measure_sensitivity
    from toolkit.studies.reproduce import reproduce as reproduce

# what is loaded when it is first asked for; checkers and editors read it above, where `as` says that it is of this package
__getattr__, lazy = lazy_names(
    __name__,
    {
        "tandem_ir.benchmarks": ("Build", "load", "read_run", "read_topics"),
        "tandem_ir.evaluation": ("check_system", "diff", "measures", "plot", "plots", "published_prompts", "report"),
        "toolkit.construction.checks.benchmark_check": ("check_benchmark",),
        "toolkit.construction.datasheet": ("datasheet",),
        "toolkit.core.errors": ("ToolkitError",),
        "toolkit.core.qrels": ("Qrels",),
        "toolkit.core.runs": ("Run",),
        "toolkit.core.scores": ("Scores",),
        "toolkit.core.topics": ("Topic",),
        "toolkit.evaluation": ("evaluate",),
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
        "toolkit.studies.measure_cards.card_tables": ("measure_axioms",),
        "toolkit.studies.measure_cards.discrimination": ("measure_discrimination",),
        "toolkit.studies.measure_cards.measure_card": ("measure_card",),
        "toolkit.studies.measure_cards.reference_scores": ("measure_references",),
        "toolkit.studies.measure_cards.sensitivity": ("measure_sensitivity",),
        "toolkit.studies.reproduce": ("reproduce",),
    },
)

__all__ = sorted(["__version__", *lazy])
when_imported("ir_datasets", lambda: import_module("toolkit.datasets"))  # which registers our ids


def __dir__() -> list[str]:
    return __all__
