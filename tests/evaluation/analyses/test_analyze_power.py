"""What a benchmark shows: detectable differences, core queries that others need, and the command."""

import json

import pytest
from command import ROOT, tandem

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.evaluation.analyses.power import power
from toolkit.evaluation.scores.evaluation import prepare

BASELINES = ROOT / "runs" / "baselines"
BM25, RULES, MINILM = (
    str(BASELINES / f"infosearch-mini.{name}.v2.trec.gz") for name in ("bm25", "bm25+rules", "all-minilm-l6-v2")
)


def test_the_average_shows_less_than_any_of_its_groups():
    rows = power(prepare([BM25, MINILM], "infosearch-mini", None, None, "tandem", apart=True), measures=["WISE@20"])
    assert [row.group for row in rows][-1] == "average"
    assert len(rows) == 7
    cores = registry.benchmark("infosearch-mini").counts["cores"]
    assert rows[-1].core_queries == sum(row.core_queries for row in rows[:-1]) == cores
    assert rows[-1].detectable < min(row.detectable for row in rows[:-1])
    assert rows[-1].needed[0.01] > rows[-1].needed[0.02] > rows[-1].needed[0.05] > cores


def test_what_the_detectable_difference_needs_is_what_there_is():
    prepared = prepare([BM25, MINILM], "infosearch-mini-keyword", None, None, "tandem", apart=True)
    size = power(prepared, measures=["WISE@20"])[0].detectable
    (row,) = power(prepared, measures=["WISE@20"], differences=[size])
    assert row.needed[size] == pytest.approx(row.core_queries, abs=1)


def test_what_never_differs_has_no_detectable_difference():
    rows = power(prepare([BM25, RULES], "infosearch-mini-ori", None, None, "tandem", apart=True), measures=["nDCG@10"])
    assert {str(row.detectable) for row in rows} == {"nan"}
    assert {row.needed[0.01] for row in rows} == {None}


def test_the_command(tmp_path):
    words = ["analyze", "power", "--benchmark", "infosearch-mini-audience", "-m", "WISE@20"]
    registered = tandem(*words, "--format", "json")
    (row,) = json.loads(registered.stdout)["rows"]
    assert (row["measure"], row["core queries"]) == ("WISE@20", 12)
    assert row["largest"] >= row["detectable"] > 0
    one = tandem(*words, "--run", BM25, "--difference", "0.1")
    assert "of one run: its own values stand for the differences" in one.stdout
    assert "largest" not in one.stdout.splitlines()[1]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"share": 1}, "the power is 1"),
        ({"differences": [0]}, "a difference is 0"),
        ({"differences": [float("nan")]}, "a difference is nan"),
    ],
)
def test_wrong_settings_are_said(how, message):
    prepared = prepare([BM25], "infosearch-mini-audience", None, None, "tandem", apart=True)
    with pytest.raises(ToolkitError, match=message):
        power(prepared, measures=["WISE@20"], **how)


def test_without_registered_runs_one_must_be_named():
    done = tandem("analyze", "power", "--benchmark", "nevir")
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "error: no registered run of nevir")
