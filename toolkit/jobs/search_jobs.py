"""Jobs that search or rerank: what a user says becomes steps, inputs and an output."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SERVED
from toolkit.datasets import find, is_benchmark_folder
from toolkit.engine import refuse_object
from toolkit.files.provenance import Output
from toolkit.jobs.file_job import RunJob, engine_of, run_by, stem_of
from toolkit.retrieval.index import corpus_name
from toolkit.retrieval.instructions import topics_sent
from toolkit.retrieval.search.chosen_system import on_servers, shared_parameters
from toolkit.retrieval.search.retrieve import DEFAULT_HITS, Retrieve
from toolkit.retrieval.steps import Made, Pipeline, Results, Step, given_topics, made_of, recorded_run, results_of

if TYPE_CHECKING:
    from toolkit.core.runs import Run
    from toolkit.datasets.accepted import File, Instruction, Loader, Precision, RunForm, Topics
    from toolkit.models.checkpoints.own_systems import ChatModel, ListRanker, PairScorer, Retriever, TextEncoder
    from toolkit.retrieval.rerank import Rerank

    Searcher = str | Path | TextEncoder | Retriever
    Reranker = str | Path | PairScorer | ListRanker | ChatModel

OF_STEPS = ("topics", "instruction", "docs", "output", "metadata", "tag")  # what else `search` takes beside steps


class SearchJob(RunJob):
    """Topics to a run, by steps that begin with a search."""

    def check_divisible(self) -> None:
        """See `Job`."""
        for step in retrievals(self.step):
            refuse_object(step.chosen.spec)
            if step.finds_itself:
                raise ToolkitError(f"{step.tag} is asked by this process alone", "leave --engine out")
        for step in rerankers(self.step):
            refuse_object(step.spec)

    def warnings(self) -> list[str]:
        """Those of the steps; and where a benchmark's topics are searched in documents that it has no judgments for."""
        benchmark, searched = self.inputs.topics.benchmark, retrievals(self.step)
        names = {source.name for step in searched for source in step.engine.sources}
        if not benchmark or names & {corpus_name(benchmark, group) for group in benchmark.groups}:
            return super().warnings()
        note = f"note: {benchmark.spec.name} has no judgments for the documents of {_searched_name(searched[0])}"
        return [*super().warnings(), f"{note}: compare its runs with one another"]


def search(
    topics: Topics,
    index: str | None = None,
    system: Searcher | Step | Sequence[Searcher] = "bm25",
    *,
    hits: int = 1000,
    fuse: str = "",
    rerank: Reranker | None = None,
    rerank_recipe: str | None = None,
    rerank_kind: str | None = None,
    depth: int | None = None,
    docs: str | None = None,
    instruction: Instruction = "full",
    candidates: File | None = None,
    k1: float | None = None,
    b: float | None = None,
    rm3: bool | None = None,
    language: str | None = None,
    query_template: str | None = None,
    plain_template: str | None = None,
    pooling: str | None = None,
    threads: int | None = None,
    verify: bool = False,
    systems: Sequence[File] = (),
    recipe: str | None = None,
    device: str | None = None,
    precision: Precision | None = None,
    batch_size: int | None = None,
    trust_remote_code: bool = False,
    loader: Loader | None = None,
    concurrency: int | None = None,
    retries: int | None = None,
    timeout: float | None = None,
    replay: bool | None = None,
    instruction_as: Literal["field", "text"] | None = None,
    engine: str | None = None,
    workers: int | None = None,
    threads_per_worker: int | None = None,
    gpus_per_worker: float | None = None,
    units: File | None = None,
    output: File | None = None,
    tag: str | None = None,
    metadata: File | None = None,
) -> Run:
    """Search topics with a system, and fuse or rerank what was found.

    topics       a benchmark's name, a file, several of them, a DataFrame (query_id, query, instruction), {query_id: text}
    index        a folder, a prebuilt index's name, or a benchmark; the topics' own corpora where none is named
    system       a name of the registry, a folder, a Hugging Face id, `python:module:factory`, or an object with `encode` (see
                 `tandem.TextEncoder`) or `retrieve`; several with `fuse` (`rrf`, `rrf:k=60`, `minmax:0.3,0.7`);
                 or steps, as in `Retrieve("bm25") >> Rerank(...)`
    rerank       a reranker for the best `depth` (100) documents of each query
    candidates   a run's file, or `candidates` for the benchmark's own: only these documents may be found
    output       a file for the run, its record beside it (or in `metadata`); nothing is written where none is named

    Raises ToolkitError. The other options are those of `tandem search`.
    """
    how = dict(locals())
    made_by = engine_of(how)
    return run_by(searching(**how), **made_by)


def searching(*, system: Any, **how: Any) -> SearchJob:
    """The job of `search`, whose options are `how`. ToolkitError for options beside steps, which have their own."""
    if not isinstance(system, Step):
        return search_job(system=system, **how)
    usual = signature(search).parameters
    if given := [name for name, value in how.items() if name not in OF_STEPS and value != usual[name].default]:
        raise ToolkitError(f"{', '.join(given)} beside steps, which have their own", "Retrieve(..., hits=10) >> Rerank(...)")
    return pipeline_job(system, **{name: how[name] for name in OF_STEPS})


def search_job(
    topics: Any,
    index: str | None = None,
    system: Any = "bm25",
    *,
    fuse: str = "",
    hits: int = DEFAULT_HITS,
    instruction: str = "full",
    rerank: Any = None,
    rerank_recipe: str | None = None,
    rerank_kind: str | None = None,
    depth: int | None = None,
    docs: str | None = None,
    output: str | Path | None = None,
    metadata: str | Path | None = None,
    tag: str | None = None,
    **how: Any,
) -> SearchJob:
    """Search topics with one system or the fusion of several, and rerank what was found where a reranker is named.

    Options are those of `search`. SERVED goes to each model that is on a server, `loader` to the reranker where one is named.
    Raises ToolkitError for what cannot be looked up or made.
    """
    names = list(system) if isinstance(system, list | tuple) else [system]
    models = {name: how.get(name) for name in ("device", "precision", "batch_size")}
    models |= {"trust_remote_code": how.get("trust_remote_code") or None, "systems": how.get("systems", ())}
    of_reranker = {"recipe": rerank_recipe, "kind": rerank_kind, "depth": depth}
    asking = {name: value for name in SERVED if (value := how.pop(name, None)) is not None}
    loader = asking.pop("loader", None)
    of_systems = None if rerank is not None else loader
    served = on_servers(names, of_systems, files=how.get("systems", ()), recipe=how.get("recipe"))
    if rerank is not None:
        from toolkit.retrieval.rerank import Rerank

        options = models | of_reranker | {"loader": loader}
        reranker = Rerank(rerank, **options)
        if asking and (reranker.is_asked or not any(served)):  # without a server this is refused
            reranker = Rerank(rerank, **options, **asking)
    else:
        reranker, asked = None, {} if any(served) else asking
        if given := [name for name, value in (of_reranker | asked).items() if value is not None]:
            hint = f"name one with --rerank{', or a system on a server (http:MODEL)' if asked else ''}"
            raise ToolkitError(f"{' and '.join(given)} of a reranker, and none is named", hint)
    by_system = [{"loader": of_systems, **asking} if on_server else {} for on_server in served]
    step = _retrieval(names, fuse, {**how, "index": index, "hits": hits}, reranker, by_system)
    step = step >> reranker if reranker else step
    if docs is not None and not step.reads_texts:
        raise ToolkitError("texts of documents without anything that reads them", "--docs is for --rerank and for +rules")
    return pipeline_job(step, topics, instruction=instruction, docs=docs, output=output, metadata=metadata, tag=tag)


def _retrieval(
    names: Sequence[Any], fuse: str, how: dict[str, Any], reranker: Rerank | None, own: Sequence[dict[str, Any]]
) -> Step:
    """One system, or the fusion of several. Parameters go to each that has them, the precision to every model.

    own  what each system alone takes
    """
    if len(names) > 1 and how.get("recipe"):
        raise ToolkitError(f"one recipe for {len(names)} systems", "make a run of each, and `tandem fuse` them")
    if len(names) > 1 and not fuse:
        raise ToolkitError(f"{len(names)} systems ({', '.join(map(str, names))}) make one run", "say how with --fuse rrf")
    if fuse and len(names) < 2:
        raise ToolkitError(f"nothing to fuse with {names[0]}", "name a second --system")
    common = {name: how.pop(name, None) for name in RETRIEVE_OPTIONS}
    precision = common.pop("precision")
    common = {name: value for name, value in common.items() if value is not None}
    by_system = shared_parameters(names, how, files=common.get("systems", ()), recipe=common.get("recipe"))
    by_system = [{**parameters, **given} for parameters, given in zip(by_system, own, strict=True)]
    steps = [Retrieve(name, **common, **parameters) for name, parameters in zip(names, by_system, strict=True)]
    models = [step.chosen.spec.checkpoint for step in steps] + ([reranker.spec.checkpoint] if reranker else [])
    if precision:
        if not any(models):
            raise ToolkitError(f"{'+'.join(map(str, names))} has no precision", "models have; leave --precision out")
        steps = [step.in_precision(precision) for step in steps]
    step: Step = steps[0]
    if len(steps) > 1:
        from toolkit.retrieval.fuse import Fuse

        step = Fuse(*steps, method=fuse, hits=common["hits"])
    kinds, index = {one.chosen.spec.kind for one in steps}, common.get("index")
    if index and len(kinds) > 1 and Path(index).is_dir() and not is_benchmark_folder(index):
        hint = "search the index of each alone, and `tandem fuse` the runs"
        raise ToolkitError(f"{step.tag} searches indexes of {len(kinds)} kinds, {index} is one", hint)
    return step


RETRIEVE_OPTIONS = [name for name, option in signature(Retrieve).parameters.items() if option.kind is option.KEYWORD_ONLY]


def retrievals(step: Step) -> list[Retrieve]:
    """The steps of a job that search."""
    return [one for one in step.single if isinstance(one, Retrieve)]


def rerankers(step: Step) -> list[Rerank]:
    """The steps of a job that rerank."""
    from toolkit.retrieval.rerank import Rerank

    return [one for one in step.single if isinstance(one, Rerank)]


def search_name(job: SearchJob) -> str:
    """`run.<topics>.<index>.<system>.trec`; the system is its name, then what differs from its defaults."""
    first, *others = job.step.steps if isinstance(job.step, Pipeline) else (job.step,)
    [searched, *_] = retrievals(first)
    instruction = job.inputs.instruction
    changed = [instruction] if instruction != "full" else []
    system = ".".join([first.name, *changed, *searched.limits, *(step.name for step in others)])
    return f"run.{job.inputs.topics.name}.{_searched_name(searched)}.{system}.trec"


def _searched_name(step: Retrieve) -> str:
    """What a step searches, as file names have it: a folder by its name."""
    name = step.index_name
    if selection := find(name):
        return selection.name
    return Path(name).resolve().name if Path(name).is_dir() else name.replace("/", "-")


def pipeline_job(
    step: Step,
    topics: Any,
    *,
    instruction: str = "full",
    docs: str | None = None,
    output: str | Path | None = None,
    metadata: str | Path | None = None,
    tag: str | None = None,
) -> SearchJob:
    """Any steps that begin with a search, over topics, see `toolkit.retrieval.steps.results_of`."""
    return SearchJob(results_of(step, topics, instruction, docs), step, Output.at(output, metadata), tag or "")


def rerank_job(
    run: Any,
    reranker: Rerank,
    *,
    topics: Any = None,
    index: str | None = None,
    docs: str | None = None,
    output: str | Path | None = None,
    metadata: str | Path | None = None,
    tag: str | None = None,
    instruction: str = "full",
) -> RunJob:
    """Rerank a run; options are those of `rerank`. Raises ToolkitError."""
    from toolkit.datasets.recorded_topics import recorded_topics
    from toolkit.retrieval.search.candidates import CANDIDATES, benchmark_candidates
    from toolkit.retrieval.texts import texts_from

    source = run if run is not None else reranker.spec.parameters.get("run")
    if source is None:
        raise ToolkitError("no run to rerank", "name one with --run, or take the benchmark's candidates (--run candidates)")
    read = None if isinstance(source, str) and source == CANDIDATES else recorded_run(source)
    if topics is None and (read is None or not (read.source or read.record)):
        what = "candidates are" if read is None else "run is"
        raise ToolkitError(f"no record says which topics the {what} of", "name them with --topics")
    topic_set = given_topics(topics) if topics is not None else recorded_topics(read)
    if read is None:
        own = benchmark_candidates(topic_set)
        facts = {"of": topic_set.benchmark.spec.name, "queries": len(own.query_ids), "lines": len(own)}
        made = Made(own, source=CANDIDATES, facts=facts)
    else:
        made = made_of(read)
    sent, texts = topics_sent(topic_set, instruction), texts_from(topic_set, index=index, docs=docs)
    inputs = Results(topic_set, sent, instruction, texts, (made,))
    return RunJob(inputs, reranker, Output.at(output, metadata), tag or reranker.spec.name)


def rerank_name(job: RunJob) -> str:
    """`run.<topics>.<index>.<system>.rerank-NAME.trec`: the name of the run that is reranked, extended."""
    from toolkit.retrieval.search.candidates import CANDIDATES

    source, instruction = job.inputs.one.source, job.inputs.instruction
    stem = stem_of(source) if source not in (CANDIDATES, "-") else f"run.{job.inputs.topics.name}.{stem_of(source)}"
    return ".".join([stem, job.step.name, *([instruction] if instruction != "full" else []), "trec"])


def rerank(
    run: RunForm | None,
    system: Reranker,
    *,
    topics: Topics | None = None,
    index: str | None = None,
    docs: str | None = None,
    depth: int | None = None,
    tail: Literal["keep", "drop"] | None = None,
    scores: Literal["own", "rank", "candidates"] | None = None,
    kind: Literal["cross-encoder", "monot5", "yes-no", "multivector", "listwise", "rerankers"] | None = None,
    instruction: Instruction = "full",
    prompt: str | None = None,
    prompts: File | None = None,
    window: int | None = None,
    step: int | None = None,
    passes: int | None = None,
    shuffle: int | None = None,
    systems: Sequence[File] = (),
    recipe: str | None = None,
    device: str | None = None,
    precision: Precision | None = None,
    batch_size: int | None = None,
    trust_remote_code: bool = False,
    loader: Loader | None = None,
    concurrency: int | None = None,
    retries: int | None = None,
    timeout: float | None = None,
    replay: bool | None = None,
    instruction_as: Literal["field", "text"] | None = None,
    engine: str | None = None,
    workers: int | None = None,
    threads_per_worker: int | None = None,
    gpus_per_worker: float | None = None,
    units: File | None = None,
    output: File | None = None,
    tag: str | None = None,
    metadata: File | None = None,
) -> Run:
    """Rerank the best `depth` documents of each query of a run.

    run          a file, a run in any form, or `candidates` for the benchmark's own; None for what the system's recipe takes
    system       a name, or an object with `score`, `rank` or `generate` (`tandem.PairScorer`, `ListRanker`, `ChatModel`)
    topics       as for `search`; those that the run's record names, where none are given
    index, docs  where the texts of documents are; the topics' own corpora where nothing is named
    prompts      a folder of published ones; window, step, passes, shuffle  of listwise rerankers

    Raises ToolkitError.
    """
    how = dict(locals())
    made_by = engine_of(how)
    return run_by(reranking(**how), **made_by)


def reranking(*, system: Any, run: Any = None, trust_remote_code: bool = False, **how: Any) -> RunJob:
    """The job of `rerank`, whose options are `how`."""
    from toolkit.retrieval.rerank import Rerank

    names = ("topics", "index", "docs", "instruction", "output", "tag", "metadata")
    of_job = {name: how.pop(name) for name in names if name in how}
    return rerank_job(run, Rerank(system, trust_remote_code=trust_remote_code or None, **how), **of_job)
