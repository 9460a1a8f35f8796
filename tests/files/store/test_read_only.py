"""Caches that one may not write, another user's or a published one: read as they are, and nothing beside them is touched."""

import json
import os

import pytest
from command import powerless, process, read_only
from endpoint import Script, serving

from toolkit.core.errors import ToolkitError
from toolkit.files.store.keyed_cache import KeyedCache

NAME = "infosearch-mini-audience-ins"
STATEMENTS = [{"query_id": "q1", "query": "Cats?", "perspectives": ["Yes.", "No."]}]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The working folder; TANDEM_HOME is `home` in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TANDEM_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path


@pytest.fixture
def sealed(tmp_path):
    """Takes the right to write away from a folder; it is given back in the end, so that pytest can remove it."""
    sealed = []

    def seal(folder):
        sealed.append(folder)
        read_only(folder)
        return listing(folder)

    yield seal
    for folder in sealed:
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755)


def listing(folder):
    """All files with their bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def unwritable(monkeypatch):
    """Nothing may be written, in this process."""
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and allowed(path, mode))


def put(path, wal=False):
    cache = KeyedCache(path, "scores", "one")
    cache.put({b"a": b"1", b"b": b"2"})
    if not wal:
        cache.close()
    return cache


def test_a_cache_that_may_not_be_written_is_read_and_left_alone(tmp_path, unwritable):
    put(tmp_path / "scores.sqlite")
    before = listing(tmp_path)
    cache = KeyedCache(tmp_path / "scores.sqlite", "scores", "one")
    assert cache.get([b"a", b"c"]) == {b"a": b"1"}
    with pytest.raises(ToolkitError, match=r"scores.sqlite: the scores cached there cannot be written \(attempt to write a"):
        cache.put({b"c": b"3"})
    cache.close()
    assert listing(tmp_path) == before


def test_entries_of_another_identity_are_not_taken_from_it(tmp_path, unwritable):
    put(tmp_path / "scores.sqlite")
    assert KeyedCache(tmp_path / "scores.sqlite", "scores", "other").get([b"a"]) == {}


def test_what_its_writer_has_just_put_is_read_too(tmp_path, unwritable):
    writer = put(tmp_path / "scores.sqlite", wal=True)
    assert (tmp_path / "scores.sqlite-wal").stat().st_size
    reader = KeyedCache(tmp_path / "scores.sqlite", "scores", "one")
    assert reader.get([b"a"]) == {b"a": b"1"}
    reader.close()
    writer.close()


@pytest.mark.parametrize("home", ["theirs", "ours"])
@pytest.mark.process
def test_a_judgment_is_replayed_from_a_home_that_may_not_be_written(place, sealed, home):
    (place / "topics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in STATEMENTS))
    (place / "docs.jsonl").write_text('{"id": "d1", "contents": "Cats it is."}\n')
    (place / "run.trec").write_text("q1 Q0 d1 1 1 bm25\n")
    what = ("run.trec", "--judge", "gpt-4-0613-judge", "--topics", "topics.jsonl", "--docs", "docs.jsonl")
    with serving(Script(lambda messages: "Yes")) as script:
        environment = {**os.environ, "OPENAI_BASE_URL": script.base}
        assert process("judge", *what, "--output", "asked.txt", env=environment).returncode == 0
        before = sealed(place / "home")
        done = powerless("judge", *what, "--replay", "--output", "replayed.txt", env=environment)
        assert (done.returncode, len(script.bodies)) == (0, 2), done.stderr
    assert (place / "replayed.txt").read_bytes() == (place / "asked.txt").read_bytes()
    assert listing(place / "home") == before


@pytest.mark.lucene
@pytest.mark.process
def test_what_is_there_is_searched_evaluated_and_reranked_and_what_is_not_is_one_error(place, sealed):
    docs = "".join(json.dumps({"id": f"d{number}", "contents": f"red pear {number}"}) + "\n" for number in range(3))
    (place / "docs.jsonl").write_text(docs)
    (place / "topics.tsv").write_text("q1\tred\n")
    assert process("index", "docs.jsonl", "--output", "home/index").returncode == 0
    before = sealed(place / "home")
    for number, line in enumerate(
        (
            ("search", "--topics", "topics.tsv", "--index", "home/index", "--output", "run.trec"),
            ("search", "--topics", NAME, "--output", "mini.trec", "--hits", "10"),
            ("evaluate", "mini.trec", "--benchmark", "infosearch-mini-audience-ins", "-m", "nDCG@10"),
            ("fuse", "run.trec", "run.trec", "--output", "both.trec"),
            ("runs", "verify", "run.trec"),
        )
    ):
        done = powerless(*line)
        assert done.returncode == 0, (number, done.stderr)
    assert listing(place / "home") == before
    fields = ("search", "--topics", NAME, "--system", "bm25", "--recipe", "instructir", "--output", "fields.trec")
    done = powerless(*fields)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-2:] == [
        f"error: cannot write into {place / 'home'}: permission denied",
        "hint:  set TANDEM_HOME to a folder of yours",
    ]


@pytest.mark.model
@pytest.mark.process
def test_a_run_is_reranked_with_a_home_that_may_not_be_written(place, sealed):
    import tiny

    tiny.tiny_bert(place / "home" / "mine", "BertForSequenceClassification", num_labels=1)
    (place / "topics.tsv").write_text("q1\tred\n")
    (place / "docs.jsonl").write_text('{"id": "d1", "contents": "red pear"}\n{"id": "d2", "contents": "blue plum"}\n')
    (place / "run.trec").write_text("q1 Q0 d1 1 2 bm25\nq1 Q0 d2 2 1 bm25\n")
    before = sealed(place / "home")
    what = ("--run", "run.trec", "--topics", "topics.tsv", "--docs", "docs.jsonl", "--system", "home/mine")
    done = powerless("rerank", *what, "--kind", "cross-encoder", "--output", "again.trec")
    assert done.returncode == 0, done.stderr
    assert len((place / "again.trec").read_text().splitlines()) == 2
    assert listing(place / "home") == before
