"""A judge against a reference: five numbers worked out by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from toolkit.core.errors import ToolkitError
from toolkit.retrieval.judge.agreement import agreement, expectations, read_labels, score_judge, score_labels

PEOPLE = Path(__file__).resolve().parents[3].parent / "shared/data/berds/perspective_detection.test.jsonl"


def test_the_numbers_are_those_of_the_table_of_four():
    # 2 hits, 1 false alarm, 1 miss, 4 right noes; chance agrees in (3*3 + 5*5) / 64 = 0.53125
    judged = [1, 1, 1, 0, 0, 0, 0, 0]
    reference = [1, 1, 0, 1, 0, 0, 0, 0]
    found = agreement(judged, reference)
    assert dict(list(found._asdict().items())[:9]) == pytest.approx(
        {
            "pairs": 8,
            "unjudged": 0,
            "positives": 3 / 8,
            "reference_positives": 3 / 8,
            "accuracy": 6 / 8,
            "precision": 2 / 3,
            "recall": 2 / 3,
            "f1": 2 / 3,
            "kappa": (0.75 - 0.53125) / (1 - 0.53125),
        }
    )


def test_what_was_asked_in_vain_is_counted_and_left_out():
    found = agreement([None, 1, 0], [1, 1, 0])
    assert (found.pairs, found.unjudged, found.accuracy, found.reference_positives) == (3, 1, 1.0, 0.5)


def test_what_has_no_denominator_has_no_value():
    found = agreement([0, 0], [0, 0])
    assert (found.accuracy, found.precision, found.recall, found.f1, found.kappa) == (1.0, None, None, None, None)
    assert agreement([None], [1])[2:] == (None,) * 15


def test_what_guesses_have_is_an_expectation():
    reference = [1] * 168 + [0] * 832
    found = expectations(reference)
    assert found == expectations(reference)
    assert (found.positives, found.precision, found.recall, found.f1, found.kappa) == (0.168, 0.168, 0.168, 0.168, 0.0)
    drawn = np.random.default_rng(0).random(168_000) < 0.168
    assert found.accuracy == pytest.approx(agreement(drawn.tolist(), reference * 168).accuracy, abs=0.005)


def test_intervals_are_over_questions():
    judged, reference = [1, 1, 0, 0] * 6, [1, 0, 0, 0] * 6
    alone = agreement(judged, reference)
    of_six = agreement(judged, reference, [f"q{number // 4}" for number in range(24)])
    assert alone.accuracy == of_six.accuracy == 0.75
    assert 0.5 < alone.accuracy_low < 0.75 < alone.accuracy_high < 0.9
    # all questions are alike: six of them know less than 24 pairs of their own
    assert of_six.accuracy_low < alone.accuracy_low < alone.accuracy_high < of_six.accuracy_high
    assert of_six.kappa_low < of_six.kappa < of_six.kappa_high
    everything = agreement([1, 0] * 3, [1, 0] * 3, list("abcabc"))
    assert everything.accuracy_low < everything.accuracy == everything.accuracy_high == 1  # no point where all agree


def test_two_files_are_held_against_each_other(tmp_path, capsys):
    (tmp_path / "a.qrels").write_text("q1 1 d1 1\nq1 2 d1 0\nq1 1 d2 -1\nq2 1 d1 1\n")
    (tmp_path / "b.qrels").write_text("q1 1 d1 1\nq1 2 d1 1\nq1 1 d2 0\n")
    a, b = read_labels(tmp_path / "a.qrels"), read_labels(tmp_path / "b.qrels")
    ours, random = score_labels(a, b)
    assert (ours.agreement.pairs, ours.agreement.unjudged, ours.agreement.accuracy) == (3, 1, 0.5)
    assert random.judge == "random"
    assert "1 pairs that only one of the files has are left out" in capsys.readouterr().err


def labelled(path, *rows):
    names = ("question", "document", "perspective", "label")
    path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
    return path


def test_labelled_pairs_say_what_is_wrong_with_them(tmp_path):
    path = labelled(tmp_path / "l.jsonl", ("q", "d", "p", 1), ("q", "d", "p", 0), ("q", "d", 3, 1), ("q", "d", "r", "yes"))
    with pytest.raises(ToolkitError) as caught:
        read_labels(path)
    assert caught.value.problems == (
        "line 2: the same pair again, with another label",
        "line 3: question, document, perspective are texts",
        "line 4: label is 0 or 1",
    )


def test_labelled_pairs_may_have_a_byte_order_mark_and_hold_line_separators(tmp_path):
    path = labelled(tmp_path / "l.jsonl", ("q", "one#two", "p", 1))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"#", "\u2028".encode()))
    assert read_labels(path).rows == ((("q", "one\u2028two", "p"), 1),)
    path.write_bytes(path.read_bytes().replace("\u2028".encode(), b"\xe9"))
    with pytest.raises(ToolkitError, match="not UTF-8 text"):
        read_labels(path)


def test_a_question_without_documents_is_no_pair_that_two_judges_agree_on(tmp_path):
    (tmp_path / "a.qrels").write_text("q1 1 d1 1\nq2 1 - 0\n")
    (ours, _) = score_labels(*[read_labels(tmp_path / "a.qrels")] * 2)
    assert ours.agreement.pairs == 1


def test_qrels_have_no_texts_for_a_judge_to_read(tmp_path):
    (tmp_path / "a.qrels").write_text("q1 1 d1 1\n")
    with pytest.raises(ToolkitError, match="has no texts to judge: they are qrels"):
        score_judge(None, read_labels(tmp_path / "a.qrels"))
    other = labelled(tmp_path / "l.jsonl", ("q", "d", "p", 1))
    with pytest.raises(ToolkitError, match="have no pair in common"):
        score_labels(read_labels(tmp_path / "a.qrels"), read_labels(other))


@pytest.mark.skipif(not PEOPLE.exists(), reason="the labelled pairs of the paper are not on this machine")
def test_the_542_pairs_of_the_paper_are_all_there_16_8_percent_of_them_positive():
    (guessed,) = score_judge(None, read_labels(PEOPLE))
    assert guessed.agreement.pairs == 542
    assert round(guessed.agreement.reference_positives, 3) == 0.168
