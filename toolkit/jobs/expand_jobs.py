"""Jobs of query expansion: topics with a query for each perspective, and the lists that were searched with them merged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from toolkit.core.errors import ToolkitError, check_counts
from toolkit.core.system.files import write_text
from toolkit.core.topics import Topic
from toolkit.datasets import TopicSet, resolve_topics
from toolkit.engine.answers import divide_answers
from toolkit.files.formats import write_topics
from toolkit.files.provenance import Output, Provenance, part, read_recorded, topics_digest, topics_facts
from toolkit.jobs.file_job import Job, RunJob, engine_of, make
from toolkit.models import choose_system
from toolkit.models.checkpoints.local_checkpoints import check_usable
from toolkit.retrieval.expand import ATTEMPTS, FORMS, Expander, expand_topics, is_given, load_expander, read_given, sizes
from toolkit.retrieval.merge_lists import DEPTH, MergeLists, merge
from toolkit.retrieval.steps import Results, Tools, given_run, given_topics

if TYPE_CHECKING:
    from toolkit.datasets.accepted import File, Loader, Precision, Topics
    from toolkit.models.checkpoints.own_systems import ChatModel

FORMATS = {".tsv": "tsv", ".trec": "trec", ".txt": "trec"}  # of topics, by a file's ending; JSON lines otherwise


@dataclass(frozen=True)
class Expanded:
    """Topics with one query for each perspective, what the record says of how they were written, and their `sizes`."""

    topics: list[Topic]
    facts: dict[str, Any]
    size: dict[str, Any]


class ExpandJob(Job[Expanded]):
    """Topics with one query for each perspective, of `expand`; `how` is an expander's. Raises ToolkitError."""

    def __init__(
        self,
        topics: Any,
        source: Any,
        *,
        query: str = FORMS[0],
        systems: Sequence[str | Path] = (),
        attempts: int = ATTEMPTS,
        output: str | Path | None = None,
        **how: Any,
    ):
        check_counts(attempts=attempts)
        self.topics, self.source, self.query, self.attempts = given_topics(topics), source, query, attempts
        self.expander: Expander | None = None
        if not is_given(source):
            spec = choose_system(source, files=systems, kind="expander")
            check_usable(spec, **{name: how[name] for name in ("loader", "device", "trust_remote_code") if name in how})
            self.expander = load_expander(spec, **how)
        elif how.get("prompt") or how.get("prompts"):
            raise ToolkitError(f"perspectives from {source} need no prompt", "--prompt is for a system that writes them")
        self.output = Output.at(output)

    def plan(self) -> list[str]:
        """How many queries, or how much is asked."""
        questions = self.topics.topics
        name, count = self.topics.name, len(questions)
        if self.expander is None:
            given, _ = read_given(self.source, self.topics)
            queries = sum(len(given.get(topic.query_id, ())) for topic in questions)
            return [f"{queries:,} queries ({self.query}) of {count:,} questions of {name}, perspectives: {self.source}"]
        cached = sum(self.expander.llm.peek(self.expander.request(topic)) is not None for topic in questions)
        model = self.expander.llm.model
        return [f"ask {model} for the perspectives of {count:,} questions of {name}, {cached:,} of them cached"]

    def work(self, tools: Tools) -> Expanded:
        """Read or ask for the perspectives."""
        questions = self.topics.topics
        if self.expander is None:
            perspectives, facts = read_given(self.source, self.topics)
        else:
            divide_answers(self.expander, tools.executor)
            perspectives = self.expander.perspectives(questions, self.attempts)
            facts = self.expander.facts()
        expanded = expand_topics(questions, perspectives, self.query)  # refuses questions without perspectives
        return Expanded(expanded, facts, sizes({topic.query_id: perspectives[topic.query_id] for topic in questions}))

    def resumes(self) -> bool:
        """Answers are cached as they come."""
        return self.expander is not None

    def write(self, product: Expanded, started: float) -> None:
        """The topics with their record."""
        form = FORMATS.get(Path(self.output.path or "").suffix, "jsonl")
        provenance = Provenance().step("expansion", {**product.facts, "query": self.query, **product.size})
        made = provenance.having(topics=topics_facts(self.topics.name, self.topics.topics, self.topics.folder))
        tag = self.expander.spec.name if self.expander else self.source
        how = {"counts": {"queries": len(product.topics), "topics": topics_digest(product.topics)}, "what": "expanded"}
        self.output.write(lambda path: write_topics(product.topics, path, form), made, tag=tag, started=started, **how)


class MergeJob(RunJob):
    """The lists of a run (a file, or `-`), whose query ids are `<question>.<n>`, as one list a question; see `MergeLists`.

    queries  the file of expanded topics that was searched, where it is known: its record says which questions they are of
    """

    def __init__(
        self,
        lists: str | Path,
        *,
        depth: int = DEPTH,
        duplicates: bool = False,
        output: str | Path | None = None,
        tag: str | None = None,
        queries: str | None = None,
    ):
        super().__init__(Results(runs=(given_run(lists),)), MergeLists(depth, duplicates), Output.at(output), tag or "")
        self.queries = queries

    def work(self, tools: Tools) -> tuple:
        """The merged run; its record names the questions as `topics`, and what was searched as `queries`."""
        [made] = super().work(tools)
        data, method = dict(made.provenance.data), dict(made.provenance.method)
        if "topics" in data:
            data["queries"] = data.pop("topics")
        if self.queries is not None:
            known = read_recorded(self.queries, resolve_topics, "expanded").record
            data["topics"] = part(known, "data", "topics")
            method = {"expansion": part(known, "method")["expansion"], **method}
        return (replace(made, provenance=Provenance(method, data)),)


def write_lists(lists: str | Path, output: str | Path, *, depth: int = DEPTH, duplicates: bool = False) -> dict[str, list[str]]:
    """Merge lists into JSON, {question: [document, ...]}; with duplicates, which no TREC run can have, as the release does."""
    merged = merge(given_run(lists).run, depth, duplicates)
    write_text(output, json.dumps(merged, ensure_ascii=False) + "\n")
    return merged


def own_corpus(topics: TopicSet) -> str:
    """The name of the one corpus that belongs to topics. ToolkitError where there is none, and where there are several."""
    if topics.benchmark is None or len(topics.parts) != 1:
        what = "names no corpus to search" if topics.benchmark is None else "is several groups"
        raise ToolkitError(f"{topics.name} {what}", "name what to search with --index")
    return f"{topics.benchmark}/{topics.parts[0].group}"


def expand(
    topics: Topics,
    source: str | Path | ChatModel,
    *,
    query: Literal["perspective", "question+perspective"] = "perspective",
    attempts: int = 3,
    systems: Sequence[File] = (),
    prompt: str | None = None,
    prompts: File | None = None,
    device: str | None = None,
    precision: Precision | None = None,
    batch_size: int | None = None,
    trust_remote_code: bool = False,
    loader: Loader | None = None,
    concurrency: int | None = None,
    retries: int | None = None,
    timeout: float | None = None,
    replay: bool | None = None,
    engine: str | None = None,
    workers: int | None = None,
    threads_per_worker: int | None = None,
    gpus_per_worker: float | None = None,
    units: File | None = None,
    output: File | None = None,
) -> list[Topic]:
    """Topics with one query for each perspective, `<question>.<n>`.

    source  `given` (the benchmark's own), `released`, a JSONL file with perspectives, or a system that writes them
            (a name, or an object with `generate`), which the options from `prompt` on are of

    Search them, and merge the lists: `(Retrieve("bm25") >> MergeLists())(topics)`. Raises ToolkitError.
    """
    how = dict(locals())
    made_by = engine_of(how)
    return make(ExpandJob(**{name: value for name, value in how.items() if value is not None}), **made_by).topics
