"""What a run holds, and whether it agrees with the record beside it and with the benchmark that it is of."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.topics import Topic
from toolkit.datasets import Collection, find, load, open_collection, resolve_topics
from toolkit.evaluation.comparison.notes import near_ids
from toolkit.evaluation.scores.judgments import from_benchmark
from toolkit.files.provenance import file_digest, part, read_record, record_path
from toolkit.files.runs.lint import lint_run_bytes
from toolkit.files.runs.problems import Problem
from toolkit.files.runs.runs import form_of, parse_run
from toolkit.files.texts.lines import read_bytes, source_name

EXAMPLES = 3
FULL_PRECISION = 12  # decimals; whoever writes that many has not rounded


def verify_run(path: str | Path, benchmark: str = "") -> list[Problem]:
    """What is wrong with a run, with its record where it has any, and with what it has of a benchmark if one is named.

    Lines are looked at one by one in TREC runs; a file in another form is right where it can be read.

    Counts, tag and benchmark are only looked at where the lines themselves are right.
    Raises ToolkitError where the run cannot be read at all, and where the benchmark is unknown.
    """
    data, source = read_bytes(path), source_name(path)
    is_trec, run = form_of(data, source) == "trec", None
    problems = lint_run_bytes(data) if is_trec else []
    if not is_trec or ((benchmark or record_path(path).exists()) and not any(problem.is_error for problem in problems)):
        run = parse_run(data, source)
    problems += against_record(path, data, run)
    if benchmark and run is not None:
        problems += against_benchmark(run, benchmark)
    return problems


def against_record(path: str | Path, data: bytes, run: Run | None) -> list[Problem]:
    """Where a run, as bytes (decompressed) and parsed where it can be, differs from the record beside it, if there is one."""
    try:
        record = read_record(path)
    except ToolkitError as error:
        return [Problem("M001", None, error.message)]
    if record is None:
        return []
    recorded, beside = part(record, "data", "run"), record_path(path).name
    compared = [("M002", "SHA-256", hashlib.sha256(data).hexdigest(), recorded.get("sha256"))]
    if run is not None:
        compared.append(("M003", "number of lines", len(run), recorded.get("lines")))
        compared.append(("M004", "number of queries", len(run.query_ids), recorded.get("queries")))
    if run is not None and run.tag:  # some forms have no place for it
        compared.append(("M005", "tag", run.tag, record.get("tag")))
    wrong = [each for each in compared if each[3] is not None and each[3] != each[2]]
    problems = [Problem(code, None, f"{what} is {actual}, {beside} says {value}") for code, what, actual, value in wrong]
    return problems if "sha256" in recorded else [Problem("M101", None, f"{beside} says no SHA-256 of the run"), *problems]


def describe_digest(path: str | Path, record: Mapping[str, Any]) -> str:
    """Whether a record is of the run that it stands beside, in words."""
    recorded = part(record, "data", "run").get("sha256")
    if recorded is None:
        return "without a SHA-256 of the run"
    return "of this run (SHA-256)" if recorded == file_digest(Path(path)) else "of another run: its SHA-256 differs"


def against_benchmark(run: Run, name: str) -> list[Problem]:
    """Where a run does not fit a benchmark: unknown queries and documents, missing modes and queries."""
    selection = find(name)
    collection = load(selection.benchmark) if selection else open_collection(name)  # a file of topics is no benchmark
    groups = {part.group: part.topics for part in resolve_topics(name).parts}
    known = {topic.query_id: topic.mode for topics in groups.values() for topic in topics}
    modes = set(known.values())
    present = {known[query_id] for query_id in run.query_ids if query_id in known}
    expected = [query_id for query_id, mode in known.items() if mode in present]
    strange, documents = _strange_documents(run, collection, groups)
    findings = [
        ("B001", set(run.query_ids) - known.keys(), f"of {len(run.query_ids):,} queries are not of {name}"),
        ("B002", strange, f"of {documents:,} documents are not in the corpus of their query's group of {name}"),
        ("B101", {mode for mode in modes if mode} - present, f"of {len(modes)} modes of {name} are missing"),
        ("B102", set(expected).difference(run.query_ids), f"of {len(expected):,} queries of {name} are missing"),
    ]
    problems = []
    for code, names, what in findings:
        if names:
            first = ", ".join(sorted(names)[:EXAMPLES]) + (", ..." if len(names) > EXAMPLES else "")
            problems.append(Problem(code, None, f"{len(names):,} {what}: {first}"))
    if strange and selection and all(map(load(selection.benchmark).has_qrels, selection.groups)):
        problems += [Problem("B103", None, line) for line in near_ids(run, from_benchmark(name).qrels)]
    return problems


def _strange_documents(run: Run, collection: Collection, groups: Mapping[str, list[Topic]]) -> tuple[list[str], int]:
    """The documents of the run that are not in the corpus of their query's group, each with its group, of how many."""
    strange, documents = [], 0
    for group, topics in groups.items():
        part = run.select(topic.query_id for topic in topics)
        left = set(part.doc_ids.take(np.unique(part.docs)).to_pylist())
        documents += len(left)
        for doc in collection.docs(group) if left else ():
            left.discard(doc.doc_id)
        strange += [f"{doc_id} ({group})" for doc_id in left]
    return strange, documents


def summarise(run: Run) -> dict[str, str]:
    """Label -> value: lines, queries, queries of each mode, documents, depth, ties, digits of the scores."""
    modes = registry.known_modes()
    counts = Counter(modes.split(query_id)[1] for query_id in run.query_ids)
    named = [f"{mode} {counts[mode]:,}" for mode in modes if counts[mode]]
    if named and counts[""]:
        named.append(f"without {counts['']:,}")
    lengths = run.lengths
    ties = int(run.tied.sum())
    decimals = next((d for d in range(FULL_PRECISION) if np.array_equal(np.round(run.scores, d), run.scores)), None)
    # whole numbers are often ranks in place of scores
    digits = "full precision" if decimals is None else f"{decimals} decimals" if decimals else "whole numbers"
    return {
        "tag": run.tag,
        "lines": f"{len(run):,}",
        "queries": f"{len(run.query_ids):,}",
        "modes": ", ".join(named) or "none in the query ids",
        "documents": f"{len(run.doc_ids):,} different ones",
        "depth": f"{lengths.min():,} to {lengths.max():,}, median {np.median(lengths):,.0f}",
        "ties": f"{ties:,} documents share their score (as a 32-bit float) with another of the query" if ties else "none",
        "scores": f"{run.scores.min():g} to {run.scores.max():g}, {digits}",
    }
