"""How runs, qrels and scores print, and how a score is asked for."""

import math

import pytest

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.core.scores import Score, Scores

RUN = Run.from_dict({f"q{n}": {f"<d{m}>": m / 2 for m in range(7)} for n in range(4)}, tag="bm25")
ONE = Scores((Score("bm25", "all", "", "RR", 0.25, 4), Score("bm25", "all", "", "RR", 1.0, 1, "q1")), ("a < b",))
MANY = Scores(
    tuple(
        Score(run, group, mode, measure, value, 2)
        for run, group, mode, measure, value in (
            ("a", "one", "ins", "RR", 0.1),
            ("a", "two", "ins", "RR", 0.3),
            ("a", "average", "ins", "RR", 0.2),
            ("a", "average", "ori", "RR", 0.4),
            ("a", "average", "paired", "pMRR", 0.5),
            ("b", "average", "paired", "pMRR", 0.6),
        )
    )
)


def test_they_print_short():
    assert repr(RUN) == "Run(bm25: 4 queries, 28 documents)"
    assert repr(Run.from_dict({"q": {"d": 1.0}})) == "Run(1 queries, 1 documents)"
    assert repr(Qrels.from_rows([Qrel("q", "d", 1), Qrel("q", "e", 0)])) == "Qrels(1 queries, 2 judgments)"
    assert repr(MANY) == "Scores(a, b: RR, pMRR; 6 values)"


def test_a_notebook_shows_escaped_tables():
    shown = RUN._repr_html_()
    assert shown.startswith("<table><caption>bm25: 4 queries, 28 documents</caption><thead><tr><th>query_id</th>")
    assert shown.count("<tr>") == 1 + 3 * 5  # a head, the best five of three queries
    assert "<tr><td>q0</td><td>1</td><td>&lt;d6&gt;</td><td>3</td></tr>" in shown
    assert "&lt;d1&gt;" not in shown
    assert "<td>q</td><td>d</td><td>1</td><td>0</td>" in Qrels.from_rows([Qrel("q", "d", 1)])._repr_html_()
    assert ONE._repr_html_() == (
        "<table><thead><tr><th>run</th><th>group</th><th>query_id</th><th>RR</th></tr></thead><tbody>"
        "<tr><td>bm25</td><td>all</td><td></td><td>0.2500</td></tr><tr><td>bm25</td><td>all</td><td>q1</td><td>1.0000</td></tr>"
        "</tbody></table><ul><li>a &lt; b</li></ul>"
    )


def test_a_score_is_asked_for_by_what_is_ambiguous_alone():
    assert ONE["RR"] == ONE.value("RR") == ONE.value("RR", "", group="all", run="bm25") == 0.25
    assert MANY.value("RR", "ori") == 0.4
    assert MANY.value("RR", "ins") == 0.2  # the average, and not a group
    assert MANY.value("RR", "ins", group="two") == 0.3
    assert MANY.value("pMRR", run="b") == 0.6


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        ({"measure": "RR"}, "2 values of measure 'RR'", "there are mode 'ins', 'ori'"),
        ({"measure": "pMRR"}, "2 values of measure 'pMRR'", "there are run 'a', 'b'"),
        ({"measure": "AP"}, "no values of measure 'AP'", "there are measure 'RR', 'pMRR'; mode 'ins', 'ori', 'paired'"),
        ({"measure": "RR", "mode": "rev"}, "no values of measure 'RR', mode 'rev'", "there are mode 'ins', 'ori'; group 'one'"),
    ],
)
def test_what_fits_is_named_where_none_or_several_do(asked, message, hint):
    with pytest.raises(KeyError) as caught:
        MANY.value(**asked)
    assert isinstance(caught.value, ToolkitError)
    assert (caught.value.message, caught.value.hint[: len(hint)]) == (message, hint)


def test_frames_are_long_or_wide():
    assert list(ONE.to_frame().columns) == list(Score._fields)
    wide = MANY.to_frame(wide=True)
    assert list(wide.columns) == ["run", "group", "RR ins", "RR ori", "pMRR paired"]
    assert wide.iloc[2].tolist() == ["a", "average", 0.2, 0.4, 0.5]
    assert math.isnan(wide["RR ori"][0])
    assert ONE.to_frame(wide=True)["RR"].tolist() == [0.25, 1.0]
