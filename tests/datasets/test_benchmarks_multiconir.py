"""MultiConIR's CSV files: an order over conditions, and two phrasings of it."""

import csv

import pytest

from toolkit import datasets, registry
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run, join_runs
from toolkit.datasets.group_data import counts
from toolkit.datasets.layouts import find, multiconir
from toolkit.evaluation import evaluate

NEGATIVES = [f"HN{n}" for n in range(1, 11)]
PATHS = {"multiconir": "Task2_&_3/Legal Document_Task2_&_3.csv", "multiconir-task1": "Task1/Legal Document_Task1.csv"}


def write(root, benchmark, rows=2, **changes):
    columns = ["Query10", "Natural_Query10"] if benchmark == "multiconir" else [f"Query{n}" for n in range(1, 11)]
    path = root / "datasets" / PATHS[benchmark]
    path.parent.mkdir(parents=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*columns, "Positive", *NEGATIVES])
        writer.writeheader()
        for row in range(1, rows + 1):
            writer.writerow({name: f'{name}, "row" {row}\nsecond line' for name in writer.fieldnames} | changes)
    return root


def read(root, benchmark):
    spec = registry.benchmark(benchmark)
    group = spec.group("legal-document")
    return multiconir.read(find(multiconir, root, group), spec, group)


def test_a_row_is_a_query_in_two_phrasings_over_eleven_documents(tmp_path):
    part = read(write(tmp_path, "multiconir"), "multiconir")
    assert counts(part) == {"cores": 2, "queries": 2, "documents": 22}
    assert part.topics["natural"][1].query_id == "legal-document-2-natural"
    assert part.topics["listed"][0].text == 'Query10, "row" 1\nsecond line'
    labels = {row.doc_id: row.relevance for row in part.qrels["listed"] if row.query_id == "legal-document-1-listed"}
    assert labels == {"legal-document-1-positive": 10} | {f"legal-document-1-hn{n}": 10 - n for n in range(1, 11)}
    pool = part.scoreddocs["listed"].to_dict()["legal-document-1-listed"]
    assert set(pool) == set(labels)
    assert sorted(pool, key=pool.get) != sorted(pool, key=labels.get)


def test_task_1_has_a_pair_of_documents_for_every_number_of_conditions(tmp_path):
    part = read(write(tmp_path, "multiconir-task1"), "multiconir-task1")
    assert len(part.topics) == 10
    labels = {row.doc_id: row.relevance for row in part.qrels["c3"] if row.query_id == "legal-document-1-c3"}
    assert labels == {"legal-document-1-positive": 1, "legal-document-1-hn3": 0}
    assert part.topics["c3"][0].text.startswith("Query3,")


def test_order_and_flips_are_the_default_table(home, tmp_path):
    datasets.take("multiconir", write(tmp_path, "multiconir"))
    best = ["positive", *map(str.lower, NEGATIVES)]
    orders = {"1-listed": best, "1-natural": best[1::-1] + best[2:], "2-listed": best, "2-natural": best[::-1]}
    run = Run.from_dict(
        {
            f"legal-document-{query}": {f"legal-document-{query[0]}-{doc}": -float(rank) for rank, doc in enumerate(docs)}
            for query, docs in orders.items()
        }
    )
    found = {(row.measure, row.mode): row.value for row in evaluate(run, benchmark="multiconir-legal-document").rows}
    # the first phrasing is right; in the other the positive of query 1 changes places with HN1, and query 2 is upside down
    assert found == {
        ("Monotonicity", "listed"): 1,
        ("Monotonicity", "natural"): pytest.approx((9 / 10 + 0) / 2),
        ("Flips", "paired"): pytest.approx((1 / 10 + 1) / 2),
    }


def test_the_win_rate_of_each_number_of_conditions_and_of_all(home, tmp_path):
    datasets.take("multiconir-task1", write(tmp_path, "multiconir-task1", rows=1))
    benchmark = datasets.load("multiconir-task1")
    pools = [benchmark.scoreddocs("legal-document", mode) for mode in benchmark.spec.modes]
    run = join_runs(pools, source="pool").to_dict()
    won = [max(docs, key=docs.get).endswith("positive") for docs in run.values()]
    found = {row.mode: row.value for row in evaluate(Run.from_dict(run), benchmark="multiconir-task1").rows}
    assert [found[f"c{n}"] for n in range(1, 11)] == won
    assert found["all"] == sum(won) / 10
    assert 0 < sum(won) < 10  # the order of a pool says nothing of its labels


def test_an_empty_cell_is_named_with_its_row(tmp_path):
    folder = write(tmp_path, "multiconir", rows=1, HN4=" ")
    with pytest.raises(ToolkitError) as caught:
        read(folder, "multiconir")
    assert caught.value.message == f"{folder}/datasets/{PATHS['multiconir']}, row 1: nothing in 'HN4'"


def test_a_line_with_too_few_columns_is_named(tmp_path):
    folder = write(tmp_path, "multiconir", rows=1)
    path = folder / "datasets" / PATHS["multiconir"]
    path.write_text(path.read_text(encoding="utf-8") + "one,two\n", encoding="utf-8")
    with pytest.raises(ToolkitError, match="row 2: expected 13 columns, found 2"):
        read(folder, "multiconir")
