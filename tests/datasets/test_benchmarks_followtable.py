"""FollowTable in both of its released forms: the same topics and judgments; what the release repeats is said, not mended."""

import json

import pytest

from toolkit import datasets, registry
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.datasets.group_data import counts, totals
from toolkit.evaluation import evaluate

# two core queries with one text, as WQT has them; query, its tables, and of each instruction what it asks and keeps
QUERIES = (
    ("city energy", ("1", "2", "3"), (("columns on power", "2.1", ("1",)), ("no prices", "1.2", ("2", "3")))),
    ("no instructions", ("4",), ()),
    ("city energy", ("3", "4"), (("by year", "1.1", ("4",)),)),
)
TEXTS = {"1": "# Power\n| a |", "2": "<caption>Prices</caption>", "3": "# Grid", "4": "# Years", "5": "# Other"}


def write_own(folder, queries=QUERIES):
    """The authors' own form."""
    (folder / "TArX" / "tables").mkdir(parents=True)
    for name, text in TEXTS.items():
        (folder / "TArX" / "tables" / f"{name}.txt").write_text(text)
    entries = [
        {
            "query": query,
            "query_positive": [f"{name}.txt" for name in positive],
            "outs": [
                {"instruction": asked, "instruction_type": kind, "instruction_positive": [f"{name}.txt" for name in kept]}
                for asked, kind, kept in outs
            ],
        }
        for query, positive, outs in queries
    ]
    (folder / "TArX" / "query_instruction.json").write_text(json.dumps(entries))
    return folder


def write_instructir(folder, queries=QUERIES, *, corpus=True, twice=()):
    """InstructIR's form; twice  lines of judgments that stand there again."""
    place = folder / "FollowTable" / "TArX"
    (place / "qrels").mkdir(parents=True)
    texts, cores, kept_lines, base = [], [], [], []
    for number, (query, positive, outs) in enumerate(queries):
        if outs:
            cores.append({"_id": str(number), "text": query, "metadata": {"origin_query": query}})
            base += [f"{number}\t{name}\t1" for name in positive]
        for which, (asked, kind, kept) in enumerate(outs):
            about = {"origin_query": query, "instruction": asked, "instruction_type": kind}
            texts.append({"_id": f"{number}_{which}", "text": f"{asked} [SEP] {query}", "metadata": about})
            kept_lines += [f"{number}_{which}\t{name}\t1" for name in kept]
    tables = {"queries": texts, "only_queries": cores}
    if corpus:
        tables["corpus"] = [{"_id": name, "text": text, "title": "of the text", "metadata": {}} for name, text in TEXTS.items()]
    for name, rows in tables.items():
        (place / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    head = "query-id\tcorpus-id\tscore"
    (place / "qrels" / "test.tsv").write_text("\n".join([head, *kept_lines, *twice, ""]))
    (place / "qrels" / "for_only_query_test.tsv").write_text("\n".join([head, *base, ""]))
    return folder


def take(folder):
    return datasets.take("followtable", folder)["tarx"]


def test_both_forms_are_the_same_topics_judgments_and_tables(home, tmp_path):
    parts = [take(write_own(tmp_path / "own" / "data").parent), take(write_instructir(tmp_path / "instructir"))]
    mixed = write_own(tmp_path / "mixed")
    write_instructir(mixed, corpus=False)
    parts.append(take(mixed))
    for part in parts:
        assert part.topics == parts[0].topics
        assert {mode: list(qrels) for mode, qrels in part.qrels.items()} == {m: list(q) for m, q in parts[0].qrels.items()}
        assert [(doc.doc_id, doc.text, doc.title) for doc in part.docs] == [(name, text, "") for name, text in TEXTS.items()]
        assert counts(part) == {"cores": 2, "queries": 3, "documents": 5}
        assert totals(part) == {"queries": 5, "qrels": 9, "documents": 5}
        assert part.published == {"lines": 4, "distinct": 4, "base": 5}
    og, changed = (parts[0].topics[mode][0] for mode in ("og", "changed"))
    assert (og.query_id, og.text, og.original_id) == ("tarx-0_0-og", "city energy", "0")
    assert (changed.text, changed.condition, changed.original_id) == ("city energy columns on power", "2.1", "0_0")
    assert [topic.group_id for topic in parts[0].topics["og"]] == ["tarx-0", "tarx-0", "tarx-2"]
    labels = {(row.query_id, row.doc_id): row.relevance for row in parts[0].qrels["changed"]}
    assert labels["tarx-0_1-changed", "1"] == 0
    assert labels["tarx-0_1-changed", "2"] == 1


def test_a_judgment_that_stands_twice_counts_once_and_is_said(home, tmp_path):
    part = take(write_instructir(tmp_path / "copy", twice=("0_1\t2\t1", "2_0\t4\t1")))
    assert part.published == {"lines": 6, "distinct": 4, "base": 5}
    assert part.notes == ("tarx: 2 of 6 judgments stand twice in the release",)
    from toolkit.datasets.layouts import followtable

    spec = registry.benchmark("followtable")
    found = dict(followtable.checks(part, spec.group("tarx")))
    assert found["judgments"].startswith("6893 lines expected, 6 found; 6893 distinct expected, 4 found")
    assert found["tables dropped"] == ""


def test_a_run_is_scored_in_pairs_from_the_copy(home, tmp_path):
    take(write_own(tmp_path / "data"))
    benchmark = datasets.load("followtable")
    assert [doc.doc_id for doc in benchmark.docs("tarx")] == list(TEXTS)
    order = {"og": ("1", "2", "3", "4", "5"), "changed": ("4", "2", "3", "1", "5")}
    lists = {
        topic.query_id: {doc: -float(place) for place, doc in enumerate(order[mode])}
        for mode in order
        for topic in benchmark.topics("tarx", mode)
    }
    values = {row.measure for row in evaluate(Run.from_dict(lists), benchmark="followtable-tarx").rows}
    assert {"Following_selection", "IRS", "nDCG@10"} == values


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda f: (f / "TArX" / "tables" / "1.txt").unlink(), "an unknown query or table"),
        (lambda f: (f / "TArX" / "tables" / "1.txt").write_bytes(b"\xff\xfe"), "no UTF-8"),
        (
            lambda f: (f / "TArX" / "query_instruction.json").write_text('[{"query": "q", "outs": 1}]'),
            "expected a list of objects",
        ),
        (
            lambda f: (f / "TArX" / "query_instruction.json").write_text(
                json.dumps(
                    [
                        {
                            "query": "q",
                            "query_positive": ["1.txt"],
                            "outs": [{"instruction": "i", "instruction_positive": ["2.txt"]}],
                        }
                    ]
                )
            ),
            "keeps no table, or one that its query does not have",
        ),
    ],
)
def test_what_cannot_be_right_is_refused_and_nothing_is_stored(home, tmp_path, broken, message):
    folder = write_own(tmp_path / "data")
    broken(folder)
    with pytest.raises(ToolkitError) as error:
        take(folder)
    assert message in "\n".join([error.value.message, *map(str, error.value.problems)])
    assert not list((home / "benchmarks").glob("followtable/*/corpus.jsonl"))


def test_a_separator_that_is_missing_and_a_folder_without_texts_are_refused(home, tmp_path):
    folder = write_instructir(tmp_path / "one", corpus=False)
    with pytest.raises(ToolkitError, match="neither FollowTable"):
        take(folder)
    path = write_instructir(tmp_path / "two") / "FollowTable" / "TArX" / "queries.jsonl"
    path.write_text(path.read_text().replace(" [SEP] ", " "))
    with pytest.raises(ToolkitError, match="3 problems"):
        take(tmp_path / "two")
