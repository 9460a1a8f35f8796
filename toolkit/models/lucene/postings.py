"""The arrays for BM25 (`bm25_arrays`) of an index of Anserini's, made once: postings and lengths, written to files by Java.

Java's method handles are put together to loops that run within Java: a call from Python for each posting takes 10 µs.
"""

import errno
import json
import os
from contextlib import ExitStack, closing
from functools import partial
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
RAW = {"tfs": "bm25.tfs", "norms": "bm25.norms"}  # read once, then removed
CHUNK = 1 << 22  # postings handled at once
SAMPLE, LONGEST, DEPTH = 16, 12, 100  # queries that both ways must answer alike, words of the longest, hits
FREQUENCIES = 8  # Lucene's PostingsEnum.FREQS
ALL = 2**31 - 1
ENUM, POSTINGS = "org.apache.lucene.index.TermsEnum", "org.apache.lucene.index.PostingsEnum"
OUTPUT = "org.apache.lucene.store.DataOutput"
NORMS, IDS = "org.apache.lucene.index.NumericDocValues", "org.apache.lucene.index.BinaryDocValues"


def make_arrays(folder: Path, language: str = ENGLISH) -> str:
    """Make the arrays of a Lucene index in its folder; why not, where that cannot be, and nothing is left there then.

    It cannot where Java fails, where documents were deleted or lack a length or an id, where an idf is too near the middle of
    two numbers of 32 bits, and where a sample of queries has another run than Lucene's. Raises OSError for a full disk.
    """
    kinds, why_not = ("terms", "ids", "counts", "docs"), "its scores would not be Lucene's"
    try:
        sizes = _write_postings(folder, {**{kind: NAMES[kind] for kind in kinds}, **RAW})
        if sizes and _complete(folder, sizes) and _agrees(folder, language):
            why_not = ""
    except jvm.exception() as error:
        if is_almost_full(folder):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder)) from error
        why_not = reason(error)
    finally:
        for name in (*RAW.values(), *((*NAMES.values(), BM25_ARRAYS) if why_not else ())):
            (folder / name).unlink(missing_ok=True)
    return why_not


def _agrees(folder: Path, language: str) -> bool:
    """Whether a sample of queries, of terms as often as documents have them, has Lucene's run."""
    arrays, random = open_arrays(folder, K1, B), np.random.default_rng(0)
    topics = [Topic(str(number), arrays.words(random, number % LONGEST + 1)) for number in range(SAMPLE)]
    ours, theirs = (Searcher(folder, language=language, arrays=own).search(topics, hits=DEPTH) for own in (True, False))
    return list(ours.rankings()) == list(theirs.rankings())


def _write_postings(index: Path, names: dict[str, str]) -> dict[str, int] | None:
    """Write files into an index's folder, and say how much there is; None for an index that lacks what BM25 needs.

    names  what to call the files
           terms    a term a line, in Lucene's order
           counts   of each term, how many documents have it
           docs     of each term, the documents that have it, ascending: Lucene's numbers
           tfs      of each of these postings, how often the document has the term
           ids      of each document, its id, a line
           norms    of each document, its length as Lucene codes it (64 bits)

    All numbers but the norms have 32 bits, little-endian.
    """
    reader = open_reader(index)
    documents = reader.maxDoc()
    terms = java_class("org.apache.lucene.index.MultiTerms").getTerms(reader, FIELD)
    norms = java_class("org.apache.lucene.index.MultiDocValues").getNormValues(reader, FIELD)
    ids = java_class("org.apache.lucene.index.MultiDocValues").getBinaryValues(reader, "id")
    sizes = None
    if None not in (terms, norms, ids) and not reader.hasDeletions():
        with ExitStack() as stack:
            directory = stack.enter_context(closing(open_directory(index)))
            context = java_class("org.apache.lucene.store.IOContext").DEFAULT
            files = {kind: stack.enter_context(closing(directory.createOutput(name, context))) for kind, name in names.items()}
            _each_term(jvm.cast(ENUM, terms.iterator()), files)
            next_norm, norm = bound(norms, NORMS, "nextDoc", "()I"), bound(norms, NORMS, "longValue", "()J")
            next_id, doc_id = bound(ids, IDS, "nextDoc", "()I"), bound(ids, IDS, "binaryValue", f"(){LUCENE}/util/BytesRef;")
            long = bound(files["norms"], OUTPUT, "writeLong", "(J)V")
            jvm.times(in_order(next_norm, norm.then(long), next_id, *_line(doc_id, files["ids"])))(documents)
        # at the last document after as many steps as there are documents: every one has a length and an id
        if norms.docID() == ids.docID() == documents - 1:
            sizes = {"documents": documents, "with_words": terms.getDocCount()}
            sizes |= {"postings": terms.getSumDocFreq(), "tokens": terms.getSumTotalTermFreq()}
    reader.close()
    return sizes


def _each_term(terms: Any, files: dict[str, Any]) -> None:
    """Write every term and its postings."""
    terms.next()
    number = partial(bound, owner=OUTPUT, name="writeInt", descriptor="(I)V")
    postings = jvm.cast(POSTINGS, terms.postings(None, FREQUENCIES))  # Lucene uses it again for every term that follows
    enum = f"{LUCENE}/index/PostingsEnum;"
    again = bound(terms, ENUM, "postings", f"({enum}I){enum}", postings, FREQUENCIES)
    doc, tf = bound(postings, POSTINGS, "nextDoc", "()I"), bound(postings, POSTINGS, "freq", "()I")
    posting = in_order(doc.then(number(files["docs"])), tf.then(number(files["tfs"])))
    count = bound(terms, ENUM, "docFreq", "()I")
    term = bound(terms, ENUM, "term", f"(){LUCENE}/util/BytesRef;")
    following = bound(terms, "org.apache.lucene.util.BytesRefIterator", "next", f"(){LUCENE}/util/BytesRef;")
    is_there = following.then(jvm.static("java.util.Objects", "nonNull", "(Ljava/lang/Object;)Z"))
    whole = in_order(
        again, *_line(term, files["terms"]), count.then(number(files["counts"])), count.then(jvm.times(posting)), is_there
    )
    jvm.while_true(whole)(ALL)


def _line(text: Function, file: Any) -> tuple[Function, Function]:
    """Two functions that write the bytes that `text` gives, and a line feed behind them."""
    write = bound(file, OUTPUT, "writeBytes", "([BII)V")
    end = bound(file, OUTPUT, "writeByte", "(B)V", java_class("java.lang.Byte")(ord("\n")))
    return text.then(jvm.of_fields(write, "org.apache.lucene.util.BytesRef", bytes="[B", offset="I", length="I")), end


def _complete(folder: Path, sizes: dict[str, int]) -> bool:
    """Compute what follows from what Java has written; False where that is not what the index says, or an idf is in doubt.
    False too for more ids than one arrow array can hold."""
    counts, docs = (np.memmap(folder / NAMES[kind], DTYPES[kind], "r") for kind in ("counts", "docs"))
    tfs, norms = np.memmap(folder / RAW["tfs"], "<i4", "r"), np.fromfile(folder / RAW["norms"], "<i8")
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
