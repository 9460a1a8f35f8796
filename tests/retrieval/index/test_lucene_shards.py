"""A Lucene index merged of shards is the one of a single build: statistics, record and every run, digit for digit."""

import itertools
import json
import random

import pytest
from command import tandem
from workers import HereExecutor

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.topics import Topic
from toolkit.datasets import load
from toolkit.files.formats import write_run
from toolkit.files.formats.indexes import read_index_record
from toolkit.jobs.encode_jobs import IndexJob
from toolkit.retrieval.index import build_index, corpus_from_docs, corpus_from_files, verify_index
from toolkit.retrieval.index.lucene_shards import IndexShards, Lines
from toolkit.retrieval.index.shard_folder import shards_beside
from toolkit.retrieval.search import search

pytestmark = pytest.mark.lucene


@pytest.fixture(autouse=True)
def same_process(monkeypatch, home):
    monkeypatch.setattr("toolkit.engine.worker.settle", lambda settings: None)


def record_of(folder):
    """What a record says of an index, however its files came about."""
    record = read_index_record(folder)
    return {name: record[name] for name in record.keys() - {"files", "implementation"}}


def run_bytes(place, index, topics, name, **how):
    path = place / f"{index.name}.{name}.trec"
    write_run(search(topics, index, tag="t", **how), path)
    return path.read_bytes()


def build(output, corpus, executor=None, **how):
    """By an engine in a job, as the commands do."""
    if executor is None:
        return build_index(corpus, output, **how)
    with executor.job(output):
        return build_index(corpus, output, **how, executor=executor)


@pytest.mark.parametrize(("benchmark", "group"), [("infosearch-mini", "audience"), ("mfollowir-mini", None)])
def test_a_mini_s_runs_are_those_of_one_build(tmp_path, benchmark, group):
    loaded = load(benchmark)
    for each in [group] if group else [name for name in loaded.groups if not name.startswith("cross")]:
        language = loaded.spec.group(each).get("language", "en")
        topics = [topic for mode in loaded.spec.modes for topic in loaded.topics(each, mode)]
        docs = list(loaded.docs(each))
        one, shards = tmp_path / f"{each}-one", tmp_path / f"{each}-shards"
        build(one, corpus_from_docs("c", docs), language=language)
        executor = HereExecutor(2)
        build(shards, corpus_from_docs("c", docs), executor, language=language, shard_size=len(docs) // 7)
        assert executor.units >= 7
        assert record_of(one) == record_of(shards)
        assert verify_index(shards) == []
        for how in ({}, {"rm3": True}, {"hits": 3}):
            runs = [run_bytes(tmp_path, index, topics, "r", language=language, **how) for index in (one, shards)]
            assert runs[0] == runs[1]
            assert len(runs[0]) > 1000


WORDS = [f"word{number}" for number in range(300)]


def generated(count):
    """Documents of a skewed vocabulary; every tenth is another one's text under another id, so that scores tie."""
    chosen, texts = random.Random(7), []
    for number in range(count):
        again = number % 10 == 9
        words = chosen.choices(WORDS, [1 / (rank + 1) for rank in range(300)], k=chosen.randint(3, 40))
        texts.append(texts[chosen.randrange(number)] if again else " ".join(words))
    ids = [f"{number:x}" for number in chosen.sample(range(10**6), count)]
    titles = ["Title" if number % 3 else "" for number in range(count)]
    return list(map(Doc, ids, titles, texts))


def test_ten_thousand_documents_with_ties_give_the_run_of_one_build(tmp_path):
    docs = generated(10_000)
    topics = [Topic(f"q{number}", " ".join(random.Random(number).choices(WORDS, k=3))) for number in range(25)]
    build(tmp_path / "one", corpus_from_docs("c", docs), threads=2)
    executor = HereExecutor(3, lost=[4])
    build(tmp_path / "shards", corpus_from_docs("c", docs), executor, shard_size=900)
    assert executor.units == 13, "twelve shards, one of which was lost"
    assert record_of(tmp_path / "one") == record_of(tmp_path / "shards")
    for name, how in (("bm25", {}), ("ten", {"hits": 10}), ("rm3", {"rm3": True, "hits": 100}), ("b", {"k1": 1.2, "b": 0.75})):
        runs = [run_bytes(tmp_path, tmp_path / index, topics, name, **how) for index in ("one", "shards")]
        assert runs[0] == runs[1]
    assert tied(runs[0]) > 1000, "documents of equal score, whose order is that of their ids"
    candidates = {topic.query_id: [doc.doc_id for doc in docs[place::50]] for place, topic in enumerate(topics)}
    runs = [run_bytes(tmp_path, tmp_path / index, topics, "c", candidates=candidates) for index in ("one", "shards")]
    assert runs[0] == runs[1]


def tied(run):
    """Lines whose score is a step of 1e-6 below the one before."""
    scores = [float(line.split()[4]) for line in run.decode().splitlines()]
    return sum(0 < before - after < 3e-6 for before, after in itertools.pairwise(scores))


FORMS = {
    "anserini": (
        '{"id": "a", "contents": "été one"}',
        '{"id": "b", "contents": "two \\u2028 three"}',
        '{"id":"c","contents":"four"}',
    ),
    "fields": ('{"_id": 1, "title": "A", "text": "one two"}', '{"_id": 2, "text": " "}', '{"_id": 3, "text": "three"}'),
    "tsv": ("id\ttitle\ttext", "1\tA\tone", "2\tB\ttwo three"),
    "trec": ("<DOC><DOCNO>x</DOCNO><TEXT>one", "two</TEXT></DOC>", "<DOC><DOCNO>y</DOCNO><TEXT>three</TEXT></DOC>"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [1, 2, 100])
def test_every_form_of_documents_is_divided(tmp_path, form, size):
    path = tmp_path / "corpus"
    path.write_text("\n".join(FORMS[form]), encoding="utf-8")
    first = build(tmp_path / "one", corpus_from_files(path))
    second = build(tmp_path / "shards", corpus_from_files(path), shard_size=size)
    assert first == second
    assert record_of(tmp_path / "one") == record_of(tmp_path / "shards")
    assert verify_index(tmp_path / "shards") == []


@pytest.mark.parametrize("language", ["de", "zh", "ar", "ru"])
def test_other_analyzers_divide_alike(tmp_path, language):
    texts = ["die Häuser der Stadt", "我们在图书馆读书", "الكتب في المكتبة", "книги в библиотеке", "houses of the city"]
    docs = [Doc(f"d{number}", "", f"{text} {number % 5}") for number, text in enumerate(texts * 20)]
    topics = [Topic(f"q{number}", text) for number, text in enumerate(texts)]
    build(tmp_path / "one", corpus_from_docs("c", docs), language=language)
    build(tmp_path / "shards", corpus_from_docs("c", docs), language=language, shard_size=17)
    assert record_of(tmp_path / "one") == record_of(tmp_path / "shards")
    runs = [run_bytes(tmp_path, tmp_path / index, topics, "r", language=language) for index in ("one", "shards")]
    assert runs[0] == runs[1]
    assert runs[0]


@pytest.mark.parametrize("engine", ["local", "workers"])
def test_an_id_in_another_shard_is_refused_or_left_out_as_in_one_build(tmp_path, engine, capsys):
    rows = [{"id": f"d{number}", "text": f"text {number}"} for number in range(20)]
    rows[17]["id"] = "d2"
    path = tmp_path / "c.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    executor = HereExecutor(2) if engine == "workers" else None
    with pytest.raises(ToolkitError, match="line 18: id 'd2' comes a second time"):
        build(tmp_path / "o", corpus_from_files(path), executor, shard_size=4)
    assert not (tmp_path / "o").exists()
    counts = build(tmp_path / "o", corpus_from_files(path), executor, shard_size=4, skip_invalid=True)
    assert (counts.documents, counts.skipped) == (19, 1)
    assert "line 18: id 'd2' comes a second time" in capsys.readouterr().err
    assert not [left.name for left in tmp_path.iterdir() if left.name.startswith(".")]


def test_nothing_to_index_and_a_language_that_there_is_not_leave_nothing(tmp_path):
    (tmp_path / "c.jsonl").write_text('{"id": "1", "text": " "}\n')
    for language, message in (("en", "has no documents to index"), ("xx", "no analyzer for language 'xx'")):
        with pytest.raises(ToolkitError, match=message):
            build(tmp_path / "o", corpus_from_files(tmp_path / "c.jsonl"), language=language, shard_size=4)
        assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == ["c.jsonl"]


@pytest.mark.parametrize("engine", ["local", "workers"])
@pytest.mark.parametrize("where", ["shard", "merge"])
def test_an_interrupted_build_resumes_at_the_shards_that_are_not_there(tmp_path, monkeypatch, engine, where):
    rows = [{"id": f"d{number}", "contents": f"text {number}"} for number in range(20)]
    path = tmp_path / "c.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    index, numbers, ends = IndexShards.compute, [], [True]

    def once():
        if ends:
            ends.clear()
            raise KeyboardInterrupt

    def counted(self, packed):
        numbers.append(packed[0])
        if where == "shard" and packed[0] == 3:
            once()
        return index(self, packed)

    def merged(folders, output):
        if where == "merge":
            once()
        return merge(folders, output)

    from toolkit.retrieval.index import lucene_shards

    merge = lucene_shards.merge_indexes
    monkeypatch.setattr(IndexShards, "compute", counted)
    monkeypatch.setattr(lucene_shards, "merge_indexes", merged)

    def make():
        job = IndexJob(str(path), tmp_path / "o", shard_size=4)
        if engine == "workers":
            job.executor = HereExecutor(1)
        return job.make()

    with pytest.raises(KeyboardInterrupt) as end:
        make()
    assert end.value.__notes__ == ["the same command resumes"]
    assert not (tmp_path / "o").exists()
    first, numbers[:] = list(numbers), []
    assert make().documents == 20
    assert numbers == ([3, 4] if where == "shard" else [])
    assert first == ([0, 1, 2, 3] if where == "shard" else [0, 1, 2, 3, 4])
    build(tmp_path / "one", corpus_from_files(path))
    assert record_of(tmp_path / "o") == record_of(tmp_path / "one")
    assert not shards_beside(tmp_path / "o").exists()
    assert not [left.name for left in tmp_path.iterdir() if left.name.startswith(".")]


def test_documents_that_changed_since_an_interruption_are_indexed_again(tmp_path, monkeypatch):
    docs = [Doc(f"d{number}", "", f"text {number}") for number in range(12)]
    index, numbers = IndexShards.compute, []

    def counted(self, packed):
        numbers.append(packed[0])
        if numbers == [0, 1, 2]:
            raise KeyboardInterrupt
        return index(self, packed)

    monkeypatch.setattr(IndexShards, "compute", counted)
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "o", corpus_from_docs("c", docs), shard_size=4)
    numbers.clear()
    docs[5] = Doc("d5", "", "other words")
    build(tmp_path / "o", corpus_from_docs("c", docs), shard_size=4)
    assert numbers == [1, 2]
    assert read_index_record(tmp_path / "o")["statistics"] == {"documents": 12, "postings": 24, "tokens": 24}


def test_units_are_fixed_by_the_documents_alone(monkeypatch):
    monkeypatch.setattr("toolkit.retrieval.index.lucene_shards.LARGEST", 200)
    docs = [Doc(f"d{number}", "", "word " * (60 if number == 3 else 1)) for number in range(9)]

    def units(sizes):
        lines = Lines(4)

        def reading():
            place = 0
            for size in sizes:
                for doc in docs[place : place + size]:
                    lines.add(doc)
                place += size
                yield size

        return list(lines.units(reading()))

    assert units([9]) == units([1] * 9) == units([5, 4])
    assert [sum(unit.counts) for unit in units([9])] == [4, 4, 1]
    assert [unit.number for unit in units([9])] == [0, 1, 2]
    monkeypatch.setattr("toolkit.retrieval.index.lucene_shards.LARGEST", 60)
    assert [sum(unit.counts) for unit in units([9])] == [2, 2, 2, 2, 1]


def test_the_command_takes_shards_and_says_so_before(tmp_path):
    (tmp_path / "c.jsonl").write_text("".join(f'{{"id": "{number}", "text": "text {number}"}}\n' for number in range(9)))
    done = tandem("index", "c.jsonl", "--output", "o", "--shard-size", "4", "--dry-run", cwd=tmp_path)
    assert "for language en, in shards of 4 documents into o" in done.stdout
    done = tandem("index", "c.jsonl", "--output", "o", "--shard-size", "4", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "o: 9 documents\n")
    done = tandem("index", "c.jsonl", "--output", "x", "--shard-size", "0", cwd=tmp_path)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "error: shard size is 0")


def test_workers_with_another_lucene_are_refused(tmp_path, monkeypatch):
    facts, calls = IndexShards.facts, []
    monkeypatch.setattr(IndexShards, "facts", lambda self: {**facts(self), "java": calls.append(1) or len(calls)})
    with pytest.raises(ToolkitError, match=r"workers have pyserini .*, java 1, this process pyserini .*, java 2"):
        build(tmp_path / "o", corpus_from_docs("c", [Doc("d", "", "text")]), HereExecutor(1))
    assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == []
