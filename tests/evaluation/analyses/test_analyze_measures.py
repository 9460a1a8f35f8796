"""Whether measures order runs alike, and as the gold document moves."""

import json

import pytest
from command import tandem

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.core.system.files import shipped
from toolkit.evaluation.analyses.measures import agreement_of
from toolkit.evaluation.scores.judgments import Judgments, Part
from toolkit.files.formats import write_qrels, write_run
from toolkit.registry import benchmark

WANTED = ("nDCG@10", "WISE@20", "GoldRank")


def judged():
    """One instructed query: g is wanted with and without instruction, n without alone."""
    labels = {"ori": (1, 1), "ins": (1, 0), "rev": (0, 1)}
    rows = [Qrel(f"q-{mode}", doc, label) for mode, its in labels.items() for doc, label in zip("gn", its, strict=True)]
    return Judgments("small", benchmark("infosearch").modes, (Part("all", Qrels.from_rows(rows)),), WANTED)


def run(tag, **ranks):
    """A run with the gold document at a rank in each mode, of five documents."""
    lists = {}
    for mode, rank in ranks.items():
        docs = list("nxyz")
        docs.insert(rank - 1, "g")
        lists[f"q-{mode}"] = {doc: -float(place) for place, doc in enumerate(docs)}
    return Run.from_dict(lists, tag=tag)


# the gold document at rank 3 without instruction; by how far it moves from ins to rev: 4, 1, -1
RUNS = [run("far", ori=3, ins=1, rev=5), run("near", ori=3, ins=2, rev=3), run("wrong", ori=3, ins=4, rev=3)]


def test_runs_that_follow_in_one_order_by_every_measure_agree():
    rows, notes = agreement_of(RUNS, judged())
    assert {(row.first, row.second) for row in rows} >= {("nDCG@10 ins", "R_rev - R_ins"), ("WISE@20", "R_rev - R_ins")}
    found = {(row.first, row.second): row.tau for row in rows}
    # nDCG@10 with instruction by the rank of g: 1 > 2 > 4, as the movement
    assert found["nDCG@10 ins", "R_rev - R_ins"] == 1
    assert found["nDCG@10 ins", "WISE@20"] == found["WISE@20", "R_rev - R_ins"]
    assert {row.systems for row in rows} == {3}
    assert any("queries judged" in note for note in notes)


def test_measures_can_be_named():
    rows, _ = agreement_of(RUNS, judged(), ["nDCG@1", "RR"])
    assert {row.first for row in rows} == {"nDCG@1 ins", "RR ins"}


def test_one_run_has_nothing_to_agree_with():
    with pytest.raises(ToolkitError, match="systems 1, measures 3"):
        agreement_of(RUNS[:1], judged())


def test_as_a_command():
    baselines = shipped("runs") / "baselines"
    paths = [str(baselines / f"infosearch-mini.{name}.v2.trec.gz") for name in ("bm25", "all-minilm-l6-v2", "bm25+rules")]
    line = ["analyze", "measures", *paths, "--benchmark", "infosearch-mini"]
    done = tandem(*line, "--format", "json")
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    names = ["nDCG@10 ins", "RR@1 ins", "Robustness@10 ins", "pMRR", "SICR", "WISE@20", "R_rev - R_ins"]
    assert [row["second"] for row in content["rows"][: len(names)]] == names
    assert len(content["rows"]) == len(names) ** 2
    assert any("written for this project" in note for note in content["notes"])
    table = tandem(*line).stdout
    assert "Kendall's tau-b between the orders of 3 systems" in table


def test_qrels_say_which_modes_their_ids_carry(tmp_path):
    roles = {"ori": "plain", "ins": "pos", "rev": "neg"}
    for one in RUNS:
        named = one.with_query_ids(query_id.replace(query_id[2:], roles[query_id[2:]]) for query_id in one.query_ids)
        write_run(named, tmp_path / f"{one.tag}.trec")
    rows = [row._replace(query_id=f"q-{roles[row.query_id[2:]]}") for row in judged().parts[0].qrels]
    write_qrels(Qrels.from_rows(rows), tmp_path / "qrels.txt")
    line = ["analyze", "measures", *(tmp_path / f"{one.tag}.trec" for one in RUNS), "-m", *WANTED, "--format", "json"]
    line += ["--qrels", tmp_path / "qrels.txt"]
    done = tandem(*line, "--modes", "plain=base", "pos=instructed", "neg=reversed", check=True)
    taus = [row["tau"] for row in json.loads(done.stdout)["rows"]]
    assert taus == [row.tau for row in agreement_of(RUNS, judged(), WANTED)[0]] != []
    refused = tandem(*line[:-2], "--benchmark", "infosearch-mini", "--modes", "plain=base")
    assert refused.stderr.splitlines()[0] == "error: the modes of infosearch-mini are known"
