"""Our ids in ir_datasets: registered by an import that reads no benchmark."""

import json
import subprocess
import sys

import pytest


@pytest.mark.process
def test_an_import_registers_every_id_and_reads_no_benchmark():
    code = (
        "import json, ir_datasets\n"
        "from toolkit.benchmarks import benchmark\n"
        "ids = [name for name in ir_datasets.registry if name.startswith('infosearch-mini')]\n"
        "read = list(benchmark.load('infosearch-mini')._parts)\n"
        "print(json.dumps([len(ids), read, ir_datasets.load('infosearch-mini/audience/ins').has_qrels()]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    number, read, has_qrels = json.loads(done.stdout)
    assert number == 8 * 3  # the benchmark, its groups and an alias, in three modes
    assert read == []
    assert has_qrels
