"""Documents as indexes of others store them."""

import json
from pathlib import Path

import pytest

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.models.lucene.stored_texts import to_doc


@pytest.mark.parametrize(
    ("raw", "contents", "doc"),
    [
        (json.dumps({"id": "a", "contents": "red"}), None, Doc("a", "", "red")),
        (json.dumps({"id": "a", "title": "T", "contents": "T red"}), None, Doc("a", "T", "red")),  # as Tandem indexes
        (json.dumps({"_id": "a", "title": "T", "text": "red"}), None, Doc("a", "T", "red")),  # BEIR
        (json.dumps({"_id": "a", "title": "", "text": "T red"}), None, Doc("a", "", "T red")),
        (json.dumps({"docid": "a", "title": "T", "segment": "red"}), None, Doc("a", "T", "red")),  # MS MARCO v2.1
        ("{sic} red", None, Doc("a", "", "{sic} red")),
        ("<DOC> red </DOC>", None, Doc("a", "", "<DOC> red </DOC>")),
        (None, "red", Doc("a", "", "red")),
    ],
)
def test_raw_documents_of_any_form_are_read(raw, contents, doc):
    assert to_doc(Path("index"), "a", raw, contents) == doc


def test_an_index_without_texts_is_refused():
    with pytest.raises(ToolkitError, match="index does not store the texts of its documents"):
        to_doc(Path("index"), "a", None, None)


def test_a_document_of_unknown_fields_is_refused():
    with pytest.raises(ToolkitError, match=r"index: document a has no text among its fields \(id, words\)"):
        to_doc(Path("index"), "a", json.dumps({"id": "a", "words": 3}), None)
