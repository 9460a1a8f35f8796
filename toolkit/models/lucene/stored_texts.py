"""The documents of a Lucene index that stores their texts, read back: all of them, or some by id."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.system.progress import progress
from toolkit.core.system.yaml_json import decode_json
from toolkit.files.texts.per_query_corpus import has_questions, indexes_of, read_questions
from toolkit.models.lucene import jvm
from toolkit.models.lucene.anserini import LUCENE, open_reader
from toolkit.models.lucene.jvm import java_class

TEXT_FIELDS = ("contents", "text", "passage", "segment", "body")  # as Pyserini's collections call it


class StoredTexts:
    """All documents of an index."""

    def __init__(self, index: Path):
        self.index = index
        self._reader = open_reader(index)
        stored = self._reader.storedFields()
        document = jvm.bound(stored, "org.apache.lucene.index.StoredFields", "document", f"(I){LUCENE}/document/Document;")
        raw = jvm.method("org.apache.lucene.document.Document", "get", "(Ljava/lang/String;)Ljava/lang/String;", "raw")
        self._raw = document.then(raw)

    def __iter__(self) -> Iterator[Doc]:
        """In the index's order, which differs from one building to the next."""
        for number in range(self._reader.maxDoc()):
            raw = self._raw(number)
            yield to_doc(self.index, decode_json(raw, finite=False)["id"], raw, None)

    def statistics(self) -> dict[str, int]:
        """Documents, postings (documents a term, over all terms) and tokens that the analyzer made of them."""
        postings, tokens = self._reader.getSumDocFreq("contents"), self._reader.getSumTotalTermFreq("contents")
        return {"documents": self._reader.numDocs(), "postings": postings, "tokens": tokens}


def stores_texts(index: Path) -> bool:
    """Whether a folder holds a Lucene index, or one for each of several questions."""
    folder = read_questions(index)[0].folder if has_questions(index) else index
    return any(folder.glob("segments_*"))


def stored_docs(index: Path, doc_ids: Iterable[str]) -> dict[str, Doc]:
    """The documents of these ids that the index has, by id.

    Anserini stores a document as it was indexed (`raw`: a JSON object, or text) or its text alone (`contents`).

    Of an index a question, each document is read where it is. Raises ToolkitError where the folder holds no index, or the
    index stores no texts.
    """
    if has_questions(index):
        parts = indexes_of(index, doc_ids)
        return {doc.doc_id: doc for folder, ids in parts.items() for doc in stored_docs(folder, ids).values()}
    searcher = java_class("org.apache.lucene.search.IndexSearcher")(open_reader(index))
    term, query = java_class("org.apache.lucene.index.Term"), java_class("org.apache.lucene.search.TermQuery")
    fields, docs = searcher.storedFields(), {}
    doc_ids = list(doc_ids)
    with progress(f"reading texts from {index.name}", total=len(doc_ids), unit="documents") as advance:
        for doc_id in doc_ids:
            hits = searcher.search(query(term("id", doc_id)), 1).scoreDocs
            if len(hits):
                document = fields.document(hits[0].doc)
                docs[doc_id] = to_doc(index, doc_id, document.get("raw"), document.get("contents"))
            advance(1)
    return docs


def to_doc(index: Path, doc_id: str, raw: str | None, contents: str | None) -> Doc:
    """The document from what an index stores of it; see `stored_docs`."""
    if raw is None and contents is None:
        raise ToolkitError(f"{index} does not store the texts of its documents", "name them with --docs")
    try:
        row = decode_json(raw, finite=False) if raw and raw.startswith("{") else None
    except ValueError:  # any other text may well begin with a brace
        row = None
    if row is None:
        return Doc(doc_id, "", contents if raw is None else raw)
    text = next((row[field] for field in TEXT_FIELDS if field in row), None)
    if text is None:
        known = ", ".join(row)
        raise ToolkitError(f"{index}: document {doc_id} has no text among its fields ({known})", "name the texts with --docs")
    title = row.get("title") or ""
    # what Tandem indexes has the title at the beginning of its contents
    return Doc(doc_id, title, text.removeprefix(f"{title} ")) if title else Doc(doc_id, "", text)
