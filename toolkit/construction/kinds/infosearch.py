"""InfoSearch (arXiv 2410.23841): queries with instructions on what documents are like beside their subject, and their reverse.

Its seven steps, section 2.2 and appendix A: conditions; seeds and their documents; instructions; rewriting; reversal; hard
negatives; anomalies, which people screen. Before them documents are screened by rules and models, which the paper does not do.
"""

from pathlib import Path

from toolkit.construction.documents.anomalies import Anomalies
from toolkit.construction.documents.built_benchmark import LABELS, MEASURES, MODES, content_of, write_benchmark
from toolkit.construction.documents.gold_documents import GoldDocuments, Screening, ScreeningByPeople
from toolkit.construction.documents.negatives import Adversarial, HardNegatives, InstructionNegatives
from toolkit.construction.queries.infosearch_steps import Conditions, Instructions, Reversal, SeedQueries
from toolkit.construction.step_files import BuiltSteps
from toolkit.core.errors import ToolkitError

STEPS = (
    SeedQueries,
    Conditions,
    Instructions,
    GoldDocuments,
    Screening,
    Reversal,
    HardNegatives,
    InstructionNegatives,
    Adversarial,
    Anomalies,
    ScreeningByPeople,
)
SEEDS_BY_GROUP = True


def benchmark(build: BuiltSteps, to: Path) -> None:
    """A folder with the modes ori, ins and rev, a group and a corpus a dimension. ToolkitError where no item is left."""
    last = build.config.names[-1]
    items = build.passed(last)
    if not items:
        hint = "`tandem build status` says which step rejected them"
        raise ToolkitError("no item is left to make a benchmark of", hint, status=1)
    made = {item.id: build.made[last][item.id] for item in items}
    documents = (document for item in items for what in LABELS for document in item.fields.get(what, ()))
    made |= {document["id"]: document.get("made", ()) for document in documents}  # nobody made what is one of the seeds'
    groups = list(dict.fromkeys(item.fields["group"] for item in items))
    write_benchmark(build, to, content_of(items), MODES, made=made, measures=MEASURES, more={"groups": groups})
