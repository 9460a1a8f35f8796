"""The step that makes one run of several: of systems that search the same topics, or of runs that are given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from toolkit.core.errors import ToolkitError
from toolkit.fuse.fusion import check_method, fuse, parse_method
from toolkit.provenance import agreed
from toolkit.steps import Composite, Results, Step, Tools

HITS = 1000


class Fuse(Composite):
    """Fuse runs into one.

    sources  steps whose runs are fused (`Fuse(Retrieve("bm25"), Retrieve("all-minilm-l6-v2"))`); without any, the runs given
    method   `rrf`, `rrf:k=60`, `minmax`, `minmax:0.3,0.7`, see `toolkit.fuse.fuse`
    hits     documents a query

    Raises ToolkitError for a method without meaning, or for so many sources.
    """

    def __init__(self, *sources: Step, method: str = "rrf", hits: int = HITS):
        self.steps, self.method, self.hits = sources, method, hits
        self.parameters = parse_method(method)
        if sources:
            check_method(len(sources), **self.parameters, hits=hits)

    @property
    def name(self) -> str:
        """`bm25.k1-1.2+all-minilm-l6-v2.rrf-k-30`."""
        return self._fused([source.name for source in self.steps], re.sub("[:=,]", "-", self.method))

    @property
    def tag(self) -> str:
        """The same without the systems' parameters."""
        return self._fused([source.tag for source in self.steps], re.sub("[:=,]", "-", self.method))

    def plan(self, results: Results) -> list[str]:
        """Of every source, then the fusion."""
        lines = [line for source in self.steps for line in source.plan(results)]
        return [*lines, f"fuse {len(self.steps) or len(results.runs)} runs ({self.method})"]

    def apply(self, results: Results, tools: Tools) -> Results:
        """Every source, then the fusion; the record has the steps of all runs and what they agree on."""
        made = [source.apply(results, tools).one for source in self.steps] or list(results.runs)
        if len(made) < 2:
            raise ToolkitError(f"{len(made)} run to fuse", "name two or more")
        run = fuse([each.run for each in made], **self.parameters, hits=self.hits)
        common = agreed([each.provenance for each in made])
        methods = [{name: each.provenance.method.get(name) for name in ("instruction", "candidates")} for each in made]
        shared = methods[0] if all(one == methods[0] for one in methods) else {}
        method = {**common.method, **{name: value for name, value in shared.items() if value}, "fusion": self.method}
        method |= {"fusion hits": self.hits} if self.hits != HITS else {}
        given = [dict(each.facts) for each in made if each.facts]
        return results.with_run(run, replace(common, method=method).having(runs=given))

    @staticmethod
    def _fused(names: Sequence[str], method: str) -> str:
        return ".".join(filter(None, ["+".join(names), method]))
