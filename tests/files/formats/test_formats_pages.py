"""Saved pages as documents, and documents cut into passages."""

import json
import multiprocessing

import pytest
from command import ROOT

from toolkit.core.documents import Doc
from toolkit.core.errors import MissingExtra, ToolkitError
from toolkit.files.texts import pages
from toolkit.files.texts.corpus import read_corpus
from toolkit.files.texts.documents import corpus_from_docs, corpus_from_files, passages, split_corpus
from toolkit.files.texts.pages import page_text

STORY = "<p>" + "A tax on carbon lowers emissions, and it is paid by all. " * 6 + "</p>"
PAGE = (
    "<html><head><title>Carbon &amp; tax</title><script>var hidden = '<p>nothing</p>';</script>"
    "<style>p {color: red}</style></head><body><nav><a href='/'>Home</a> <a href='/about'>About</a></nav>"
    f"<article><h2>Why</h2>{STORY}{STORY}</article></body></html>"
)


def corpus(folder, rows):
    path = folder / "pages.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return corpus_from_files(path)


def test_a_page_is_its_article_without_scripts_and_navigation():
    title, text = page_text(PAGE)
    assert title == "Carbon & tax"
    assert text.startswith("## Why")
    assert text.count("A tax on carbon") == 12
    assert not any(word in text for word in ("hidden", "color", "About"))


@pytest.mark.parametrize(
    ("html", "words"),
    [
        ("", 0),
        ("<!-- nothing -->", 0),
        ("<script>var x = 1;</script>", 0),
        ("<frameset><frame src=x></frameset>", 0),
        ("only words", 2),
        ("<div>" * 2000 + STORY, 72),  # deeper than any reader of trees wants to go
        ("<b>" * 3000 + "deep", 0),
        ("<p " + " ".join(f"a{n}=x" for n in range(20_000)) + ">" + STORY, 72),  # compared pair by pair: minutes
        ("<a" * 20_000, 0),
        ("<a href='" * 5_000, 0),
        ("<!--" * 20_000, 0),
        ("<?xml version='1.0' encoding='iso-8859-1'?><html><body>" + STORY, 72),
        (STORY.replace("carbon", "car\0bon"), 72),
        (STORY.replace("carbon", "carb\ud800n"), 72),  # half a surrogate pair
        (STORY.replace("carbon", "\u00c3\u00a9\ufffd\x08"), 72),  # broken encodings
        (STORY.replace("carbon", "&#99999999999;&#xD800;&bogus;"), 72),
        ("<table><tr><td colspan='9999999999999999999'>cell</table>" + STORY, 72),
    ],
)
def test_hostile_pages_give_what_text_they_have(html, words):
    assert len(page_text(html)[1].split()) == words


def test_pages_get_ids_titles_and_are_counted(tmp_path):
    read = corpus(
        tmp_path,
        [
            {"query_id": "q1", "url": "u", "html": PAGE},
            {"question_id": 2, "url": "v", "html": None},
            {"query_id": "q1", "id": "mine", "title": "My title", "html": PAGE},
            {"query_id": "q1", "html": PAGE},
        ],
    )
    assert [(doc.doc_id, doc.title) for doc in read.documents()] == [
        ("q1-1", "Carbon & tax"),
        ("mine", "My title"),
        ("q1-3", "Carbon & tax"),
    ]
    facts = read.facts()
    assert (facts["pages"], facts["pages without text"], facts["pages read in part"]) == (4, 1, 0)


def test_a_page_beyond_the_limit_is_read_in_part_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "MOST", 120)
    read = corpus(tmp_path, [{"query_id": "q", "html": f"<p>{'word ' * 100}"}])
    [doc] = read.documents()
    assert len(doc.text.split()) < 25
    assert read.facts()["pages read in part"] == 1


@pytest.mark.process
def test_any_number_of_processes_reads_the_same(tmp_path):
    rows = [{"query_id": f"q{n % 3}", "html": PAGE.replace("carbon", f"carbon{n}") * (n % 4)} for n in range(9)]
    rows[4:4] = [{"text": "no page"}, {"query_id": "q", "html": "half \ud800 a pair"}]
    for name in ("a", "b"):  # several files have one reader
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({**row, "query_id": name}) + "\n" for row in rows))
    alone, together = corpus_from_files(tmp_path), corpus_from_files(tmp_path, processes=2)
    found = list(alone.documents())
    assert found == list(together.documents())
    assert len(found) == 2 * (len(rows) - 3)
    assert alone.facts() == together.facts()


@pytest.mark.process
def test_a_process_that_is_ended_is_said(tmp_path):
    (tmp_path / "pages.jsonl").write_text(json.dumps({"query_id": "q", "html": PAGE}) + "\n")

    def batches():
        yield from read_corpus(tmp_path / "pages.jsonl")
        for process in multiprocessing.active_children():  # which have begun and not ended
            process.kill()

    with (
        pages.page_reader({}, processes=2) as reader,
        pytest.raises(ToolkitError, match="a process that reads pages has ended"),
    ):
        list(reader.read(batches()))


def test_without_the_libraries_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "readability", None)
    with pytest.raises(MissingExtra) as caught:
        page_text(PAGE)
    assert caught.value.hint == f"pip install -e '{ROOT}[web]'"


def test_a_corpus_without_pages_says_nothing_of_them(tmp_path):
    read = corpus(tmp_path, [{"id": "a", "text": "b"}])
    assert list(read.documents()) == [Doc("a", "", "b")]
    assert set(read.facts()) == {"name", "files", "sha256"}


def test_a_row_of_a_question_needs_no_id_and_any_other_does(tmp_path):
    assert [doc.doc_id for doc in corpus(tmp_path, [{"query_id": "q", "text": "b"}] * 2).documents()] == ["q-1", "q-2"]
    with pytest.raises(ToolkitError, match=r"line 1: no field 'id' \(or '_id'\)"):
        list(corpus(tmp_path, [{"text": "b"}]).documents())


@pytest.mark.parametrize(
    ("text", "found"), [("a b\nc\td  e", ["a b", "c d", "e"]), ("a b", ["a b"]), ("a\u00a0b c", ["a b", "c"]), ("", [""])]
)
def test_passages_are_runs_of_words(text, found):
    assert list(passages(Doc("d", "T", text), 2)) == [Doc(f"d#{number}", "T", part) for number, part in enumerate(found)]


def test_a_split_corpus_counts_documents_and_keeps_problems(tmp_path):
    read = split_corpus(corpus(tmp_path, [{"id": "a", "text": "one two three"}, {"id": "b", "text": "four"}]), 2)
    assert [(doc.doc_id, doc.text) for doc in read.documents()] == [("a#0", "one two"), ("a#1", "three"), ("b#0", "four")]
    assert (read.facts()["split"], read.facts()["documents cut"]) == (2, 2)
    with pytest.raises(ToolkitError, match=r"line 1: no field 'text'"):
        list(split_corpus(corpus(tmp_path, [{"id": "a"}]), 2).documents())
    with pytest.raises(ToolkitError, match="passages of 0 words"):
        split_corpus(corpus_from_docs("x", []), 0)
