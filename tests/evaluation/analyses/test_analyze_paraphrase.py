"""analyze paraphrase: the golden values of InstructIR's figure, spread and worst case."""

import json
from pathlib import Path

import pytest
from command import tandem

from toolkit.core.errors import ToolkitError
from toolkit.evaluation.analyses.paraphrase import paraphrase
from toolkit.evaluation.scores.judgments import from_files
from toolkit.evaluation.scores.run_inputs import as_sources
from toolkit.files.formats import read_run

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "instructed"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())


def judged(name):
    return from_files(as_sources(str(GOLDEN / f"{name}.txt")))


def scored(**options):
    runs = [read_run(GOLDEN / f"{name}.trec") for name in ("original", "paraphrases")]
    return paraphrase(*runs, judged("qrels"), judged("qrels.paraphrases"), **options)


@pytest.mark.parametrize(
    ("mode", "golden"),
    [("original", "original"), ("worst", "mean_of_minima"), ("drop", "drop"), ("mean", "mean_of_all_paraphrases")],
)
def test_golden_values(mode, golden):
    assert scored().value("nDCG@10", mode=mode) == pytest.approx(EXPECTED["paraphrase"][golden], abs=1e-12)


def test_each_instruction_has_its_worst_paraphrase():
    rows = [row for row in scored(by_query=True).rows if row.query_id]
    found = {}
    for row in rows:
        found.setdefault(row.query_id, {})[row.mode] = row.value
    pairs = {name: [values["original"], values["worst"]] for name, values in found.items()}
    assert pairs == {name: pytest.approx(values) for name, values in EXPECTED["paraphrase"]["per_group"].items()}


def test_spread_is_best_minus_worst():
    scores = scored()
    best, worst, spread = (scores.value("nDCG@10", mode=mode) for mode in ("best", "worst", "spread"))
    minima = [pair[1] for pair in EXPECTED["paraphrase"]["per_group"].values()]
    own = EXPECTED["per_query_nDCG@10"]["paraphrases"]
    maxima = {}
    for name, value in own.items():
        maxima[name[:-2]] = max(value, maxima.get(name[:-2], 0))
    assert best == pytest.approx(sum(maxima.values()) / 12)
    assert spread == pytest.approx(best - worst) == pytest.approx((sum(maxima.values()) - sum(minima)) / 12)


def test_instructions_without_paraphrases_are_counted():
    assert "12 of 72 instances have paraphrases; the others are left out" in scored().notes


def test_a_paraphrase_of_nothing_that_is_judged_is_refused(tmp_path):
    strange = tmp_path / "qrels.txt"
    strange.write_text("99_1.1 0 d1 1\n")
    run = read_run(GOLDEN / "original.trec")
    with pytest.raises(ToolkitError, match="1 paraphrases are of instructions without judgments: 99_1"):
        paraphrase(run, run, judged("qrels"), from_files(as_sources(str(strange))))


def test_the_command_needs_both_qrels():
    command = ["analyze", "paraphrase"]
    command += [str(GOLDEN / "original.trec"), str(GOLDEN / "paraphrases.trec"), "--qrels", str(GOLDEN / "qrels.txt")]
    done = tandem(*command)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "error: --qrels and --paraphrase-qrels go together")
    done = tandem(*command, "--paraphrase-qrels", GOLDEN / "qrels.paraphrases.txt", check=True)
    assert done.stdout.splitlines()[2].split()[:6] == ["o", "nDCG@10", "0.8398", "0.7040", "1.0000", "0.3848"]
