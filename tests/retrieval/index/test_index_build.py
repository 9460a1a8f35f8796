"""Building an index: what is checked, what is recorded, what is left behind."""

import hashlib
import json
import shutil

import pytest
import yaml

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.files.texts.documents import ContentDigest, SeenIds
from toolkit.retrieval.index import build_index, corpus_from_docs, corpus_from_files, is_index, read_index_record, verify_index
from toolkit.retrieval.index.build import check_output

DOCS = [Doc("1", "Fruit", "red apple"), Doc("2", "", "green apple"), Doc("3", "", " \t")]


def jsonl(path, *rows):
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_seen_ids_finds_every_second_one_across_batches():
    seen = SeenIds()
    assert seen.add(["a", "b", "a", "a"]) == [2, 3]
    assert seen.add([str(number) for number in range(100)]) == []
    assert seen.add(["c", "b"]) == [1]
    assert seen.add([]) == []
    assert seen.add(["57", "d", "c"]) == [0, 2]


def test_content_digest_does_not_depend_on_order_and_sees_every_field():
    assert ContentDigest(DOCS).hexdigest() == ContentDigest(reversed(DOCS)).hexdigest()
    variants = [[], DOCS[:1], [Doc("1", "", "Fruit red apple")], [Doc("1", "Fruit", "red apples")], [DOCS[0], DOCS[0]]]
    assert len({ContentDigest(docs).hexdigest() for docs in variants}) == len(variants)


def test_only_an_index_or_an_empty_folder_is_replaced(tmp_path):
    check_output(tmp_path / "new")
    check_output(tmp_path)
    (tmp_path / "thesis.tex").touch()
    for place in (tmp_path, tmp_path / "thesis.tex"):
        with pytest.raises(ToolkitError, match="exists and is no index"):
            check_output(place)


@pytest.mark.lucene
def test_the_record_has_corpus_language_and_counts(tmp_path):
    corpus = jsonl(tmp_path / "c.jsonl", *({"id": doc.doc_id, "title": doc.title, "text": doc.text} for doc in DOCS))
    counts = build_index(corpus_from_files(corpus), tmp_path / "index", language="ru", command="how it was made")
    assert (counts.documents, counts.empty, counts.skipped) == (2, 1, 0)
    record = read_index_record(tmp_path / "index")
    assert record["language"] == "ru"
    assert record["corpus"]["files"] == ["c.jsonl"]
    assert record["corpus"]["sha256"] == hashlib.sha256(corpus.read_bytes()).hexdigest()
    assert record["statistics"] == {"documents": 2, "postings": 5, "tokens": 5}  # fruit red apple, green apple
    assert record["implementation"]["command"] == "how it was made"
    assert verify_index(tmp_path / "index") == []


@pytest.mark.lucene
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (['{"id": "1"'], "c.jsonl, line 2: not JSON"),
        ([{"id": "0", "text": "again"}], "c.jsonl, line 2: id '0' comes a second time"),
        ([{"id": "1"}], "c.jsonl, line 2: no field 'text'"),
    ],
)
def test_an_invalid_document_stops_it_with_file_and_line_and_leaves_nothing(tmp_path, rows, message):
    corpus = jsonl(tmp_path / "c.jsonl", {"id": "0", "text": "fine"}, *rows)
    with pytest.raises(ToolkitError) as error:
        build_index(corpus_from_files(corpus), tmp_path / "index")
    assert message in error.value.message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.jsonl"]


@pytest.mark.lucene
def test_skip_invalid_counts_and_says_what_it_leaves_out(tmp_path, capsys):
    rows = [{"id": "0", "text": "fine"}, "nonsense", {"id": "0", "text": "again"}, {"id": "2", "text": "fine"}]
    counts = build_index(corpus_from_files(jsonl(tmp_path / "c.tsv", *rows)), tmp_path / "index", skip_invalid=True)
    assert (counts.documents, counts.skipped) == (2, 2)
    said = capsys.readouterr().err
    assert "line 2: not JSON" in said
    assert "line 3: id '0' comes a second time" in said


@pytest.mark.lucene
def test_lines_that_go_through_as_they_are_are_checked_for_second_ids_too(tmp_path):
    rows = [{"id": str(number % 700), "contents": "x" * 999} for number in range(1000)]
    with pytest.raises(ToolkitError, match=r"line 701: id '0' comes a second time"):
        build_index(corpus_from_files(jsonl(tmp_path / "c.jsonl", *rows)), tmp_path / "index")
    counts = build_index(corpus_from_files(tmp_path / "c.jsonl"), tmp_path / "index", skip_invalid=True)
    assert (counts.documents, counts.skipped) == (700, 300)


@pytest.mark.lucene
def test_an_empty_corpus_is_an_error(tmp_path):
    with pytest.raises(ToolkitError, match="has no documents to index"):
        build_index(corpus_from_docs("nothing", []), tmp_path / "index")
    assert not (tmp_path / "index").exists()


@pytest.mark.lucene
def test_fewer_documents_than_threads(tmp_path):
    assert build_index(corpus_from_docs("two", DOCS[:2]), tmp_path / "index", threads=6).documents == 2
    assert is_index(tmp_path / "index")


@pytest.mark.lucene
def test_an_error_of_the_source_ends_indexing_and_comes_through(tmp_path):
    def docs():
        yield from (Doc(str(number), "", "text") for number in range(10_000))
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        build_index(corpus_from_docs("bad", docs()), tmp_path / "index")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.lucene
def test_verify_names_changed_missing_and_foreign_files(tmp_path):
    index = tmp_path / "index"
    build_index(corpus_from_docs("two", DOCS[:2]), index, threads=1)
    shutil.copytree(index, tmp_path / "copy")
    (index / "_0.fdt").write_bytes(b"other")
    (index / "_0.nvd").unlink()
    (index / "notes").touch()
    assert verify_index(index) == ["_0.nvd: missing", "notes: not part of the index", "_0.fdt: changed"]
    assert verify_index(tmp_path / "copy") == []


@pytest.mark.lucene
def test_a_second_building_meets_the_content_digest(tmp_path):
    found = []
    for threads in (1, 3):
        build_index(corpus_from_docs("all", DOCS), tmp_path / "index", threads=threads)
        record = read_index_record(tmp_path / "index")
        found.append((record["corpus"], record["statistics"]))
    assert found[0] == found[1]


@pytest.mark.lucene
def test_a_record_of_other_types_is_no_traceback(tmp_path):
    corpus = jsonl(tmp_path / "c.jsonl", *({"id": doc.doc_id, "title": doc.title, "text": doc.text} for doc in DOCS))
    build_index(corpus_from_files(corpus), tmp_path / "index")
    path = tmp_path / "index" / "tandem.yaml"
    record = yaml.safe_load(path.read_text(encoding="utf-8"))
    for key, value, problems in (
        ("words", {"LATIN": "kiwi"}, ["LATIN: the record does not say which word of which document"]),
        ("words", ["kiwi"], []),
        ("corpus", "fruit", []),
        ("statistics", [1], ["documents: 2, recorded None", "postings: 5, recorded None", "tokens: 5, recorded None"]),
    ):
        path.write_text(yaml.safe_dump(record | {key: value}), encoding="utf-8")
        assert verify_index(tmp_path / "index") == problems
