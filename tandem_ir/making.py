"""Making runs, and what they are made with: each call is the command of the same name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.core.errors import ToolkitError

if TYPE_CHECKING:
    from toolkit.core.qrels import Qrels
    from toolkit.core.runs import Run
    from toolkit.core.topics import Topic


def search(
    topics: Any,
    index: str | None = None,
    system: Any = "bm25",
    *,
    hits: int = 1000,
    fuse: str = "",
    rerank: Any = None,
    depth: int | None = None,
    instruction: str = "full",
    candidates: str | Path | None = None,
    output: str | Path | None = None,
    tag: str | None = None,
    **how: Any,
) -> Run:
    """Search topics with a system, and fuse or rerank what was found.

    topics       a benchmark's name, a file, several of them, a DataFrame (query_id, query, instruction), {query_id: text}
    index        a folder, a prebuilt index's name, or a benchmark; the topics' own corpora where none is named
    system       a name of the registry, a folder, a Hugging Face id, `python:module:factory`, or an object with `encode` (see
                 `tandem.TextEncoder`) or `retrieve`; several with `fuse` (`rrf`, `rrf:k=60`, `minmax:0.3,0.7`);
                 or steps, as in `Retrieve("bm25") >> Rerank(...)`
    hits         documents a query
    rerank       a reranker for the best `depth` (100) documents of each query
    instruction  `full`, `short`, `keywords`, `placebo` or `none`: what the topics' instructions become
    candidates   a run's file, or `candidates` for the benchmark's own: only these documents may be found
    output       a file for the run, its record beside it; nothing is written where none is named
    how          `recipe`, `systems`, `query_template`, `plain_template`, `threads`, `device`, `precision`, `batch_size`,
                 `trust_remote_code`, `language`, `docs`, and parameters of the system (`k1=1.2`, `rm3=True`)
                 of a cluster `engine`, `workers`, `threads_per_worker`, `gpus_per_worker`, `units`

    Raises ToolkitError for what cannot be looked up or made.
    """
    from toolkit.jobs import pipeline_job, search_job
    from toolkit.jobs.file_job import engine_of, run_by
    from toolkit.retrieval.steps import Step

    made_by = engine_of(how)
    if isinstance(system, Step):
        return run_by(pipeline_job(system, topics, instruction=instruction, output=output, tag=tag, **how), **made_by)
    named = {"hits": hits, "fuse": fuse, "rerank": rerank, "depth": depth, "instruction": instruction}
    return run_by(search_job(topics, index, system, **named, candidates=candidates, output=output, tag=tag, **how), **made_by)


def rerank(
    run: Any,
    system: Any,
    *,
    topics: Any = None,
    depth: int | None = None,
    index: str | None = None,
    docs: str | None = None,
    instruction: str = "full",
    output: str | Path | None = None,
    tag: str | None = None,
    **how: Any,
) -> Run:
    """Rerank the best `depth` documents of each query of a run.

    run          a file, a run in any form, or `candidates` for the benchmark's own
    system       a name, or an object with `score`, `rank` or `generate` (`tandem.PairScorer`, `ListRanker`, `ChatModel`)
    topics       as for `search`; those that the run's record names, where none are given
    index, docs  where the texts of documents are; the topics' own corpora where nothing is named
    how          `recipe`, `kind`, `systems`, `tail`, `scores`, `prompt`, `prompts` (a folder of published ones), `device`,
                 `precision`, `batch_size`, `trust_remote_code`; of listwise ones `window`, `step`, `passes`, `shuffle`,
                 `loader`, `concurrency`, `replay`
                 of a cluster `engine`, `workers`, `threads_per_worker`, `gpus_per_worker`, `units`

    Raises ToolkitError.
    """
    from toolkit.jobs.file_job import engine_of, run_by
    from toolkit.jobs.search_jobs import rerank_job
    from toolkit.retrieval.rerank.rerank_step import Rerank

    made_by = engine_of(how)
    step = Rerank(system, depth=depth, **how)
    where = {"topics": topics, "index": index, "docs": docs, "instruction": instruction}
    return run_by(rerank_job(run, step, **where, output=output, tag=tag), **made_by)


def fuse(
    runs: Sequence[Any] | Mapping[str, Any],
    method: str = "rrf",
    *,
    hits: int = 1000,
    output: str | Path | None = None,
    tag: str | None = None,
) -> Run:
    """Fuse two or more runs, a list or `{name: run}`.

    method  `rrf`, `rrf:k=60`, `minmax`, `minmax:0.3,0.7`; see `toolkit.retrieval.fuse.fuse`

    Raises ToolkitError.
    """
    from toolkit.jobs.file_job import run_by, runs_job
    from toolkit.retrieval.fuse import Fuse

    return run_by(runs_job(Fuse(method=method, hits=hits), runs, output=output, tag=tag))


def diversify(
    run: Any,
    *,
    lam: float | None = None,
    setting: str | None = None,
    topics: Any = None,
    output: str | Path | None = None,
    tag: str | None = None,
    **how: Any,
) -> Run:
    """Maximal marginal relevance over a run's best documents.

    lam      the weight of relevance, from 0 to 1
    setting  instead of it lambda and scale of BERDS for a corpus and a retriever, `wikipedia/bm25`
    topics   the run's, whose corpora have the texts; or `index`, `docs`, or `vectors` of `encode`
    how      `normalisation`, `depth`, `scale`, `tail`, `system`, `systems`, `recipe`, and of the encoder `device`, `precision`,
             `batch_size`, `trust_remote_code`

    Raises ToolkitError.
    """
    from toolkit.jobs.file_job import run_by, runs_job
    from toolkit.retrieval.diversify.diversify_step import Diversify
    from toolkit.retrieval.steps import given_topics

    if lam is None and setting is None:
        raise ToolkitError("neither lambda nor a setting is given", "lam=0.75, or setting='wikipedia/bm25'")
    lams = [] if lam is None else [lam]
    step = Diversify(lams=lams, setting=setting, topics=[] if topics is None else [given_topics(topics)], **how)
    return run_by(runs_job(step, [run], output=output, tag=tag))


def expand(topics: Any, source: Any, *, output: str | Path | None = None, **how: Any) -> list[Topic]:
    """Topics with one query for each perspective, `<question>.<n>`.

    source  `given` (the benchmark's own), `released`, a JSONL file with perspectives, or a system that writes them
            (a name, or an object with `generate`)
    how     `query`, `systems`, `attempts`, `prompt`, `prompts` (a folder of published ones), `loader`, `concurrency`, `replay`
            of a cluster `engine`, `workers`, `threads_per_worker`, `gpus_per_worker`, `units`

    Search them, and merge the lists: `(Retrieve("bm25") >> MergeLists())(topics)`. Raises ToolkitError.
    """
    from toolkit.jobs.expand_jobs import ExpandJob
    from toolkit.jobs.file_job import engine_of, make

    made_by = engine_of(how)
    return make(ExpandJob(topics, source, output=output, **how), **made_by).topics


def judge(
    runs: Any,
    system: Any,
    *,
    topics: Any = None,
    depth: int = 10,
    index: str | None = None,
    docs: str | None = None,
    output: str | Path | None = None,
    systems: Sequence[str | Path] = (),
    recipe: str | None = None,
    **how: Any,
) -> Qrels:
    """Which perspectives the best `depth` documents of each question hold: subtopic qrels (1 holds, 0 does not, -1 unjudged).

    runs    one, or several in a list or by name, whose best documents are judged together
    system  a name, or an object with `generate` (see `tandem.ChatModel`)
    topics  questions with perspectives; those that the first run's record names, where none are given
    how     `prompt`, `prompts` (a folder of published ones), `shots`, `loader`, `concurrency`, `replay`, `device`, `precision`,
            `batch_size`, `trust_remote_code`
            of a cluster `engine`, `workers`, `threads_per_worker`, `gpus_per_worker`, `units`

    Raises ToolkitError.
    """
    from toolkit.jobs.file_job import engine_of, make
    from toolkit.jobs.judge_jobs import JudgeJob, emit_warnings, judge_of

    made_by = engine_of(how)
    loaded = judge_of(system, systems=systems, recipe=recipe, **how)
    job = JudgeJob(runs, loaded, topics=topics, index=index, docs=docs, depth=depth, output=output)
    judged = make(job, **made_by)
    emit_warnings(loaded)
    return judged.qrels


def check_system(system: Any) -> list[str]:
    """What an object of one's own, or `python:module:factory`, does not do as its methods have to; empty where all is well.

    It is asked for a handful of texts; compared are the form of each answer, whether it repeats, and whether it depends on what
    is asked beside it.
    """
    from toolkit.models.systems.contract import check_system

    return [f"{check.method}: {check.problem}" for check in check_system(system) if check.problem]


def index(corpus: str, output: str | Path, *, system: Any = None, **how: Any) -> Path:
    """Build an index of a corpus (a file or folder, a benchmark's, an id of ir_datasets, or vectors); its folder.

    system  what encodes the documents; without one, Lucene indexes their words
    how     `type`, `systems`, `recipe`, `pooling`, `language`, `split`, `per_question`, `skip_invalid`, `factory`, `tuning`,
            `keep_vectors`, `shard_size`, `threads`, and of the encoder `device`, `precision`, `batch_size`, `trust_remote_code`
            on a server (`http:MODEL`) `concurrency`, `retries`, `timeout`, `replay`, `loader`
            of a cluster `engine`, `workers`, `threads_per_worker`, `gpus_per_worker`, `units`

    Raises ToolkitError.
    """
    from toolkit.jobs.encode_jobs import IndexJob
    from toolkit.jobs.file_job import engine_of, make

    made_by = engine_of(how)
    make(IndexJob(str(corpus), output, system=system, **how), **made_by)
    return Path(output)


def encode(corpus: str | None, system: Any, output: str | Path, *, topics: Any = None, **how: Any) -> Path:
    """Encode a corpus, or topics in its place, into a folder of vectors; an interrupted encoding resumes.

    how  `systems`, `recipe`, `pooling`, `shard_size`, `device`, `precision`, `batch_size`, `trust_remote_code`
         on a server (`http:MODEL`) `concurrency`, `retries`, `timeout`, `replay`, `loader`
         of a cluster `engine`, `workers`, `threads_per_worker`, `gpus_per_worker`, `units`

    Raises ToolkitError.
    """
    from toolkit.jobs.encode_jobs import EncodeJob
    from toolkit.jobs.file_job import engine_of, make

    made_by = engine_of(how)
    make(EncodeJob(corpus, system, output, topics=topics, **how), **made_by)
    return Path(output)
