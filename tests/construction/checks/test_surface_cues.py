"""Surface cues: a planted one is found and named, random texts have none, and shuffled labels show how often chance does."""

import itertools
import random

import numpy as np
import pytest
from planted_folders import WORDS, planted, text_of

from toolkit.construction.checks.judged_texts import NEGATIVES, UNRELATED, Item, judged_texts
from toolkit.construction.checks.surface_cues import (
    COUNTS,
    FOLDS,
    LEAST,
    Sample,
    Scored,
    best_cue,
    compared,
    features,
    folds_of,
    held_out_scores,
    surface_cues,
)


def sample_of(seed=0, cores=16, change=lambda text, positive: text, strata=("",)):
    """Two gold documents and two others of each core query, of random words."""
    generator = random.Random(seed)
    items, texts = [], []
    for core in range(cores):
        for number in range(4):
            positive = number < 2
            items.append(Item(f"d{core}-{number}", f"q{core}", strata[core % len(strata)], positive))
            texts.append(change(text_of(generator, core), positive))
    return Sample(items, texts)


def row_of(sample):
    return next(compared("all", NEGATIVES, sample))


def with_word(word, place=1):
    """The text with another word at a place: as many words as before."""
    return lambda text: " ".join([*text.split()[:place], word, *text.split()[place + 1 :]])


@pytest.mark.parametrize(
    ("cue", "change"),
    [
        ("fewer words", lambda text: " ".join(text.split()[:30])),
        ("more commas", lambda text: text.replace(" ", ", ", 3)),
        ("fewer words a sentence", lambda text: text.replace(" ", ". ", 5)),
        ("more capitals", str.title),
        ("more digits", with_word("12345")),
        ('has "sponsored"', with_word("sponsored")),
    ],
)
def test_a_planted_cue_is_found_and_named(cue, change):
    row = row_of(sample_of(change=lambda text, positive: change(text) if positive else text))
    assert row.is_found
    assert row.area.value > 0.65  # sixteen core queries teach one word among thousands in part
    assert row.cue == (cue, 1.0, 1 / 500)


def test_a_cue_of_the_others_is_named_by_what_gold_lacks():
    change = with_word("sponsored")
    row = row_of(sample_of(change=lambda text, positive: text if positive else change(text)))
    assert row.is_found
    assert row.cue == ('lacks "sponsored"', 1.0, 1 / 500)


def test_a_first_word_is_a_cue_of_its_own():
    change, other = with_word("answer", 0), with_word("answer", 5)
    row = row_of(sample_of(change=lambda text, positive: (change if positive else other)(text)))
    assert row.cue.name == 'has first word "answer"'


def test_a_cue_that_half_of_the_gold_documents_have_is_found_in_part():
    places, change = itertools.count(), with_word("sponsored")
    half = lambda text, positive: change(text) if positive and next(places) % 2 else text  # noqa: E731
    row = row_of(sample_of(cores=30, change=half))
    assert row.cue == ('has "sponsored"', 0.75, 1 / 500)  # half of the pairs are ordered rightly, the others tied


def test_random_texts_have_none():
    row = row_of(sample_of())
    assert not row.is_found
    assert not row.cue.is_found
    assert row.area.low < 0.5 < row.area.high


def shuffled(sample, times, seed):
    """The sample with its labels in another order, so many times."""
    generator = np.random.default_rng(seed)
    for _ in range(times):
        labels = generator.permutation(sample.positive).tolist()
        yield Sample([i._replace(positive=label) for i, label in zip(sample.items, labels, strict=True)], sample.texts)


def test_shuffled_labels_are_hardly_ever_found(monkeypatch):
    """Of 40 shuffles at most two are said to be told: that one in a hundred is would be expected of an exact interval."""
    monkeypatch.setattr("toolkit.construction.checks.surface_cues.PERMUTATIONS", 9)
    rows = [row_of(each) for each in shuffled(sample_of(cores=10), 40, seed=3)]
    assert sum(row.is_found for row in rows) <= 2
    assert abs(float(np.mean([row.area.value for row in rows])) - 0.5) < 0.05  # one classifier's scores alone are compared


def test_the_p_of_a_cue_holds_under_shuffled_labels(monkeypatch):
    monkeypatch.setattr("toolkit.construction.checks.surface_cues.PERMUTATIONS", 99)
    small = sum(best_cue(each).p <= 0.1 for each in shuffled(sample_of(cores=8), 60, seed=5))
    assert small <= 12  # 6 are expected; more than 12 come once in a hundred


def test_words_of_one_core_query_are_no_cue():
    """What only the gold documents of a core query have tells them, and says nothing of any other."""
    sample = sample_of()
    pairs = list(zip(sample.items, sample.texts, strict=True))
    marks = {item.core: with_word(chr(97 + place) * 3) for place, item in enumerate(sample.items[::4])}
    texts = [marks[item.core](text) if item.positive else text for item, text in pairs]
    assert best_cue(Sample(sample.items, texts)).area < 0.8
    assert not row_of(Sample(sample.items, texts)).is_found


def test_a_word_of_two_core_queries_is_no_cue_however_many_documents_have_it():
    generator, change, sizes = random.Random(2), with_word("sponsored"), enumerate((20, 20, 2, 2, 2))
    items = [Item(f"d{core}-{n}", f"q{core}", "", n % 2 == 0) for core, size in sizes for n in range(size)]
    pairs = [(item, text_of(generator, int(item.core[1:]))) for item in items]
    marked = [change(text) if item.positive and item.core in ("q0", "q1") else text for item, text in pairs]
    assert "sponsored" not in best_cue(Sample(items, marked)).name
    everywhere = [change(text) if item.positive else text for item, text in pairs]
    assert best_cue(Sample(items, everywhere)).name == 'has "sponsored"'


def test_no_item_is_scored_by_a_classifier_that_saw_its_core_query():
    items = sample_of(cores=13).items
    folds = folds_of(items)
    fold_of = {}
    for item, fold in zip(items, folds.tolist(), strict=True):
        assert fold_of.setdefault(item.core, fold) == fold
    assert sorted(np.bincount(folds).tolist()) == [8, 8, 12, 12, 12]  # 13 core queries of four over five folds
    assert len(set(folds.tolist())) == FOLDS


def test_scores_of_two_classifiers_are_not_compared(monkeypatch):
    """Each classifier has a scale of its own: within a fold gold is first, over all folds it is not."""

    def scored(sample):
        folds = folds_of(sample.items)
        return Scored(folds * 10.0 + sample.positive, folds)

    monkeypatch.setattr("toolkit.construction.checks.surface_cues.held_out_scores", scored)
    assert row_of(sample_of()).area == (1.0, 1.0, 1.0)


def test_held_out_scores_are_the_same_again():
    first, second = (held_out_scores(sample_of()) for _ in range(2))
    assert np.array_equal(first.scores, second.scores)


def test_conditions_are_compared_by_themselves():
    """In one condition gold is shorter, in the other longer: together no single feature tells, each alone does."""

    def change(text, positive):
        short[0] += 1
        core = (short[0] - 1) // 4
        return " ".join(text.split()[:20]) if positive == bool(core % 2) else text

    short = [0]
    rows = list(compared("length", NEGATIVES, sample_of(change=change, strata=("long", "brief"))))
    assert [(row.condition, row.gold, row.other, row.cores) for row in rows] == [
        ("", 32, 32, 16),
        ("long", 16, 16, 8),
        ("brief", 16, 16, 8),
    ]
    assert [row.cue.name for row in rows[1:]] == ["more words", "fewer words"]
    assert all(row.is_found for row in rows)  # one classifier a condition
    assert rows[0].cue.area < 0.8


@pytest.mark.parametrize(
    ("name", "negatives", "unrelated"),
    [
        (
            "infosearch-mini-audience",
            (24, 24),
            (24, 124),
        ),  # twelve core queries, two conditions: each gold document is the other's
        ("instructir-mini", (72, 72), (72, 0)),  # twelve core queries of six instructions: all documents are somebody's
        ("mfollowir-mini-fas", (30, 30), (30, 80)),
        ("berds-mini", (0, 0), (83, 94)),
    ],
)
def test_what_is_compared_in_the_minis(name, negatives, unrelated):
    [group] = judged_texts(name)
    for items, sizes in ((group.against_negatives(), negatives), (group.against_unrelated(), unrelated)):
        assert (sum(item.positive for item in items), sum(not item.positive for item in items)) == sizes


def test_few_documents_are_not_compared():
    row = row_of(sample_of(cores=LEAST - 1))
    assert (row.area, row.cue, row.is_found) == (None, None, False)
    assert (row.gold, row.other, row.cores) == (8, 8, 4)


def test_of_a_benchmark_gold_is_compared_with_negatives_and_with_unrelated_documents(tmp_path):
    folder = planted(tmp_path / "mine", gold=lambda text: " ".join(text.split()[:30]), unrelated=30)
    [group] = judged_texts(str(folder))
    rows = {row.others: row for row in surface_cues(group)}
    assert list(rows) == [NEGATIVES, UNRELATED]
    assert [(row.gold, row.other) for row in rows.values()] == [(32, 32), (32, 30)]
    assert {row.cue.name for row in rows.values()} == {"fewer words"}


def test_what_is_counted_of_a_text():
    text = 'Is "this" so? Yes (it is): 12 words, no MORE!\nA line - {x} isn\'t.'
    counts = dict(zip(COUNTS, features([text, "two texts two texts"]).counts[0], strict=True))
    words = ["Is", "this", "so", "Yes", "it", "is", "12", "words", "no", "MORE", "A", "line", "x", "isn", "t"]
    assert counts["words"] == len(words)
    assert counts["letters a word"] == sum(map(len, words)) / 15
    assert counts["words a sentence"] == 15 / 3
    assert counts["repeated words"] == pytest.approx(1 - 14 / 15)  # Is, is
    assert counts["lines"] == 2
    assert counts["capitals"] == pytest.approx(7 / len(text))
    assert counts["digits"] == pytest.approx(2 / len(text))
    once = ("full stops", "commas", "question marks", "exclamation marks", "colons and semicolons", "apostrophes", "dashes")
    assert [round(counts[name] * len(text)) for name in once] == [1] * 7
    assert [round(counts[name] * len(text)) for name in ("quotation marks", "brackets", "signs of code")] == [2, 2, 2]


@pytest.mark.parametrize("texts", [["", ""], ["a", "b"], ["???", "!"], ["词 语", "词 语"], ["\ud800", "x"]])
def test_texts_without_words_have_features(texts):
    found = features(texts)
    assert found.counts.shape == (2, len(COUNTS))
    assert found.terms.shape == (2, len(found.names))
    assert np.isfinite(found.counts).all()


def test_words_are_those_of_the_planted_vocabulary():
    assert len(set(WORDS)) > 350  # the tests above rest on it
