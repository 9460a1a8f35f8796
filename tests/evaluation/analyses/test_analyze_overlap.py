"""analyze overlap: InstructIR's table 5 on golden values, and what dropping as many instances by chance does."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from command import tandem

from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.evaluation.analyses.instances import Instances
from toolkit.evaluation.analyses.overlap import REPEATS, _kept, _random_kept, overlap
from toolkit.evaluation.scores.judgments import from_files
from toolkit.evaluation.scores.run_inputs import as_sources
from toolkit.files.formats import read_run

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "instructed"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())["overlap"]
TAGS = {"original": "o", "query-first": "q"}


def run(name):
    return read_run(GOLDEN / f"{name}.trec")


@pytest.fixture(scope="module")
def judged():
    return from_files(as_sources(str(GOLDEN / "qrels.txt")))


@pytest.fixture(scope="module")
def scores(judged):
    return overlap([run(name) for name in TAGS], run("bm25-filter"), judged)


@pytest.mark.parametrize("name", TAGS)
@pytest.mark.parametrize("mode", ["before", "after", "gap"])
@pytest.mark.parametrize("measure", ["nDCG@10", "Robustness@10"])
def test_golden_values(scores, name, mode, measure):
    value = scores.value(measure, mode=mode, run=TAGS[name])
    assert value == pytest.approx(EXPECTED[name][mode][measure], abs=1e-12)


def test_instances_and_groups_that_are_left(scores):
    found = {(row.measure, row.mode): row.value for row in scores.rows if row.run == "all runs"}
    assert found == {
        ("instances", "before"): 72,
        ("instances", "after"): 18,
        ("instances", "gap"): -54,
        ("groups", "before"): 12,
        ("groups", "after"): 7,
        ("groups", "gap"): -5,
    }


def test_the_same_instances_are_kept(judged):
    instances = Instances.of(judged)
    kept = _kept(instances, run("bm25-filter").head(10), judged)
    assert list(itertools.compress(instances.query_ids, kept)) == EXPECTED["kept"]


def test_chance_drops_as_many_of_each_group(judged):
    instances = Instances.of(judged)
    kept = _kept(instances, run("bm25-filter").head(10), judged)
    wanted = np.bincount(instances.groups, kept)
    samples = list(_random_kept(instances, kept, seed=3))
    assert len(samples) == REPEATS
    assert all((np.bincount(instances.groups, drawn) == wanted).all() for drawn in samples)
    assert len({drawn.tobytes() for drawn in samples}) > REPEATS / 2


def two_groups():
    """Two groups of two; a_1 and b_1 score 1, a_2 and b_2 score 0; the filter finds a_2."""
    ids = ("a_1", "a_2", "b_1", "b_2")
    judged = from_files(as_sources(Qrels.from_rows([Qrel(name, f"d-{name}", 1) for name in ids])))
    run = Run.from_dict({name: {f"d-{name}" if name.endswith("1") else "other": 1.0} for name in ids}, tag="x")
    lexical = Run.from_dict({name: {f"d-{name}" if name == "a_2" else "other": 1.0} for name in ids}, tag="lexical")
    return run, lexical, judged


def test_a_minimum_over_part_of_a_group_is_never_lower():
    # before: minima 0 and 0; after a_2 is dropped: 1 and 0. By chance a_1 or a_2 goes: 0 or 1 in group a, so 0.25 on average
    scores = overlap(*[[x] if number == 0 else x for number, x in enumerate(two_groups())])
    values = {row.mode: row.value for row in scores.rows if row.measure == "Robustness@10"}
    assert (values["before"], values["after"], values["gap"]) == (0.0, 0.5, 0.5)
    assert values["random gap"] == pytest.approx(0.25, abs=0.03)
    assert (values["random 2.5%"], values["random 97.5%"]) == (0.0, 0.5)
    assert values["beyond random"] == pytest.approx(0.25, abs=0.03)


def test_seeds_decide_what_chance_draws(judged):
    rows = [overlap([run("original")], run("bm25-filter"), judged, seed=seed).rows for seed in (0, 0, 1)]
    assert rows[0] == rows[1] != rows[2]


def test_overlap_of_words_is_shown_where_it_is_known():
    run, lexical, judged = two_groups()
    scores = overlap([run], lexical, judged, words={"a_1": 0.2, "a_2": 0.8, "b_1": 0.5})
    found = {row.mode: row.value for row in scores.rows if row.measure == "word overlap"}
    assert found == pytest.approx({"before": 0.5, "after": 0.35, "gap": -0.15})


def test_the_command_names_the_filter_and_what_it_lacks():
    command = ["analyze", "overlap", GOLDEN / "original.trec"]
    command += ["--filter-run", str(GOLDEN / "bm25-filter.trec"), "--filter-depth", "11", "--qrels", str(GOLDEN / "qrels.txt")]
    done = tandem(*command, check=True)
    assert "in the top 11 of b, which lacks 1 of 72 instances (they stay)" in done.stdout
    left = next(line.split() for line in done.stdout.splitlines() if line.startswith("all runs  instances"))
    assert left[3:5] == ["72", "16"]  # 74_3 and another have their document at rank 11


def test_runs_of_one_tag_are_called_by_their_files(tmp_path):
    copies = [tmp_path / f"{name}.trec" for name in "ab"]
    for copy in copies:
        copy.write_bytes((GOLDEN / "original.trec").read_bytes())
    command = ["analyze", "overlap", *copies]
    command += ["--filter-run", str(GOLDEN / "bm25-filter.trec"), "--qrels", str(GOLDEN / "qrels.txt")]
    done = tandem(*command, check=True)
    assert [line.split()[0] for line in done.stdout.splitlines()[2:6]] == [str(copies[0])] * 2 + [str(copies[1])] * 2
