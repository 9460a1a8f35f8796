"""Where the texts of documents come from, and what is said where there are none."""

import json

import pytest

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.datasets import TopicSet, resolve_topics
from toolkit.files.texts.documents import corpus_from_files
from toolkit.retrieval.index import build_index
from toolkit.retrieval.texts import texts_from

OWN = TopicSet("topics", [], None)
DOCS = [{"id": "a", "title": "T", "text": "red"}, {"id": "b", "text": "red pear"}, {"id": "c", "text": "plum"}]
FOUND = {"a": Doc("a", "T", "red"), "b": Doc("b", "", "red pear")}


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text("".join(json.dumps(doc) + "\n" for doc in DOCS))
    return path


def test_a_file_has_the_documents_that_are_asked_for(corpus):
    source = texts_from(OWN, docs=str(corpus))("any")
    assert source.place == str(corpus)
    assert source.find(["a", "b", "x"]) == FOUND


def test_a_benchmark_has_those_of_its_group():
    topics = resolve_topics("infosearch-mini-audience-ins")
    source = texts_from(topics)("audience")
    assert source.place == "the documents of infosearch-mini audience"
    docs = {doc.doc_id: doc for doc in topics.benchmark.docs("audience")}
    assert source.find(["audience-001", "keyword-001"]) == {"audience-001": docs["audience-001"]}
    # another benchmark's documents for topics of a file
    assert texts_from(OWN, index="infosearch-mini")("audience").find(list(docs)) == docs


@pytest.mark.lucene
def test_an_index_has_those_that_it_stores(corpus, tmp_path):
    build_index(corpus_from_files(corpus), tmp_path / "index")
    source = texts_from(OWN, index=str(tmp_path / "index"))("any")
    assert source.place == str(tmp_path / "index")
    assert source.find(["a", "b", "x"]) == FOUND


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({}, "topics names no corpus"),
        ({"docs": "a", "index": "b"}, "texts come from --docs or from --index, not from both"),
        ({"docs": "none.jsonl"}, "no file none.jsonl"),
        ({"index": "."}, r"\. stores no texts: it is no Lucene index"),
        ({"index": "infosaerch"}, "no index 'infosaerch': neither a folder, nor a prebuilt index, nor a benchmark"),
        ({"index": "wikipedia-dpr-100w.dkrr-nq"}, "has vectors, not texts"),
    ],
)
def test_what_has_no_texts_is_refused(tmp_path, monkeypatch, where, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ToolkitError, match=message):
        texts_from(OWN, **where)
