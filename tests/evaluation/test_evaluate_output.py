"""The same scores as table, JSON, CSV, LaTeX and trec_eval's lines."""

import csv
import io
import json
import math

from toolkit.core.scores import Score, Scores
from toolkit.core.tables.aligned_table import TableStyle, prepared, to_text
from toolkit.evaluation.scores.score_output import render
from toolkit.evaluation.scores.score_table import lay_out

ROWS = (
    Score("bm25", "audience", "ori", "nDCG@10", 0.5, 2),
    Score("bm25", "audience", "ins", "nDCG@10", 1 / 3, 2),
    Score("bm25", "audience", "paired", "WISE_ideal@20", math.nan, 0),
    Score("bm25", "average", "ori", "nDCG@10", 0.5, 2),
    Score("bm25", "average", "ins", "nDCG@10", 1 / 3, 2),
    Score("bm25", "audience", "ori", "nDCG@10", 0.25, 1, "audience-001-1"),
    Score("blind", "audience", "ori", "nDCG@10", 0.5, 2),
    Score("blind", "average", "ori", "nDCG@10", 0.5, 2),
)
SCORES = Scores(ROWS, ("bm25: a note",))

TABLE = """\
                                          nDCG@10
run      group     query              ori     ins  WISE_ideal@20
----------------------------------------------------------------
bm25     audience  all             0.5000  0.3333              -
bm25     average   all             0.5000  0.3333
bm25     audience  audience-001-1  0.2500
  blind  average   all             0.5000

bm25: a note
"""


def test_the_table_has_a_row_a_group_and_of_references_the_average():
    assert render(SCORES, "table") == TABLE


def test_a_narrow_terminal_gets_the_first_measure_and_a_note():
    (first, notes) = to_text([lay_out(SCORES)], TableStyle(width=50)).split("\n\n")
    assert first.splitlines()[1].split() == ["run", "group", "query", "ori", "ins"]
    assert max(map(len, first.splitlines())) <= 50
    assert "WISE_ideal@20; --all shows all" in " ".join(notes.split())


def test_what_is_compared_over_modes_comes_before_what_is_not():
    rows = [Score("a", "all", mode, measure, 0.5, 1) for measure, mode in MEASURES]
    titles = [column.title for column in sorted(lay_out(Scores(tuple(rows))).columns, key=lambda column: column.priority)]
    assert titles == ["run", "nDCG@10 ori", "nDCG@10 ins", "WISE@20", "SICR", "pMRR", "RR ori", "WISE_ideal@20", "GoldRank ori"]


MEASURES = (
    *(("nDCG@10", "ori"), ("nDCG@10", "ins"), ("RR", "ori")),
    *((measure, "paired") for measure in ("pMRR", "SICR", "WISE@20", "WISE_ideal@20")),
    ("GoldRank", "ori"),
)


def test_percentages_are_of_fractions_alone():
    scores = Scores((ROWS[0], Score("bm25", "audience", "ori", "GoldRank", 2.5, 2)))
    style = TableStyle(percent=True, decimals=1)
    text = to_text(prepared([lay_out(scores)], style), style)
    assert text.splitlines()[-3:] == ["bm25     50.0       2.5", "", "in per cent, except GoldRank"]


def test_labels_that_do_not_vary_are_left_out():
    assert render(Scores(ROWS[:1]), "table").splitlines()[1:] == ["run       ori", "-------------", "bm25   0.5000"]
    without_modes = Scores((ROWS[0]._replace(mode=""),))
    assert render(without_modes, "table") == "run   nDCG@10\n-------------\nbm25   0.5000\n"


def test_json_keeps_all_digits_and_has_null_for_no_value():
    text = render(SCORES, "json")
    read = json.loads(text)
    assert read["schema"] == 1
    assert read["notes"] == ["bm25: a note"]
    assert read["rows"][1] == {
        "run": "bm25", "group": "audience", "mode": "ins", "measure": "nDCG@10", "value": 1 / 3, "queries": 2
    }  # fmt: skip
    assert read["rows"][2]["value"] is None
    with_ids = json.loads(render(SCORES, "json", by_query=True))["rows"]
    assert [row["query_id"] for row in with_ids if row["query_id"]] == ["audience-001-1"]


def test_csv_has_the_same_columns():
    rows = list(csv.DictReader(io.StringIO(render(SCORES, "csv", by_query=True))))
    assert list(rows[0]) == ["run", "group", "mode", "measure", "value", "queries", "query_id"]
    assert float(rows[1]["value"]) == 1 / 3
    assert rows[2]["value"] == ""
    assert "query_id" not in render(SCORES, "csv")


def test_trec_lines_name_query_or_group_with_its_mode():
    lines = render(SCORES, "trec").splitlines()
    assert lines[:3] == ["runid\tall\tbm25", "nDCG@10\taudience-ori\t0.5000", "nDCG@10\taudience-ins\t0.3333"]
    assert lines[3] == "WISE_ideal@20\taudience\tnan"
    assert lines[6:8] == ["nDCG@10\taudience-001-1-ori\t0.2500", "runid\tall\tblind"]


def test_latex_escapes_what_it_would_read():
    text = render(SCORES, "latex")
    assert r" &  &  & \multicolumn{2}{c}{nDCG@10} &  \\" in text
    assert r"run & group & query & ori & ins & WISE\_ideal@20 \\" in text
    assert r"bm25 & audience & audience-001-1 & 0.2500 &  &  \\" in text
    assert text.startswith("\\begin{tabular}{lllrrr}\n\\toprule\n")


def test_markdown_has_a_column_a_measure_and_mode():
    lines = render(SCORES, "markdown").splitlines()
    assert lines[0] == "| run | group | query | nDCG@10 ori | nDCG@10 ins | WISE\\_ideal@20 |"
    assert lines[-1] == "| &emsp;blind | average | all | 0.5000 |  |  |"


def test_references_have_short_names_below_their_runs():
    rows = [Score(name, "all", "", "RR", 0.5, 1) for name in ("a", "random 2.5% of a", "b", "oracle of b")]
    assert [row[0] for row in lay_out(Scores(tuple(rows))).rows] == ["a", "random 2.5%", "b", "oracle"]


def test_scores_are_short_in_an_interpreter():
    rows = [Score(f"run-{number}", "all", "", f"P@{number}", 0.5, 1) for number in range(1, 500)]
    assert (
        repr(Scores(tuple(rows)))
        == "Scores(run-1, run-10, run-100, ... (499 in all): P@1, P@10, P@100, ... (499 in all); 499 values)"
    )
