"""The same scores as table, JSON, CSV, LaTeX and trec_eval's lines."""

import csv
import io
import json
import math

from toolkit.core.scores import Score, Scores
from toolkit.evaluate.score_output import render

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
run    group     query              ori     ins  WISE_ideal@20
--------------------------------------------------------------
bm25   audience  all             0.5000  0.3333              -
bm25   average   all             0.5000  0.3333
bm25   audience  audience-001-1  0.2500
blind  average   all             0.5000

bm25: a note
"""


def test_the_table_has_a_row_a_group_and_of_references_the_average():
    assert render(SCORES, "table") == TABLE


def test_a_narrow_table_becomes_several_blocks_with_the_same_labels():
    wide, narrow = render(SCORES, "table"), render(SCORES, "table", width=50)
    assert max(map(len, narrow.splitlines())) <= 50 < max(map(len, wide.splitlines()))
    first, second, notes = narrow.split("\n\n")
    assert [line[:33] for line in first.splitlines()[3:]] == [line.ljust(33)[:33] for line in second.splitlines()[3:]]
    assert "nDCG@10" in first
    assert "WISE_ideal@20" in second
    assert notes == "bm25: a note\n"


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
    assert r"\multicolumn{2}{c}{nDCG@10} & \multicolumn{1}{c}{WISE\_ideal@20} \\" in text
    assert r"bm25 & audience & audience-001-1 & 0.2500 &  &  \\" in text
    assert text.startswith("\\begin{tabular}{lllrrr}\n\\toprule\n")
