"""What makes a run: the systems, what is done to topics before and to results behind them; the name that follows from it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import template_digest
from toolkit.fuse import check_method, parse_method
from toolkit.pipeline.options import Options
from toolkit.registry.choice import choose_system
from toolkit.registry.kinds import check_system, kinds
from toolkit.registry.loader import did_you_mean
from toolkit.rerank.method import Reranking, reranking

RULES = "+rules"
DEFAULT_HITS = 1000


@dataclass(frozen=True)
class Chosen:
    """A system as it is to be used.

    parameters  complete: its own with those that the user gave
    changed     those that differ from its own, which enter the run's name
    templated   whether queries are put into the user's template; the digest of what is sent enters the name
    rules       whether InfoSearch's restrictions are filtered by rules behind it (`NAME+rules`)
    """

    spec: SystemSpec
    parameters: Mapping[str, Any]
    changed: Mapping[str, Any]
    rules: bool = False
    templated: bool = False

    @property
    def tag(self) -> str:
        """The system's name alone."""
        return f"{self.spec.name}{RULES if self.rules else ''}"

    @property
    def name(self) -> str:
        """Name, recipe and what differs from its own parameters, as a run's file name has them: `bm25.k1-1.2`."""
        changed = [name if value is True else f"{name}-{value}" for name, value in self.changed.items()]
        changed += [f"template-{template_digest(self.spec)[:8]}"] if self.templated else []
        return ".".join([self.tag, *filter(None, [self.spec.recipe]), *changed])

    @property
    def is_anserinis(self) -> bool:
        """Whether its runs are rounded as Anserini rounds them."""
        return self.spec.kind in ("bm25", "bm25-fields") and not self.rules

    def facts(self) -> dict[str, Any]:
        """What a run's metadata say of it."""
        spec, facts = self.spec, {"name": self.tag, "method": self.spec.kind}
        if spec.checkpoint:
            facts |= {"checkpoint": spec.checkpoint, "revision": spec.revision or "not pinned"}
            facts |= {"base": spec.base, "base revision": spec.base_revision} if spec.base else {}
        if spec.checkpoint or spec.templates:
            facts |= {"templates": dict(spec.templates), "template digest": template_digest(spec)}
        facts |= {"recipe": spec.recipe} if spec.recipe else {}
        return {**facts, **self.parameters}


@dataclass(frozen=True)
class Method:
    """One way to make runs.

    systems      one, or several whose runs are fused
    fusion       how they are: `rrf`, `rrf:k=60`, `minmax:0.3,0.7`; empty for one system
    instruction  `full`; or what is sent in its place (`toolkit.instructions`)
    candidates   what the only documents are called that may be found; empty where all may be
    reranker     reads the best documents of each query again
    """

    systems: tuple[Chosen, ...]
    hits: int = DEFAULT_HITS
    fusion: str = ""
    instruction: str = "full"
    candidates: str = ""
    reranker: Reranking | None = None

    @property
    def models(self) -> list[SystemSpec]:
        """Those of its systems that a checkpoint is loaded for."""
        specs = [*(system.spec for system in self.systems), *([self.reranker.spec] if self.reranker else [])]
        return [spec for spec in specs if spec.checkpoint]

    @property
    def needs_texts(self) -> bool:
        """Whether documents are read, by rules or a reranker."""
        return self.reranker is not None or any(system.rules for system in self.systems)

    @property
    def tag(self) -> str:
        """The names of its systems: `a+b.rrf`, `bm25.rerank-NAME`."""
        rerank = [f"rerank-{self.reranker.spec.name}"] if self.reranker else []
        return ".".join([*self._fused([system.tag for system in self.systems]), *rerank])

    @property
    def name(self) -> str:
        """The same with all that is not as it would be without a word: the part of a run's file name."""
        instruction = [self.instruction] if self.instruction != "full" else []
        hits = [f"hits-{self.hits}"] if self.hits != DEFAULT_HITS else []
        rerank = [self.reranker.name] if self.reranker else []
        among = [self.candidates] if self.candidates else []
        return ".".join([*self._fused([system.name for system in self.systems]), *instruction, *among, *hits, *rerank])

    def _fused(self, systems: list[str]) -> list[str]:
        return ["+".join(systems), *([re.sub("[:=,]", "-", self.fusion)] if self.fusion else [])]

    def facts(self, found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The part `method` of a run's metadata, but for the reranking, which reports itself.

        found  what is known of each system since it has run (`device`, `precision`, ...)
        """
        steps = zip(self.systems, found, strict=True)
        facts: dict[str, Any] = {"retrieval": [{**system.facts(), **more, "hits": self.hits} for system, more in steps]}
        facts |= {"instruction": self.instruction} if self.instruction != "full" else {}
        return facts | ({"fusion": self.fusion} if self.fusion else {})


def choose(
    names: Sequence[str],
    given: Mapping[str, Any],
    precision: str | None = None,
    query_template: str | None = None,
    plain_template: str | None = None,
    **how: Any,
) -> tuple[Chosen, ...]:
    """The systems of these names, `NAME+rules` too. A parameter goes to each that has it; None is as good as not given.

    precision  of the models among them
    query_template, plain_template
               of all of them
    how        what `registry.choice.choose_system` takes: `files`, `recipe`

    Raises ToolkitError for an unknown system, for a parameter that none of them has, and for a value that it cannot have.
    """
    bare = [name.removesuffix(RULES) if name not in registry.systems() else name for name in names]
    if "" in bare:
        raise ToolkitError(f"{names[bare.index('')]!r} names no system", "`tandem systems list` has the names")
    how |= {"query_template": query_template, "plain_template": plain_template}
    specs = [choose_system(name, **how) for name in bare]
    given = {name: value for name, value in given.items() if value is not None}
    known = {name for spec in specs for name in kinds()[spec.kind]["parameters"]}
    for parameter in given:
        if parameter not in known:
            systems = " and ".join(spec.name for spec in specs)
            hint = f"{did_you_mean(parameter, known)}known: {', '.join(sorted(known))}"
            raise ToolkitError(f"{systems} has no parameter {parameter!r}", hint)
    return tuple(
        replace(_chosen(spec, given, precision), rules=name != plain, templated=bool(query_template or plain_template))
        for spec, name, plain in zip(specs, names, bare, strict=True)
    )


def _chosen(spec: SystemSpec, given: Mapping[str, Any], precision: str | None) -> Chosen:
    own = {name: value for name, value in given.items() if name in kinds()[spec.kind]["parameters"]}
    changed = {name: value for name, value in own.items() if value != spec.parameters.get(name)}
    complete = {**spec.parameters, **own}
    used = replace(spec, parameters=complete)
    check_system(used)
    # how exactly a model computes is no part of what it is sent: it says nothing of the index
    exact = {"precision": precision} if precision and spec.checkpoint else {}
    return Chosen(used, {**complete, **exact}, {**changed, **exact})


def choose_reranker(name: str | None, options: Options, depth: int | None, **how: Any) -> Reranking | None:
    """The reranker of this name for the best `depth` documents, `how` as for `choose`; None where no name is given.

    Raises ToolkitError where something is said of a reranker, but none is named.
    """
    if name is None:
        if depth is not None or how.get("recipe") or how.get("kind"):
            raise ToolkitError("a depth, recipe or kind of reranking without a reranker", "name one with --rerank")
        return None
    if depth is not None and depth < 1:
        raise ToolkitError(f"depth is {depth}", "a whole number from 1 on")
    models = {"device": options.device, "precision": options.precision, "batch_size": options.batch_size}
    trust = options.trust_remote_code or None
    return reranking(choose_system(name, **how), depth=depth, trust_remote_code=trust, **models)


def check_fusion(systems: Sequence[str], fusion: str, recipe: str | None) -> None:
    """Raise ToolkitError for several systems without a way to fuse them, a way that has no meaning for them, one recipe for
    several.
    """
    if len(systems) > 1 and recipe:
        raise ToolkitError(f"one recipe for {len(systems)} systems", "make a run of each, and `tandem fuse` them")
    if len(systems) > 1 and not fusion:
        raise ToolkitError(f"{len(systems)} systems ({', '.join(systems)}) make one run", "say how with --fuse rrf")
    if fusion and len(systems) < 2:
        raise ToolkitError(f"nothing to fuse with {systems[0]}", "name a second --system")
    if fusion:
        check_method(len(systems), **parse_method(fusion))
