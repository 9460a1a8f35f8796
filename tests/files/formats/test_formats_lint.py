"""The linter names what readers accept but other tools stumble over; its codes are stable."""

import pytest

from toolkit.files.formats import lint_qrels, lint_run, read_run
from toolkit.files.runs.problems import codes


def found(tmp_path, content, lint=lint_run):
    path = tmp_path / "file.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [(problem.code, problem.line, problem.message) for problem in lint(path)]


def test_a_clean_run_has_no_problems(tmp_path):
    assert found(tmp_path, "q1 Q0 a 1 2 t\nq1 Q0 b 2 2 t\nq2 Q0 a 1 0 t\n") == []


def test_tabs_comments_and_ranks_from_zero_are_no_problems(tmp_path):
    assert found(tmp_path, "# made by hand\nq1\tQ0\ta\t0\t2\tt\nq1\tQ0\tb\t1\t1\tt\n") == []


def test_a_query_that_begins_as_a_comment_does_is_looked_at_as_others_are(tmp_path):
    assert found(tmp_path, "#1 Q0 a 1 2 t\n#1 Q0 a 2 1 t\n#1 Q0 b\n") == [
        ("R004", 2, "document a of query #1 again, first on line 1")
    ]
    assert found(tmp_path, "#1 Q0 a 1 2 t\r\n# Q0 a 1 2 t\r\n") == [("F102", 1, "1 of 2 lines end with CR LF")]
    assert found(tmp_path, "#1 0 a 1\n#1 0 a 2\n", lint_qrels)[0][0] == "Q003"


def test_a_comment_may_hold_anything(tmp_path):
    content = b"# caf\xe9 \x00\nq Q0 a 1 2 t\n"
    assert found(tmp_path, content) == []
    assert read_run(tmp_path / "file.txt").to_dict() == {"q": {"a": 2.0}}
    assert found(tmp_path, content + b"q Q0 b\n") == [("R001", 3, "expected 6 columns, found 3")]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("\ufeffq Q0 a 1 2 t\n", ("F101", 1, "byte order mark at the start of the line")),
        ("\ufeff \ufeffq Q0 a 1 2 t\n", ("F101", 1, "byte order mark at the start of the line")),
        ("q Q0 a 1 2 t\n\ufeffp Q0 a 1 2 t\n", ("F101", 2, "byte order mark at the start of the line")),
        ("q Q0 a 1 2 t\nq Q0 b 2 1 t\r\n", ("F102", 2, "1 of 2 lines end with CR LF")),
        ("q Q0 a 1 2 t\n\n q Q0 b 2 1 t\n", ("F103", 2, "2 of 3 lines are blank or have extra white space")),
        ("q Q0  a 1 2 t\n", ("F103", 1, "1 of 1 lines are blank or have extra white space")),
        ("q Q0 a 1 2 t \n", ("F103", 1, "1 of 1 lines are blank or have extra white space")),
        ("q Q0 a 1 2 t\nq Q0 b - 1 t\nq Q0 c 1.0 0 t\n", ("R101", 2, "2 of 3 ranks are not whole numbers")),
        ("q Q0 a 0x1 2 t\n", ("R101", 1, "1 of 1 ranks are not whole numbers")),
        # rank 1 has the lower score
        ("q Q0 a 2 2 t\nq Q0 b 1 1 t\np Q0 a 1 1 t\n", ("R102", 1, "ranks contradict scores in 1 of 2 queries")),
        ("q Q0 a 1 2 t\nq Q0 b 1 1 t\n", ("R102", 2, "ranks contradict scores in 1 of 1 queries")),
        ("q Q0 a 1 2 t\nq Q0 b 2 1 u\n", ("R103", 2, "2 tags, the first is t")),
        ("q Q0 a 2 1 t\nq Q0 b 1 2 t\n", ("R104", 2, "lines of 1 of 1 queries are apart or not best first")),
        ("q Q0 a 1 2 t\np Q0 a 1 1 t\nq Q0 b 2 1 t\n", ("R104", 3, "lines of 1 of 2 queries are apart or not best first")),
    ],
)
def test_what_is_odd_in_a_run_is_a_warning(tmp_path, content, expected):
    assert found(tmp_path, content) == [expected]
    assert codes()[expected[0]].severity == "warning"


def test_ranks_that_part_scores_equal_in_32_bits_do_not_contradict_them(tmp_path):
    assert found(tmp_path, "q Q0 a 1 0.1 t\nq Q0 b 2 0.1000000001 t\n") == []


def test_problems_come_in_the_order_of_lines(tmp_path):
    text = b"q Q0 a 1 2 t\r\nq Q0 b\nq Q0 c 2 nan t\nq Q0 \xff 3 1 t\nq Q0 d x 1 u\n"
    assert [(code, line) for code, line, _ in found(tmp_path, text)] == [
        ("F102", 1),
        ("R001", 2),
        ("R003", 3),
        ("F001", 4),
        ("R101", 5),
        ("R103", 5),
    ]


def test_qrels_have_their_own_codes(tmp_path):
    text = "q 0 a 1\nq 0 b\nq 0 c 1.5\nq 0 a 2\nq 0 a 1\nq 1 a 0\n"
    assert found(tmp_path, text, lint_qrels) == [
        ("Q001", 2, "expected 4 columns, found 3"),
        ("Q002", 3, "relevance 1.5 is not a whole number"),
        ("Q003", 4, "document a of query q is judged 2, but 1 on line 1"),
        ("Q101", 5, "document a of query q is judged 1 again, as on line 1"),
    ]


def test_the_codes_are_these_and_no_code_is_ever_reused():
    """Add to this list; a code that is gone stays in it, under its old meaning."""
    assert list(codes()) == [
        *("F001", "F002", "F101", "F102", "F103"),
        *("R001", "R002", "R003", "R004", "R005", "R101", "R102", "R103", "R104"),
        *("Q001", "Q002", "Q003", "Q101"),
        *("T001", "T002", "T003"),
        *("M001", "M002", "M003", "M004", "M005", "M101"),
        *("B001", "B002", "B101", "B102", "B103"),
    ]
    for name, code in codes().items():
        assert code.severity == ("warning" if name[1] == "1" else "error")
        assert code.explanation.endswith(".")
        assert code.hint or code.severity == "warning"


def test_of_a_file_that_is_wrong_in_every_line_the_first_problems_stand_for_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr("toolkit.files.runs.problems.MOST", 2)
    content = "q1 Q0 a 1 2 t\n" + 5 * "q1 Q0 a 1 2 t\n" + "q1 Q0 b 1 x t\n"
    assert found(tmp_path, content) == [
        ("R005", 2, "the same line as line 1"),
        ("R005", 3, "the same line as line 1"),
        ("R005", 4, "the same is wrong in 3 lines from here on"),
        ("R002", 7, "score x is not a number"),
    ]
