"""Runs with something else in the place of instructions stand below the run that was made so with them."""

import json

import pytest
from command import tandem

from toolkit.core.scores import Score, Scores
from toolkit.core.tables.aligned_table import to_text
from toolkit.evaluation.comparison.controls import controls_among, replaced
from toolkit.evaluation.scores.score_table import lay_out

RUNS = "runs/baselines/infosearch-mini.{}.v2.trec.gz"


def record(instruction="", name="bm25", **counted):
    return [
        {
            "method": {
                "retrieval": [{"name": name, "k1": 0.9, **counted}],
                **({"instruction": instruction} if instruction else {}),
            }
        }
    ]


def test_a_control_is_of_the_run_that_was_made_so():
    records = {
        "a": record(),
        "a.placebo": record("placebo", device="cpu"),
        "a.none": record("none"),
        "a.short": record("short"),
        "b.placebo": record("placebo", "other"),
        "nothing": [],
    }
    assert controls_among(records) == {"a.placebo": ("placebo", "a"), "a.none": ("none", "a")}
    assert [replaced(records[name]) for name in ("a", "a.short", "a.none", "nothing")] == ["", "", "none", ""]


def test_evaluate_shows_a_control_below_its_run_whatever_the_order():
    files = [RUNS.format(name) for name in ("bm25.placebo", "all-minilm-l6-v2", "bm25")]
    done = tandem("evaluate", *files, "--benchmark", "infosearch-mini-audience", "-m", "nDCG@10", check=True)
    table = done.stdout.partition("\n\n")[0].splitlines()
    names = [line.split()[0] for line in table if line[:1].isalpha() or line.startswith("  placebo")]
    assert names == ["run", "all-minilm-l6-v2", RUNS.format("bm25"), "placebo"]
    alone = tandem("evaluate", *files[:2], "--benchmark", "infosearch-mini-audience", "-m", "nDCG@10", check=True)
    assert "  placebo" not in alone.stdout
    rows = json.loads(tandem("evaluate", *files, "--benchmark", "infosearch-mini-audience", "--format", "json").stdout)["rows"]
    assert {row["run"] for row in rows} == {"all-minilm-l6-v2", *files[::2]}


def test_a_control_that_others_are_compared_with_is_a_run_like_any_other():
    files = [RUNS.format(name) for name in ("bm25", "bm25.placebo")]
    done = tandem(
        "evaluate", *files, "--benchmark", "infosearch-mini-audience", "-m", "nDCG@10", "--baseline", files[1], check=True
    )
    names = [line.split()[0] for line in done.stdout.partition("\n\n")[0].splitlines() if line[:1].isalpha()]
    assert names == ["run", files[1], files[0]]


def test_a_value_that_is_asked_for_is_no_controls():
    rows = tuple(Score(run, "all", "", "nDCG@10", value, 1) for run, value in (("a", 0.5), ("a.placebo", 0.1)))
    scores = Scores(rows, controls={"a.placebo": ("placebo", "a")})
    assert scores["nDCG@10"] == 0.5
    assert scores.value("nDCG@10", run="a.placebo") == 0.1
    assert "\n  placebo" in to_text([lay_out(scores)])


@pytest.mark.lucene
def test_a_report_has_the_control_below_its_system_and_ranks_it_nowhere(tmp_path):
    files = [RUNS.format(name) for name in ("bm25.placebo", "all-minilm-l6-v2", "bm25")]
    from toolkit.reporting.report.collect import collect
    from toolkit.reporting.report.model import leader
    from toolkit.reporting.tables.report_tables import main_table, ranks

    [model] = collect(files, ["infosearch-mini"], measures=["nDCG@10", "pMRR"])
    assert [facts.name for facts in model.systems] == ["bm25", "all-minilm-l6-v2"]
    names = [row[0].text for row in main_table(model).rows]
    assert names[names.index("bm25") + 1] == "bm25 · placebo"
    assert [row[2].text for row in main_table(model).rows if row[0].text == "bm25 · placebo"] == ["control"]
    assert "placebo" not in str(ranks(model))
    assert leader(model) == ["bm25"]  # by p-MRR, of which the placebo has more
