"""`scripts/bench/bench_faults.py`: its parts still run, and what it tries ends as the docs say."""

import json
import subprocess
import sys

import pytest
from command import ROOT

PARTS = [("archives", 8), ("endpoint", 4), ("inputs", 15), ("kills", 2), ("addresses", 12), ("trust", 12), ("identity", 8)]
PARTS += [("checkpoints", 6), ("ids", 24), ("objects", 12), ("bombs", 2)]  # concurrency has 64 processes in each round
SCRIPT = ROOT / "scripts" / "bench" / "bench_faults.py"


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize(("part", "tries"), PARTS)
def test_a_few_tries_of_each_part_end_as_the_docs_say(part, tries):
    command = [sys.executable, SCRIPT, "--only", part, "--tries", str(tries), "--seed", "8"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == f"{tries} tries, 0 did not end as the docs say"


def test_what_did_not_end_as_it_should_is_named(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    import bench_faults

    fine = bench_faults.Outcome(0, "mutated: run", "refused in a line")
    wrong = bench_faults.Outcome(1, "mutated: run", "a traceback", False, "evaluate run.trec")
    assert json.loads(json.dumps(fine)) == list(fine)
    assert bench_faults.report([fine, fine]) == 0
    assert bench_faults.report([fine, wrong]) == 1
    assert "WRONG mutated: run, number 1: a traceback: evaluate run.trec" in capsys.readouterr().out
