"""Scores as Anserini's ScoreTiesAdjusterReranker makes them."""

import numpy as np

from toolkit.models.lucene.anserini import strict_scores


def literal(ranking):
    """The Java loop, line by line."""
    scores, ties = [np.float32(score) for score in ranking], 0
    for i in range(len(scores)):
        scores[i] = np.float32(np.floor(float(scores[i]) * 10000.0 + 0.5) / 10000.0)
        if i == 0 or scores[i - 1] - scores[i] > np.float32(1e-4):
            ties = 0
        else:
            ties += 1
            scores[i] = scores[i] - np.float32(1e-6) * np.float32(ties)
    return scores


def printed(scores):
    return [f"{score:.6f}" for score in scores]


def test_equal_scores_fall_by_a_millionth_each():
    assert printed(strict_scores([[6.0196, 6.01962, 6.01958, 5.9]])[0]) == ["6.019600", "6.019599", "6.019598", "5.900000"]


def test_scores_are_rounded_to_four_decimals():
    assert printed(strict_scores([[8.61041, 8.57056, 7.31115]])[0]) == ["8.610400", "8.570600", "7.311200"]


def test_rankings_of_different_lengths_do_not_touch_each_other():
    assert [printed(scores) for scores in strict_scores([[2.0, 2.0], [], [1.0]])] == [
        ["2.000000", "1.999999"],
        [],
        ["1.000000"],
    ]


def test_no_rankings_give_none():
    assert strict_scores([]) == []


def test_they_are_those_of_the_java_loop():
    rng = np.random.default_rng(1)
    # dense scores: neighbours are equal, 1e-4 apart (just a tie or just not one), or further
    rankings = [np.sort(rng.integers(0, 400, 300) / 10_000 + offset)[::-1].tolist() for offset in (0.0, 3.0, 15.99, 20.0)]
    for scores, ranking in zip(strict_scores(rankings), rankings, strict=True):
        assert scores.tolist() == [float(score) for score in literal(ranking)]
