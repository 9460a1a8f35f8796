"""`--intervals`: where each value may lie, by hand."""

import json
import statistics

import pytest
from command import tandem
from scipy import stats

import tandem_ir
from toolkit.core.errors import ToolkitError

# nDCG@10 of a document at rank 1 is 1, at rank 3 it is 0.5
RANKS = {"q1": 1, "q2": 3, "q3": 1, "q4": 1}


@pytest.fixture
def files(tmp_path):
    lines = []
    for query, rank in RANKS.items():
        docs = ["n1", "n2", "n3"]
        docs.insert(rank - 1, "a")
        lines += [f"{query} Q0 {doc} {place} {9 - place} mine" for place, doc in enumerate(docs, 1)]
    (tmp_path / "run.trec").write_text("\n".join(lines) + "\n")
    (tmp_path / "qrels.txt").write_text("".join(f"{query} 0 a 1\n" for query in RANKS))
    return tmp_path


def by_hand():
    """Mean 0.875, standard deviation 0.25, error 0.125; Student's t of three degrees of freedom; no value is above 1."""
    return 0.875 - 3.18245 * 0.125, 1.0


def test_the_interval_is_student_s(files):
    done = tandem("evaluate", "run.trec", "--qrels", "qrels.txt", "-m", "nDCG@10", "--intervals", "--format", "json", cwd=files)
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["interval_low"], row["interval_high"]) == pytest.approx(by_hand(), abs=1e-4)
    shown = tandem("evaluate", "run.trec", "--qrels", "qrels.txt", "-m", "nDCG@10", "--intervals", cwd=files).stdout
    assert [line.split()[-1] for line in shown.splitlines() if "interval" in line][:2] == [f"{each:.4f}" for each in by_hand()]


def test_without_it_there_is_none(files):
    done = tandem("evaluate", "run.trec", "--qrels", "qrels.txt", "-m", "nDCG@10", "--format", "json", cwd=files)
    assert "interval_low" not in done.stdout


def test_values_that_are_all_1_have_wilsons(files):
    (files / "qrels.txt").write_text("q1 0 a 1\nq3 0 a 1\nq4 0 a 1\n")
    done = tandem("evaluate", "run.trec", "--qrels", "qrels.txt", "-m", "nDCG@10", "--intervals", "--format", "json", cwd=files)
    (row,) = json.loads(done.stdout)["rows"]
    squared = stats.t.ppf(0.975, 2) ** 2  # three core queries: 3 / (3 + t**2)
    assert (row["interval_low"], row["interval_high"]) == pytest.approx((3 / (3 + squared), 1.0))


@pytest.mark.parametrize("form", ["trec", "mteb"])
def test_forms_without_a_place_for_them_are_refused(files, form):
    given = ("run.trec", "--qrels", "qrels.txt", "-m", "nDCG@10", "--intervals", "--format", form)
    done = tandem("evaluate", *given, cwd=files)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, f"error: --format {form} has no place for intervals")


def test_python_has_the_same(files):
    given = {"qrels": str(files / "qrels.txt"), "measures": "nDCG@10"}
    scores = tandem_ir.evaluate(str(files / "run.trec"), intervals=True, **given)
    assert scores.interval(scores.rows[0]) == pytest.approx(by_hand(), abs=1e-4)
    assert not tandem_ir.evaluate(str(files / "run.trec"), **given).intervals


def test_queries_of_one_core_query_are_one_piece_of_evidence():
    # 12 core queries of two instructions each: the interval of the means of core queries
    run = "runs/baselines/infosearch-mini.bm25.v2.trec.gz"
    scores = tandem_ir.evaluate(run, benchmark="infosearch-mini-audience", measures="WISE", intervals=True, by_query=True)
    values = [row.value for row in scores.rows if row.query_id]
    means = [statistics.mean(values[place : place + 2]) for place in range(0, 24, 2)]
    margin = 2.200985 * statistics.stdev(means) / 12**0.5
    (row,) = [row for row in scores.rows if not row.query_id]
    assert scores.interval(row) == pytest.approx((row.value - margin, row.value + margin), abs=1e-6)


def test_it_is_refused_where_a_core_query_counts_once():
    run = "runs/baselines/infosearch-mini.bm25.v2.trec.gz"
    with pytest.raises(ToolkitError, match="intervals are of means over queries"):
        tandem_ir.evaluate(run, benchmark="infosearch-mini", intervals=True, ori_unit="core")
