"""One table for all commands: what fits a terminal, what a cell shows, and the other forms."""

import json
import math

import pytest

from toolkit.core.errors import ToolkitError
from toolkit.core.tables.aligned_table import Column, Number, Table, TableStyle, prepared, shown, to_text
from toolkit.core.tables.table_forms import latex_number, to_csv, to_json, to_latex, to_markdown, to_tsv

COLUMNS = (
    Column("run", label=True),
    Column("ori", above="nDCG@10"),
    Column("ins", above="nDCG@10"),
    Column("rank", above="", priority=1, lower=True),
    Column("WISE"),
)
ROWS = [
    ("bm25", Number(0.5, share=True), Number(0.25, share=True), 11.0, Number(-0.125, share=True, mark="*")),
    ("oracle", 1.0, math.nan, None, 1.0),
    ("minilm", Number(0.75, share=True), Number(0.5, share=True), 4.5, Number(0.25, share=True)),
]
TABLE = Table(COLUMNS, ROWS, notes=["first note", "first note", "second"], below=frozenset({1}))


def lines(table, **style):
    return to_text([table], TableStyle(**style)).splitlines()


def test_a_pipe_gets_every_column_with_marks_beside_the_digits_and_notes_once():
    assert lines(TABLE) == [
        "                 nDCG@10",
        "run          ori     ins     rank      WISE",
        "-------------------------------------------",
        "bm25      0.5000  0.2500  11.0000  -0.1250*",
        "  oracle  1.0000       -            1.0000",
        "minilm    0.7500  0.5000   4.5000   0.2500",
        "",
        "first note",
        "second",
    ]


def test_columns_that_do_not_fit_are_left_out_last_priority_first_and_one_note_says_so():
    made = lines(TABLE, width=40)
    assert max(map(len, made)) <= 40
    assert made[1].split() == ["run", "ori", "ins", "WISE"]
    assert made[-1] == "left out here: rank; --all shows all"
    assert lines(TABLE, width=20)[0].split() == ["run", "WISE"]  # the modes of a measure are left out together
    assert "rank" in lines(TABLE, width=40, every=True)[1]


def test_a_measure_wider_than_its_modes_keeps_its_name():
    table = Table((Column("a", label=True), Column("ori", above="Robustness@100")), [("x", 0.5)])
    assert lines(table)[:2] == ["   Robustness@100", "a             ori"]


def test_prose_is_wrapped_into_what_is_left_and_a_long_label_is_shortened():
    table = Table((Column("name", label=True), Column("n"), Column("text", prose=True)), [("x", 1, "many words " * 9)])
    made = lines(table, width=40)
    assert max(map(len, made)) <= 40
    assert len(made) > 5
    made = lines(Table((Column("name", label=True), Column("n")), [("begin-" + "x" * 60 + "-end", 1)]), width=40)
    assert max(map(len, made)) <= 40
    assert made[2].startswith("begin-x")
    assert "…" in made[2]
    assert "-end" in made[2]
    assert "part of name" in " ".join(made)


def test_wide_characters_count_twice():
    made = lines(Table((Column("id", label=True), Column("n")), [("查询", 1), ("ab", 2)]))
    assert made == ["id    n", "-------", "查询  1", "ab    2"]


def test_cells():
    assert [shown(cell) for cell in (1234567, 0.5, math.nan, None, "a\tb\nc")] == ["1,234,567", "0.5000", "-", "", "a b c"]
    assert shown(Number(0.00001, p=True)) == "<0.0001"
    assert shown(Number(0.03, p=True), TableStyle(percent=True, decimals=1)) == "0.0300"
    assert shown(Number(0.5, share=True), TableStyle(percent=True)) == "50.00"
    assert shown(Number(0.5), TableStyle(percent=True)) == "0.5000"  # a rank is no fraction
    assert shown(Number(0.5, share=True, signed=True), TableStyle(percent=True, decimals=0)) == "+50"
    assert shown(Number(2e9, text="2.00 GB")) == "2.00 GB"


def test_control_characters_are_visible_on_a_terminal():
    made = lines(Table((Column("a", label=True), Column("b")), [("x\x1b[2J", "y")]), width=80)
    assert made[2].split() == [r"x\x1b[2J", "y"]


def test_colour_is_in_heads_and_outcomes():
    table = Table((Column("a", label=True), Column("outcome")), [("x", "OK"), ("b", "FAIL")])
    made = to_text([table], TableStyle(width=80, colour=True))
    assert made == "\x1b[1ma  outcome\x1b[0m\n----------\nx  \x1b[32mOK\x1b[0m\nb  \x1b[31mFAIL\x1b[0m\n"


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("run", ["bm25", "oracle", "minilm"]),
        ("nDCG@10 ori", ["minilm", "bm25", "oracle"]),
        ("ins", ["minilm", "bm25", "oracle"]),
        ("RANK", ["minilm", "bm25", "oracle"]),  # less is better
    ],
)
def test_sorted_rows_take_those_below_them_along(name, order):
    (table,) = prepared([TABLE], TableStyle(sort=name))
    assert [row[0] for row in table.rows] == order
    assert [table.rows[row][0] for row in table.below] == ["oracle"]


def test_a_column_that_is_not_there_is_answered_with_the_nearest():
    with pytest.raises(ToolkitError, match="no column 'wize'") as raised:
        prepared([TABLE], TableStyle(sort="wize"))
    assert "WISE" in raised.value.hint


def test_percentages_are_named():
    (table,) = prepared([TABLE], TableStyle(percent=True))
    assert table.notes[-1] == "in per cent, except rank, nDCG@10, WISE"  # those of the second row are plain numbers


def test_latex_has_true_minus_signs_and_escapes():
    table = Table((Column("a_b", label=True), Column("x"), Column("y", above="M"), Column("z", above="M")), [
        ("p-q", Number(-0.5, signed=True, mark="*"), 0.25, math.nan), ("r", 1.0, 2.0, 3.0)], below=frozenset({1}))  # fmt: skip
    assert to_latex(table).splitlines() == [
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r" &  & \multicolumn{2}{c}{M} \\",
        r"a\_b & x & y & z \\",
        r"\midrule",
        r"p-q & $-$0.5000$^{*}$ & 0.2500 & -- \\",
        r"\quad r & 1.0000 & 2.0000 & 3.0000 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    assert latex_number("+0.1") == "$+$0.1"


def test_markdown_tsv_csv_and_json():
    table = Table(
        (Column("a|b", label=True), Column("n"), Column("x", above="M")), [("p_q", 1000, Number(0.5, share=True))], ["n"]
    )
    assert to_markdown(table) == "| a\\|b | n | M x |\n| --- | ---: | ---: |\n| p\\_q | 1,000 | 0.5000 |\n"
    assert to_tsv(table) == "a|b\tn\tM x\np_q\t1000\t0.5000\n"
    assert to_tsv(table, heads=False) == "p_q\t1000\t0.5000\n"
    assert to_csv(table) == "a|b,n,M x\np_q,1000,0.5\n"
    assert json.loads(to_json(table)) == {"schema": 1, "rows": [{"a|b": "p_q", "n": 1000, "M x": 0.5}], "notes": ["n"]}
