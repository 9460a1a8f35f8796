"""BIRCO as its authors release it: five tasks with complex objectives, each query with a pool of documents to rank.

    datasets/<d>/test_set.pickle    {query: {id: text}, corpus: {id: text}, qrel: {query: {document: relevance}}}
    readme.md                       the objective of each task, under its heading

The objective is every query's instruction; `--instruction none` is the query alone. The candidates are a query's pool, in the
order of their ids: in the released one the relevant document is the last of 63 of 100 pools of relic. The authors' nDCG@10
(linear gain over the pool) is trec_eval's on rankings of the whole pool, and `evaluate` reads their rankings
(`evaluation/ranks/<d>/*.pickle`) as runs. MTEB's tasks of the same name search the whole corpus, and cannot be compared.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.topics import Topic
from toolkit.datasets.copies import row_values
from toolkit.datasets.copies.row_values import text
from toolkit.datasets.group_data import Group, Part, as_candidates, as_qrels
from toolkit.files.runs.pickled import load_pickled

NEEDED = ("name", "objective")
TABLES = ("corpus", "queries", "qrels")  # what `unpack` gives
EXPECTED = "datasets/{name}/test_set.pickle"
HINT = "take the folder of the authors' repository (github.com/DPWXY/BIRCO)"


def find(root: Path, group: Group) -> Path | None:
    """The repository's folder, where it has the task's test set."""
    return root if (root / EXPECTED.format_map(group)).is_file() else None


def unpack(source: Path, group: Group) -> dict[str, Iterator[dict[str, Any]]]:
    """The tables of a copy, the task's objective among them. Nothing that a pickle says is executed."""
    path = source / EXPECTED.format_map(group)
    content = load_pickled(path, f"a pickled test set is {{query, corpus, qrel}}; {HINT}")
    if not isinstance(content, dict) or not all(isinstance(content.get(name), dict) for name in ("query", "corpus", "qrel")):
        raise ToolkitError(f"{path} is no test set of BIRCO", HINT)
    if not all(isinstance(labels, dict) for labels in content["qrel"].values()):
        raise ToolkitError(f"{path}: 'qrel' is no mapping of queries to labels", HINT)
    readme, heading = source / "readme.md", group["objective"]  # whose paragraph is the objective
    described = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    found = re.search(rf"^### {re.escape(heading)}:\s+(\S.*)$", described, re.M)
    if found is None:
        raise ToolkitError(f"{readme} has no objective of {heading}", HINT)
    objective = found[1].strip()
    rated = ((query_id, *row) for query_id, labels in content["qrel"].items() for row in labels.items())
    return {
        "corpus": ({"_id": name, "text": value} for name, value in content["corpus"].items()),
        "queries": ({"_id": name, "text": value, "instruction": objective} for name, value in content["query"].items()),
        "qrels": (dict(zip(("query-id", "corpus-id", "score"), row, strict=True)) for row in rated),
    }


def read(folder: Path, spec: BenchmarkSpec, group: Group) -> Part:
    """A task. All that cannot be right (an unknown document, a query without a pool) is one ToolkitError with each problem."""
    problems: list[str] = []
    docs = row_values.documents(folder, "corpus", problems)
    queries = row_values.by_id(folder, "queries", ("_id",), "query", problems)
    judged = row_values.judgments(folder, "qrels", queries, docs, problems)
    problems += [f"{record.place}: query {each} has no pool" for each, record in queries.items() if not judged[each]]
    row_values.refuse(folder, problems)
    topics = []
    for query_id, record in queries.items():
        query, objective = text(record, "text").strip(), text(record, "instruction")
        topics.append(Topic(query_id, f"{objective} {query}", query, objective, group_id=query_id, original_id=query_id))
    pools = as_candidates({query_id: sorted(labels) for query_id, labels in judged.items()}, "pool")
    qrels = as_qrels(judged, f"{spec.name}-{group['name']}")
    return Part(group["name"], {"": topics}, {"": qrels}, list(docs.values()), {"": pools})


def checks(part: Part, group: Group) -> Iterator[tuple[str, str]]:
    """How many documents are in the pools."""
    found = len(part.qrels[""])
    if "judged" in group:
        yield "pools", "" if found == group["judged"] else f"{group['judged']} documents expected, {found} found"
