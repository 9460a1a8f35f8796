"""BM25 as the papers' released code ran it: Okapi over stems, and title and text as two fields."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

import tandem_ir
from toolkit import registry
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.templates import topic_input
from toolkit.core.topics import Topic
from toolkit.models import choose_system
from toolkit.models.lucene.okapi import Okapi, stem, stop_words, words
from toolkit.retrieval.search.lexical_engines import open_fields, search_okapi

DOCS = [
    Doc("a", "Wind power", "Turbines turn wind into power, wind by wind."),
    Doc("b", "", "Cats sleep."),
    Doc("c", "Storms", "The wind of the storms is strong."),
    Doc("d", "Power stations", "Coal burns."),
    Doc("e", "Wind", "wind"),
]


def search_fields(topics, docs, folder, templates=None, **how):
    """The run of a collection whose title and text are two fields."""
    sent = [replace(topic, text=topic_input(templates or {}, topic).whole) for topic in topics]
    return open_fields(docs, folder, **how).search(sent, hits=1000, threads=1, tag="fields")


def literal_scores(documents, query, k1, b, epsilon):
    """BM25Okapi word by word, as its formulas read."""
    total = len(documents)
    mean_length = sum(len(document) for document in documents) / total
    containing = {}
    for document in documents:
        for word in dict.fromkeys(document):
            containing[word] = containing.get(word, 0) + 1
    idf, idf_sum = {}, 0
    for word, n in containing.items():
        idf[word] = math.log(total - n + 0.5) - math.log(n + 0.5)
        idf_sum += idf[word]
    average = idf_sum / len(idf)
    for word in [word for word, value in idf.items() if value < 0]:
        idf[word] = epsilon * average
    scores = []
    for document in documents:
        score = 0.0
        for word in query:
            tf = document.count(word)
            score += idf.get(word, 0) * (tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(document) / mean_length)))
        scores.append(score)
    return scores


@pytest.mark.parametrize(("k1", "b", "epsilon"), [(1.5, 0.75, 0.25), (0.9, 0.4, 0.0), (2.0, 1.0, 1.0)])
def test_scores_are_those_of_the_formulas_bit_for_bit(k1, b, epsilon):
    documents = [words(doc.contents) for doc in DOCS]
    query = words("wind power wind unknown")
    expected = literal_scores(documents, query, k1, b, epsilon)
    assert Okapi(documents, k1=k1, b=b, epsilon=epsilon).scores(query).tolist() == expected
    assert expected[0] > 0 == expected[1]


def test_a_word_of_most_documents_weighs_epsilon_times_the_mean_idf():
    # wind is in 3 of 4: ln 1.5 - ln 3.5 < 0; the others have ln 3.5 - ln 1.5 = 0.8473: mean (3 * 0.8473 - 0.8473) / 4
    documents = [["wind"], ["wind"], ["wind"], ["cat", "dog", "eel"]]
    scores = Okapi(documents, k1=1.5, b=0.0, epsilon=0.5).scores(["wind"])
    assert scores == pytest.approx([0.5 * math.log(3.5 / 1.5) / 2] * 3 + [0])


def test_words_are_made_in_the_order_of_the_released_code():
    # "the," is no stop word with its comma; "running," keeps -ing, as its last letter is the comma; - alone goes
    assert words("The cats, THE running, of - and\tto Ponies") == ["cats", "running", "and\tto", "poni"]
    assert words("don't Don't dog's dogs' well-known") == ["dog", "dogs", "wellknown"]
    assert words("") == []


def test_the_stop_words_are_the_179_of_2024():
    assert len(stop_words()) == 179
    assert {"the", "don't", "wouldn"} <= stop_words()
    assert "i'm" not in stop_words()  # one of the 19 that came in February 2025


def test_stems_are_those_that_nltk_documents():
    plurals = (
        "caresses flies dies mules denied died agreed owned humbled sized meeting stating siezing itemization sensational "
        "traditional reference colonizer plotted"
    )
    stems = "caress fli die mule deni die agre own humbl size meet state siez item sensat tradit refer colon plot"
    assert " ".join(map(stem, plurals.split())) == stems


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("skies", "sky"),  # irregular
        ("news", "news"),
        ("succeed", "succeed"),
        ("as", "as"),  # two letters
        ("enjoy", "enjoy"),  # Porter: enjoi
        ("fly", "fli"),  # Porter: fly
        ("geologi", "geolog"),
        ("hopefulli", "hope"),
        ("radically", "radic"),  # alli twice
        ("ices", "ice"),  # Porter: ic
        ("controlling", "control"),
        ("hoping", "hope"),
        ("adoption", "adopt"),
        ("opinion", "opinion"),
        ("wind-power,", "wind-power,"),
    ],
)
def test_nltk_departs_from_porter_here(word, expected):
    assert stem(word) == expected


def test_every_document_has_a_line_and_hits_cuts_them():
    topics = [Topic("1", "wind power", "wind power"), Topic("2", "nothing known", "nothing known")]
    run = search_okapi(topics, DOCS, tag="okapi")
    ranked = {query: [doc.doc_id for doc in ranking] for query, ranking in run.rankings()}
    assert ranked["1"][0] == "a"
    assert sorted(ranked["1"]) == list("abcde")
    assert ranked["2"] == list("edcba")  # all score 0: by id, descending
    assert run.tag == "okapi"
    best = search_okapi(topics, DOCS, hits=2).to_dict()
    assert best == {query: dict(list(docs.items())[:2]) for query, docs in run.to_dict().items()}


def test_the_recipe_sends_the_released_instruction_where_there_is_none():
    spec = registry.system("bm25").with_recipe("infosearch")
    assert (spec.kind, spec.parameters["k1"], spec.parameters["b"], spec.parameters["epsilon"]) == ("okapi", 1.5, 0.75, 0.25)
    topics = [
        Topic("1-ori", "cats", "cats", released="Coal"),
        Topic("1-ins", "cats coal", "cats", "coal"),
        Topic("2-ori", "cats", "cats"),
    ]
    run = search_okapi(topics, DOCS, templates=spec.templates).to_dict()
    assert run["1-ori"] == run["1-ins"]
    assert run["1-ori"]["d"] > 0 == run["2-ori"]["d"]


def test_no_documents_and_odd_parameters_are_refused():
    topic = Topic("1", "wind", "wind")
    with pytest.raises(ToolkitError, match="no documents"):
        search_okapi([topic], [])
    with pytest.raises(ToolkitError, match="b is 2"):
        search_okapi([topic], DOCS, b=2)
    with pytest.raises(ToolkitError, match="comes twice"):
        search_okapi([topic, topic], DOCS)
    with pytest.raises(ToolkitError, match="the weights of title and contents are -1 and 1"):
        search_fields([topic], lambda: DOCS, Path("nowhere"), title=-1)


@pytest.mark.lucene
@pytest.mark.parametrize("recipe", ["", "infosearch", "instructir"])
def test_an_entry_that_leaves_out_its_parameters_takes_those_of_its_kind(tmp_path, home, recipe):
    spec = choose_system("bm25", recipe=recipe)
    path = tmp_path / "my.yaml"
    templates = json.dumps(spec.templates)
    path.write_text(f"{{name: bare, description: d, kind: {spec.kind}, templates: {templates}}}", encoding="utf-8")
    bare = tandem_ir.search("infosearch-mini-audience", system="bare", systems=[path])
    assert bare.to_dict() == tandem_ir.search("infosearch-mini-audience", system="bm25", recipe=recipe).to_dict()


@pytest.mark.lucene
def test_title_and_text_are_two_fields_whose_scores_add_up(tmp_path: Path):
    topics = [Topic("1", "wind", "wind"), Topic("2", "cats", "cats", "Sleep")]
    folder = tmp_path / "index"
    both = search_fields(topics, lambda: DOCS, folder).to_dict()
    title = search_fields(topics, lambda: DOCS, folder, contents=0.0).to_dict()
    text = search_fields(topics, lambda: DOCS, folder, title=0.0).to_dict()
    assert set(both["1"]) == {"a", "c", "e"}
    for doc_id, score in both["1"].items():
        assert score == pytest.approx(title["1"].get(doc_id, 0) + text["1"].get(doc_id, 0), abs=2e-4)
    assert text["1"]["c"] > title["1"].get("c", 0) == 0
    spec = registry.system("bm25").with_recipe("instructir")
    sent = search_fields(topics, lambda: DOCS, folder, templates=spec.templates).to_dict()
    assert sent["2"]["b"] > both["2"]["b"]  # the instruction's word is searched for too


@pytest.mark.lucene
def test_the_index_of_fields_is_built_once_and_again_for_other_documents(tmp_path: Path, capsys):
    topics, folder = [Topic("1", "wind", "wind")], tmp_path / "index"
    first = search_fields(topics, lambda: DOCS, folder)
    assert "indexing" in capsys.readouterr().err
    assert search_fields(topics, lambda: DOCS, folder).to_dict() == first.to_dict()
    assert "indexing" not in capsys.readouterr().err
    assert list(search_fields(topics, lambda: DOCS[4:], folder).to_dict()["1"]) == ["e"]
    assert "indexing" in capsys.readouterr().err
    with pytest.raises(ToolkitError, match="no documents"):
        search_fields(topics, list, tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.lucene
def test_fields_are_searched_as_anserini_searches_them(tmp_path: Path):
    from toolkit.models.lucene.jvm import java_class

    queries = ["wind power", "the strong wind of storms", "coal power stations burn", "cats"]
    run = search_fields(
        [Topic(query, query, query) for query in queries], lambda: DOCS, tmp_path / "index", title=2.0
    ).to_dict()
    weights, string, number = (java_class(f"java.{name}") for name in ("util.HashMap", "lang.String", "lang.Float"))
    weights = weights()
    weights.put(string("contents"), number(1.0))
    weights.put(string("title"), number(2.0))
    searcher = java_class("io.anserini.search.SimpleSearcher")(str(tmp_path / "index"))
    searcher.set_bm25(0.9, 0.4)
    for query in queries:
        theirs = {hit.docid: hit.score for hit in searcher.search_fields(query, weights, 1000)}
        assert list(run[query]) == list(theirs)
        assert run[query] == pytest.approx(theirs, abs=1e-4)
