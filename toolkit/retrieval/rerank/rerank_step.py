"""The step that reranks: the best documents of each query are read by a model that sees query and document together."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError, check_counts, three
from toolkit.core.runs import Run, join_runs
from toolkit.core.specs import SERVED, SystemSpec
from toolkit.core.system.python_names import PYTHON
from toolkit.datasets import TopicSet
from toolkit.engine import LocalExecutor, refuse_object
from toolkit.engine.answers import divide_answers
from toolkit.files.provenance import model_identity
from toolkit.files.store.keyed_cache import key_of
from toolkit.models import choose_system
from toolkit.models.checkpoints.local_checkpoints import check_usable
from toolkit.models.llm import chosen_prompt, load_prompt
from toolkit.models.rerankers import KINDS as POINTWISE
from toolkit.models.rerankers import check_reranker, load_reranker
from toolkit.models.rerankers.library import is_rank_only
from toolkit.models.rerankers.listwise_ranker import DEFAULT_PROMPT, load_ranker
from toolkit.models.rerankers.prompts import pointwise_prompt
from toolkit.models.rerankers.reranker_settings import PROMPTED
from toolkit.registry.server_forms import DEFAULT
from toolkit.registry.system_kinds import instruction_facts, loaded_by, parameters_as
from toolkit.retrieval.rerank.candidates import Part, check_queries, check_repeats, count_tied, wanted_ids
from toolkit.retrieval.rerank.listwise import plan_listwise, rerank_listwise
from toolkit.retrieval.rerank.pointwise import WorkersReranker, plan_pairs, rerank_parts
from toolkit.retrieval.steps import Results, Step, Tools
from toolkit.retrieval.texts import Texts, check_texts, downloads

DEFAULT_DEPTH = 100
LISTWISE, LIBRARY = "listwise", "rerankers"
ON_SERVER = "cross-encoder"  # the kind of a model on a server that no entry knows
SLIDING = ("window", "step", "passes", "shuffle")
ASKING = (*SERVED, "cache")
STAGE = ("depth", "tail", "scores", "run", *SLIDING)  # what says how it is used, not how the model is loaded


class Rerank(Step):
    """Rerank the best documents of each query.

    system   a name of the registry, a folder, a Hugging Face id, `python:module:factory` or an object itself (see
             `toolkit.models.checkpoints.own_systems`), or a system that was looked up, see `choose_system`
    tail     `keep` the documents below `depth` behind the others, or `drop` them
    scores   `own`: the model's; `rank`: 1 / rank; `candidates`: those of the run at the same ranks
    prompts  a folder of published prompts, of which it is sent its own (`chosen_prompt`)
    given    how the model is loaded (`device`, `precision`, `batch_size`, `trust_remote_code`, `prompt`; of listwise ones and
             those on a server `core.specs.SERVED` and `cache`), and `SLIDING`: how the window slides

    What is not given (None) is the entry's or the recipe's, else the default. Raises ToolkitError for an unknown system, one
    that is no reranker, and for what a reranker of its kind has no meaning for.
    """

    reads_texts = True

    def __init__(
        self,
        system: Any,
        *,
        systems: Sequence[str | Path] = (),
        recipe: str | None = None,
        kind: str | None = None,
        prompts: str | Path | None = None,
        **given: Any,
    ):
        spec = choose_reranker(system, systems, recipe, kind)
        if spec.kind not in (*POINTWISE, LISTWISE):
            kinds = ", ".join((*POINTWISE, LISTWISE))
            raise ToolkitError(f"{spec.name} is of kind {spec.kind}, no reranker", f"--kind says what a checkpoint is: {kinds}")
        given["prompt"] = chosen_prompt(spec, given.get("prompt"), prompts)
        given = {name: value for name, value in given.items() if value is not None}
        known, listwise = {**spec.parameters, **given}, spec.kind == LISTWISE or is_rank_only(spec)
        if not listwise:
            spec = loaded_by(spec, given.pop("loader", None), given.pop("instruction_as", None))
        asked = spec.kind == LISTWISE or spec.loader == "endpoint"
        if unknown := [name for name in (*(() if listwise else SLIDING), *(() if asked else ASKING)) if name in given]:
            message = f"{spec.name} is of kind {spec.kind}: it has no {', '.join(unknown)}"
            raise ToolkitError(message, "only listwise rerankers have" if unknown[0] in SLIDING else "models on a server have")
        if not listwise:
            check_reranker(spec, given.get("prompt"))
        check_counts(depth=known.get("depth"), batch_size=known.get("batch_size"))
        self.spec, self.is_asked, self.is_listwise = spec, asked, listwise
        self.depth: int = known.get("depth", DEFAULT_DEPTH)
        self.tail: str = known.get("tail", "keep")
        self.scores: str = known.get("scores", "rank" if listwise else "own")
        self.loading = {name: value for name, value in given.items() if name not in STAGE}
        self.sliding = {name: known[name] for name in SLIDING if name in known} if listwise else {}
        self._report: dict[str, Any] = {}

    @property
    def tag(self) -> str:
        """`rerank-NAME`."""
        return f"rerank-{self.spec.name}"

    @property
    def name(self) -> str:
        """`rerank-NAME`, then recipe and what is not its default."""
        usual = Rerank(self.spec)
        named = [key for key in ("depth", "tail", "scores") if getattr(self, key) != getattr(usual, key)]
        changed = [f"{key}-{getattr(self, key)}" for key in named]
        changed += [f"{key}-{value}" for key, value in self.sliding.items() if value != usual.sliding.get(key)]
        changed += ["instruction-as-text"] if "instruction" in usual.spec.templates.keys() - self.spec.templates.keys() else []
        if prompt := self.loading.get("prompt"):
            changed.append(f"prompt-{Path(prompt).name.removesuffix('.yaml')}")
        return ".".join([self.tag, *filter(None, [self.spec.recipe]), *changed])

    @property
    def _windows(self) -> dict[str, Any]:
        """How the window slides: the library of rerankers is given the whole list at once, unless it is said otherwise."""
        if self.spec.kind != LIBRARY:
            return self.sliding
        window = self.sliding.get("window", max(self.depth, 2))
        return {"window": window, "step": window, **self.sliding}

    @property
    def is_cached(self) -> bool:
        """Answers of a language model that orders lists are, and scores of a server."""
        return self.is_asked

    def prepare(self, results: Results) -> None:
        """Refuse what loading will refuse, see `local_checkpoints.check_usable`."""
        how = {name: self.loading[name] for name in ("loader", "device", "trust_remote_code") if name in self.loading}
        check_usable(self.spec, **how)

    def warnings(self, results: Results) -> list[str]:
        """Topics that the run has no documents for, and instructions that became something else than they were searched as."""
        if not results.runs or results.topics is None:
            return []
        made, topics = results.one, results.topics.topics
        lines = []
        if without := {topic.query_id for topic in topics}.difference(made.run.query_ids):
            lines.append(f"note: {made.source} has no documents for {len(without)} of {len(topics)} topics ({three(without)})")
        searched = made.provenance.method.get("instruction", results.instruction)
        if searched != results.instruction:
            now = "their own" if results.instruction == "full" else results.instruction
            lines.append(f"note: {made.source} was searched with instruction {searched}; the topics are reranked with {now}")
        if self.spec.server.get("api") == DEFAULT and any(topic.instruction for topic in results.sent.topics):
            lines.append(
                "note: instructions are in the text of queries; servers that take them as a field are named vllm:, sglang:, ..."
            )
        return lines

    def plan(self, results: Results) -> list[str]:
        """What is read and how much is asked of the model; without texts where these would be downloaded."""
        if not results.runs:
            return [f"rerank the best {self.depth} of each query with {self.spec.name}"]
        spec, made = self.spec, results.one
        recipe = f", recipe {spec.recipe}" if spec.recipe else ""
        size = f", {spec.size} parameters" if spec.size else ""
        given = "".join(f", {name} {value}" for name, value in spec.parameters.items() if name not in STAGE[:4])
        if fetched := downloads(results.texts(part.group) for part in results.topics.parts):
            texts = f"{len(wanted_ids(made.run, self.depth)):,} documents from {fetched}"
            asked = "the number of requests depends on the texts"
        else:
            parts = self._parts(made.run, results.sent, results.texts)
            documents, places = sum(len(part.texts) for part in parts), dict.fromkeys(part.place for part in parts)
            texts = f"{documents:,} documents from {', '.join(places)}"
            asked = ", ".join(f"{count:,} {what}" for what, count in self._requests(parts).items())
        return [
            f"rerank the best {self.depth} of each of {len(made.run.query_ids)} queries of {made.source}, {self.tail} the tail",
            f"texts of {texts}",
            f"system {spec.name}{recipe} ({spec.kind}{size}{given}): {asked}; scores: {self.scores}",
        ]

    def apply(self, results: Results, tools: Tools) -> Results:
        """Rerank the run; topics that it has not stay without lines. What is missing is refused before the model is loaded."""
        made = results.one
        parts = self._parts(made.run, results.sent, results.texts)
        runs, self._report = (self._listwise if self.is_listwise else self._pointwise)(parts, tools)
        joined = join_runs(runs, source=made.run.source)
        if self.scores == "candidates":
            self._report["tied"] = count_tied(joined, self.depth)
        tag = f"{made.run.tag}.{self.tag}" if made.run.tag else self.tag
        provenance = made.provenance.inherited().step("reranking", self.facts())
        method, candidates = dict(provenance.method), dict(made.facts)
        if (searched := method.pop("instruction", None)) and candidates:
            candidates["instruction"] = searched  # of the run, not of what is sent here
        if results.instruction != "full":
            method["instruction"] = results.instruction
        provenance = replace(provenance, method=method).having(topics=results.topics_facts(), candidates=candidates)
        return results.with_run(replace(joined, tag=tag), provenance)

    def _parts(self, run: Run, topics: TopicSet, texts: Texts) -> list[Part]:
        """What is to be reranked, part by part; ToolkitError for what is missing."""
        check_queries(run, topics.topics)
        check_repeats(run)
        parts = []
        for part in topics.parts:
            of_part = run.select(topic.query_id for topic in part.topics)
            if of_part.query_ids:
                source = texts(part.group)
                wanted = wanted_ids(of_part, self.depth)
                found = source.find(wanted)
                check_texts(wanted, found, source.place)
                parts.append(Part(of_part, part.topics, found, source.place))
        if not parts:
            raise ToolkitError(f"{run.source or 'the run'} has nothing to rerank", "check the run")
        return parts

    def _pointwise(self, parts: list[Part], tools: Tools) -> tuple[list[Run], dict[str, Any]]:
        divided = not isinstance(tools.executor, LocalExecutor)
        if divided:
            refuse_object(self.spec)
            # workers may be on machines without the file of a prompt: they are sent what is in it
            read = {"prompt": pointwise_prompt(named)} if (named := self.loading.get("prompt")) else {}
            reranker = WorkersReranker(self.spec, self.loading | read, self.identity(), tools.executor)
        else:
            reranker = load_reranker(self.spec, **self.loading)
            if self.is_asked:
                reranker.check()
        # what a server computes is cached in TANDEM_HOME, what workers compute beside the output
        resumed = tools.cache and not self.is_asked and not divided
        cache = tools.cache(key_of({**self.identity(), **reranker.facts}).hex()) if resumed else None
        how = {"depth": self.depth, "tail": self.tail, "scores": self.scores}
        runs = rerank_parts(parts, reranker, **how, cache=cache, executor=tools.executor)
        truncated = {} if self.is_asked or self.spec.kind == LIBRARY else {"inputs cut": reranker.truncated}
        return runs, {**reranker.facts, **truncated}

    def _listwise(self, parts: list[Part], tools: Tools) -> tuple[list[Run], dict[str, Any]]:
        ranker = load_ranker(self.spec, **self.loading)
        divide_answers(ranker, tools.executor)
        how = {"depth": self.depth, "tail": self.tail, "scores": self.scores, **self._windows}
        done = [rerank_listwise(part.run, part.topics, part.texts, self.spec, ranker, **how) for part in parts]
        return [run for run, _ in done], done[-1][1]

    def _requests(self, parts: list[Part]) -> dict[str, int]:
        """What would be asked of the model: pairs; of a listwise one requests, how many of them are cached, and tokens."""
        if not self.is_listwise:
            pairs = {"pairs": sum(int(run.lengths.clip(max=self.depth).sum()) for run, *_ in parts)}
            return pairs | (plan_pairs(parts, load_reranker(self.spec, **self.loading), self.depth) if self.is_asked else {})
        ranker = load_ranker(self.spec, **self.loading)
        how = {"depth": self.depth, **self._windows}
        plans = [plan_listwise(part.run, part.topics, part.texts, self.spec, ranker, **how) for part in parts]
        return {name: sum(plan[name] for plan in plans) for name in plans[0]}

    def identity(self) -> dict[str, Any]:
        """What a score depends on beside the pair, before the model is loaded."""
        return {"kind": self.spec.kind, **model_identity(self.spec)}

    def facts(self) -> dict[str, Any]:
        """What the record says of it, under `reranking`; how exactly it was computed once it has run."""
        spec = self.spec
        given_prompt = {}
        if named := self.loading.get("prompt"):
            prompt = load_prompt(named, LISTWISE if spec.kind == LISTWISE else "pointwise")
            given_prompt = {"prompt": prompt.name, "prompt_sha256": prompt.sha256}
        return {
            "name": spec.name,
            **spec.entry_facts,
            "method": spec.kind,
            **model_identity(spec),
            **({"recipe": spec.recipe} if spec.recipe else {}),
            "templates": dict(spec.templates),
            **instruction_facts(spec),
            # what the recipe would have reranked is known from the candidates, which may be others
            **{name: value for name, value in spec.parameters.items() if name != "run"},
            **given_prompt,
            **{"depth": self.depth, "tail": self.tail, "scores": self.scores, "rank_only": self.scores == "rank"},
            **self._report,
        }


def choose_reranker(system: Any, systems: Sequence[str | Path], recipe: str | None, kind: str | None) -> SystemSpec:
    """A system that was looked up, as it is; else the one that is meant, of an object of Python what its methods make it."""
    if isinstance(system, SystemSpec):
        return system
    if not isinstance(system, str | Path) or str(system).startswith(PYTHON):
        from toolkit.models.checkpoints.own_systems import make_own, reranking_kind

        kind = kind or reranking_kind(make_own(choose_system(system)))
    return choose_system(system, files=systems, recipe=recipe, kind=kind, of_server=ON_SERVER)


def shown_prompt(spec: SystemSpec, prompt: str | None = None, prompts: str | None = None) -> str:
    """The prompt that a system's reranker would use, for people; `prompt` is the name or file of another one, `prompts` a
    folder of published ones."""
    if spec.kind == LISTWISE:
        kind, name = LISTWISE, spec.parameters.get("prompt", DEFAULT_PROMPT)
    elif spec.kind in PROMPTED:
        kind, name = "pointwise", parameters_as(PROMPTED[spec.kind], spec).prompt
    else:
        raise ToolkitError(f"{spec.name} is of kind {spec.kind}: it has no prompt", "language models have")
    return load_prompt(chosen_prompt(spec, prompt, prompts) or name, kind).titled()
