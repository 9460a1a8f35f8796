"""Excerpts of runs: judged documents and the top of lists give the numbers of the whole run."""

from pathlib import Path

import numpy as np
import pytest

from toolkit.core.runs import Excerpt, Run
from toolkit.core.system import memory
from toolkit.evaluation.scores.evaluation import Evaluation, prepare
from toolkit.evaluation.scores.scoring import own_queries
from toolkit.files.runs.runs import read_run
from toolkit.files.runs.trec_runs import write_run
from toolkit.metrics.families.pairs import pairs
from toolkit.reporting.figures.kinds.histograms import lines_of

BASELINES = Path(__file__).resolve().parents[2] / "runs" / "baselines"
NAMED = ["nDCG@10", "R@100", "AP", "Robustness@10", "pMRR", "SICR", "SICR(ties='file')", "WISE@20", "Judged@10"]


def prepared(runs: list[str], lists: int | None, measures: list[str] | None = None) -> Evaluation:
    return prepare(runs, "infosearch-mini", None, None, "tandem", lists=lists, measures=measures)


@pytest.fixture(params=["in order", "shuffled", "a file a mode"])
def files(request, tmp_path) -> list[str]:
    """A run with ties; its best documents first, anyhow, or each mode by itself."""
    run = read_run(BASELINES / "infosearch-mini.all-minilm-l6-v2.v2.trec.gz")
    run = run.take(np.arange(len(run)), run.scores.round(2))
    if request.param == "a file a mode":
        for mode in ("ori", "ins", "rev"):
            write_run(run.select(each for each in run.query_ids if each.endswith(mode)), tmp_path / mode)
        return [str(tmp_path / mode) for mode in ("ori", "ins", "rev")]
    write_run(run, tmp_path / "run")
    if request.param == "shuffled":
        lines = (tmp_path / "run").read_text().splitlines(keepends=True)
        (tmp_path / "run").write_text("".join(lines[place] for place in np.random.default_rng(0).permutation(len(lines))))
    return [str(tmp_path / "run")]


def test_all_numbers_findings_and_notes_are_those_of_the_whole_run(files, monkeypatch):
    monkeypatch.setattr(memory, "SMALL", 0)  # scores lie in a file
    whole, excerpt = prepared(files, None), prepared(files, 2)
    (run,), (part_of_it,) = whole.runs, excerpt.runs
    assert isinstance(part_of_it, Excerpt)
    assert len(part_of_it) < len(run) / 2
    expected, found = (each.scores(NAMED, by_query=True, references=True) for each in (whole, excerpt))
    assert repr(found.rows) == repr(expected.rows)
    assert (found.notes, found.findings) == (expected.notes, expected.findings)
    assert found.findings[run.tag].tied_judged > 0


def test_tops_of_lists_and_histograms_are_those_of_the_whole_run(files):
    whole, excerpt = prepared(files, None), prepared(files, 2)
    (run,), (part_of_it,) = whole.runs, excerpt.runs
    assert part_of_it.head(2).to_dict() == run.head(2).to_dict()
    for part in whole.judgments.parts:
        own = [own_queries(each, part) for each in (run, part_of_it)]
        lines = [lines_of(each, pairs(each, part.qrels), whole.judgments.modes) for each in own]
        for a, b in zip(*lines, strict=True):
            assert np.array_equal(a, b)


def test_measures_of_other_providers_read_whole_runs(tmp_path):
    path = str(BASELINES / "infosearch-mini.bm25.v2.trec.gz")
    assert type(prepared([path], 2, ["nDCG@10", "RBP"]).runs[0]) is Run
    assert type(prepared([path], 2, ["nDCG@10"]).runs[0]) is Excerpt
