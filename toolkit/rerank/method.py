"""A reranker as it is to be used, whatever its kind: over the parts of some topics, with what the metadata say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from toolkit.benchmarks import TopicSet
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run, join_runs
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import template_digest
from toolkit.models.listwise import load_ranker
from toolkit.models.listwise.ranker import DEFAULT_PROMPT
from toolkit.models.llm import load_prompt
from toolkit.models.rerankers import KINDS as POINTWISE
from toolkit.models.rerankers import check_reranker, load_reranker
from toolkit.models.rerankers.settings import PROMPTED, parameters
from toolkit.rerank.candidates import check_queries, check_repeats, count_tied, wanted_ids
from toolkit.rerank.kept import KeptScores, identity
from toolkit.rerank.listwise import plan_listwise, rerank_listwise
from toolkit.rerank.pointwise import Part, rerank_parts
from toolkit.texts import Texts, check_texts

DEFAULT_DEPTH = 100
LISTWISE = "listwise"
SLIDING = ("window", "step", "passes", "shuffle")
ASKING = ("loader", "concurrency", "replay", "cache")


@dataclass(frozen=True)
class Reranking:
    """A reranker with what it is told.

    depth, tail, scores  see `toolkit.rerank.pointwise.rerank` and `toolkit.rerank.listwise.rerank_listwise`
    loading              how the model is loaded: `device`, `precision`, `batch_size`, `trust_remote_code`, `prompt`; of
                         language models that order lists also `loader`, `cache`, `replay`, `concurrency`
    sliding              of these: `window`, `step`, `passes`, `shuffle`
    """

    spec: SystemSpec
    depth: int = DEFAULT_DEPTH
    tail: str = "keep"
    scores: str = "own"
    loading: Mapping[str, Any] = field(default_factory=dict)
    sliding: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`rerank-NAME`, then recipe and what is not as it would be without a word, as a run's file name has them."""
        usual = reranking(self.spec)
        odd = [
            f"{key}-{getattr(self, key)}" for key in ("depth", "tail", "scores") if getattr(self, key) != getattr(usual, key)
        ]
        odd += [f"{key}-{value}" for key, value in self.sliding.items() if value != usual.sliding.get(key)]
        odd += [f"prompt-{Path(self.loading['prompt']).name.removesuffix('.yaml')}"] if self.loading.get("prompt") else []
        return ".".join([f"rerank-{self.spec.name}", *filter(None, [self.spec.recipe]), *odd])

    def apply(self, run: Run, topics: TopicSet, texts: Texts, *, tag: str = "", kept: Path | None = None) -> tuple[Run, dict]:
        """The reranked run, and what the metadata say of how it was made (an entry of `method: reranking`).

        run    its queries are among the topics; topics that it has not stay without lines
        kept   see `toolkit.rerank.kept`: a pointwise reranker goes on with the scores it finds there. The file stays: it is
               for the caller to remove once the run is written

        Raises ToolkitError; for what is missing, before the model is loaded.
        """
        parts = self.parts(run, topics, texts)
        apply = self._listwise if self.spec.kind == LISTWISE else self._pointwise
        runs, report = apply(parts, kept)
        joined = join_runs(runs, source=run.source)
        if self.scores == "candidates":
            report["tied"] = count_tied(joined, self.depth)
        return replace(joined, tag=tag or self.spec.name), {**self.facts(), **report}

    def parts(self, run: Run, topics: TopicSet, texts: Texts) -> list[Part]:
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

    def _pointwise(self, parts: list[Part], kept: Path | None) -> tuple[list[Run], dict]:
        reranker = load_reranker(self.spec, **self.loading)
        store = KeptScores(kept, identity(reranker)) if kept else None
        try:
            runs = rerank_parts(parts, reranker, depth=self.depth, tail=self.tail, scores=self.scores, kept=store)
        finally:
            if store:
                store.close()
        return runs, {**reranker.facts, "inputs cut": reranker.cut}

    def _listwise(self, parts: list[Part], kept: Path | None) -> tuple[list[Run], dict]:
        ranker = self.ranker()
        how = {"depth": self.depth, "tail": self.tail, "scores": self.scores, **self.sliding}
        done = [rerank_listwise(part.run, part.topics, part.texts, self.spec, ranker, **how) for part in parts]
        return [run for run, _ in done], done[-1][1]

    def ranker(self) -> Any:
        """The listwise ranker."""
        return load_ranker(self.spec, **self.loading)

    def plan(self, parts: list[Part]) -> dict[str, int]:
        """What would be asked of the model: pairs; of a listwise one requests, how many of them are cached, and tokens."""
        if self.spec.kind != LISTWISE:
            return {"pairs": sum(int(run.lengths.clip(max=self.depth).sum()) for run, *_ in parts)}
        ranker = self.ranker()
        plans = [
            plan_listwise(part.run, part.topics, part.texts, self.spec, ranker, depth=self.depth, **self.sliding)
            for part in parts
        ]
        return {name: sum(plan[name] for plan in plans) for name in plans[0]}

    def facts(self) -> dict[str, Any]:
        """What is to be said of it before it has run."""
        spec = self.spec
        checkpoint = {"checkpoint": spec.checkpoint, "revision": spec.revision or "not pinned"} if spec.checkpoint else {}
        return {
            "name": spec.name,
            "method": spec.kind,
            **checkpoint,
            **({"recipe": spec.recipe} if spec.recipe else {}),
            "templates": dict(spec.templates),
            "template digest": template_digest(spec),
            # what the recipe would have reranked is told by the candidates, which may be others
            **{name: value for name, value in spec.parameters.items() if name != "run"},
            "depth": self.depth,
            "tail": self.tail,
            "scores": self.scores,
            "rank_only": self.scores == "rank",
        }


def reranking(spec: SystemSpec, **given: Any) -> Reranking:
    """A system as a reranker: what is not given (None) is its entry's or recipe's, then the usual.

    Raises ToolkitError for what a reranker of its kind has no meaning for.
    """
    if spec.kind not in (*POINTWISE, LISTWISE):
        kinds = ", ".join((*POINTWISE, LISTWISE))
        raise ToolkitError(f"{spec.name} is of kind {spec.kind}, no reranker", f"--kind says what a checkpoint is: {kinds}")
    given = {name: value for name, value in given.items() if value is not None}
    known = {**spec.parameters, **given}
    listwise = spec.kind == LISTWISE
    if not listwise and (odd := [name for name in (*SLIDING, *ASKING) if name in given]):
        raise ToolkitError(f"{spec.name} is of kind {spec.kind}: it has no {', '.join(odd)}", "only listwise rerankers have")
    if not listwise:
        check_reranker(spec, given.get("prompt"))
    for name in ("depth", "batch_size"):
        if known.get(name, 1) < 1:
            raise ToolkitError(f"{name.replace('_', ' ')} is {known[name]}", "a whole number from 1 on")
    stage = ("depth", "tail", "scores", "run", *SLIDING)
    return Reranking(
        spec,
        depth=known.get("depth", DEFAULT_DEPTH),
        tail=known.get("tail", "keep"),
        scores=known.get("scores", "rank" if listwise else "own"),
        loading={name: value for name, value in given.items() if name not in stage},
        sliding={name: known[name] for name in SLIDING if name in known} if listwise else {},
    )


def shown_prompt(spec: SystemSpec, prompt: str | None = None) -> str:
    """The prompt that a system's reranker would use, for people; `prompt` is the name or file of another one."""
    if spec.kind == LISTWISE:
        kind, name = LISTWISE, spec.parameters.get("prompt", DEFAULT_PROMPT)
    elif spec.kind in PROMPTED:
        kind, name = "pointwise", parameters(PROMPTED[spec.kind], spec).prompt
    else:
        raise ToolkitError(f"{spec.name} is of kind {spec.kind}: it has no prompt", "language models have")
    chosen = load_prompt(prompt or name, kind)
    return f"{chosen.name} (sha256 {chosen.sha256})\n\n{chosen.show()}"
