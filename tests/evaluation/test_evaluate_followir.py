"""FollowIR from its published files to its paper's table: candidates, other wordings, AP or nDCG@5, nDCG@20, p-MRR."""

import math

import pytest
from command import tandem
from followir_layout import CROSS_LINGUAL, write_followir, write_former, write_mfollowir

from toolkit import datasets
from toolkit.core.runs import join_runs
from toolkit.evaluation import evaluate
from toolkit.evaluation.scores.score_output import render
from toolkit.files.formats import write_run
from toolkit.retrieval.instructions import topics_sent
from toolkit.retrieval.search.candidates import benchmark_candidates

# candidates d2 d1 d3 d5 d4; 310: d1 2, d2 1; 325: d3 1, d4 1 (in og)
AP = (1 + (1 / 3 + 2 / 5) / 2) / 2
GAIN = ((1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3)), (1 / 2 + 1 / math.log2(6)) / (1 + 1 / math.log2(3)))


def test_the_candidates_score_as_worked_out_by_hand(home, tmp_path):
    write_followir(tmp_path, ("core17", "news21"))
    datasets.take("followir", tmp_path)
    scores = evaluate(benchmark_candidates(datasets.resolve_topics("followir")), benchmark="followir")
    assert scores.value("AP", mode="og", group="core17") == pytest.approx(AP)
    assert scores.value("nDCG@5", mode="og", group="news21") == pytest.approx(sum(GAIN) / 2)
    assert scores.value("Score", mode="og", group="average") == pytest.approx((AP + sum(GAIN) / 2) / 2)
    assert scores.value("pMRR", mode="paired", group="average") == 0.0
    assert {row.mode for row in scores.rows} == {"og", "paired"}
    head, modes, _, *rows = render(scores, "table").split("\n\n")[0].splitlines()
    assert head.split() == ["nDCG@20", "Score", "AP", "nDCG@5"]
    assert modes.split() == ["group", "og", "pMRR", "og", "og", "og"]
    assert [row.split()[0] for row in rows] == ["core17", "news21", "average"]


def test_mfollowir_has_one_row_a_language_and_their_average(home, tmp_path):
    write_mfollowir(tmp_path, ("fas", "rus"))
    datasets.take("mfollowir", tmp_path)
    run = benchmark_candidates(datasets.resolve_topics("mfollowir"))
    scores = evaluate(run, benchmark="mfollowir")
    assert {(row.group, row.mode, row.measure) for row in scores.rows} == {
        (group, mode, measure)
        for group in ("fas", "rus", "average")
        for mode, measure in (("og", "nDCG@20"), ("paired", "pMRR"))
    }
    assert scores.value("nDCG@20", mode="og", group="average") == pytest.approx(sum(GAIN) / 2)
    assert "2 of the 3 groups of mfollowir are on this machine: fas, rus" in scores.notes


def test_settings_are_compared_over_the_languages_that_both_have(home, tmp_path):
    write_mfollowir(tmp_path, ("fas", "rus"))
    write_mfollowir(tmp_path, ("fas",), CROSS_LINGUAL)
    datasets.take("mfollowir", tmp_path)
    for name in ("mfollowir", "mfollowir-cross-lingual"):
        runs = [benchmark_candidates(datasets.resolve_topics(name))]
        write_run(join_runs(runs, tag=name), tmp_path / f"{name}.trec", tag=name)
    words = ["crosslingual", "mfollowir.trec", "mfollowir-cross-lingual.trec", "--format", "csv"]
    done = tandem("analyze", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {tuple(row.split(",")[1:4]) for row in done.stdout.splitlines()[1:]}
    settings = ("multilingual", "cross-lingual", "difference")
    assert found == {("fas", setting, measure) for setting in settings for measure in ("nDCG@20", "pMRR")}
    assert "left out, as they are on this machine in one setting only: rus" in done.stderr


def test_candidates_are_reranked_and_searched_with_shorter_instructions(home, tmp_path):
    write_former(tmp_path / "core17-instructions")
    datasets.take("followir", tmp_path)
    topics = datasets.resolve_topics("followir-core17-og")
    keywords = topics_sent(topics, "keywords").topics[0]
    assert (keywords.instruction, keywords.text) == ("keywords 310", f"{keywords.query} keywords 310")
    words = ["--run", "candidates", "--topics", "followir-core17", "--dry-run"]
    done = tandem("rerank", *words, "--system", "ms-marco-minilm-l6-v2", "--instruction", "short", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == [
        "instructions: short",
        "rerank the best 100 of each of 4 queries of candidates, keep the tail",
    ]
