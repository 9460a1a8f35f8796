"""Each question's documents as a corpus of its own: searched like the index that is built of them alone."""

import json
import random
from functools import partial

import pytest
from command import tandem
from tiny import LETTERS, WORDS, tiny_bert, tiny_colbert, tiny_spec

import tandem_ir
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import join_runs
from toolkit.core.topics import Topic
from toolkit.files.texts.documents import corpus_from_docs, corpus_from_files
from toolkit.files.texts.per_query_corpus import Question, indexes_of, read_questions, write_questions
from toolkit.models.lucene.stored_texts import stored_docs
from toolkit.retrieval.index import build_index, build_per_question, read_index_record, verify_index
from toolkit.retrieval.search import search
from toolkit.retrieval.search.per_query_search import check_per_query, search_per_query

pytestmark = pytest.mark.lucene

QUESTIONS = ("kialo-1", "kialo-2", "arguana-1")


def corpora(seed=1):
    """question -> its documents: of one vocabulary, one document in all of them, 5 to 30 words each."""
    chosen, docs = random.Random(seed), {}
    for question in QUESTIONS:
        texts = [" ".join(chosen.choices(WORDS + LETTERS[:9], k=chosen.randint(5, 30))) for _ in range(40)]
        docs[question] = [Doc(f"{question}/{n}", "dog" * (n % 3 == 0), text) for n, text in enumerate(texts)]
        docs[question].append(Doc("everywhere", "", "the cat of the house and the bird"))
    return docs


def rows(docs):
    """The documents of all questions, shuffled, as rows of a file."""
    pairs = [(question, doc) for question in docs for doc in docs[question]]
    found = [{"query_id": question, "id": doc.doc_id, "title": doc.title, "text": doc.text} for question, doc in pairs]
    random.Random(3).shuffle(found)
    return found


def write(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def lines(run, query_ids):
    ranked = dict(run.rankings("file"))
    return {query_id: [(row.doc_id, row.score) for row in ranked[query_id]] for query_id in query_ids}


TOPICS = [Topic(question, "cat in the long house of a dog") for question in QUESTIONS]


@pytest.fixture(scope="module")
def lucene(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lucene")
    build_per_question(corpus_from_files(write(folder / "web.jsonl", rows(corpora()))), folder / "index", build_index)
    return folder / "index"


@pytest.mark.parametrize("how", [{}, {"k1": 1.7, "b": 0.9, "hits": 7}, {"rm3": True}])
def test_bm25_is_that_of_separately_built_indexes_digit_by_digit(lucene, tmp_path, how):
    found = search_per_query(TOPICS, lucene, partial(search, **how), "bm25")
    apart = []
    for topic in TOPICS:
        build_index(corpus_from_docs(topic.query_id, corpora()[topic.query_id]), tmp_path / topic.query_id)
        apart.append(search([topic], tmp_path / topic.query_id, **how))
    assert lines(found, QUESTIONS) == lines(join_runs(apart), QUESTIONS)


def test_bm25_is_not_that_of_the_union(lucene, tmp_path):
    union = [doc for docs in corpora().values() for doc in docs if doc.doc_id != "everywhere"]
    build_index(corpus_from_docs("union", [*union, corpora()["kialo-1"][-1]]), tmp_path / "union")
    own = lines(search_per_query(TOPICS, lucene, search, "bm25"), QUESTIONS)
    scores = {name: dict(ranking) for name, ranking in lines(search(TOPICS, tmp_path / "union"), QUESTIONS).items()}
    for question, ranking in own.items():
        assert {doc_id for doc_id, _ in ranking} <= {doc.doc_id for doc in corpora()[question]}
        assert all(scores[question][doc_id] != score for doc_id, score in ranking)


@pytest.mark.model
@pytest.mark.parametrize(
    ("kind", "checkpoint", "parameters"),
    [
        ("dense", tiny_bert, {"pooling": "mean"}),
        ("multivector", tiny_colbert, {"query_length": 12, "passage_length": 20}),
        ("impact", partial(tiny_bert, kind="BertForMaskedLM"), {"quantization": 100}),
    ],
)
def test_what_a_model_encodes_is_searched_as_in_separately_built_indexes(tmp_path, kind, checkpoint, parameters):
    from toolkit.models.encoders import load_encoder
    from toolkit.retrieval.index.encoded_index import build_encoded
    from toolkit.retrieval.search.neural_engine import SEARCHES

    spec = tiny_spec(checkpoint(tmp_path / "tiny"), kind, parameters=parameters)
    encoder = load_encoder(spec, device="cpu")

    def build(corpus, folder):
        return build_encoded(corpus, spec, encoder, folder, tmp_path / "vectors" / folder.name)

    file = write(tmp_path / "web.jsonl", rows(corpora()))
    build_per_question(corpus_from_files(file), tmp_path / "index", build)
    ask = partial(SEARCHES[kind], spec=spec, encoder=encoder)
    found, apart = search_per_query(TOPICS, tmp_path / "index", ask, "tiny"), []
    for topic in TOPICS:
        # in the order of the file, which decides what stands in one batch
        own = [Doc(row["id"], row["title"], row["text"]) for row in rows(corpora()) if row["query_id"] == topic.query_id]
        build(corpus_from_docs(topic.query_id, own), tmp_path / topic.query_id)
        apart.append(ask([topic], tmp_path / topic.query_id))
    assert lines(found, QUESTIONS) == lines(join_runs(apart), QUESTIONS)
    assert min(len(ranking) for ranking in lines(found, QUESTIONS).values()) > 10
    assert read_index_record(tmp_path / "index")["system"] == spec.name
    assert verify_index(tmp_path / "index") == []


def test_a_corpus_is_found_by_id_core_query_and_published_id(lucene):
    topics = [
        Topic("kialo-1", "cat"),
        Topic("kialo-1.2", "cat"),
        Topic("other", "cat", group_id="kialo-1"),
        Topic("x", "cat", original_id="kialo-1"),
    ]
    found = lines(search_per_query(topics, lucene, search, "bm25"), [topic.query_id for topic in topics])
    assert len({str(ranking) for ranking in found.values()}) == 1


def test_notes_on_many_corpora_are_not_said_one_by_one(tmp_path, capsys):
    names = [f"q{number}" for number in range(5)]
    file = write(tmp_path / "web.jsonl", [{"query_id": name, "id": name, "text": "cat"} for name in names])
    build_per_question(corpus_from_files(file), tmp_path / "index", build_index)
    wanted = {name: (name, "elsewhere") for name in names}
    ask = partial(search, candidates=wanted)
    assert search_per_query([Topic(name, "cat") for name in names], tmp_path / "index", ask, "bm25").query_ids == tuple(names)
    said = capsys.readouterr().err.splitlines()
    assert said[0].endswith("q00001 lacks 1 of 2 candidates")
    assert said[3:] == ["... and 2 more such notes"]


def test_topics_without_a_corpus_are_said_and_have_no_lines(lucene, capsys):
    topics = [Topic("kialo-1", "cat")], [Topic("kialo-77", "cat")]
    assert search_per_query([*topics[0], *topics[1]], lucene, search, "bm25").query_ids == ("kialo-1",)
    assert search_per_query(topics[1], lucene, search, "bm25").query_ids == ()
    check_per_query((part, lucene) for part in topics)
    assert "has no corpus for 1 of 2 topics (kialo-77); they have no lines in the run" in capsys.readouterr().err
    with pytest.raises(ToolkitError, match=r"has no corpus for 1 of 1 topics \(kialo-77\)"):
        check_per_query([(topics[1], lucene)])


def test_a_published_id_of_two_data_sets_is_refused(tmp_path):
    file = write(tmp_path / "web.jsonl", [{"question_id": 774, "id": 1, "text": "cat"}])
    build_per_question(corpus_from_files(file), tmp_path / "index", build_index)
    topics = [Topic(f"{name}-774", "cat", group_id=f"{name}-774", original_id="774") for name in ("kialo", "arguana")]
    assert search_per_query(topics[:1], tmp_path / "index", search, "bm25").query_ids == ("kialo-774",)
    with pytest.raises(ToolkitError, match=r"is that of 2 topics \(arguana-774, kialo-774\)"):
        check_per_query([(topics[:1], tmp_path / "index"), (topics[1:], tmp_path / "index")])


def test_the_whole_way_searches_by_the_indexs_record(lucene, tmp_path, capsys):
    asked = [*TOPICS, Topic("kialo-77", "cat")]
    write(tmp_path / "topics.jsonl", [{"query_id": topic.query_id, "text": topic.text} for topic in asked])
    run = tandem_ir.search(str(tmp_path / "topics.jsonl"), str(lucene), output=tmp_path / "run.trec")
    assert lines(run, QUESTIONS) == lines(search_per_query(TOPICS, lucene, search, "bm25"), QUESTIONS)
    record = (tmp_path / "run.trec.yaml").read_text(encoding="utf-8")
    assert "questions: 3" in record
    assert "has no corpus for 1 of 4 topics (kialo-77)" in capsys.readouterr().err


def test_texts_are_read_from_where_they_are(lucene):
    docs = {doc.doc_id: doc for own in corpora().values() for doc in own}
    assert stored_docs(lucene, [*docs, "unknown"]) == docs


def test_the_record_says_how_many_and_verify_finds_a_change(lucene, tmp_path):
    record = read_index_record(lucene)
    assert (record["kind"], record["language"], record["questions"], record["documents"]) == ("lucene", "en", 3, 123)
    assert verify_index(lucene) == []
    file = write(tmp_path / "web.jsonl", rows(corpora()))
    build_per_question(corpus_from_files(file), tmp_path / "index", build_index)
    next((tmp_path / "index" / "q00002").glob("*.fdt")).write_bytes(b"")
    assert len(verify_index(tmp_path / "index")) == 1
    assert "_0.fdt: changed" in verify_index(tmp_path / "index")[0]


GOOD = {"query_id": "q1", "id": "a", "text": "cat"}


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"query_id": "q1", "id": "a", "text": "cat"}, "id 'a' comes a second time"),
        ({"query_id": "q2", "id": "a", "text": "dog"}, "id 'a' has another text in another question's corpus"),
        ({"id": "b", "text": "dog"}, "it names no question (query_id)"),
        ({"query_id": "q 1", "id": "b", "text": "dog"}, "the id of a question is to be a string without white space"),
        ({"query_id": "q1", "id": "b"}, "no field 'text' (or 'contents')"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line_or_left_out(tmp_path, row, problem):
    file = write(tmp_path / "web.jsonl", [GOOD, row])
    with pytest.raises(ToolkitError) as caught:
        build_per_question(corpus_from_files(file), tmp_path / "index", build_index)
    assert caught.value.message == f"{file}, line 2: {problem}"
    assert [path.name for path in tmp_path.iterdir()] == ["web.jsonl"]
    counts = build_per_question(corpus_from_files(file), tmp_path / "index", build_index, skip_invalid=True)
    assert (counts.documents, counts.skipped) == (1, 1)


def index(*arguments):
    return tandem("index", *arguments)


def test_the_command_cuts_pages_and_reports_them_a_question(tmp_path):
    page = "<html><head><title>Cats</title></head><body><article><p>" + "cats are good, " * 50 + "</p></article></body></html>"
    pages = [{"query_id": "q1", "url": f"u{n}", "html": page} for n in range(3)]
    pages += [{"query_id": "q2", "url": "u", "html": page}, {"query_id": "q2", "url": "v", "html": ""}]
    done = index(write(tmp_path / "pages.jsonl", pages), "--split", 100, "--output", tmp_path / "index")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines()[1:] == [
        "5 pages, 2.5 a question; 1 without text left out, 0 read in part",
        "4 documents split into passages of 100 words",
        f"{tmp_path / 'index'}: 2 questions, 8 documents, 4.0 a question",
    ]
    docs = stored_docs(tmp_path / "index", ["q1-3#0", "q1-3#1", "q2-1#1"])
    assert [(doc_id, doc.title, len(doc.text.split())) for doc_id, doc in docs.items()] == [
        ("q1-3#0", "Cats", 100),
        ("q1-3#1", "Cats", 50),
        ("q2-1#1", "Cats", 50),
    ]
    assert read_index_record(tmp_path / "index")["corpus"]["split"] == 100


def test_the_command_makes_one_corpus_of_all_where_asked(tmp_path):
    file = write(tmp_path / "web.jsonl", [GOOD, {"query_id": "q2", "text": "dog"}])
    done = index(file, "--no-per-question", "--output", tmp_path / "index")
    assert (done.returncode, done.stderr) == (0, f"{tmp_path / 'index'}: 2 documents\n")
    assert set(stored_docs(tmp_path / "index", ["a", "q2-1"])) == {"a", "q2-1"}


@pytest.mark.parametrize("option", [(), ("--split", "100")])
def test_a_question_named_after_documents_that_name_none_is_refused_unless_all_is_one_corpus(tmp_path, option):
    file = write(tmp_path / "web.jsonl", [{"id": "a", "contents": "cat"}, {"query_id": "q2", "id": "b", "text": "dog"}])
    done = index(file, *option, "--output", tmp_path / "index")
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        2,
        f"error: {file}, line 2: it names a question (query_id), and the first document none: --no-per-question ignores it",
    )
    assert [path.name for path in tmp_path.iterdir()] == ["web.jsonl"]
    done = index(file, *option, "--no-per-question", "--output", tmp_path / "index")
    assert done.returncode == 0, done.stderr


def test_ids_may_hold_what_splitlines_takes_for_the_end_of_a_line(tmp_path):
    for place in ("q1", "q2"):
        (tmp_path / place).mkdir()
    questions = [Question("a\u2028b", tmp_path / "q1", 1), Question("c", tmp_path / "q2", 1)]
    write_questions(tmp_path, questions)
    (tmp_path / "docid").write_text("d\x1c1\nd2\n", encoding="utf-8")
    assert read_questions(tmp_path) == questions
    assert indexes_of(tmp_path, ["d2", "d\x1c1"]) == {tmp_path / "q1": ["d\x1c1"], tmp_path / "q2": ["d2"]}
