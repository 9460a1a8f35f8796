"""Topics to topics with a query for each perspective, and lists to a merged run: files with their metadata."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolkit.benchmarks import TopicSet, resolve_topics
from toolkit.core.errors import ToolkitError
from toolkit.core.files import is_stream, open_output
from toolkit.expand.generate import ATTEMPTS, Expander, load_expander
from toolkit.expand.merge import DEPTH, merge, merged_run
from toolkit.expand.queries import FORMS, expand_topics, sizes
from toolkit.expand.sources import is_given, read_given
from toolkit.formats import read_metadata, read_run, write_metadata, write_run, write_topics
from toolkit.formats.derived import derived_metadata, origin_of
from toolkit.formats.ids import check_ids
from toolkit.formats.provenance import command_line, topics_digest, topics_facts
from toolkit.registry import choose_system

FORMATS = {".tsv": "tsv", ".trec": "trec", ".txt": "trec"}  # of topics, by a file's ending; JSON lines otherwise


@dataclass(frozen=True)
class Expansion:
    """Questions, and where their perspectives come from; nothing is asked yet.

    source    see `sources.read_given`, or the expander's name
    expander  what writes them; None where they are given
    query     one of `queries.FORMS`
    """

    topics: TopicSet
    source: str
    expander: Expander | None = None
    query: str = FORMS[0]
    attempts: int = ATTEMPTS

    def describe(self) -> str:
        """What expanding does, in a line."""
        questions = self.topics.topics
        name, count = self.topics.name, len(questions)
        if self.expander is None:
            given, _ = read_given(self.source, self.topics)
            queries = sum(len(given.get(topic.query_id, ())) for topic in questions)
            return f"{queries:,} queries ({self.query}) of {count:,} questions of {name}, perspectives: {self.source}"
        cached = sum(self.expander.llm.peek(self.expander.request(topic)) is not None for topic in questions)
        return f"ask {self.expander.llm.model} for the perspectives of {count:,} questions of {name}, {cached:,} of them cached"

    def write(self, output: str | Path) -> dict[str, Any]:
        """Write the expanded topics, metadata beside them; how many and how long the perspectives are, see `queries.sizes`."""
        started, questions = time.time(), self.topics.topics
        if self.expander is None:
            perspectives, facts = read_given(self.source, self.topics)
        else:
            perspectives = self.expander.perspectives(questions, self.attempts)
            facts = self.expander.facts()
        expanded = expand_topics(questions, perspectives, self.query)
        size = sizes({topic.query_id: perspectives[topic.query_id] for topic in questions})
        write_topics(expanded, output, FORMATS.get(Path(output).suffix, "jsonl"))
        if not is_stream(output):
            executable = {"cmd": command_line(), "wall time": round(time.time() - started, 2)}
            made = {"queries": len(expanded), "sha256": topics_digest(expanded)}
            facts = {
                "implementation": {"executable": executable},
                "method": {"expansion": [{**facts, "query": self.query, **size}]},
                "data": {"topics": topics_facts(self.topics.name, questions), "expanded": made},
            }
            write_metadata(output, facts)
        return size


def plan_expansion(
    topics: str | Sequence[str],
    source: str,
    *,
    query: str = FORMS[0],
    systems: Sequence[str | Path] = (),
    attempts: int = ATTEMPTS,
    **how: Any,
) -> Expansion:
    """Look everything up that expanding will need.

    topics   a name or a file, or several
    source   see `sources.read_given`, or a system of kind `expander`
    systems  the user's own YAML files with entries
    how      of an expander: `prompt`, and what `toolkit.models.llm.load_llm` takes

    Raises ToolkitError.
    """
    found, expander = resolve_topics(topics), None
    if not is_given(source):
        expander = load_expander(choose_system(source, files=systems, kind="expander"), **how)
    elif how.get("prompt"):
        raise ToolkitError(f"perspectives from {source} need no prompt", "--prompt is for a system that writes them")
    return Expansion(found, source, expander, query, attempts)


def own_corpus(topics: TopicSet) -> str:
    """The name of the one corpus that belongs to topics. ToolkitError where there is none, and where there are several."""
    if topics.benchmark is None or len(topics.parts) != 1:
        what = "names no corpus to search" if topics.benchmark is None else "is several groups"
        raise ToolkitError(f"{topics.name} {what}", "name what to search with --index")
    return f"{topics.benchmark.spec.name}/{topics.parts[0].group}"


def write_merged(
    lists: str,
    output: str | Path,
    *,
    depth: int = DEPTH,
    duplicates: bool = False,
    format: str | None = None,
    tag: str | None = None,
    queries: str | None = None,
) -> dict[str, list[str]]:
    """Merge the lists of a run's file (or `-`), and write the result; see `toolkit.expand.merge`.

    format  `trec`, with metadata, or `json`, {question: [document, ...]}; where none is named, `json` with duplicates, which
            no TREC run can have, and `trec` without
    tag     the lists' own and `.expanded` where none is named
    queries what `Expansion.write` wrote, where it is known: its metadata say which questions these are the queries of
    """
    started, run = time.time(), read_run(lists)
    tag = tag or f"{run.tag or 'run'}.expanded"
    check_ids("tag", [tag])
    origin = origin_of(lists, run)
    merged = merge(run, depth, duplicates)
    if (format or ("json" if duplicates else "trec")) == "json":
        with open_output(output) as out:
            out.write((json.dumps(merged, ensure_ascii=False) + "\n").encode())
        return merged
    made = merged_run(merged, tag=tag)
    write_run(made, output)
    if not is_stream(output):
        report = {"name": tag, "method": "round-robin", "depth": depth, "duplicates": "kept" if duplicates else "skipped"}
        facts = derived_metadata(made, origin, "merging", report, file=Path(output), seconds=time.time() - started)
        write_metadata(output, _of_questions(facts, queries))
    return merged


def _of_questions(facts: dict[str, Any], queries: str | None) -> dict[str, Any]:
    """The metadata with what was searched as `queries`, and as `topics` the questions, where it is known which they are."""
    method, data = facts["method"], facts["data"]
    if "topics" in data:
        data["queries"] = data.pop("topics")
    if queries is not None:
        known = read_metadata(queries) or {}
        data["topics"] = known["data"]["topics"]
        facts["method"] = {"automatic": method["automatic"], "expansion": known["method"]["expansion"], **method}
    return facts
