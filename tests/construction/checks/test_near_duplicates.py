"""Near-duplicates: found by MinHash, reported by exact Jaccard similarity, the same on every machine."""

import hashlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.construction.checks.near_duplicates import NearPair, jaccard, near_duplicates, near_pairs, shingles
from toolkit.core.errors import ToolkitError

ZOO = "Zoos protect species that are hunted elsewhere, and teach the children of a city what lives on earth beside them."
TAX = "A tax on sugar helps children, say the doctors of two hospitals who have seen what sugar does to teeth and weight."
# one word of twenty is another: five of some 110 shingles are new for each letter that changed
NEAR_ZOO = ZOO.replace("city", "town")


def test_shingles_pass_over_case_white_space_and_width():
    assert shingles("Ab  c\nDe") == {"ab c ", "b c d", " c de"}
    assert shingles("ＡＢＣ") == {"abc"}
    assert shingles(" \n") == frozenset()


def test_jaccard_is_the_share_of_what_is_common():
    assert jaccard(frozenset("abc"), frozenset("bcd")) == 2 / 4
    assert jaccard(frozenset(), frozenset()) == 0.0


def test_an_edited_copy_is_found_with_its_similarity_and_another_text_is_not():
    texts = {"a": ZOO, "b": TAX, "c": NEAR_ZOO}
    similarity = jaccard(shingles(ZOO), shingles(NEAR_ZOO))
    assert 0.8 < similarity < 1
    assert list(near_pairs(texts)) == [NearPair("a", "c", similarity)]
    assert list(near_pairs(texts, threshold=0.99)) == []


def test_scripts_without_blanks_are_compared_by_their_characters():
    text = "动物园保护在别处被猎杀的物种，并教城里的孩子们认识与他们同在地球上的生命，许多人因此开始关心自然。"
    assert set(near_duplicates({"a": text, "b": text[:-1] + "！", "c": "糖税帮助儿童，两家医院的医生如是说。"})) == {"b"}


def test_an_earlier_text_stays_and_what_is_near_a_removed_one_alone_stays_too():
    # b is near a, c near b and not near a: with b gone, c has no duplicate
    a, b, c = ("".join(chr(0x4E00 + n) for n in range(start, start + 100)) for start in (0, 10, 20))
    pairs = {(pair.first, pair.second) for pair in near_pairs({"a": a, "b": b, "c": c}, threshold=0.75)}
    assert pairs == {("a", "b"), ("b", "c")}
    assert set(near_duplicates({"a": a, "b": b, "c": c}, threshold=0.75)) == {"b"}


def test_of_several_the_most_similar_is_named():
    left_out = near_duplicates({"a": ZOO, "b": NEAR_ZOO + " " + TAX, "c": NEAR_ZOO + " " + TAX, "d": ZOO})
    assert {second: pair.first for second, pair in left_out.items()} == {"c": "b", "d": "a"}


def test_empty_texts_are_no_duplicates():
    assert list(near_pairs({"a": "", "b": " ", "c": ""})) == []


@pytest.mark.parametrize("threshold", [0, -1, 1.1])
def test_a_threshold_is_a_similarity(threshold):
    with pytest.raises(ToolkitError, match="near-duplicates"):
        list(near_pairs({}, threshold=threshold))


def sentences(seed, count):
    drawn = random.Random(seed)
    words = [hashlib.sha256(str(n).encode()).hexdigest()[: 3 + n % 6] for n in range(400)]
    return [" ".join(drawn.choices(words, k=40)) for _ in range(count)]


@given(st.integers(0, 10_000), st.integers(0, 3))
def test_every_pair_that_comparing_all_finds_is_found_and_no_other(seed, changed):
    texts = sentences(seed, 12)
    texts += [" ".join(text.split()[: 40 - changed] + ["new"] * changed) for text in texts[:4]]
    named = {str(n): text for n, text in enumerate(texts)}
    parts = {text_id: shingles(text) for text_id, text in named.items()}
    expected = {
        NearPair(first, second, jaccard(parts[first], parts[second]))
        for first in named
        for second in named
        if int(first) < int(second) and jaccard(parts[first], parts[second]) >= 0.8
    }
    assert set(near_pairs(named)) == expected
