"""Runs judged in this process: what is pooled, asked and written, and what is refused before anything is asked."""

import json

import pytest
from tiny import tiny_spec

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.topics import Topic
from toolkit.datasets import TopicSet
from toolkit.datasets.names import TopicPart
from toolkit.models.judges import Judge, Pair, Sides, load_judge
from toolkit.models.llm import LLM, Answer, AnswerCache
from toolkit.retrieval.judge import judge_run
from toolkit.retrieval.judge.judging import NOTHING, export, pool, rows_of, stances
from toolkit.retrieval.texts import TextSource

DOCS = {
    name: Doc(name, title, text) for name, title, text in (("d1", "T", "cats good"), ("d2", "", "cats bad"), ("d3", "", "x"))
}
TOPICS = [
    Topic("q1", "Cats?", query="Cats?", perspectives=("good", "bad")),
    Topic("q2", "Dogs?", query="Dogs?", perspectives=("good", "bad", "ugly")),
]


class Reader:
    """A backend that answers yes where the statement is in the document, and fails where the document says so."""

    here, facts, origin = True, {"model": "reader"}, {}

    def __init__(self, failing=()):
        self.asked, self.failing = [], failing

    def check(self):
        pass

    def answers(self, requests):
        for position, request in enumerate(requests):
            text = request.messages[-1]["content"]
            self.asked.append(text)
            document, statement = text.split("Statement: ")
            if any(word in document for word in self.failing):
                yield position, Answer("", error="no answer in 7 attempts")
            else:
                yield position, Answer("Yes" if statement.split("\n")[0] in document else "No")

    def count_tokens(self, messages):
        return sum(len(message["content"].split()) for message in messages)

    def count_text(self, text):
        return len(text.split())


def topic_set(topics=TOPICS):
    return TopicSet("made-up", [TopicPart("all", list(topics))], None)


def texts(group):
    return TextSource("the test", lambda ids: {name: DOCS[name] for name in ids if name in DOCS})


def judge(backend=None, cache=None, **parameters):
    told = {"parameters": {"model": "m", **parameters}, "templates": {"passage": "{text} {title}"}}
    made = load_judge(tiny_spec("", "judge", loader="endpoint", **told))
    return Judge(made.spec, LLM(backend or Reader(), cache=cache), made.prompt, made.settings)


def run_of(**queries):
    return Run.from_dict({q: {d: float(len(docs) - rank) for rank, d in enumerate(docs)} for q, docs in queries.items()})


def test_every_best_document_is_judged_for_every_perspective():
    judged = judge_run(run_of(q1=["d1", "d2", "d3"], q2=["d3"]), topic_set(), texts, judge(), depth=2)
    assert [tuple(row) for row in judged.qrels] == [
        ("q1", "d1", 1, "1"),
        ("q1", "d1", 0, "2"),
        ("q1", "d2", 0, "1"),
        ("q1", "d2", 1, "2"),
        *(("q2", "d3", 0, number) for number in "123"),
    ]
    assert judged.report["judgments"] == {"pairs": 7, "positive": 2, "unjudged": 0, "unclear": 0, "shortened": 0}
    assert (judged.report["depth"], judged.report["questions without documents"]) == (2, 0)


def test_a_question_without_documents_keeps_its_perspectives():
    judged = judge_run(run_of(q1=["d1"]), topic_set(), texts, judge())
    assert [tuple(row) for row in judged.qrels][2:] == [("q2", NOTHING, 0, number) for number in "123"]
    assert judged.report["questions without documents"] == 1


def test_mrecall_counts_the_perspectives_of_a_question_without_documents():
    import ir_measures

    import toolkit.metrics  # noqa: F401

    run = run_of(q1=["d1", "d2"])
    qrels = judge_run(run, topic_set(), texts, judge()).qrels
    measure = ir_measures.parse_measure("MRecall@5")
    rows = [ir_measures.ScoredDoc(*row) for _, docs in run.rankings() for row in docs]
    values = {row.query_id: row.value for row in ir_measures.iter_calc([measure], qrels.to_frame(), rows)}
    assert values == {"q1": 1.0, "q2": 0.0}


def test_a_document_is_shown_as_its_text_then_its_title():
    backend = Reader()
    judge_run(run_of(q1=["d1"]), topic_set(TOPICS[:1]), texts, judge(backend))
    assert backend.asked[0].startswith("Document: cats good T\n\nStatement: good\n")


def test_the_best_documents_of_several_runs_are_pooled_by_their_best_rank():
    runs = [run_of(q1=["a", "b", "c"]), run_of(q1=["d", "a", "b"], q2=["x"])]
    assert pool(runs, 2) == {"q1": ["a", "d", "b"], "q2": ["x"]}
    with pytest.raises(ToolkitError, match="depth is 0"):
        pool(runs, 0)


def test_pairs_that_fail_are_unjudged_and_only_they_are_asked_again(tmp_path, home):
    cache = AnswerCache(tmp_path / "a.sqlite")
    run = run_of(q1=["d1", "d3"], q2=["d3"])
    first = Reader(failing=["x"])
    judged = judge_run(run, topic_set(), texts, judge(first, cache))
    assert [row.relevance for row in judged.qrels] == [1, 0, -1, -1, -1, -1, -1]
    assert judged.report["judgments"]["unjudged"] == 5
    again = Reader()
    judged = judge_run(run, topic_set(), texts, judge(again, cache))
    assert [row.relevance for row in judged.qrels] == [1, 0, 0, 0, 0, 0, 0]
    # 3 requests for 5 pairs: of the same document, question and statement there is one
    assert len(again.asked) == 3
    assert all("Document: x" in text for text in again.asked)


def test_no_answer_at_all_is_no_result():
    with pytest.raises(ToolkitError, match="tiny answered none of 2 pairs: no answer in 7 attempts") as caught:
        judge_run(run_of(q1=["d1"]), topic_set(TOPICS[:1]), texts, judge(Reader(failing=["cats"])))
    assert caught.value.status == 1


@pytest.mark.parametrize(
    ("run", "topics", "message"),
    [
        (run_of(q9=["d1"]), TOPICS, r"made-up: 1 of 1 queries are not among the topics \(q9\)"),
        (run_of(q1=["d1", "d9"]), TOPICS, r"no text for 1 of 2 documents \(d9\) in the test"),
        (run_of(q1=["d1"]), [Topic("q1", "Cats?")], r"1 of 1 topics name no perspectives \(q1\)"),
        (run_of(q1=["d1"]), TOPICS[:1] * 2, r"query id 'q1' comes twice in the topics"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_asked(run, topics, message):
    backend = Reader()
    with pytest.raises(ToolkitError, match=message):
        judge_run(run, topic_set(topics), texts, judge(backend))
    assert backend.asked == []


def test_answers_are_exported_as_training_pairs(tmp_path, home):
    cache = AnswerCache(tmp_path / "a.sqlite")
    judge_run(run_of(q1=["d1"]), topic_set(TOPICS[:1]), texts, judge(cache=cache))
    backend = Reader()
    known = judge(backend, cache)
    rows = rows_of(pool([run_of(q1=["d1", "d2"])], 10), topic_set(TOPICS[:1]), texts, known.spec)
    assert export(rows, known, tmp_path / "pairs.jsonl") == (2, 2)
    assert backend.asked == []
    first, second = map(json.loads, (tmp_path / "pairs.jsonl").read_text().splitlines())
    assert [turn["role"] for turn in first["messages"]] == ["system", "user", "assistant"]
    assert (first["messages"][-1]["content"], second["messages"][-1]["content"]) == ("Yes", "No")
    assert (first["query_id"], first["perspective"], first["doc_id"], first["label"]) == ("q1", 1, "d1", 1)
    with pytest.raises(ToolkitError, match="has answered none of 2 pairs"):
        export(rows[:2], judge(backend), tmp_path / "none.jsonl")
    assert not (tmp_path / "none.jsonl").exists()


def test_a_document_that_was_shortened_is_exported_as_it_was_asked(tmp_path, home):
    cache, backend = AnswerCache(tmp_path / "a.sqlite"), Reader()
    short = judge(backend, cache, document_characters=4)
    judge_run(run_of(q1=["d1"]), topic_set(TOPICS[:1]), texts, short)
    rows = rows_of(pool([run_of(q1=["d1"])], 10), topic_set(TOPICS[:1]), texts, short.spec)
    assert export(rows, short, tmp_path / "pairs.jsonl") == (2, 0)
    lines = map(json.loads, (tmp_path / "pairs.jsonl").read_text().splitlines())
    assert [line["messages"][1]["content"] for line in lines] == backend.asked
    assert backend.asked[0].startswith("Document: cats\n")


def test_looking_at_what_is_known_counts_nothing(tmp_path, home):
    cache, silent = AnswerCache(tmp_path / "a.sqlite"), Reader()
    silent.answers = lambda requests: ((position, Answer("perhaps")) for position in range(len(requests)))
    asked = judge(silent, cache)
    pairs = [Pair("cats", "good"), Pair("dogs", "good")]
    asked.judge(pairs)
    assert asked.plan(pairs).cached == len(asked.known(pairs)) == 2
    assert asked.counts.unclear == 2


def test_both_perspectives_are_shown_in_one_request_and_the_named_one_supports():
    topics = [Topic(f"q{n}", f"q{n}?", perspectives=("good", "bad")) for n in range(6)]
    topics.append(Topic("q6", "q6?", perspectives=("good", "bad", "ugly")))
    said = [
        *("Perspective 1", "**Perspective 2**.", "The answer is perspective 2", "Answer: 1"),
        *("Perspective 1 and Perspective 2 alike", "Yes"),
    ]
    silent = Reader()
    silent.answers = lambda requests: (
        (position, Answer(said[int(request.messages[-1]["content"].partition("q")[2][0])]))
        for position, request in enumerate(requests)
    )
    made = load_judge(tiny_spec("", "judge", loader="endpoint", parameters={"model": "m"}), task="judge-stance")
    asked = Judge(made.spec, LLM(silent), made.prompt, made.settings)
    assert stances(topics, asked) == ({"q0": 1, "q1": 2, "q2": 2, "q3": 1}, 1, 2, 0)
    assert (asked.counts.pairs, asked.counts.unclear) == (6, 2)
    [message] = [turn["content"] for turn in asked.messages(Sides("q0?", "good", "bad")) if turn["role"] == "user"]
    assert "Question: q0?\n\nPerspective 1: good\n\nPerspective 2: bad" in message
    assert asked.facts()["prompt_source"] == "BERDS (arXiv 2409.18110), table 16"
