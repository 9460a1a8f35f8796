"""Every golden value: per query and in aggregate, under both tie policies."""

import json
from pathlib import Path

import pytest

from toolkit import metrics
from toolkit.core.modes import join_mode
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run, ScoredDoc

MODES = ("ori", "ins", "rev")
GOLDEN = Path(__file__).resolve().parent.parent / "golden"
PAIRED = sorted(path.name for path in GOLDEN.glob("paired-*"))
TIES = {"trec": "ties_by_docid_descending", "file": "ties_by_file_order"}
# golden name -> ours; the ids of R_* carry a mode
NAMES = {
    **{f"WISE_{variant}": f"WISE(variant='{variant}',ties='{{ties}}')@20" for variant in ("paper", "release", "source")},
    **{f"WISE_ideal_{variant}": f"WISE_ideal(variant='{variant}',ties='{{ties}}')@20" for variant in ("release", "source")},
    **{f"SICR_{variant}": f"SICR(variant='{variant}',ties='{{ties}}')" for variant in ("paper", "release")},
    "pMRR": "pMRR(ties='{ties}')",
}


def lines(path):
    return [line.split() for line in path.read_text(encoding="utf-8").splitlines()]


def load_paired(name):
    """The three mode files of a case, which share ids, as one run and one qrels."""
    scored, judged = [], []
    for mode in MODES:
        scored += [ScoredDoc(join_mode(q, mode), d, float(s)) for q, _, d, _, s, _ in lines(GOLDEN / name / f"run.{mode}.trec")]
        judged += [Qrel(join_mode(q, mode), d, int(r)) for q, _, d, r in lines(GOLDEN / name / f"qrels.{mode}.txt")]
    return Run.from_rows(scored), Qrels.from_rows(judged), json.loads((GOLDEN / name / "expected.json").read_text())


def near(value):
    return pytest.approx(value, abs=1e-9, rel=0)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", PAIRED)
def test_paired_measures_meet_the_golden_values(name, ties):
    run, qrels, expected = load_paired(name)
    expected = expected[TIES[ties]]
    tested = [golden for golden in NAMES if golden in expected["aggregate"]]
    assert len(tested) >= 6
    found = metrics.evaluate([NAMES[golden].format(ties=ties) for golden in tested], run, qrels)
    for golden, values in zip(tested, found, strict=True):
        assert values.mode == "paired"
        assert values.aggregate == near(expected["aggregate"][golden]), golden
        # p-MRR and ideal WISE leave queries out, and so do the golden values
        per_query = {q: row[golden] for q, row in expected["per_query"].items() if golden in row and row[golden] is not None}
        assert dict(zip(values.query_ids, values.values, strict=True)) == near(per_query), golden


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", [name for name in PAIRED if name != "paired-edge"])
def test_ranks_of_gold_documents_meet_the_golden_values(name, ties):
    run, qrels, expected = load_paired(name)
    expected = expected[TIES[ties]]
    found = {values.mode: values for values in metrics.evaluate([f"GoldRank(ties='{ties}')"], run, qrels)}
    assert list(found) == list(MODES)
    for mode, values in found.items():
        assert values.aggregate == near(expected["aggregate"][f"R_{mode}"])
        per_query = {query_id: row[f"R_{mode}"] for query_id, row in expected["per_query"].items()}
        assert dict(zip(values.query_ids, values.values, strict=True)) == near(per_query)


@pytest.mark.parametrize("name", PAIRED)
def test_plain_measures_meet_trec_evals_values(name):
    run, qrels, expected = load_paired(name)
    names = ["nDCG@10", "P@1", "RR", "Robustness@10"]
    found = {mode: {} for mode in MODES}
    for values in metrics.evaluate(names, run, qrels):
        found[values.mode][values.measure] = values.aggregate
    assert {mode: near(values) for mode, values in expected["trec_eval"].items()} == found


@pytest.mark.parametrize(
    "name", [name for name in PAIRED if name in ("paired-distinct-scores", "paired-shallow", "paired-tied-scores")]
)
def test_the_released_evaluators_own_output_is_met_with_its_tie_rule(name):
    run, qrels, expected = load_paired(name)
    released = expected["release_evaluate_change"]
    names = {
        "WISE": "WISE(variant='release',ties='file')@20",
        "ideal_WISE": "WISE_ideal(variant='release',ties='file')@20",
        "SICR": "SICR(variant='release',ties='file')",
        "p-MRR": "pMRR(ties='file')",
    }
    found = metrics.evaluate(names.values(), run, qrels)
    assert {golden: values.aggregate for golden, values in zip(names, found, strict=True)} == near(
        {golden: released[golden] for golden in names}
    )
    ranks = metrics.evaluate(["GoldRank(ties='file')", "NegativeRank(ties='file')"], run, qrels)
    kinds = {"GoldRank(ties='file')": "pos", "NegativeRank(ties='file')": "neg"}
    assert {f"{values.mode}_{kinds[values.measure]}_rank": values.aggregate for values in ranks} == near(
        {key: value for key, value in released.items() if key.endswith("_rank") and key != "pos_neg_rank"}
    )


def test_perspective_measures_meet_the_golden_values():
    folder = GOLDEN / "perspectives"
    run = Run.from_rows(ScoredDoc(q, d, float(s)) for q, _, d, _, s, _ in lines(folder / "run.trec"))
    qrels = Qrels.from_rows(Qrel(q, d, int(r), i) for q, i, d, r in lines(folder / "qrels.subtopics.txt"))
    expected = json.loads((folder / "expected.json").read_text())
    names = [name.replace("Precision", "PerspectiveP") for name in expected]
    for golden, values in zip(expected.values(), metrics.evaluate(names, run, qrels), strict=True):
        assert values.mode == ""
        assert values.aggregate == near(golden["aggregate"])
        assert dict(zip(values.query_ids, values.values, strict=True)) == near(golden["per_query"])


VASWANI = Path(__file__).resolve().parents[3] / "shared" / "data" / "vaswani" / "qrels.txt"


@pytest.mark.skipif(not VASWANI.exists(), reason="needs the shared data")
def test_a_real_run_has_its_known_ndcg():
    run = Run.from_rows(ScoredDoc(q, d, float(s)) for q, _, d, _, s, _ in lines(GOLDEN / "systems" / "vaswani.bm25.top20.trec"))
    qrels = Qrels.from_rows(Qrel(q, d, int(r), i) for q, i, d, r in lines(VASWANI))
    expected = json.loads((GOLDEN / "systems" / "expected.json").read_text())["vaswani.bm25"]
    (found,) = metrics.evaluate(["nDCG@10"], run, qrels)
    assert found.aggregate == pytest.approx(expected["nDCG@10"], abs=5e-7)
