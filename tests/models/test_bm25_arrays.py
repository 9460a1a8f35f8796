"""BM25 by arrays beside an index is Lucene's, line by line."""

import json
import random
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.topics import Topic
from toolkit.files.formats.indexes import BM25_ARRAYS
from toolkit.files.texts.documents import corpus_from_docs
from toolkit.models.lucene import bm25_arrays
from toolkit.models.lucene.bm25_arrays import NAMES, Bm25Arrays, open_arrays
from toolkit.retrieval.index import build_index, read_index_record, verify_index

LENGTHS = [*range(1, 60), 300, 3000]
WORDS = [f"word{number}" for number in range(300)] + ["naïve", "𠮷野家", "数据", "😀", "İstanbul", "running"]


def docs_of(random_: random.Random, count: int, words: list[str]) -> list[Doc]:
    """Documents of different lengths, few of them frequent, so that many scores are tied; one in 50 has no word."""
    texts = (
        " ".join(random_.choices(words, [1 / n for n in range(1, len(words) + 1)], k=random_.choice(LENGTHS)))
        for _ in range(count)
    )
    ids = random_.sample([f"{'abü'[n % 3]}{n}" for n in range(count)], count)
    return [Doc(doc_id, "", "the of" if n % 50 == 0 else text) for n, (doc_id, text) in enumerate(zip(ids, texts, strict=True))]


def index_of(folder: Path, docs: list[Doc], **how) -> Path:
    build_index(corpus_from_docs("generated", docs), folder, **how)
    return folder


def both(index: Path, queries: list[str], hits: int, **how) -> tuple[list, list]:
    """The rankings by arrays and by Lucene."""
    from toolkit.models.lucene.anserini import Searcher

    topics = [Topic(f"q{number}", text) for number, text in enumerate(queries)]
    ours, theirs = Searcher(index, **how), Searcher(index, arrays=False, **how)
    assert ours._arrays is not None
    return tuple(list(searcher.search(topics, hits=hits, threads=2).rankings()) for searcher in (ours, theirs))


@pytest.mark.lucene
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_runs_are_lucenes_line_by_line(tmp_path, seed):
    random_ = random.Random(seed)
    words = random_.sample(WORDS, len(WORDS))
    # shards: a merged index; two threads: several segments
    how = {"shard_size": 300} if seed == 1 else {"threads": 2}
    index = index_of(tmp_path / "index", docs_of(random_, 800, words), **how)
    assert verify_index(index) == []
    queries = [" ".join(random_.choices(words, k=random_.randint(1, 20))) for _ in range(60)]
    queries += ["", "the of", "nowhere", " ".join([words[0]] * 7), " ".join(words * 3), " ".join(f"w{n}" for n in range(2000))]
    queries += [*words[:5], queries[0], "a\nb " + words[1]]
    for hits in (1, 7, 100, 5000):
        ours, theirs = both(index, queries, hits)
        assert ours == theirs
    assert len(ours) > 60


@pytest.mark.lucene
def test_equal_documents_rank_by_id_as_lucene_has_them(tmp_path):
    ids = [f"{letter}{n}" for n in range(40) for letter in "bAéa𠮷"]
    index = index_of(tmp_path / "index", [Doc(doc_id, "", "one text for all") for doc_id in ids])
    ours, theirs = both(index, ["text", "one text", "all all one"], 30)
    assert ours == theirs
    assert [doc.doc_id for doc in ours[0][1]] == sorted(ids)[:30]


@pytest.mark.lucene
def test_other_parameters_filters_and_rm3_are_lucenes(tmp_path):
    from toolkit.models.lucene.anserini import Searcher

    index = index_of(tmp_path / "index", docs_of(random.Random(0), 200, WORDS))
    for how in ({"k1": 1.2}, {"b": 0.75}, {"rm3": True}):
        assert Searcher(index, **how)._arrays is None
    topics, candidates = [Topic("q", "word1 word2 word3")], {"q": ["a3", "a6", "b1"]}
    runs = [Searcher(index, arrays=own).search(topics, candidates=candidates) for own in (True, False)]
    assert list(runs[0].rankings()) == list(runs[1].rankings())


@pytest.mark.lucene
def test_sums_that_may_not_be_exact_are_lucenes(tmp_path, monkeypatch):
    index = index_of(tmp_path / "index", docs_of(random.Random(0), 200, WORDS))
    monkeypatch.setattr(bm25_arrays, "EXACT", 1.5)
    monkeypatch.setattr(Bm25Arrays, "best", None)  # not called
    ours, theirs = both(index, ["word1 word2 word3"], 10)
    assert ours == theirs != []


@pytest.mark.lucene
def test_damaged_arrays_are_an_error_and_without_them_lucene_searches(tmp_path):
    from toolkit.models.lucene.anserini import Searcher

    index = index_of(tmp_path / "index", docs_of(random.Random(0), 200, WORDS))
    assert {*NAMES.values(), BM25_ARRAYS} <= read_index_record(index)["files"].keys()
    expected, _ = both(index, ["word1 word2"], 10)
    (index / NAMES["docs"]).write_bytes((index / NAMES["docs"]).read_bytes()[:-4])
    with pytest.raises(ToolkitError, match=r"arrays for BM25 in .* are damaged"):
        Searcher(index)
    for name in (*NAMES.values(), BM25_ARRAYS):
        (index / name).unlink()
    assert list(Searcher(index).search([Topic("q0", "word1 word2")], hits=10).rankings()) == expected


@pytest.mark.lucene
def test_arrays_are_the_same_whatever_the_number_of_threads(tmp_path):
    from toolkit.models.lucene.postings import make_arrays

    index = index_of(tmp_path / "index", docs_of(random.Random(0), 60, WORDS), threads=2)
    first = {path.name: path.read_bytes() for path in index.glob("bm25.*")}
    for number in range(50):
        for name in first:
            (index / name).unlink()
        assert make_arrays(index, threads=number % 5 + 1) == ""
        assert {path.name: path.read_bytes() for path in index.glob("bm25.*")} == first


@pytest.mark.lucene
def test_deleted_documents_leave_an_index_without_arrays(tmp_path, monkeypatch):
    from toolkit.models.lucene import jvm
    from toolkit.models.lucene.anserini import among_ids, open_directory
    from toolkit.models.lucene.postings import make_arrays

    index = tmp_path / "index"
    docs = docs_of(random.Random(0), 200, WORDS)
    build_index(corpus_from_docs("generated", docs), index)
    files = {path.name for path in index.iterdir() if not path.name.startswith("bm25")}
    assert open_arrays(index, 0.9, 0.4) is not None
    assert "FileAlreadyExists" in make_arrays(index)  # Lucene writes no file that is there already
    assert files == {path.name for path in index.iterdir()}
    assert make_arrays(index) == ""
    for name in {path.name for path in index.iterdir()} - files:
        (index / name).unlink()
    writer = jvm.java_class("org.apache.lucene.index.IndexWriter")(
        open_directory(index), jvm.java_class("org.apache.lucene.index.IndexWriterConfig")()
    )
    writer.deleteDocuments(among_ids([docs[3].doc_id]))
    writer.close()
    assert make_arrays(index) == "its scores would not be Lucene's"
    assert not [path.name for path in index.iterdir() if path.name.startswith("bm25")]


@pytest.mark.lucene
def test_queries_that_were_analyzed_once_are_searched_without_a_jvm(tmp_path, home, monkeypatch):
    from toolkit.models.lucene import anserini, jvm

    index = index_of(tmp_path / "index", docs_of(random.Random(0), 200, WORDS))
    assert not (home / "analyzed.sqlite").exists()  # the sample that both ways are compared by is nobody's query
    queries = ["word1 words2 naïve", "the of", "", "İSTANBUL running"]
    ours, theirs = both(index, queries, 10)
    assert ours == theirs

    def nothing(*args, **kwargs):
        raise AssertionError("the JVM was asked")

    monkeypatch.setattr(jvm, "static", nothing)
    monkeypatch.setattr(anserini, "java_class", nothing)
    topics = [Topic(f"q{number}", text) for number, text in enumerate(queries)]
    assert list(anserini.Searcher(index).search(topics, hits=10).rankings()) == ours
    for how, new in (({}, [Topic("q0", "word4")]), ({"language": "ru"}, topics)):
        with pytest.raises(AssertionError, match="the JVM was asked"):
            anserini.Searcher(index, **how).search(new)


@pytest.mark.lucene
def test_queries_are_analyzed_again_where_nothing_can_be_cached_and_by_another_version(tmp_path, home, monkeypatch, capsys):
    from toolkit.models.lucene import jvm

    index = index_of(tmp_path / "index", docs_of(random.Random(0), 200, WORDS))
    monkeypatch.setenv("TANDEM_HOME", str(index / "tandem.yaml"))  # a file: nothing can be made in it
    ours, theirs = both(index, ["word1 word2"], 10)
    assert ours == theirs != []
    monkeypatch.setenv("TANDEM_HOME", str(home))
    both(index, ["word1 word2"], 10)
    monkeypatch.setattr(jvm, "described", lambda: "another version")
    capsys.readouterr()
    assert both(index, ["word1 word2"], 10)[0] == ours
    assert "analyzed.sqlite were computed with other settings: recomputed" in capsys.readouterr().err


def test_sums_are_exact_while_weights_are_of_one_size():
    exact = partial(Bm25Arrays.is_exact, None)
    assert exact({})
    assert exact({1: np.float32(9.0), 2: np.float32(1e-6)})
    assert not exact({1: np.float32(9.0), 2: np.float32(1e-8)})


def test_arrays_for_another_k1_are_not_opened(tmp_path):
    (tmp_path / BM25_ARRAYS).write_text(json.dumps({"format": 1, "k1": 1.2, "b": 0.4}))
    assert open_arrays(tmp_path, 0.9, 0.4) is None
    (tmp_path / BM25_ARRAYS).write_text(json.dumps({"format": 2, "k1": 0.9, "b": 0.4}))
    assert open_arrays(tmp_path, 0.9, 0.4) is None
