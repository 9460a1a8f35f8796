"""Rules: what an instruction's words demand, which documents are so, and what that does to a run."""

from dataclasses import replace

import numpy as np
import pytest

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run, ScoredDoc, join_runs
from toolkit.core.topics import Topic
from toolkit.datasets import load
from toolkit.evaluation import evaluate
from toolkit.files.formats import read_run, write_run
from toolkit.models.lucene.language_id import script
from toolkit.retrieval.search.lexical_engines import search_okapi
from toolkit.retrieval.search.rules import Restriction, apply_rules, code_share, fits, length_class, understand

DIMENSIONS = ("language", "keyword", "length")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wind power", "latin"),
        ("Öl und Größe", "latin"),
        ("风力发电 (wind)", "han"),
        ("The word 风 means wind.", "latin"),
        ("風力発電のしくみ", "kana"),
        ("바람", "hangul"),
        ("ветер", "cyrillic"),
        ("باد", "arabic"),
        ("12, 34!", ""),
    ],
)
def test_the_script_of_most_words_is_the_script_of_a_text(text, expected):
    assert script(text) == expected


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("Results in Chinese, please.", Restriction("language", "Chinese")),
        ("I speak no Chinese.", Restriction("language", "Chinese", True)),
        ("Written in English, not translated.", Restriction("language", "English")),
        ("Everything except English texts.", Restriction("language", "English", True)),
        ("只看英文资料。", Restriction("language", "English")),
        ("不要英文资料。", Restriction("language", "English", True)),
        ("I want nothing else but a text in Chinese.", Restriction("language", "Chinese")),
        ("Nothing except Chinese texts will do.", Restriction("language", "Chinese")),
        ("A page in no other language than English.", Restriction("language", "English")),
        ("None other than a single sentence.", Restriction("length", "sentence")),
        ("Give me no texts but full articles.", Restriction("length", "article")),
        ("Anything but English texts.", Restriction("language", "English", True)),
        ("Any language other than English.", Restriction("language", "English", True)),
        ("Say it in plain English.", None),
        ("A single sentence is enough.", Restriction("length", "sentence")),
        ("No single sentences.", Restriction("length", "sentence", True)),
        ("A text of no more than one paragraph.", Restriction("length", "paragraph")),
        ("Find a full article. Skip the others.", Restriction("length", "article")),
        ("Articles should be left out.", Restriction("length", "article", True)),
        ("A news article, please.", None),
        ('The documents must contain the word "solar".', Restriction("keyword", "solar")),
        ("Only texts that mention batteries.", Restriction("keyword", "batteries")),
        ("Texts in which batteries are mentioned; leave them out.", Restriction("keyword", "batteries", True)),
        ("Do not show pages that discuss batteries.", Restriction("keyword", "batteries", True)),
        ("Texts that mention it.", None),
        ("Give me code.", Restriction("code", "code")),
        ("Without code, please.", Restriction("code", "code", True)),
        ("I want to know the code of conduct.", None),
        ("For experts, please.", None),
        ("From a personal blog.", None),
        ("", None),
    ],
)
def test_instructions_are_read_by_their_words(instruction, expected):
    assert understand(instruction) == expected


def test_documents_are_told_apart():
    chinese, english = Doc("zh", "", "风能是可再生能源。"), Doc("en", "", "Wind is renewable.")
    assert fits(chinese, Restriction("language", "Chinese"))
    assert not fits(english, Restriction("language", "Chinese"))
    assert fits(english, Restriction("language", "Chinese", excluded=True))
    # stems in title or text, whole words, several in a row
    doc = Doc("d", "Heat pumps", "They were insulating the roof's beams.")
    wanted = {"pump": True, "Insulation": True, "roof": True, "heat pump": True, "roof pump": False, "insul ator": False}
    assert {word: fits(doc, Restriction("keyword", word)) for word in wanted} == wanted
    assert fits(chinese, Restriction("keyword", "再生"))


def test_length_is_counted_in_words_sentences_and_paragraphs():
    sentence = "The wind, says Dr. who, turned at 3.5 knots."
    assert length_class(sentence) == "sentence"
    assert length_class("一句话就说完了。") == "sentence"
    assert length_class("Wind blows. Rain falls.") == "paragraph"
    assert length_class("word " * 61) == "paragraph"
    assert length_class("Wind blows. " * 100) == "article"  # 200 words
    assert length_class("One.\n\nTwo.\n\nThree.") == "article"
    assert length_class("One.\n\nTwo.") == "paragraph"
    assert length_class("风。" * 334) == "article"  # 334 characters are 200.4 words


def test_code_is_told_from_prose_about_code():
    python = "import csv\n\n\ndef rows(path):\n    with open(path) as file:\n        return list(csv.reader(file))\n"
    shell = "#!/bin/sh\nfor f in *.csv; do\n  sort -u $f\ndone\n"
    fenced = "```vba\nDim r As Long\nNext r\n```\n"
    assert [code_share(text) for text in (python, fenced)] == [1, 1]
    assert code_share(shell) >= 0.75
    prose = "Open the file first.\nThen read it with csv.reader, for example, and close it.\nThat is all.\n"
    post = "Somebody asked the same last week.\nI do it as follows, and it works for me.\nimport csv\nHope it helps.\n"
    assert [code_share(text) for text in (prose, post)] == [0, 0.25]
    assert code_share("") == 0


def test_a_keyword_of_signs_alone_is_in_no_document():
    assert not fits(Doc("d", "", "one & two"), Restriction("keyword", "&&"))
    assert fits(Doc("d", "", "one & two"), Restriction("keyword", "&&", True))


def test_only_the_words_of_the_instruction_are_read():
    run = Run.from_rows([ScoredDoc("1-ins", "a", 2.0), ScoredDoc("1-ins", "b", 1.0)], tag="t")
    docs = {"a": Doc("a", "", "风力发电"), "b": Doc("b", "", "wind power")}
    asked = Topic("1-ins", "wind power In English.", query="wind power", instruction="In English.")
    misled = replace(
        asked, condition="Chinese", query="code in Chinese", text="only Chinese", mode="rev", released="In Chinese."
    )
    ranking = ["b", "a"]
    for topic in (asked, misled):
        assert list(apply_rules(run, [topic], docs).to_dict()["1-ins"]) == ranking


def test_what_violates_goes_behind_in_its_old_order_and_what_fits_keeps_its_score():
    docs = {name: Doc(name, "", "文字" if name in "bd" else "words") for name in "abcde"}
    scores = {"a": 5.0, "b": 4.5, "c": 4.25, "d": 4.0, "e": 3.0}
    topics = [
        Topic("ori", "q", "q"),
        Topic("ins", "q Only Chinese.", "q", "Only Chinese."),
        Topic("rev", "q Nothing in Chinese.", "q", "Nothing in Chinese."),
        Topic("other", "q For experts.", "q", "For experts."),
    ]
    run = Run.from_dict({topic.query_id: scores for topic in topics}, tag="bm25")
    ruled = apply_rules(run, topics, docs)
    assert ruled.tag == "bm25+rules"
    assert ruled.to_dict() == {
        "ori": scores,
        "ins": {"b": 4.5, "d": 4.0, "a": 3.999, "c": 3.998, "e": 3.997},
        "rev": {"a": 5.0, "c": 4.25, "e": 3.0, "b": 2.999, "d": 2.998},
        "other": scores,
    }


def test_where_nothing_fits_the_ranking_stays():
    run = Run.from_dict({"1": {"a": 2.0, "b": 1.0}})
    docs = {name: Doc(name, "", "words") for name in "ab"}
    topic = Topic("1", "q Only Chinese.", "q", "Only Chinese.")
    assert apply_rules(run, [topic], docs).to_dict() == run.to_dict()


@pytest.mark.parametrize("best", [0.9, 12.345678, 30000.0, -3.0])
def test_scores_stay_strictly_apart_and_survive_the_file(best, tmp_path):
    ids = [f"d{number:03d}" for number in range(300)]
    run = Run.from_columns(["1"] * 300, ids, [best - number * 1e-4 * abs(best) for number in range(300)])
    docs = {name: Doc(name, "", "文字" if number % 3 else "words") for number, name in enumerate(ids)}
    topic = Topic("1", "q Only Chinese.", "q", "Only Chinese.")
    ruled = apply_rules(run, [topic], docs)
    (_, ranking), *_ = ruled.rankings()
    scores = np.array([scored.score for scored in ranking], np.float32)
    assert np.all(np.diff(scores) < 0)
    expected = sorted(ids, key=lambda name: (docs[name].text == "words", name))
    assert [scored.doc_id for scored in ranking] == expected
    write_run(ruled, tmp_path / "run.trec", tag="x")
    assert read_run(tmp_path / "run.trec").to_dict() == ruled.to_dict()


def test_how_many_were_understood_is_said(capsys):
    topics = [
        Topic("1", "q Only Chinese.", "q", "Only Chinese."),
        Topic("2", "q For experts.", "q", "For experts."),
        Topic("3", "q", "q"),
    ]
    apply_rules(Run.from_dict({"1": {"a": 1.0}}), topics, {"a": Doc("a", "", "x")})
    said = capsys.readouterr().err
    assert "1 of 2 instructions understood (language 1)" in said
    assert "no rule understands the instructions of 1 queries (2)" in said


def test_a_document_without_text_is_named():
    topic = Topic("1", "q Only Chinese.", "q", "Only Chinese.")
    with pytest.raises(ToolkitError, match="document 'a' of query 1 has no text"):
        apply_rules(Run.from_dict({"1": {"a": 1.0}}), [topic], {})


# how many instructions are read rightly, and wrongly: of 72 about keywords, 32, 64, 96, and of the other 184. The rules were
# written before the texts of the second edition and are not tuned to them
READ = {"keyword": (46, 4), "code": (19, 2), "language": (57, 6), "length": (77, 12), "others": (0, 4)}


def test_most_instructions_of_the_mini_that_rules_are_for_are_read_rightly_and_few_wrongly():
    benchmark = load("infosearch-mini")
    counts = {what: {True: 0, False: 0} for what in READ}
    for dimension in benchmark.groups:
        for topic in (topic for mode in ("ins", "rev") for topic in benchmark.topics(dimension, mode)):
            restriction = understand(topic.instruction)
            if restriction is None:
                continue
            asked = (topic.condition.lower(), topic.mode == "rev")
            kind = "code" if topic.condition == "code" else dimension  # `code` is a condition of format
            rightly = restriction.kind == kind and (restriction.value.lower(), restriction.excluded) == asked
            counts[kind if kind in READ else "others"][rightly] += 1
    assert {what: (count[True], count[False]) for what, count in counts.items()} == READ


@pytest.fixture(scope="module")
def okapi():
    """Runs of BM25 over the three dimensions that rules understand, and the same with rules."""
    benchmark, runs, ruled = load("infosearch-mini"), [], []
    for dimension in DIMENSIONS:
        topics = [topic for mode in benchmark.spec.modes for topic in benchmark.topics(dimension, mode)]
        docs = list(benchmark.docs(dimension))
        runs.append(search_okapi(topics, docs, tag="okapi"))
        ruled.append(apply_rules(runs[-1], topics, {doc.doc_id: doc for doc in docs}))
    return join_runs(runs), join_runs(ruled)


@pytest.mark.parametrize(
    ("dimension", "measure", "rise"),
    # BM25 finds few texts in the other language than the query's, which rules bring upwards but not under the first 20: WISE@20
    # rises little there
    [
        ("language", "WISE@20", 0.06),
        ("language", "pMRR", 0.38),
        ("keyword", "WISE@20", 0.56),
        ("keyword", "pMRR", 0.27),
        ("length", "WISE@20", 0.50),
        ("length", "pMRR", 0.73),
    ],
)
def test_rules_raise_wise_and_pmrr_on_the_mini(okapi, dimension, measure, rise):
    benchmark = load("infosearch-mini")
    ids = {topic.query_id for mode in benchmark.spec.modes for topic in benchmark.topics(dimension, mode)}
    before, after = (
        evaluate(run.select(ids), benchmark=f"infosearch-mini-{dimension}", measures=[measure]).value(measure, mode="paired")
        for run in okapi
    )
    assert after - before == pytest.approx(rise, abs=0.006)
