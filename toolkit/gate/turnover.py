"""Are two runs of one corpus, under the same ids? Where they are not, a difference says nothing of the change."""

from __future__ import annotations

from collections.abc import Iterable

from toolkit.core.columns import lookup
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.evaluate.judgments import Judgments
from toolkit.provenance import Recorded, part

QUERIES = 0.5  # the least share of the judged queries of either run that both have
DOCUMENTS = 0.1  # of the documents of the run with fewer; two systems of one corpus share far more, other ids hardly any


def check_turnover(a: Run, b: Run, judgments: Judgments) -> list[str]:
    """Notes of the shares in common.

    Raises ToolkitError, with the shares, where too few queries or documents are in both runs, or where the second has no
    judged document any more. Documents may differ as much as they like where the records of both runs name one corpus.
    """
    judged = set(judgments.query_ids)
    first, second = (judged.intersection(run.query_ids) for run in (a, b))
    queries = len(first & second) / max(len(first | second), 1)
    shared = int((lookup(b.doc_ids, a.doc_ids) >= 0).sum())
    documents = shared / max(min(len(a.doc_ids), len(b.doc_ids)), 1)
    found = [_judged_share(run, judgments) for run in (a, b)]
    shares = (
        f"in common: {_share(queries)} of the queries, {_share(documents)} of the documents; judged documents found: "
        f"{_share(found[0])} in the baseline, {_share(found[1])} in the run"
    )
    corpora = [_corpora(run) for run in (a, b)]
    known = all(corpora)
    if queries < QUERIES:
        raise ToolkitError(f"the queries are others: {shares}", "compare runs of the same topics")
    if documents < DOCUMENTS and not (known and corpora[0] == corpora[1]):
        raise ToolkitError(f"the corpus or its ids are others: {shares}", "make the baseline again on the corpus of the run")
    if found[0] and not found[1]:
        raise ToolkitError(f"the ids of documents are not those of the judgments: {shares}", "judge the corpus of the run")
    notes = [shares]
    if known and corpora[0] != corpora[1]:
        notes.append("warning: the runs' records name corpora of other contents: a difference may be the corpus's")
    return notes


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"


def _judged_share(run: Run, judgments: Judgments) -> float:
    """Which share of the documents that are judged stands in a run anywhere."""
    found, count = 0, 0
    for each in judgments.parts:
        places = lookup(each.qrels.doc_ids, run.doc_ids)
        found, count = found + int((places >= 0).sum()), count + len(places)
    return found / max(count, 1)


def _corpora(run: Run) -> frozenset[str]:
    """The digests of the corpora that were searched, as the run's record says; empty where nothing says so."""
    recorded = Recorded(run.source, run).provenance.data.get("indexes", ()) if run.source else ()
    return frozenset(_contents(recorded if isinstance(recorded, list) else ()))


def _contents(indexes: Iterable) -> Iterable[str]:
    for index in indexes:
        if content := part(index, "corpus").get("content"):
            yield str(content)
