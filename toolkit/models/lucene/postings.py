"""The arrays for BM25 (`bm25_arrays`) of an index of Anserini's, made once: postings and lengths, written to files by Java.

Java's method handles are put together to loops that run within Java: a call from Python for each posting takes 10 µs.
"""

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from toolkit.core.system.files import write_text
from toolkit.core.system.lazy_names import compute
from toolkit.core.tables.columns import ONE_ARRAY, to_arrow, to_numpy
from toolkit.core.topics import Topic
from toolkit.files.formats.indexes import BM25_ARRAYS
from toolkit.models.lucene import jvm
from toolkit.models.lucene.anserini import ENGLISH, LUCENE, Searcher, open_directory, open_reader, reason
from toolkit.models.lucene.anserini_index import is_almost_full
from toolkit.models.lucene.bm25_arrays import DTYPES, FORMAT, K1, NAMES, B, idf, open_arrays
from toolkit.models.lucene.docids import DocIds
from toolkit.models.lucene.jvm import Function, bound, in_order, java_class

FIELD = "contents"
PARTS = ("docs", "tfs")
CHUNK = 1 << 22  # postings handled at once
SAMPLE, LONGEST, DEPTH = 16, 12, 100  # queries that both ways must answer alike, words of the longest, hits
FREQUENCIES = 8  # Lucene's PostingsEnum.FREQS
ALL = 2**31 - 1
ENUM, POSTINGS = "org.apache.lucene.index.TermsEnum", "org.apache.lucene.index.PostingsEnum"
OUTPUT = "org.apache.lucene.store.DataOutput"
NORMS, IDS = "org.apache.lucene.index.NumericDocValues", "org.apache.lucene.index.BinaryDocValues"


def make_arrays(folder: Path, language: str = ENGLISH, threads: int = 1) -> str:
    """Make the arrays of a Lucene index in its folder; why not, where that cannot be, and nothing is left there then.

    It cannot where Java fails, where documents were deleted or lack a length or an id, where an idf is too near the middle of
    two numbers of 32 bits, and where a sample of queries has another run than Lucene's. Raises OSError for a full disk.
    """
    why_not = "its scores would not be Lucene's"
    try:
        sizes = _write_postings(folder, threads)
        if sizes and _complete(folder, sizes) and _agrees(folder, language):
            why_not = ""
    except jvm.exception() as error:
        if is_almost_full(folder):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder)) from error
        why_not = reason(error)
    finally:
        for path in folder.glob("bm25.*"):
            if why_not or path.name not in (*NAMES.values(), BM25_ARRAYS):
                path.unlink()
    return why_not


def _agrees(folder: Path, language: str) -> bool:
    """Whether a sample of queries, of terms as often as documents have them, has Lucene's run."""
    arrays, random = open_arrays(folder, K1, B), np.random.default_rng(0)
    topics = [Topic(str(number), arrays.words(random, number % LONGEST + 1)) for number in range(SAMPLE)]
    searchers = (Searcher(folder, language=language, arrays=own, cached=False) for own in (True, False))
    ours, theirs = (searcher.search(topics, hits=DEPTH) for searcher in searchers)
    return list(ours.rankings()) == list(theirs.rankings())


def _write_postings(folder: Path, threads: int) -> dict[str, int] | None:
    """Write files into an index's folder, and say how much there is; None for an index that lacks what BM25 needs.

    terms    a term a line, in Lucene's order
    counts   of each term, how many documents have it
    docs     of each term, the documents that have it, ascending: Lucene's numbers
    tfs      of each of these postings, how often the document has the term
    ids      of each document, its id, a line
    norms    of each document, its length as Lucene codes it (64 bits)

    All numbers but the norms have 32 bits, little-endian. Postings are written in as many parts as there are threads.
    """
    reader = open_reader(folder)
    values = java_class("org.apache.lucene.index.MultiDocValues")
    terms = java_class("org.apache.lucene.index.MultiTerms").getTerms(reader, FIELD)
    norms, ids = values.getNormValues(reader, FIELD), values.getBinaryValues(reader, "id")
    documents, sizes = reader.maxDoc(), None
    if None not in (terms, norms, ids) and not reader.hasDeletions():
        with _files(folder, "terms", "counts") as files:
            _each_term(jvm.cast(ENUM, terms.iterator()), files)
        ends = np.cumsum(np.fromfile(folder / NAMES["counts"], DTYPES["counts"]), dtype=np.int64)
        wanted = np.linspace(0, ends[-1], max(1, threads), endpoint=False)  # postings before each part
        bounds = [*np.unique(np.searchsorted(ends, wanted, "right")).tolist(), len(ends)]
        firsts = DocIds(folder / NAMES["terms"]).take(to_arrow(np.array(bounds[:-1]))).to_pylist()
        with ExitStack() as stack, ThreadPoolExecutor(max(1, threads)) as pool:
            # made in this thread: pyjnius mixes up the functions that several make, and ends the process now and then
            parts = [
                stack.enter_context(_files(folder, *(f"{kind}{number}" for kind in PARTS))) for number in range(len(firsts))
            ]
            tasks = [
                jvm.times(_each_posting(jvm.cast(ENUM, terms.iterator()), first, [*part.values()])).of(end - start)
                for part, first, start, end in zip(parts, firsts, bounds, bounds[1:], strict=False)
            ]
            each_document = _each_document(norms, ids, stack.enter_context(_files(folder, "norms", "ids")))
            tasks.append(jvm.times(each_document).of(documents))
            list(pool.map(_called, tasks))
        for kind in PARTS:
            whole, *others = (folder / _name(f"{kind}{number}") for number in range(len(firsts)))
            with whole.open("ab") as file:
                for other in others:
                    with other.open("rb") as part:
                        shutil.copyfileobj(part, file)
            whole.rename(folder / _name(kind))
        # at the last document after as many steps as there are documents: every one has a length and an id
        if norms.docID() == ids.docID() == documents - 1:
            sizes = {"documents": documents, "with_words": terms.getDocCount()}
            sizes |= {"postings": terms.getSumDocFreq(), "tokens": terms.getSumTotalTermFreq()}
    reader.close()
    return sizes


def _called(task: Callable[[], None]) -> None:
    try:
        task()
    finally:
        jvm.detach()


@contextmanager
def _files(folder: Path, *kinds: str) -> Iterator[dict[str, Any]]:
    """Lucene's outputs for files of an index's folder."""
    with ExitStack() as stack:
        directory = stack.enter_context(closing(open_directory(folder)))
        context = java_class("org.apache.lucene.store.IOContext").DEFAULT
        yield {kind: stack.enter_context(closing(directory.createOutput(_name(kind), context))) for kind in kinds}


def _each_term(terms: Any, files: dict[str, Any]) -> None:
    """Write every term, and how many documents have it."""
    terms.next()
    count = bound(terms, ENUM, "docFreq", "()I").then(_number(files["counts"]))
    is_there = _next_term(terms).then(jvm.static("java.util.Objects", "nonNull", "(Ljava/lang/Object;)Z"))
    line = _line(bound(terms, ENUM, "term", f"(){LUCENE}/util/BytesRef;"), files["terms"])
    jvm.while_true(in_order(*line, count, is_there))(ALL)


def _each_posting(terms: Any, first: str, files: Sequence[Any]) -> Function:
    """The function that writes the documents and frequencies of a term, beginning with `first`, and goes on to the next one."""
    terms.seekCeil(jvm.constructor("org.apache.lucene.util.BytesRef", "(Ljava/lang/CharSequence;)V")(first))
    postings = jvm.cast(POSTINGS, terms.postings(None, FREQUENCIES))  # Lucene uses it again for every term that follows
    enum = f"{LUCENE}/index/PostingsEnum;"
    again = bound(terms, ENUM, "postings", f"({enum}I){enum}", postings, FREQUENCIES)
    doc, tf = bound(postings, POSTINGS, "nextDoc", "()I"), bound(postings, POSTINGS, "freq", "()I")
    posting = in_order(*(read.then(_number(file)) for read, file in zip((doc, tf), files, strict=True)))
    return in_order(again, bound(terms, ENUM, "docFreq", "()I").then(jvm.times(posting)), _next_term(terms))


def _each_document(norms: Any, ids: Any, files: dict[str, Any]) -> Function:
    """The function that writes the length and the id of the next document."""
    next_norm, norm = bound(norms, NORMS, "nextDoc", "()I"), bound(norms, NORMS, "longValue", "()J")
    next_id, doc_id = bound(ids, IDS, "nextDoc", "()I"), bound(ids, IDS, "binaryValue", f"(){LUCENE}/util/BytesRef;")
    long = bound(files["norms"], OUTPUT, "writeLong", "(J)V")
    return in_order(next_norm, norm.then(long), next_id, *_line(doc_id, files["ids"]))


def _name(kind: str) -> str:
    return f"bm25.{kind}"


def _number(file: Any) -> Function:
    return bound(file, OUTPUT, "writeInt", "(I)V")


def _next_term(terms: Any) -> Function:
    return bound(terms, "org.apache.lucene.util.BytesRefIterator", "next", f"(){LUCENE}/util/BytesRef;")


def _line(text: Function, file: Any) -> tuple[Function, Function]:
    """Two functions that write the bytes that `text` gives, and a line feed behind them."""
    write = bound(file, OUTPUT, "writeBytes", "([BII)V")
    end = bound(file, OUTPUT, "writeByte", "(B)V", java_class("java.lang.Byte")(ord("\n")))
    return text.then(jvm.of_fields(write, "org.apache.lucene.util.BytesRef", bytes="[B", offset="I", length="I")), end


def _complete(folder: Path, sizes: dict[str, int]) -> bool:
    """Compute what follows from what Java has written; False where that is not what the index says, or an idf is in doubt.
    False too for more ids than one arrow array can hold."""
    counts, docs = (np.memmap(folder / NAMES[kind], DTYPES[kind], "r") for kind in ("counts", "docs"))
    tfs, norms = np.memmap(folder / _name("tfs"), "<i4", "r"), np.fromfile(folder / _name("norms"), "<i8")
    ids, terms = DocIds(folder / NAMES["ids"]), DocIds(folder / NAMES["terms"])
    found = len(docs), counts.sum(dtype=np.int64), tfs.sum(dtype=np.int64), len(ids), len(norms), len(terms)
    expected = (*[sizes["postings"]] * 2, sizes["tokens"], *[sizes["documents"]] * 2, len(counts))
    # logarithms that are a few units off in their last place, as Java's may be, have to be the same in 32 bits
    idfs = [idf(sizes["with_words"], int(count)) for count in np.unique(counts)]
    certain = all(np.float32(one * (1 - 1e-15)) == np.float32(one * (1 + 1e-15)) and one > 0 for one in idfs)
    if found != expected or not certain or (folder / NAMES["ids"]).stat().st_size >= ONE_ARRAY:
        return False
    # c of each of the 256 lengths that Lucene tells apart, computed in 32 bits as BM25Similarity does
    mean = np.float32(sizes["tokens"] / sizes["with_words"])
    length = java_class("org.apache.lucene.util.SmallFloat").byte4ToInt
    known = np.array([length(int(code)) for code in np.arange(256, dtype=np.uint8).astype(np.int8)], np.float32)
    k1, b, one = np.float32(K1), np.float32(B), np.float32(1)
    lengths = (one / (k1 * ((one - b) + b * known / mean)))[norms & 255]
    with (folder / NAMES["divisors"]).open("wb") as file:
        for start in range(0, len(docs), CHUNK):
            part = slice(start, start + CHUNK)
            divisors = np.float32(1) + tfs[part].astype(np.float32) * lengths[docs[part]]
            if not (divisors > 1).all():  # a document so long that the term adds nothing: Lucene finds it all the same
                return False
            divisors.astype("<f4").tofile(file)
    by_id = compute.array_sort_indices(ids.take(to_arrow(np.arange(len(ids)))))
    np.argsort(to_numpy(by_id)).astype("<i4").tofile(folder / NAMES["order"])
    write_text(folder / BM25_ARRAYS, json.dumps({"format": FORMAT, "k1": K1, "b": B, **sizes}) + "\n")
    return True
