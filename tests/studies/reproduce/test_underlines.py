"""mFollowIR's underlines: each of our numbers against the best of its column and kind, by the paper's own tests."""

import csv
import io
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from toolkit.evaluation import evaluate
from toolkit.evaluation.comparison import comparison
from toolkit.evaluation.scores.judgments import from_benchmark
from toolkit.files.formats import read_run
from toolkit.registry.published import comparison as beside_paper
from toolkit.studies.reproduce import Outcome, Reproduction, row_scores
from toolkit.studies.reproduce.compared_cells import compared, to_csv
from toolkit.studies.reproduce.comparison_page import render
from toolkit.studies.reproduce.row_prompts import Sent

RUNS = Path(__file__).resolve().parents[3] / "runs" / "baselines"
SYSTEMS = {
    "gritlm-7b": "bm25",
    "promptriever-llama2-7b": "all-minilm-l6-v2",
    "multilingual-e5-base": "bm25+all-minilm-l6-v2.rrf",
}
TESTS = {"nDCG@20": "randomisation", "pMRR": "wilcoxon"}


@pytest.fixture
def tested(tmp_path, monkeypatch):
    """Table 4 with three systems, for which registered runs on the mini stand in."""
    reproduction = Reproduction("mfollowir", ["4"], list(SYSTEMS), output=tmp_path / "out")
    files = {name: RUNS / f"mfollowir-mini.{run}.v2.trec.gz" for name, run in SYSTEMS.items()}
    stand_ins = SimpleNamespace(tables=reproduction.tables, path=lambda row: files[row.system.name])
    monkeypatch.setattr(row_scores, "from_benchmark", lambda topics, sources: from_benchmark("mfollowir-mini", sources))
    scores = {}
    for row in reproduction.tables.rows:
        found = evaluate([str(files[row.system.name])], benchmark="mfollowir-mini", measures=["nDCG@20", "pMRR"])
        scores[row.name] = [each._replace(run=row.system.name) for each in found.rows]
    cells = compared(reproduction.tables, scores)
    return reproduction, row_scores.underlined(stand_ins, cells), [str(path) for path in files.values()]


def test_every_number_is_tested_against_the_best_of_its_column_as_the_paper_tests(tested):
    _, cells, files = tested
    ours = [each for each in cells if each.value is not None]
    assert len(ours) == 3 * 8  # three languages and their average, two measures
    for measure, test in TESTS.items():
        of_measure = [each for each in ours if each.cell.measure == measure]
        for group in {each.cell.group for each in of_measure}:
            column = [each for each in of_measure if each.cell.group == group]
            [best] = [each for each in column if each.tested.first]
            assert best.value == max(each.value for each in column)
            assert not best.tested.is_similar
            tags = {name: read_run(file).tag for name, file in zip(SYSTEMS, files, strict=True)}
            best_run = comparison.Baseline(tags[best.row.system.name], comparison.Testing(test))
            changes = evaluate(files, benchmark="mfollowir-mini", measures=[measure], baseline=best_run).changes
            for each in (each for each in column if each is not best):
                assert each.tested.best == best.row.system.name
                change = changes[tags[each.row.system.name], group, each.cell.ours.mode or "paired", measure]
                assert each.tested.p == pytest.approx(change.p, nan_ok=True)
                assert each.tested.is_similar == (not change.p < 0.05)


def test_a_number_from_another_prompt_is_nobodys_best(tested):
    reproduction, cells, _ = tested
    best = next(each for each in cells if each.tested.first)
    system = best.row.system.name
    sent = (Sent(system, "ours", "", trained=True),)
    others = [
        each._replace(row=replace(each.row, sent=sent), tested=beside_paper.Tested())
        if each.row and each.row.system.name == system
        else each
        for each in cells
    ]
    tables = reproduction.tables
    files = SimpleNamespace(tables=tables, path=lambda row: RUNS / f"mfollowir-mini.{SYSTEMS[row.system.name]}.v2.trec.gz")
    again = row_scores.underlined(files, others)
    assert {each.tested for each in again if each.row and each.row.system.name == system} == {beside_paper.Tested()}
    named = {each.tested.best for each in again if each.tested.best}
    assert named
    assert system not in named


def test_the_page_underlines_what_is_not_told_from_the_best_and_the_file_has_p(tested):
    reproduction, cells, _ = tested
    page = render(reproduction, Outcome(cells=cells))
    assert page.count('class="ours similar"') == sum(each.tested.is_similar for each in cells) > 0
    assert page.count('class="ours best"') == sum(each.tested.first for each in cells) == 8
    assert "not told from" in page
    rows = [row for row in csv.DictReader(io.StringIO(to_csv(cells))) if row["best"]]
    assert len(rows) == 24
    assert all(row["p against the best"] == "" for row in rows if row["best"] == row["system"])


def test_other_papers_test_nothing(tmp_path):
    assert not Reproduction("infosearch", ["1"], output=tmp_path / "out").tables.tests
