import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.models.rerankers.listwise_ranker import Repairs, read_permutation


@pytest.mark.parametrize(
    ("answer", "order", "repairs"),
    [
        ("[2] > [1] > [3]", (1, 0, 2), {}),
        ("[ 2 ]>[1]\n> [3].", (1, 0, 2), {}),
        ("2 > 1 > 3", (1, 0, 2), {}),
        ("2, 1, 3", (1, 0, 2), {}),
        ("[2] > [1]", (1, 0, 2), {"missing": 1}),
        ("[2] > [2] > [1] > [3]", (1, 0, 2), {"doubled": 1}),
        ("[2] > [1] > [3] > [4] > [0]", (1, 0, 2), {"out_of_range": 2}),
        ("Of the 3 passages, here are the best 2: [3] > [1]", (2, 0, 1), {"missing": 1}),
        ("I cannot rank these.", (0, 1, 2), {"missing": 3, "unreadable": 1}),
        ("", (0, 1, 2), {"missing": 3, "unreadable": 1}),
        ("[9] > [8]", (0, 1, 2), {"out_of_range": 2, "missing": 3, "unreadable": 1}),
        ("<think>[1] is better than [2]</think> [3] > [2] > [1]", (2, 1, 0), {}),
        ("[" + "1" * 10_000 + "] > [2]", (1, 0, 2), {"out_of_range": 1, "missing": 2}),
        ("[٢] > [1] > [3]", (1, 0, 2), {}),  # Arabic-Indic digits are digits
    ],
)
def test_an_answer_is_read_as_a_permutation(answer, order, repairs):
    assert read_permutation(answer, 3) == (order, Repairs(**repairs))


def test_released_code_takes_every_number_for_an_id():
    answer = "The 3 passages: [2] > [1] > [3]"
    assert read_permutation(answer, 3) == ((1, 0, 2), Repairs())
    assert read_permutation(answer, 3, ids="digits") == ((2, 1, 0), Repairs(doubled=1))


def test_nothing_to_order_is_nothing_to_repair():
    assert read_permutation("", 0) == ((), Repairs())


texts = st.text() | st.lists(st.integers(-5, 30).map("[{}]".format) | st.sampled_from(["[", "]", " > ", "12", "x"])).map(
    "".join
)


@given(answer=texts, count=st.integers(0, 25), ids=st.sampled_from(["brackets", "digits"]))
def test_whatever_is_answered_the_order_is_a_permutation(answer, count, ids):
    order, repairs = read_permutation(answer, count, ids=ids)
    assert sorted(order) == list(range(count))
    assert min(repairs) >= 0
    assert repairs.missing <= count


@given(st.permutations(range(12)))
def test_a_permutation_that_is_written_down_is_read_back(order):
    answer = " > ".join(f"[{position + 1}]" for position in order)
    assert read_permutation(answer, 12) == (tuple(order), Repairs())


@given(st.lists(st.integers(1, 9), max_size=20), st.integers(1, 9))
def test_ids_that_are_missing_keep_their_old_order(named, count):
    order, repairs = read_permutation(" > ".join(f"[{number}]" for number in named), count)
    appended = order[count - repairs.missing :]
    assert list(appended) == sorted(appended)
