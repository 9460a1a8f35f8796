"""Means over the base mode in which each core query counts once (InfoSearch, table 1), or each instruction (the others)."""

from pathlib import Path

import pytest
from command import tandem

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.evaluation.scores.evaluation import Evaluation
from toolkit.evaluation.scores.judgments import Judgments, Part
from toolkit.files.formats import read_run, write_run
from toolkit.registry.published.comparison import aggregates
from toolkit.registry.published.paper_tables import cells

BASELINE = Path(__file__).parents[2] / "runs" / "baselines" / "infosearch-mini.bm25.infosearch.v2.trec.gz"

# of core query a two instructions, of b one; a's text finds its document first (RR 1), b's at rank 4 (RR 0.25)
CORES = {"a-1": "a", "a-2": "a", "b-1": "b"}
MODES = registry.benchmark("infosearch").modes
QRELS = Qrels.from_rows([Qrel(f"{base}-{mode}", "g", 1) for base in CORES for mode in ("ori", "ins")])
RANKINGS = {"a-1-ori": "gxyz", "a-2-ori": "gxyz", "b-1-ori": "xyzg", "a-1-ins": "xg", "a-2-ins": "gx", "b-1-ins": "gx"}
RUN = Run.from_dict({query: {doc: -float(rank) for rank, doc in enumerate(docs)} for query, docs in RANKINGS.items()}, tag="r")


def evaluation(cores=CORES):
    return Evaluation((RUN,), Judgments("b", MODES.only(["ori", "ins"]), (Part("all", QRELS, cores),), ("RR@10",)))


def values(unit, **how):
    scores = evaluation().scores(["RR@10", "Robustness@10"], ori_unit=unit, **how)
    return {(mode, measure): value for (_, _, mode, measure), value in aggregates(scores.rows).items()}


def test_a_core_query_counts_once_in_the_base_mode_alone():
    assert values("instruction")["ori", "RR@10"] == 2.25 / 3
    assert values("core")["ori", "RR@10"] == (1 + 0.25) / 2
    assert values("core")["ins", "RR@10"] == values("instruction")["ins", "RR@10"] == 2.5 / 3
    assert values("core")["ori", "Robustness@10"] == values("instruction")["ori", "Robustness@10"]
    both = values("both")
    assert (both["ori", "RR@10"], both["ori by core", "RR@10"]) == (2.25 / 3, 1.25 / 2)


def test_the_count_and_the_note_say_what_the_mean_is_over():
    scores = evaluation().scores(["RR@10"], ori_unit="core")
    assert [(row.mode, row.queries) for row in scores.rows] == [("ori", 2), ("ins", 3)]
    assert "ori: each core query counts once, not each instruction" in scores.notes


@pytest.mark.parametrize(
    ("cores", "unit", "message"),
    [(None, "core", "b: no base mode with known core queries"), (CORES, "query", "ori_unit is 'query'")],
)
def test_what_has_no_such_unit_is_refused(cores, unit, message):
    with pytest.raises(ToolkitError, match=message):
        evaluation(cores).scores(["RR@10"], ori_unit=unit)


def test_table_1_is_compared_with_means_over_core_queries():
    ours = {(cell.table, cell.ours.mode) for cell in cells("infosearch") if (cell.measure, cell.mode) == ("nDCG@10", "ori")}
    assert ours == {("1", "ori by core"), *((str(table), "ori") for table in range(17, 23))}
    assert {cell.ours.mode for cell in cells("infosearch") if cell.table == "1" and cell.measure == "gold_rank"} == {
        "ori", "ins", "rev"
    }  # fmt: skip


def test_by_core_query_ndcg_is_robustness_as_in_all_rows_of_table_1(tmp_path):
    # the paper's sign that it counts core queries, here on a part of a mini with uneven numbers of instructions
    run = read_run(BASELINE)
    write_run(run.select([query_id for query_id in run.query_ids if query_id.startswith("audience-")]), tmp_path / "run.trec")
    tandem("benchmarks", "export", "infosearch-mini-audience", "--to", ".", cwd=tmp_path)
    for path in tmp_path.glob("qrels.*.txt"):
        lines = [line for line in path.read_text().splitlines(keepends=True) if not line.startswith("audience-001-2-")]
        path.write_text("".join(lines))
    qrels = [str(path) for path in sorted(tmp_path.glob("qrels.*.txt"))]
    asked = ("evaluate", "run.trec", "--benchmark", "infosearch-mini-audience", "--qrels", *qrels, "--format", "csv")
    found = {}
    for unit in ("core", "instruction"):
        done = tandem(*asked, "-m", "nDCG@10", "-m", "Robustness@10", "--ori-unit", unit, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        rows = [line.split(",") for line in done.stdout.splitlines()[1:]]
        found[unit] = {row[3]: float(row[4]) for row in rows if row[2] == "ori"}
    assert found["core"]["nDCG@10"] == pytest.approx(found["core"]["Robustness@10"])
    assert found["instruction"]["nDCG@10"] != pytest.approx(found["core"]["nDCG@10"], abs=1e-4)
