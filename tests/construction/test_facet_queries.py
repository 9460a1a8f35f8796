"""Core queries, conditions and labels from facets: worked out by hand, and what holds whatever the tags."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.construction.queries.facet_queries import Limits, chosen, core_queries, instruction, judged, plain_name, topic_text

WORDINGS = {"use": "{name}", "works-with": "{name}"}
CONDITIONS = {"made-in": {"wood": ["made of wood"], "brass": ["of brass"]}}
NAMES = {"works-with::insects": "Insects and Spiders"}
DOCS = {
    "a": ["use::viewing", "works-with::insects", "made-in::wood"],
    "b": ["use::viewing", "works-with::insects", "made-in::wood", "made-in::brass"],
    "c": ["use::viewing", "works-with::insects", "made-in::tin"],
    "d": ["use::counting", "works-with::insects", "made-in::brass"],
    "e": ["use::counting", "made-in::tin"],
    "f": ["use::viewing", "works-with::insects"],  # nobody said what it is made of
    "g": ["made-in::wood"],  # nobody said what it is for
    "h": ["use::viewing", "works-with::insects", "made-in::TODO"],  # nobody had a word for what it is made of
}
SMALL = Limits(least=1, most=9, overlap=1)


def made(docs=DOCS, conditions=CONDITIONS, names=NAMES, limits=SMALL):
    return {query.tags: query for query in core_queries(docs, "made-in", conditions, WORDINGS, names, limits)}


def test_documents_that_nobody_judged_on_facet_or_topic_are_no_part_of_the_corpus():
    assert judged(DOCS, "made-in", WORDINGS) == ["a", "b", "c", "d", "e"]


def test_topics_are_tags_and_pairs_with_the_documents_that_have_them():
    queries = made()
    assert {tags: "".join(query.relevant) for tags, query in queries.items()} == {
        ("use::counting",): "de",
        ("use::viewing",): "abc",
        ("works-with::insects",): "abcd",
        ("use::counting", "works-with::insects"): "d",
        ("use::viewing", "works-with::insects"): "abc",
    }
    assert queries["use::viewing", "works-with::insects"].text == "viewing, Insects and Spiders"


def test_a_value_makes_a_query_where_enough_documents_have_it_and_enough_do_not():
    queries = made()
    assert queries[("works-with::insects",)].met == {"wood": ("a", "b"), "brass": ("b", "d")}
    assert queries[("use::counting",)].met == {"brass": ("d",)}
    assert made(limits=Limits(2, 9, 1))[("works-with::insects",)].met == {"wood": ("a", "b"), "brass": ("b", "d")}
    fewer = made(limits=Limits(2, 9, 1))[("use::viewing",)]
    assert fewer.rejected == "fewer than 4 relevant documents"


@pytest.mark.parametrize(
    ("tags", "why"),
    [
        (("use::counting", "works-with::insects"), "fewer than 2 relevant documents"),
        (("use::viewing", "works-with::insects"), "the same relevant documents as another topic"),
        (("works-with::insects",), ""),
    ],
)
def test_what_makes_no_query_says_why(tags, why):
    assert made()[tags].rejected == why


def test_two_tags_of_one_facet_are_no_topic():
    docs = {"a": ["use::viewing", "use::counting", "made-in::wood"]}
    assert set(made(docs)) == {("use::viewing",), ("use::counting",)}


def test_topics_of_a_facet_have_little_in_common():
    queries = made()
    near = [queries[("use::viewing",)], queries[("works-with::insects",)]]  # abc and abcd: 3 of 4 in common
    assert len(chosen({"made-in": near}, 2, Limits(1, 9, 0.75), 1)) == 2
    assert len(chosen({"made-in": near}, 2, Limits(1, 9, 0.74), 1)) == 1


def test_too_many_documents_and_values_without_a_difference_are_rejected():
    assert made(limits=Limits(1, 3, 1))[("works-with::insects",)].rejected == "more than 3 relevant documents"
    assert made(limits=Limits(1, 4, 1))[("works-with::insects",)].rejected == ""
    tin = {"made-in": {"zinc": ["of zinc"]}}
    assert made(conditions=tin)[("use::viewing",)].rejected == "no value with 1 documents that have it and 1 that do not"


def test_a_topic_never_has_words_of_its_condition():
    conditions = {"made-in": {"wood": ["for an insect of wood"], "brass": ["of brass"]}}
    assert made(conditions=conditions)[("works-with::insects",)].met == {"brass": ("b", "d")}
    alone = {"made-in": {"wood": ["for an insect of wood"]}}
    assert made(conditions=alone)[("works-with::insects",)].rejected == "the topic has words of the condition"


def test_a_pair_that_says_one_thing_twice_is_rejected():
    names = {"use::viewing": "Insect viewing", "works-with::insects": "Insects"}
    assert made(names=names)["use::viewing", "works-with::insects"].rejected == "both tags have the same words"


def test_gold_documents_and_instruction_negatives_are_the_relevant_documents():
    (query,) = chosen({"made-in": [made()[("works-with::insects",)]]}, 1, SMALL, 1)
    assert (query.value, query.met, query.core.relevant) == ("brass", ("b", "d"), ("a", "b", "c", "d"))


def test_names_without_a_vocabulary_are_the_words_of_the_tag():
    assert plain_name("works-with::image:raster") == "raster image"
    assert topic_text(["use::text-viewing"], {"use": "for {name}"}, {}) == "for text viewing"


TAGS = st.sampled_from(
    [
        f"{facet}::{value}"
        for facet, values in {"use": "abcd", "works-with": "xyz", "made-in": ["wood", "brass", "tin"]}.items()
        for value in values
    ]
)
COLLECTIONS = st.lists(st.lists(TAGS, max_size=5, unique=True), max_size=25).map(
    lambda rows: {f"d{number:02}": tags for number, tags in enumerate(rows)}
)
ANY = st.builds(Limits, least=st.integers(1, 2), most=st.integers(4, 20), overlap=st.sampled_from([0.5, 0.75, 1]))


@given(COLLECTIONS, ANY, st.integers(0, 5), st.integers(1, 6))
def test_queries_keep_to_the_limits_and_come_again_from_the_same_seed(docs, limits, seed, count):
    candidates = {"made-in": [query for query in made(docs, names={}, limits=limits).values() if not query.rejected]}
    queries = chosen(candidates, count, limits, seed)
    shuffled = dict(reversed(docs.items()))
    again = {"made-in": [query for query in made(shuffled, names={}, limits=limits).values() if not query.rejected]}
    assert chosen(again, count, limits, seed) == queries
    assert (
        len({query.core.tags for query in queries}) == len({query.core.relevant for query in queries}) == len(queries) <= count
    )
    for query in queries:
        assert limits.least <= len(query.met) <= len(query.core.relevant) - limits.least
        assert len(query.core.relevant) <= limits.most
        assert set(query.met) <= set(query.core.relevant)
        assert all(f"made-in::{query.value}" in docs[doc_id] for doc_id in query.met)
        assert all(set(query.core.tags) <= set(docs[doc_id]) for doc_id in query.core.relevant)
    for one, query in enumerate(queries):
        for other in queries[:one]:
            ours, theirs = set(query.core.relevant), set(other.core.relevant)
            assert len(ours & theirs) <= limits.overlap * len(ours | theirs)


def test_facets_take_turns_and_share_no_topic():
    docs = {doc_id: [*tags, "sold-in::rome" if doc_id in "abe" else "sold-in::oslo"] for doc_id, tags in DOCS.items()}
    conditions = CONDITIONS | {"sold-in": {"rome": ["sold in Rome"]}}
    candidates = {
        facet: [query for query in core_queries(docs, facet, conditions, WORDINGS, {}, SMALL) if not query.rejected]
        for facet in conditions
    }
    queries = chosen(candidates, 2, SMALL, 3)
    assert [query.core.facet for query in queries[:2]] == ["made-in", "sold-in"]
    assert len({query.core.tags for query in queries}) == len(queries)


def test_an_instruction_is_a_frame_about_a_way_to_say_it():
    said = {instruction(["of wood", "wooden"], ["Only {condition}.", "None but {condition}."], number) for number in range(60)}
    assert said == {"Only of wood.", "Only wooden.", "None but of wood.", "None but wooden."}
    assert instruction(["a", "b"], ["{condition}"], 1, "x") == instruction(["a", "b"], ["{condition}"], 1, "x")
