"""BM25 through Anserini's and Lucene's own classes: the runs of Anserini's SearchCollection, digit for digit.

SearchCollection reads each retrieved document's stored fields to learn its id, and scores it a second time. A Lucene
search sorted by score and id has both in its result already: that is all that is asked for here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.system.files import home
from toolkit.core.system.progress import progress
from toolkit.core.tables.columns import Ids, split_lines, to_arrow, to_numpy
from toolkit.core.topics import Topic
from toolkit.files.formats.indexes import BM25_ARRAYS
from toolkit.files.store.keyed_cache import KeyedCache, key_of
from toolkit.models.lucene import jvm
from toolkit.models.lucene.docids import say_lacking
from toolkit.models.lucene.jvm import java_class

if TYPE_CHECKING:
    from toolkit.models.lucene.bm25_arrays import Bm25Arrays

LUCENE = "Lorg/apache/lucene"
ANALYZE = f"({LUCENE}/analysis/Analyzer;Ljava/lang/String;)Ljava/util/List;"
JOIN = "(Ljava/lang/CharSequence;Ljava/lang/Iterable;)Ljava/lang/String;"
SEARCHER, GENERATOR = "org.apache.lucene.search.IndexSearcher", "io.anserini.search.query.BagOfWordsQueryGenerator"
DECIMALS = 6  # as Anserini writes scores: 4 decimals, ties broken in the 6th
ENGLISH = "en"
RM3 = {"fb_terms": 10, "fb_docs": 10, "original_query_weight": 0.5}  # Anserini's defaults
RM3_CANDIDATES = 50  # SearchCollection's -rerankCutoff

Answer = tuple[Any, Sequence[float]]  # document ids, one a line, or positions in arrays; their scores as Lucene has them


class Query(NamedTuple):
    """What is asked of an index: a query's text, and the only documents that may be found; all where `among` is None."""

    text: str
    among: tuple[str, ...] | None = None


class Searcher:
    """BM25 (k1, b), with RM3 where asked for, over one Lucene index made by Anserini, with the analyzer of a language.

    arrays  whether the arrays beside the index (`bm25_arrays`) are used where there are some for this k1 and b; the run is
            the same without
    cached  whether what the analyzer makes of queries for the arrays is looked up and kept under TANDEM_HOME

    Raises ToolkitError where the folder holds no index, or one that Anserini did not make, or damaged arrays.
    """

    def __init__(
        self,
        index: Path,
        *,
        k1: float = 0.9,
        b: float = 0.4,
        rm3: bool = False,
        language: str = ENGLISH,
        arrays: bool = True,
        cached: bool = True,
    ):
        self.index = index
        self._arrays = None
        if arrays and not rm3 and (index / BM25_ARRAYS).is_file():
            from toolkit.models.lucene.bm25_arrays import open_arrays  # a module less for all other searches

            self._arrays = open_arrays(index, k1, b)
        self._language, self._rm3, self._k1, self._b, self._cached = language, rm3, k1, b, cached
        if self._arrays is None:
            _ = self._analyzer, self._searcher  # a folder without an index is an error now

    @cached_property
    def _analyzer(self) -> Any:
        """Lucene's, of the language; with arrays it is made for queries that are new."""
        return analyzer(self._language)

    @cached_property
    def _searcher(self) -> Any:
        """Lucene's; with arrays it is opened for what they do not answer."""
        searchers = java_class(SEARCHER)
        # a long query has more distinct terms than Lucene's limit of 1,024, which guards against wildcards
        searchers.setMaxClauseCount(2**31 - 1)
        searcher = searchers(open_reader(self.index))
        searcher.setSimilarity(java_class("org.apache.lucene.search.similarities.BM25Similarity")(self._k1, self._b))
        return searcher

    def search(
        self,
        topics: Sequence[Topic],
        *,
        hits: int = 1000,
        threads: int = 1,
        tag: str = "bm25",
        candidates: Mapping[str, Sequence[str]] | None = None,
    ) -> Run:
        """The best `hits` documents of each topic; a topic that nothing matches has no lines.

        candidates  query id -> the only documents that it may find; they have the scores that they have without it

        Scores are Anserini's: rounded to 4 decimals, ties by document id ascending made strict by steps of 1e-6. Equal
        texts are searched once. The number of threads changes nothing but the time.
        """
        wanted = [Query(topic.text, tuple(candidates[topic.query_id]) if candidates else None) for topic in topics]
        different = list(dict.fromkeys(wanted))
        filters = {among: among_ids(among) for among in dict.fromkeys(query.among for query in different) if among is not None}
        if filters:
            present = {among: self._searcher.count(query) for among, query in filters.items()}
            lacking = sum(len(query.among) - present[query.among] for query in wanted)
            say_lacking(self.index, lacking, sum(len(query.among) for query in wanted))
        arrays, weights = None if filters else self._arrays, {}
        if arrays:
            weights = self._weights(arrays, different)
            arrays = arrays if all(map(arrays.is_exact, weights.values())) else None
        if arrays:
            ask: Callable[[Query], Answer] = lambda query: arrays.best(weights[query], hits)  # noqa: E731
        else:
            ask = self._feedback(hits, filters) if self._rm3 else self._plain(hits, filters, different)
        answers = dict(zip(different, _ask_all(ask, different, threads, self.index), strict=True))
        return _run(topics, wanted, answers, tag, str(self.index), arrays)

    def tokens(self, text: str) -> list[str]:
        """What the analyzer makes of a text."""
        return list(java_class("io.anserini.analysis.AnalyzerUtils").analyze(self._analyzer, text))

    def _plain(self, hits: int, filters: Mapping[tuple, Any], wanted: Sequence[Query]) -> Callable[[Query], Answer]:
        """The function from a query to its answer: one call into Java."""
        takes = f"({LUCENE}/search/Query;I{LUCENE}/search/Sort;){LUCENE}/search/TopFieldDocs;"
        top = jvm.fixed(jvm.bound(self._searcher, SEARCHER, "search", takes), hits, by_score_and_id())
        answer, build = top.then(_ids_and_scores()), self._query_builder()
        if not filters:
            whole = build.then(answer)
            return lambda query: whole(query.text)
        # in this thread: pyjnius mixes up the builders of several
        queries, occur = {}, java_class("org.apache.lucene.search.BooleanClause$Occur")
        for query in wanted:
            builder = java_class("org.apache.lucene.search.BooleanQuery$Builder")()
            builder.add(jvm.cast("org.apache.lucene.search.Query", build(query.text)), occur.MUST)
            builder.add(filters[query.among], occur.FILTER)  # which adds nothing to the documents' scores
            queries[query] = jvm.cast("org.apache.lucene.search.Query", builder.build())
        return lambda query: answer(queries[query])

    def _weights(self, arrays: Bm25Arrays, queries: Sequence[Query]) -> dict[Query, dict[int, np.float32]]:
        """The weights of each query's terms in the arrays; the terms are Lucene's analyzer's."""
        texts = [query.text for query in queries]
        tokens = self._looked_up(texts) if self._cached else self._analyzed(texts)
        return dict(zip(queries, arrays.weights([tokens[text].split("\n") for text in texts]), strict=True))

    def _analyzed(self, texts: Iterable[str]) -> dict[str, str]:
        """What the analyzer makes of texts, a line a token: none has a line feed."""
        analyze = jvm.static("io.anserini.analysis.AnalyzerUtils", "analyze", ANALYZE, self._analyzer)
        analyze = analyze.then(jvm.static("java.lang.String", "join", JOIN, "\n"))
        return {text: analyze(text) for text in texts}

    def _looked_up(self, texts: Iterable[str]) -> dict[str, str]:
        """The same, kept under TANDEM_HOME: the JVM is started for texts that are new."""
        cache = KeyedCache(home() / "analyzed.sqlite", "analyzed queries", jvm.described())
        keys = {text: key_of([self._language, text]) for text in texts}
        found = cache.get(list(keys.values()), bytes.decode)
        tokens = {text: found[key] for text, key in keys.items() if key in found}
        if new := keys.keys() - tokens.keys():
            tokens |= self._analyzed(new)
            with suppress(ToolkitError, OSError):  # a home that may only be read
                cache.put({keys[text]: tokens[text].encode() for text in new})
        cache.close()
        return tokens

    def _query_builder(self) -> jvm.Function:
        takes = f"(Ljava/lang/String;{LUCENE}/analysis/Analyzer;Ljava/lang/String;){LUCENE}/search/Query;"
        return jvm.bound(java_class(GENERATOR)(), GENERATOR, "buildQuery", takes, "contents", self._analyzer)

    def _feedback(self, hits: int, filters: Mapping[tuple, Any]) -> Callable[[Query], Answer]:
        """The same with RM3: Anserini's own reranker, object by object. Its terms come from all documents."""
        build, tokens = self._query_builder(), java_class("io.anserini.analysis.AnalyzerUtils").analyze
        scored, context = java_class("io.anserini.search.ScoredDocs"), java_class("io.anserini.rerank.RerankerContext")
        # the collection's class parses the stored texts of an index that has no term vectors
        parser, reranker = jvm.named("io.anserini.collection.JsonCollection"), java_class("io.anserini.rerank.lib.Rm3Reranker")
        rm3 = reranker(self._analyzer, parser, "contents", *RM3.values(), False, True)
        settings = java_class("io.anserini.search.SearchCollection$Args")()
        settings.hits = hits

        def ask(wanted: Query) -> Answer:
            query = build(wanted.text)
            first = self._searcher.search(query, RM3_CANDIDATES, by_score_and_id(), True)
            words, among = tokens(self._analyzer, wanted.text), filters.get(wanted.among)
            about = context(self._searcher, None, query, None, wanted.text, words, among, settings)
            feedback = rm3.rerank(scored.fromTopDocs(first, self._searcher), about)
            return "\n".join(feedback.docids), feedback.scores

        return ask


class FieldSearcher(Searcher):
    """BM25 over several fields of one index, such as title and text; weights: field -> factor.

    A document's score is the sum of its BM25 scores in the fields, each times its weight. Source: BEIR's Pyserini service
    (beir-cellar/beir, examples/beir-pyserini), which InstructIR's released code asks.
    """

    def __init__(self, index: Path, *, weights: Mapping[str, float], k1: float = 0.9, b: float = 0.4, language: str = "en"):
        super().__init__(index, k1=k1, b=b, language=language)
        self._weights = dict(weights)

    def _query_builder(self) -> jvm.Function:
        weights = java_class("java.util.HashMap")()
        for field, weight in self._weights.items():
            weights.put(java_class("java.lang.String")(field), java_class("java.lang.Float")(weight))
        owner, fields = "io.anserini.search.query.QueryGenerator", jvm.cast("java.util.Map", weights)
        takes = f"(Ljava/util/Map;{LUCENE}/analysis/Analyzer;Ljava/lang/String;){LUCENE}/search/Query;"
        return jvm.bound(java_class(GENERATOR)(), owner, "buildQuery", takes, fields, self._analyzer)


def open_reader(index: Path) -> Any:
    """Lucene's IndexReader of a folder. Raises ToolkitError where there is no index in it."""
    try:
        reader = java_class("org.apache.lucene.index.DirectoryReader").open(open_directory(index))
    except jvm.exception() as error:
        raise ToolkitError(f"{index} is no Lucene index ({reason(error)})", "`tandem index` makes one") from error
    return jvm.cast("org.apache.lucene.index.IndexReader", reader)


def open_directory(folder: Path) -> Any:
    """Lucene's Directory of a folder."""
    # absolute: Java's working folder is the one it was started in, whatever Python's is now
    path = java_class("java.nio.file.Paths").get(str(folder.absolute()))
    return jvm.cast("org.apache.lucene.store.Directory", java_class("org.apache.lucene.store.FSDirectory").open(path))


@cache
def by_score_and_id() -> Any:
    """Anserini's order: score descending, document id ascending."""
    sort_field = java_class("org.apache.lucene.search.SortField")
    kind = java_class("org.apache.lucene.search.SortField$Type").STRING_VAL
    return java_class("org.apache.lucene.search.Sort")(sort_field.FIELD_SCORE, sort_field("id", kind))


def languages() -> list[str]:
    """The language codes that Anserini has analyzers for."""
    return sorted({*java_class("io.anserini.analysis.AnalyzerMap").analyzerMap.keySet().toArray(), ENGLISH})


def analyzer(language: str) -> Any:
    """Lucene's analyzer for a language, by Anserini's own map; an unknown code is an error (Anserini takes it for English)."""
    if language == ENGLISH:
        return java_class("io.anserini.analysis.DefaultEnglishAnalyzer").newDefaultInstance()
    if language not in languages():
        raise ToolkitError(f"no analyzer for language {language!r}", f"known: {', '.join(languages())}")
    return java_class("io.anserini.analysis.AnalyzerMap").getLanguageSpecificAnalyzer(language)


def among_ids(doc_ids: Sequence[str]) -> Any:
    """Lucene's query for the documents of these ids (there is no newline in them)."""
    text, stream = "java.lang.String", "java.util.stream.Stream"
    query = (
        jvm.method(text, "split", "(Ljava/lang/String;)[Ljava/lang/String;", "\n")
        .then(jvm.static("java.util.Arrays", "stream", "([Ljava/lang/Object;)Ljava/util/stream/Stream;"))
        .then(jvm.each(jvm.constructor("org.apache.lucene.util.BytesRef", "(Ljava/lang/CharSequence;)V")))
        .then(jvm.method(stream, "toList", "()Ljava/util/List;"))
    )
    terms = "org.apache.lucene.search.TermInSetQuery"
    made = query.then(jvm.constructor(terms, "(Ljava/lang/String;Ljava/util/Collection;)V", "id"))("\n".join(doc_ids))
    return jvm.cast("org.apache.lucene.search.Query", made)


@cache
def _ids_and_scores() -> jvm.Function:
    """TopFieldDocs -> [ids, one a line; scores], both from the values that the documents were sorted by."""
    values = jvm.field("org.apache.lucene.search.FieldDoc", "fields", "[Ljava/lang/Object;")
    ids = values.then(jvm.element(1), jvm.method("org.apache.lucene.util.BytesRef", "utf8ToString", "()Ljava/lang/String;"))
    scores = values.then(jvm.element(0), jvm.method("java.lang.Float", "doubleValue", "()D"))
    stream = jvm.static("java.util.Arrays", "stream", "([Ljava/lang/Object;)Ljava/util/stream/Stream;")
    documents = jvm.field("org.apache.lucene.search.TopDocs", "scoreDocs", f"[{LUCENE}/search/ScoreDoc;").then(stream)
    array = jvm.method("java.util.stream.DoubleStream", "toArray", "()[D")
    numbers = documents.then(jvm.each_double(scores), array)
    return jvm.both(documents.then(jvm.each(ids), jvm.joined("\n")), numbers)


def _ask_all(ask: Callable[[Query], Answer], queries: Sequence[Query], threads: int, index: Path) -> list[Answer]:
    """The answers to all queries, in their order."""
    answers: list[Answer | None] = [None] * len(queries)
    waiting, stop = iter(range(len(queries))), threading.Event()

    def work(advance: Callable[[int], None]) -> None:
        try:
            for number in waiting:  # shared: each takes the next one
                if stop.is_set():
                    return
                answers[number] = ask(queries[number])
                advance(1)
        except jvm.exception() as error:
            stop.set()
            query = f"the query: {queries[number].text[:80]}"
            raise ToolkitError(f"searching {index}: {reason(error)}", query, status=1) from error
        finally:
            jvm.detach()

    with progress("searching", len(queries), "queries") as advance, ThreadPoolExecutor(max(1, threads)) as pool:
        try:
            for worker in [pool.submit(work, advance) for _ in range(max(1, threads))]:
                worker.result()
        finally:
            stop.set()
    return answers


def _run(
    topics: Sequence[Topic], wanted: list[Query], answers: dict[Query, Answer], tag: str, source: str, arrays: Bm25Arrays | None
) -> Run:
    """The answers as a run, in the order of the topics; wanted: the query of each; arrays: what they are positions in."""
    counts = [len(scores) for _, scores in answers.values()]
    first = dict(zip(answers, np.cumsum(counts) - counts, strict=True))  # the place of each one's first line among all lines
    found = [docs for docs, scores in answers.values() if len(scores)]
    if arrays:
        positions = to_arrow(np.concatenate([np.empty(0, np.int64), *found])).dictionary_encode()
        documents = Ids(arrays.ids.take(positions.dictionary), to_numpy(positions.indices))
    else:
        documents = Ids(split_lines("\n".join(found)))
    scores = np.concatenate([*strict_scores([scores for _, scores in answers.values()]), np.empty(0, np.float32)])
    present = [(topic.query_id, query) for topic, query in zip(topics, wanted, strict=True) if len(answers[query][1])]
    lengths = np.array([len(answers[query][1]) for _, query in present], np.int64)
    starts = np.array([first[query] for _, query in present], np.int64)
    queries = np.repeat(np.arange(len(present), dtype=np.int32), lengths)
    lines = np.arange(len(queries)) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    documents = documents.take(lines)
    if len(known := documents.distinct) == 1 and known[0].as_py() == "":
        raise ToolkitError(f"{source}: its documents have no ids to sort by", "rebuild the index with `tandem index`")
    return Run(tuple(query_id for query_id, _ in present), queries, documents, scores[lines].astype(np.float64), tag=tag)


def strict_scores(rankings: Sequence[Sequence[float]]) -> list[np.ndarray]:
    """Scores of rankings, best first, as Anserini's ScoreTiesAdjusterReranker makes them (float32).

    They are rounded to 4 decimals; a score less than 1e-4 (or just that) below the one before it, itself changed already,
    loses 1e-6 for each such neighbour in a row. All in 32 bits, as in Java: above 16 the steps are coarser.
    """
    width = max(map(len, rankings), default=0)
    table = np.full((width, len(rankings)), np.nan, np.float32)  # a row a rank, so that a step handles all rankings
    for column, ranking in enumerate(rankings):
        table[: len(ranking), column] = ranking
    table = (np.floor(table.astype(np.float64) * 10_000 + 0.5) / 10_000).astype(np.float32)  # Java's Math.round
    ties = np.zeros(len(rankings), np.float32)
    for rank in range(1, width):
        ties = np.where(table[rank - 1] - table[rank] <= np.float32(1e-4), ties + 1, 0).astype(np.float32)
        table[rank] -= np.float32(1e-6) * ties
    return [table[: len(ranking), column] for column, ranking in enumerate(rankings)]


def reason(error: Exception) -> str:
    """The first line of what a Java exception says."""
    return str(error).partition("\n")[0].removeprefix("JVM exception occurred: ")
