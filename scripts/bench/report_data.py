"""Runs at the limits of a page: many systems over a benchmark of InfoSearch's size, and many runs of a mini."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow
import pyarrow.csv
from generate import texts, vocabulary

from toolkit.files.provenance.record import write_record
from toolkit.files.runs.runs import read_run

# group: core queries and instructed ones, as many as InfoSearch has, and what instructions ask for
GROUPS = {
    "audience": (100, 210, ("a layman's text", "an expert's", "a child's")),
    "keyword": (100, 288, ("what names the price", "what names risks", "what names dates")),
    "format": (100, 300, ("a post", "code", "a manual")),
    "language": (100, 200, ("Persian", "Chinese")),
    "length": (100, 300, ("a sentence", "a paragraph", "an article")),
    "source": (100, 300, ("a blog post", "a forum thread", "news")),
}
MODES = {"ori": "base", "ins": "instructed", "rev": "reversed"}
SYSTEMS = [
    "bm25",
    "bm25+rules",
    "contriever-msmarco",
    "e5-large-v2",
    "all-minilm-l6-v2",
    "bge-large-en-v1.5",
    "instructor-xl",
    "gte-modernbert-base",
    "colbertv2",
    "splade-v3",
    "e5-mistral-7b-instruct",
    "gritlm-7b",
    "nv-embed-v2",
    "followir-7b",
    "monot5-base-msmarco-10k",
    "rank-zephyr-7b",
    "promptriever-llama2-7b",
    "qwen3-embedding-8b",
]
MEASURES = "nDCG@10, RR@1, Robustness@10, pMRR, SICR, WISE@20, WISE_ideal@20, GoldRank"


class Core(NamedTuple):
    """A core query. queries: ids of its instructed ones; docs: four a query, the first ones relevant, one a query."""

    queries: list[str]
    docs: list[str]

    def labels(self, query: int) -> dict[str, list[bool]]:
        """mode -> whether each document is relevant to the query of this number."""
        answers = [place < len(self.queries) for place in range(len(self.docs))]
        wanted = [place == query for place in range(len(self.docs))]
        return {"ori": answers, "ins": wanted, "rev": [a and not w for a, w in zip(answers, wanted, strict=True)]}


def cores_of(group: str) -> list[Core]:
    """All of one group, with the numbers of `GROUPS`."""
    cores, queries, _ = GROUPS[group]
    counts = [queries // cores + (number < queries % cores) for number in range(cores)]
    names = [f"{group}-{number:03d}" for number in range(1, cores + 1)]
    return [
        Core([f"{name}-{place + 1}" for place in range(count)], [f"{name}-doc{place}" for place in range(4 * count)])
        for name, count in zip(names, counts, strict=True)
    ]


def write_benchmark(folder: Path) -> Path:
    """A folder that is a benchmark: 600 core queries, 1,598 instructed ones, 6,392 documents and 3 modes, as InfoSearch."""
    target = folder / "full-size"
    if (target / "benchmark.yaml").is_file():
        return target
    target.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    words = vocabulary(rng)
    topics, qrels = [], {mode: [] for mode in MODES}
    for group, (count, queries, kinds) in GROUPS.items():
        contents, titles = (texts(4 * queries, bounds, words, rng) for bounds in ((60, 240), (3, 9)))
        needs = texts(count, (4, 12), words, rng)
        corpus = []
        for core, need in zip(cores_of(group), needs, strict=True):
            corpus += [{"id": doc, "title": next(titles), "text": next(contents)} for doc in core.docs]
            for number, query_id in enumerate(core.queries):
                topics.append(_topic(query_id, need, group, core.queries[0][:-2], kinds[number % len(kinds)]))
                for mode, labels in core.labels(number).items():
                    qrels[mode] += [f"{query_id} 0 {doc} {label:d}\n" for doc, label in zip(core.docs, labels, strict=True)]
        _write_lines(target / f"corpus.{group}.jsonl", corpus)
    _write_lines(target / "topics.jsonl", topics)
    for mode, lines in qrels.items():
        (target / f"qrels.{mode}.txt").write_text("".join(lines), encoding="utf-8")
    modes = ", ".join(f"{name}: {role}" for name, role in MODES.items())
    (target / "benchmark.yaml").write_text(f"name: full-size\nmodes: {{{modes}}}\nmeasures: [{MEASURES}]\n", encoding="utf-8")
    return target


def _topic(query_id: str, need: str, group: str, core: str, kind: str) -> dict[str, Any]:
    instructions = {
        "ins": f"Relevant is what is written as {kind}, and nothing else that is about the question.",
        "rev": f"Relevant is anything but {kind}: leave out what is written so.",
    }
    return {"id": query_id, "query": need, "group": group, "core": core, "condition": kind, "instructions": instructions}


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_runs(folder: Path, hits: int, systems: int = len(SYSTEMS)) -> list[Path]:
    """A run file a system, from one to the next following better, with records; made once."""
    target = folder / f"runs-{hits}"
    target.mkdir(exist_ok=True)
    paths = [target / f"{name}.trec" for name in SYSTEMS[:systems]]
    for number, path in enumerate(paths):
        if not path.is_file():
            table = pyarrow.concat_tables([_lists(group, hits, number) for group in GROUPS])
            table = table.append_column("tag", pyarrow.repeat(path.stem, len(table)))
            options = pyarrow.csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
            pyarrow.csv.write_csv(table, path, options)
            _write_record(path, len(table))
    return paths


def _lists(group: str, hits: int, system: int) -> pyarrow.Table:
    """The rankings of one group: by what all systems find hard or easy, and what this one does."""
    quality, following = 1.0 + system % 6 * 0.5, -0.5 + system * 0.2
    shared, own = np.random.default_rng(7), np.random.default_rng(system + 100)
    cores = cores_of(group)
    doc_ids = np.array([doc for core in cores for doc in core.docs], object)
    columns, start = [], 0
    for core in cores:
        of_core = slice(start, start := start + len(core.docs))
        for number, query_id in enumerate(core.queries):
            base = shared.normal(size=len(doc_ids)) + own.normal(size=len(doc_ids))
            for mode, labels in core.labels(number).items():
                values = base + 0.3 * own.normal(size=len(doc_ids))
                label = np.array(labels)
                values[of_core] += quality + (2 * label if mode == "ori" else following * np.where(label, 1, -1))
                best = np.argsort(-values)[:hits]
                columns.append((np.full(len(best), f"{query_id}-{mode}", object), best, values[best]))
    ids, docs, scores = map(np.concatenate, zip(*columns, strict=True))
    ranks = np.concatenate([np.arange(1, len(best) + 1) for _, best, _ in columns])
    names = ("query_id", "q0", "doc_id", "rank", "score")
    return pyarrow.table([ids, pyarrow.repeat("Q0", len(ids)), doc_ids[docs], ranks, scores.round(6)], names=names)


def _write_record(path: Path, lines: int) -> None:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    command = f"tandem search --topics full-size --system {path.stem} --output {path.name}"
    write_record(
        path,
        {
            "tag": path.stem,
            "implementation": {"executable": {"cmd": command, "wall time": 60.0 + len(path.stem)}},
            "data": {"topics": {"name": "full-size"}, "run": {"file": path.name, "sha256": digest, "lines": lines}},
        },
    )


def write_shaken(folder: Path, sources: Sequence[Path], count: int) -> list[Path]:
    """`count` runs of a mini: those of `sources` by turns, their scores shaken more and more."""
    target = folder / f"shaken-{count}"
    target.mkdir(parents=True, exist_ok=True)
    runs = [read_run(source) for source in sources]
    paths = [target / f"system-{number + 1}.trec" for number in range(count)]
    for number, path in enumerate(paths):
        if not path.is_file():
            run = runs[number % len(runs)]
            noise = np.random.default_rng(number).normal(scale=run.scores.std() * number / count, size=len(run))
            doc_ids = run.documents.texts(np.arange(len(run))).to_pylist()
            lines = zip(run.queries.tolist(), doc_ids, (run.scores + noise).tolist(), strict=True)
            path.write_text(
                "".join(f"{run.query_ids[query]} Q0 {doc} 0 {score:.6f} {path.stem}\n" for query, doc, score in lines)
            )
    return paths
