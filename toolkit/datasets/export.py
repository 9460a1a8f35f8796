"""A benchmark as files that other people's tools read: TREC topics and qrels, TSV topics, JSONL corpora, candidate runs."""

import json
from dataclasses import replace
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.system.files import open_output
from toolkit.core.system.progress import say
from toolkit.core.topics import Topic
from toolkit.datasets.benchmark import Benchmark, load
from toolkit.datasets.group_data import part_name
from toolkit.datasets.names import Selection
from toolkit.files.formats import write_qrels, write_run, write_topics


def export(selection: Selection, folder: Path, *, published_ids: bool = False) -> list[Path]:
    """Write topics, qrels, candidates and corpora of a selection; the paths written.

    Groups that share a corpus share its file. What the benchmark has not on this machine is not written, and said.
    published_ids  query ids as published, which the modes share, instead of ours
    """
    benchmark = load(selection.benchmark)
    paths = []
    for group in selection.groups:
        for mode in selection.modes or ("",):
            paths += write_topics_and_qrels(benchmark, group, mode, folder, folder, published_ids=published_ids)
            if (run := benchmark.scoreddocs(group, mode)) is not None:
                run = run.with_query_ids(_published(benchmark.topics(group, mode), run)) if published_ids else run
                paths.append(folder / f"candidates.{_stem(benchmark, group, mode)}.trec")
                write_run(run, paths[-1], ties="file")
    for group in dict.fromkeys(benchmark.spec.corpus(group) for group in selection.groups):
        if not benchmark.has_docs(group):
            say(f"note: the documents of {part_name(benchmark.spec.name, group)} are not on this machine: no corpus is written")
            continue
        paths.append(folder / f"corpus.{_stem(benchmark, group)}.jsonl")
        with open_output(paths[-1]) as out:
            for doc in benchmark.docs(group):  # as Anserini's JsonCollection wants them
                out.write(json.dumps({"id": doc.doc_id, "contents": doc.contents}, ensure_ascii=False).encode() + b"\n")
    return paths


def write_topics_and_qrels(
    benchmark: Benchmark, group: str, mode: str, topics_folder: Path, qrels_folder: Path, *, published_ids: bool = False
) -> list[Path]:
    """`topics.<benchmark>-<group>.<mode>.{trec,tsv}` and `qrels.<benchmark>-<group>.<mode>.txt`; the paths written.

    The benchmark without modes has no mode in its names, the one that was published without qrels gets none.
    """
    topics, stem = benchmark.topics(group, mode), _stem(benchmark, group, mode)
    paths = [topics_folder / f"topics.{stem}.trec", topics_folder / f"topics.{stem}.tsv"]
    if benchmark.has_qrels(group):
        qrels = benchmark.qrels(group, mode)
        qrels = qrels.with_query_ids(_published(topics, qrels)) if published_ids else qrels
        paths.append(qrels_folder / f"qrels.{stem}.txt")
        write_qrels(qrels, paths[-1])
    if published_ids:
        topics = [replace(topic, query_id=topic.original_id) for topic in topics]
    write_topics(topics, paths[0], "trec")
    write_topics(topics, paths[1], "tsv")
    return paths


def _stem(benchmark: Benchmark, group: str, mode: str = "") -> str:
    name = part_name(benchmark.spec.name, group)
    return f"{name}.{mode}" if mode else name


def _published(topics: list[Topic], values: Qrels | Run) -> list[str]:
    """The published ids of the queries of qrels or a run."""
    known = {topic.query_id: topic.original_id for topic in topics}
    published = [known[query_id] for query_id in values.query_ids]
    if not all(published) or len(set(published)) < len(published):
        raise ToolkitError("the published ids are not all there and different", "export with our ids")
    return published
