"""Our ids in ir_datasets: registered by an import that reads no benchmark."""

import json
import subprocess
import sys

import ir_datasets
import pytest

import toolkit.datasets  # noqa: F401  (registers)

PARTS = {  # queries, qrels, documents
    "infosearch-mini": (672, 3192, 992),
    "infosearch-mini/audience": (72, 288, 148),
    "infosearch-mini-ins": (224, 1064, 992),
    "infosearch-mini-audience-ins": (24, 96, 148),
    "berds-mini": (12, 340, 177),
    "berds-mini-dev": (6, 170, 177),
    "instructir-mini": (72, 72, 72),
    "mfollowir-mini-cross-lingual-fas-og": (10, 140, 140),
}


@pytest.mark.parametrize("name", PARTS)
def test_ids_of_the_command_line_are_ids_of_ir_datasets(name):
    dataset = ir_datasets.load(name)
    queries, qrels = list(dataset.queries_iter()), list(dataset.qrels_iter())
    assert (len(queries), len(qrels), dataset.docs_count()) == PARTS[name]
    assert {qrel.query_id for qrel in qrels} <= {query.query_id for query in queries}


@pytest.mark.parametrize("name", ["infosearch-mini-inss", "infosearch-mini/nothing/ins", "berds-minis"])
def test_an_id_that_means_nothing_is_ir_datasets_own_key_error(name):
    with pytest.raises(KeyError, match=name):
        ir_datasets.load(name)


@pytest.mark.process
def test_an_import_registers_every_id_and_reads_no_benchmark():
    code = (
        "import json, tandem_ir, ir_datasets\n"
        "from toolkit.datasets import benchmark\n"
        "ids = [name for name in ir_datasets.registry if name.startswith('infosearch-mini')]\n"
        "read = list(benchmark.load('infosearch-mini')._parts)\n"
        "print(json.dumps([len(ids), read, ir_datasets.load('infosearch-mini/audience/ins').has_qrels()]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    number, read, has_qrels = json.loads(done.stdout)
    assert number == 8 * 4  # the benchmark, its groups and an alias, in three modes and in all of them
    assert read == []
    assert has_qrels
