"""BM25 and RM3 runs are those of Anserini's SearchCollection, line by line."""

from pathlib import Path

import pytest

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.topics import Topic
from toolkit.files.formats import read_topics, write_run, write_topics
from toolkit.models.lucene.anserini import Searcher, analyzer, languages
from toolkit.models.lucene.jvm import java_class
from toolkit.models.lucene.stored_texts import StoredTexts
from toolkit.retrieval.index import build_index, corpus_from_docs, corpus_from_files

pytestmark = pytest.mark.lucene

SHARED = Path(__file__).resolve().parents[3] / "shared"
VASWANI = SHARED / "data" / "vaswani"
needs_vaswani = pytest.mark.skipif(not VASWANI.exists(), reason="no Vaswani collection beside the checkout")


@pytest.fixture(scope="module")
def vaswani(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vaswani")
    build_index(corpus_from_files(VASWANI / "corpus.jsonl"), folder / "index")
    topics = read_topics(VASWANI / "topics.trec")
    write_topics(topics, folder / "topics.tsv", "tsv")
    return folder, topics


def lines(path):
    """The first five columns of a run's lines."""
    return [line.split()[:5] for line in path.read_text().splitlines()]


def search_collection(index, topics, output, *options):
    """What Anserini itself makes of the same index and topics."""
    arguments = ["-index", index, "-topics", topics, "-topicReader", "TsvString", "-output", output, "-bm25", *options]
    java_class("io.anserini.search.SearchCollection").main(list(map(str, arguments)))
    return sorted(lines(output))


def ours(searcher, topics, output, **options):
    write_run(searcher.search(topics, **options), output, decimals=6, ties="file")
    return sorted(lines(output))


@needs_vaswani
def test_vaswani_is_the_golden_run(vaswani, tmp_path):
    folder, topics = vaswani
    write_run(Searcher(folder / "index").search(topics, hits=20), tmp_path / "run", decimals=6, ties="file")
    assert lines(tmp_path / "run") == lines(SHARED / "golden/systems/vaswani.bm25.top20.trec")


@needs_vaswani
@pytest.mark.parametrize(
    ("parameters", "options"),
    [
        ({}, []),
        ({"k1": 1.2, "b": 0.75}, ["-bm25.k1", "1.2", "-bm25.b", "0.75"]),
        ({"rm3": True}, ["-rm3", "-collection", "JsonCollection"]),
    ],
)
def test_whole_runs_are_those_of_search_collection(vaswani, tmp_path, parameters, options):
    folder, topics = vaswani
    expected = search_collection(folder / "index", folder / "topics.tsv", tmp_path / "theirs", *options)
    assert len(expected) > 80_000
    assert ours(Searcher(folder / "index", **parameters), topics, tmp_path / "ours", threads=2) == expected


@needs_vaswani
def test_the_number_of_threads_changes_nothing(vaswani, tmp_path):
    folder, topics = vaswani
    runs = [tmp_path / str(threads) for threads in (1, 2, 5)]
    for path in runs:
        write_run(Searcher(folder / "index").search(topics, threads=int(path.name)), path)
    assert len({path.read_bytes() for path in runs}) == 1


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Documents of several scripts, and some that score the same."""
    folder = tmp_path_factory.mktemp("small")
    texts = {
        "b": "red apple",
        "a": "red apple",
        "c": "red apple",
        "ru": "красное яблоко",
        "fa": "سیب قرمز",
        "zh": "红苹果",
        "old": "\U00010330\U00010331 gothic letters",
        "long": " ".join(f"word{number}" for number in range(2000)),
        "x": 'c plus plus (a+b) AND "quoted" field:value /path*',
    }
    build_index(corpus_from_docs("small", (Doc(doc_id, "", text) for doc_id, text in texts.items())), folder / "index")
    return folder


def found(folder, text, **options):
    run = Searcher(folder / "index").search([Topic("q", text)], **options)
    return [(doc.doc_id, f"{doc.score:.6f}") for doc in run.to_dict() and next(run.rankings())[1]]


def test_equal_scores_rank_by_document_id_ascending_and_differ_by_a_millionth(small):
    (first, score), (second, lower), (third, lowest) = found(small, "red")
    assert [first, second, third] == ["a", "b", "c"]
    assert [round((float(score) - float(other)) * 1e6) for other in (lower, lowest)] == [1, 2]


def test_ties_at_the_cut_are_decided_by_document_id(small):
    assert [doc_id for doc_id, _ in found(small, "red", hits=2)] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "doc_id"),
    [("яблоко", "ru"), ("قرمز", "fa"), ("苹果", "zh"), ("\U00010330\U00010331", "old"), ("gothic \U0001f600", "old")],
)
def test_queries_of_any_script_find_their_document(small, text, doc_id):
    assert [found for found, _ in found(small, text)] == [doc_id]


@pytest.mark.parametrize("text", ['(a+b) "quoted" field:value AND /path*', "quoted\\", "path? ~ ^ [] {} ! && ||"])
def test_special_characters_are_no_syntax(small, text):
    assert [doc_id for doc_id, _ in found(small, text)] == ["x"]


def test_a_query_of_2000_distinct_terms_is_searched_whole(small, tmp_path):
    text = " ".join(f"word{number}" for number in range(2000))
    short = Searcher(small / "index").search([Topic("q", "word0")]).scores[0]
    whole = Searcher(small / "index").search([Topic("q", text)]).scores[0]
    assert whole == pytest.approx(2000 * short, rel=1e-3)


def test_equal_texts_get_equal_lines_in_the_order_of_the_topics(small):
    run = Searcher(small / "index").search([Topic("q2", "red"), Topic("q0", "nothing"), Topic("q1", "red")])
    assert run.query_ids == ("q2", "q1")
    by_query = run.to_dict()
    assert by_query["q2"] == by_query["q1"]
    assert len(run) == 6


@pytest.mark.parametrize("text", ["", "   ", "the of and", "?!"])
def test_a_query_without_terms_finds_nothing(small, text):
    assert found(small, text) == []


def test_an_unknown_language_is_an_error_and_the_known_ones_have_analyzers():
    assert {"en", "fa", "ru", "zh"} <= set(languages())
    assert analyzer("fa").getClass().getName() == "org.apache.lucene.analysis.fa.PersianAnalyzer"
    with pytest.raises(ToolkitError, match="no analyzer for language 'xx'") as error:
        analyzer("xx")
    assert "zh" in error.value.hint


def test_a_folder_without_an_index_is_an_error(tmp_path):
    with pytest.raises(ToolkitError, match="is no Lucene index"):
        Searcher(tmp_path)


def test_texts_beyond_the_basic_plane_are_anserinis(small, tmp_path):
    (tmp_path / "topics.tsv").write_text("1\t\U00010330\U00010331 letters\n", encoding="utf-8")
    expected = search_collection(small / "index", tmp_path / "topics.tsv", tmp_path / "theirs")
    assert [line[2] for line in expected] == ["old"]
    assert ours(Searcher(small / "index"), [Topic("1", "\U00010330\U00010331 letters")], tmp_path / "ours") == expected


def test_stored_texts_come_back_as_they_were(tmp_path):
    docs = [
        Doc("1", "", "no title"),
        Doc("2", "A title", 'with "quotes" \\ and \U0001f600\n new lines'),
        Doc("3", "only title", ""),
    ]
    build_index(corpus_from_docs("small", docs), tmp_path / "index", threads=1)
    assert sorted(StoredTexts(tmp_path / "index")) == docs
