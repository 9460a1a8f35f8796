"""Tandem's systems as transformers of PyTerrier, and its Experiment for benchmarks whose queries have several modes.

    import pyterrier as pt
    from tandem_ir.pyterrier import Experiment, Reranker, Retriever, topics

    bm25 = Retriever("bm25", "infosearch-mini")
    systems = {"bm25": bm25, "reranked": bm25 % 20 >> Reranker("bge-reranker-v2-m3", index="infosearch-mini")}
    Experiment(systems, "infosearch-mini", baseline="bm25")

Java is started by what Lucene searches, as everywhere in Tandem, and not by these. Needs `pyterrier`.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import groupby, product
from typing import Any, NamedTuple

import pandas as pd
import pyterrier as pt

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError, three
from toolkit.core.runs import Run
from toolkit.core.scores import PAIRED, Change, Score, Scores
from toolkit.core.system.progress import say
from toolkit.core.topics import Topic
from toolkit.datasets import TopicPart, TopicSet, find, load, resolve_topics
from toolkit.datasets.accepted import Missing
from toolkit.evaluation import evaluate
from toolkit.evaluation.comparison.comparison import Baseline, Testing
from toolkit.files.runs.conversion import as_qrels, as_run
from toolkit.files.texts.topics import topics_from_rows
from toolkit.retrieval.rerank.rerank_step import Rerank
from toolkit.retrieval.search.retrieve import DEFAULT_HITS, Retrieve
from toolkit.retrieval.steps import Made, Results, Step, Tools
from toolkit.retrieval.texts import Texts, TextSource, texts_from

__all__ = ["Experiment", "Reranker", "Retriever", "topics"]

RANKED = ("docno", "score", "rank")


def topics(name: str) -> pd.DataFrame:
    """The topics of a benchmark, or of a part of it, in all their modes, as every transformer takes them.

    name  as on the command line: `infosearch-mini`, `infosearch-mini-audience-ins`

    Columns: qid (with its mode), query (the text that is searched in this mode: core query, one blank, instruction),
    instruction, mode, group. Raises ToolkitError for an unknown name.
    """
    parts = resolve_topics(name).parts
    rows = [(each.query_id, each.text, each.instruction, each.mode, part.group) for part in parts for each in part.topics]
    return pd.DataFrame(rows, columns=["qid", "query", "instruction", "mode", "group"])


class _OneStep(pt.Transformer):
    """A step of Tandem's over the topics of a frame."""

    def __init__(self, step: Step, index: str | None):
        super().__init__()
        self.step, self.index = step, index
        selection = find(index) if index else None
        self._benchmark = benchmark = load(selection.benchmark) if selection else None
        self._known: dict[str, tuple[str, Topic]] = {}
        if selection and benchmark:
            for group, mode in product(selection.groups, benchmark.spec.modes or ("",)):
                self._known |= {topic.query_id: (group, topic) for topic in benchmark.topics(group, mode)}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.step.name!r}{f', {self.index!r}' if self.index else ''})"

    def __str__(self) -> str:
        return self.step.name

    def _topic_set(self, queries: pd.DataFrame) -> TopicSet:
        """The queries by the group of the benchmark that they are of: each group has documents of its own.

        A query that nothing has rewritten is the benchmark's own topic, whatever columns were lost on the way.
        """
        columns = [name for name in ("qid", "query", "instruction", "mode") if name in queries]
        names = {"qid": "query_id", "query": "text"}
        given = topics_from_rows(queries[columns].fillna("").rename(columns=names).to_dict("records"))
        groups: dict[str, list[Topic]] = {}
        for topic in given:
            group, own = self._known.get(topic.query_id, ("all", None))
            groups.setdefault(group, []).append(own if own and own.text == topic.text else topic)
        return TopicSet("topics", [TopicPart(group, each) for group, each in groups.items()], self._benchmark)

    def _results(self, queries: pd.DataFrame, run: Run | None = None, texts: Texts | None = None) -> Results:
        topic_set = self._topic_set(queries)
        return Results(topic_set, topic_set, texts=texts, runs=(Made(run, source="the frame"),) if run else ())

    def _apply(self, step: Step, results: Results) -> pd.DataFrame:
        """What a step makes, in its order: qid, docno, score, rank from 0."""
        step.prepare(results)
        for line in step.warnings(results):
            say(line)
        run, ties = step.apply(results, Tools()).one.run, step.written.get("ties", "trec")
        ranked = ((*line, rank) for _, ranking in run.rankings(ties) for rank, line in enumerate(ranking))
        return pd.DataFrame(ranked, columns=["qid", *RANKED]).astype({"score": float, "rank": int})


class Retriever(_OneStep):
    """Search with a system of Tandem's: queries (`qid`, `query`) to results (`qid`, `query`, `docno`, `score`, `rank`).

    system  a name of the registry, a folder or a Hugging Face id
    index   a folder, a prebuilt index's name, or a benchmark, each of whose groups is searched in its own documents
    hits    documents a query
    how     what `tandem_ir.Retrieve` takes: `recipe`, `query_template`, `device`, parameters of the system (`k1=1.2`)

    An `instruction` column is what the query ends in, or what is sent beside it. Raises ToolkitError for what cannot be looked
    up.
    """

    def __init__(self, system: str = "bm25", index: str | None = None, *, hits: int = DEFAULT_HITS, **how: Any):
        if index is None:
            hint = 'name an index: Retriever("bm25", "infosearch-mini")'
            raise ToolkitError("nothing says which documents are searched", hint)
        super().__init__(Retrieve(system, index=index, hits=hits, **how), index)

    def transform(self, queries: pd.DataFrame) -> pd.DataFrame:
        """Queries, or results whose documents are left out, to results."""
        pt.validate.columns(queries, includes=["qid", "query"])
        documents = {"docno", "docid", "score", "rank"}
        queries = queries[[name for name in queries.columns if name not in documents]].drop_duplicates("qid")
        if queries.empty:
            return queries.reindex(columns=[*queries.columns, *RANKED])
        return queries.merge(self._apply(self.step, self._results(queries)), on="qid")


class Reranker(_OneStep):
    """Rerank with a system of Tandem's: results to results with other scores.

    system      a name of the registry, a folder or a Hugging Face id
    index       where the texts of documents are: a benchmark, a folder or a prebuilt index; `docs` names a file of them
    text_field  the column that has the texts, where neither is named
    depth       documents of each query that are read, all where it is None; those below stay behind them
    how         what `tandem_ir.Rerank` takes: `recipe`, `kind`, `device`, `prompt`, of listwise ones `window`, `step`, ...

    Raises ToolkitError for what cannot be looked up, and for documents without a text.
    """

    step: Rerank

    def __init__(
        self,
        system: str,
        *,
        index: str | None = None,
        docs: str | None = None,
        text_field: str = "text",
        depth: int | None = None,
        **how: Any,
    ):
        super().__init__(Rerank(system, depth=depth, **how), index)
        self.docs, self.text_field, self.depth = docs, text_field, depth

    def transform(self, results: pd.DataFrame) -> pd.DataFrame:
        """Results (`qid`, `query`, `docno`, and `score` or the order of the rows) to results in their new order."""
        own = self.index is None and self.docs is None
        pt.validate.columns(results, includes=["qid", "query", "docno", *([self.text_field] if own else [])])
        rest = results.drop(columns=["score", "rank"], errors="ignore")
        if results.empty:
            return rest.reindex(columns=[*rest.columns, "score", "rank"])
        if "score" not in results:
            results = results.assign(score=-results.groupby("qid").cumcount().astype(float))
        run = Run.from_columns(results["qid"], results["docno"], results["score"], tag="results")
        queries = results.drop_duplicates("qid")
        texts = self._own_texts(results) if own else texts_from(self._topic_set(queries), index=self.index, docs=self.docs)
        step = copy(self.step)
        step.depth = int(run.lengths.max()) if self.depth is None else self.depth
        ranked = self._apply(step, self._results(queries, run, texts))
        return rest.merge(ranked, on=["qid", "docno"]).sort_values(["qid", "rank"], ignore_index=True)

    def _own_texts(self, results: pd.DataFrame) -> Texts:
        """Those of the frame. ToolkitError where the column is of the queries: ir_datasets calls their texts `text` as well."""
        field = self.text_field
        if (found := results.groupby("docno")[field].nunique()).max() > 1:
            message = f"column {field!r} has several texts of document {found.idxmax()}: it is not of documents"
            raise ToolkitError(message, "name the column of theirs (text_field), or where they are (index, docs)")
        titles = results["title"].fillna("") if "title" in results else [""] * len(results)
        docs = {row[0]: Doc(*row) for row in zip(results["docno"], titles, results[field], strict=True)}
        source = TextSource(f"column {field!r}", lambda ids: {doc_id: docs[doc_id] for doc_id in ids if doc_id in docs})
        return lambda group: source


class Evaluated(NamedTuple):
    """What `Experiment` gives with `perquery="both"`, as PyTerrier's does."""

    averages: pd.DataFrame
    perquery: pd.DataFrame


def Experiment(
    retr_systems: Mapping[str, Any] | Sequence[Any],
    topics: str | pd.DataFrame,
    qrels: Any = None,
    eval_metrics: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
    *,
    perquery: bool | str = False,
    by_group: bool = False,
    baseline: int | str | None = None,
    test: str = "t",
    missing: Missing = "worst",
    round: int | None = None,
) -> pd.DataFrame | Evaluated:
    """Compare systems as `pt.Experiment` does, each mode by itself: a column for each measure and mode.

    retr_systems  transformers, results as DataFrames, or runs in any form; of a mapping the keys are their names
    topics        a benchmark's name, whose judgments count; or topics with `qrels`, ids of both carrying their mode
    eval_metrics  of ir_measures, as objects or text; the benchmark's own where none are named
    perquery      True: a row for each system, query, mode and measure; `both`: averages and these
    by_group      a row for each group of the benchmark, too
    baseline      a system's place or name: for each measure `+` and `-` (queries better and worse), `p-value`, and
                  `p-value corrected` (Holm's, of the leading number over the systems), over core queries
    test          `t` (Student's, over core queries), `randomisation`, `wilcoxon`
    missing       a query that a system has no results for counts its `worst` value, is left out (`skip`), or is an `error`

    What has to be known of the numbers is in `attrs["notes"]`. Raises ToolkitError.
    """
    if not isinstance(retr_systems, Mapping):
        called = [str(system) for system in retr_systems] if names is None else list(names)
        retr_systems = dict(zip(called, retr_systems, strict=True))
        if len(retr_systems) < len(called):
            raise ToolkitError("two systems have one name", "give each its own: names=[...]")
    benchmark = topics if isinstance(topics, str) else None
    if benchmark is None and qrels is None:
        raise ToolkitError("nothing judges these topics", "give qrels, or a benchmark's name for topics")
    frame = _topics_of(topics)
    if qrels is not None:  # PyTerrier, too, judges the topics given alone
        qrels = as_qrels(qrels).select(set(frame["qid"]))
    runs = [_run(name, system, frame) for name, system in retr_systems.items()]
    if isinstance(baseline, int):
        baseline = list(retr_systems)[baseline]
    judging = {"benchmark": benchmark, "qrels": qrels, "measures": eval_metrics, "missing": missing}
    first = None if baseline is None else Baseline(baseline, Testing(test))
    scores = evaluate(runs, **judging, by_query=bool(perquery), baseline=first)
    rows = sorted(scores.rows, key=lambda row: list(retr_systems).index(row.run))  # stable: groups stay in their order
    scores = replace(scores, rows=tuple(rows))
    of_queries = [(row.run, row.query_id, row.mode, row.measure, row.value) for row in scores.rows if row.query_id]
    by_query = pd.DataFrame(of_queries, columns=["name", "qid", "mode", "measure", "value"])
    tables = [_averages(scores, by_group), by_query] if perquery else [_averages(scores, by_group)]
    for table in tables:
        table.attrs["notes"] = scores.notes
    tables = [table if round is None else table.round(round) for table in tables]
    return Evaluated(*tables) if perquery == "both" else tables[-1]


def _topics_of(given: str | pd.DataFrame) -> pd.DataFrame:
    return topics(given) if isinstance(given, str) else given


def _run(name: str, system: Any, frame: pd.DataFrame) -> Run:
    found = system.transform(frame) if isinstance(system, pt.Transformer) else system
    if isinstance(found, pd.DataFrame) and found.empty:
        raise ToolkitError(f"{name} has no results for {len(frame)} topics ({three(frame['qid'])})", "do the ids fit?")
    return replace(as_run(found), tag=name, source=name)


def _label(row: Score) -> str:
    return row.measure if row.mode in (PAIRED, "") else f"{row.measure} {row.mode}"


def _averages(scores: Scores, by_group: bool) -> pd.DataFrame:
    """A row a system (and group), a column a measure and mode; behind them how they differ from the baseline."""
    rows = [row for row in scores.rows if not row.query_id]
    overall = rows[-1].group if rows else ""  # the average is the last group, and the only one where there is one
    made = []
    for (name, group), values in groupby(rows, lambda row: (row.run, row.group)):
        if by_group or group == overall:
            kept = list(values)
            line = {"name": name, **({"group": group} if by_group else {})}
            made.append((line | {_label(row): row.value for row in kept}, [(row, scores.change(row)) for row in kept]))
    changed = [{key: value for row, change in changes for key, value in _change(row, change).items()} for _, changes in made]
    return pd.DataFrame([line | change for (line, _), change in zip(made, changed, strict=True)])


def _change(row: Score, change: Change | None) -> dict[str, Any]:
    if change is None:
        return {}
    values = {"+": change.up, "-": change.down, "p-value": change.p, "p-value corrected": change.holm}
    return {f"{_label(row)} {name}": value for name, value in values.items()}
