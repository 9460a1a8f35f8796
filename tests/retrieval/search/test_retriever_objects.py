"""Objects that find documents by themselves: their runs, what is checked of their answers, retries, resuming, records."""

import json
from types import SimpleNamespace

import pytest
from command import tandem

import tandem_ir
from toolkit import datasets
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.topics import Topic
from toolkit.files.formats import read_run, write_run
from toolkit.files.provenance import read_record
from toolkit.jobs.search_jobs import search_job

TOPICS = "infosearch-mini-audience"


@pytest.fixture(scope="module")
def docs():
    return [doc.doc_id for doc in datasets.load("infosearch-mini").docs("audience")]


class Listing:
    """Answers what it is given, call by call; the last answer again and again."""

    identity = "listing"

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def retrieve(self, queries, k):
        self.asked.append(list(queries))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return [answer(query, k) for query in queries] if callable(answer) else answer


def made(tmp_path, system, **how):
    output = tmp_path / "run.trec"
    search_job(TOPICS, system=system, output=output, **how).make()
    return read_run(output)


def first(docs, count=3):
    return lambda query, k: docs[:count]


def test_lists_of_ids_are_scored_by_rank(home, tmp_path, docs):
    system = Listing(first(docs))
    run = made(tmp_path, system, hits=3)
    assert {name: list(found.items()) for name, found in run.to_dict().items()} == {
        topic.query_id: list(zip(docs[:3], (1.0, 0.5, 1 / 3), strict=True)) for topic in datasets.resolve_topics(TOPICS).topics
    }
    [step] = read_record(tmp_path / "run.trec")["method"]["retrieval"]
    assert (step["method"], step["scores"], step["hits"]) == ("retriever", "rank", 3)
    queries = [query for batch in system.asked for query in batch]
    assert len(queries) == len(set(queries)) == len({topic.text for topic in datasets.resolve_topics(TOPICS).topics})
    assert max(map(len, system.asked)) == 32


FORMS = {
    "pairs": lambda doc: (doc, 2.0),
    "dictionaries": lambda doc: {"id": doc, "score": 2.0},
    "LangChain": lambda doc: SimpleNamespace(id=None, page_content="text", metadata={"doc_id": doc}, score=2.0),
    "LlamaIndex": lambda doc: SimpleNamespace(node=SimpleNamespace(node_id=doc, metadata={}), score=2.0),
    "Haystack": lambda doc: SimpleNamespace(id="a digest", meta={"doc_id": doc}, score=2.0),
    "Qdrant": lambda doc: SimpleNamespace(id=7, payload={"doc_id": doc}, score=2.0),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_what_libraries_give_is_read(home, tmp_path, docs, form):
    run = made(tmp_path, Listing(lambda query, k: [form(docs[0])]))
    assert {tuple(found.items()) for found in run.to_dict().values()} == {((docs[0], 2.0),)}


WRONG = {
    "an unknown document": (
        lambda docs: [["nobody", docs[0]]],
        r"found 1 documents that infosearch-mini-audience has not \(nobody\)",
    ),
    "a document twice": (lambda docs: [[docs[0], docs[0]]], "a document twice for"),
    "too many": (lambda docs: [docs[:4]], "4 documents for .*, asked for 3"),
    "a rising score": (lambda docs: [[(docs[0], 1.0), (docs[1], 2.0)]], "a score rises"),
    "a score that is none": (lambda docs: [[(docs[0], "high")]], "not all finite numbers"),
    "infinity": (lambda docs: [[(docs[0], float("inf"))]], "not all finite numbers"),
    "half scored": (lambda docs: [[(docs[0], 1.0), docs[1]]], "not all finite numbers"),
    "no id": (lambda docs: [[{"text": "x"}]], "a dict without an id"),
    "a text for a list": (lambda docs: ["d1"], "a str, no list of documents"),
    "nothing": (lambda docs: [None], "a NoneType, no list of documents"),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_an_answer_that_is_none_ends_in_one_line_and_without_a_run(home, tmp_path, docs, wrong):
    answer, said = wrong
    with pytest.raises(ToolkitError, match=said):
        made(tmp_path, Listing(lambda query, k: answer(docs)[0]), hits=3)
    assert not (tmp_path / "run.trec").exists()


@pytest.mark.parametrize("answer", [[], "text", 7, {"q": []}])
def test_there_is_a_list_a_query(home, tmp_path, answer):
    with pytest.raises(ToolkitError, match="for 32 queries"):
        made(tmp_path, Listing(answer))


def test_a_call_that_raises_is_made_again_and_then_named(home, tmp_path, docs):
    assert len(made(tmp_path, Listing(OSError("gone"), OSError("gone"), first(docs))).query_ids)
    with pytest.raises(ToolkitError, match=r"retrieve raised OSError: gone .*asked for '"):
        made(tmp_path / "other", Listing(OSError("gone")), retries=0)


def test_an_interrupted_search_asks_for_nothing_twice(home, tmp_path, docs):
    system = Listing(first(docs), KeyboardInterrupt(), first(docs))
    with pytest.raises(KeyboardInterrupt):
        made(tmp_path, system)
    made(tmp_path, system)
    asked = [query for batch in system.asked for query in batch]
    assert len(asked) == len(set(asked)) + 28  # the batch that was interrupted


class Ours:
    """BM25 of ours behind `retrieve`, its scores as its run files have them."""

    identity = "ours"

    def __init__(self, folder):
        self.folder = folder

    def retrieve(self, queries, k):
        from toolkit.retrieval.index import find_index
        from toolkit.retrieval.search import search

        index = find_index("infosearch-mini")("audience").open(1).folder
        run = search([Topic(str(n), query) for n, query in enumerate(queries)], index, hits=k)
        write_run(run, self.folder / "part.trec", decimals=6, ties="file")
        found = read_run(self.folder / "part.trec").to_dict()
        return [list(found.get(str(n), {}).items()) for n, _ in enumerate(queries)]


@pytest.mark.lucene
def test_an_object_around_our_bm25_makes_its_run(home, tmp_path):
    bm25 = tmp_path / "bm25.trec"
    search_job(TOPICS, output=bm25).make()
    run = made(tmp_path, Ours(home))
    lines = [line.split()[:5] for line in bm25.read_text().splitlines()]
    own = [line.split()[:5] for line in (tmp_path / "run.trec").read_text().splitlines()]
    assert [(*line[:4], float(line[4])) for line in own] == [(*line[:4], float(line[4])) for line in lines]
    assert isinstance(run, Run)
    both = tandem_ir.evaluate([str(bm25), str(tmp_path / "run.trec")], benchmark="infosearch-mini-audience", measures=["WISE"])
    assert len({row.value for row in both.rows}) == 1


def test_the_command_takes_its_name(home, tmp_path, monkeypatch, docs):
    (tmp_path / "my_service.py").write_text(
        f"DOCS = {docs[:5]!r}\n\n\nclass Service:\n"
        "    def retrieve(self, queries, k):\n        return [DOCS[:k] for _ in queries]\n"
    )
    monkeypatch.chdir(tmp_path)
    name = "python:my_service:Service"
    tandem("search", "--topics", TOPICS, "--system", name, "--hits", "2", "--output", "run.trec", check=True)
    assert len(read_run(tmp_path / "run.trec").head(2)) == 2 * len(datasets.resolve_topics(TOPICS).topics)
    tandem("rerank", "--run", "run.trec", "--system", "ms-marco-minilm-l6-v2", "--dry-run")
    checked = tandem("systems", "check", name)
    assert "ok\tretrieve\t2 queries, 3 documents each: a list a query" in checked.stdout
    for words, said in (
        (("--index", "infosearch-mini"), "finds documents by itself: it searches no index"),
        (("--candidates", "run.trec"), "takes no candidates"),
        (("--engine", "ray"), "is asked by this process alone"),
    ):
        refused = tandem("search", "--topics", TOPICS, "--system", name, "--output", "other.trec", *words)
        assert (refused.returncode, said in refused.stderr) == (2, True), refused.stderr
    assert json.loads(json.dumps(read_record(tmp_path / "run.trec")["method"]["retrieval"][0]["method"])) == "retriever"
