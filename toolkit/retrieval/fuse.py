"""The step that makes one run of several, of systems that search the same topics or of runs that are given; and what each run
gives a document by reciprocal rank fusion and weighted min-max.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from toolkit.core.errors import MOST, ToolkitError, check_counts, three
from toolkit.core.runs import Run
from toolkit.core.system.progress import say
from toolkit.core.tables.columns import Ids, merge, text_order
from toolkit.files.provenance import agreed
from toolkit.files.runs.problems import check_scores
from toolkit.retrieval.steps import Composite, Results, Step, Tools

HITS = 1000


class Fuse(Composite):
    """Fuse runs into one.

    sources  steps whose runs are fused (`Fuse(Retrieve("bm25"), Retrieve("all-minilm-l6-v2"))`); without any, the runs given
    method   `rrf`, `rrf:k=60`, `minmax`, `minmax:0.3,0.7`, see `toolkit.retrieval.fuse.fuse`
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
        return self._fused([source.name for source in self.steps])

    @property
    def tag(self) -> str:
        """The same without the systems' parameters."""
        return self._fused([source.tag for source in self.steps])

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

    def _fused(self, names: Sequence[str]) -> str:
        return ".".join(filter(None, ["+".join(names), re.sub("[:=,]", "-", self.method)]))


METHODS = ("rrf", "minmax")
K = 60
FORMS = "rrf, rrf:k=60, minmax, or minmax:w1,w2 with a weight for each run"


def fuse(
    runs: Sequence[Run],
    method: str = "rrf",
    k: float = K,
    weights: Sequence[float] | None = None,
    hits: int = 1000,
    *,
    tag: str = "",
) -> Run:
    """Two or more runs as one, best first, the queries in the byte order of their ids.

    The order of the runs, of their queries and of their lines changes nothing (but the tag).

    method   `rrf`: the sum of 1 / (k + rank) over the runs that have the document, ranks from 1 as `Run.order` has them
             (Cormack et al., SIGIR 2009; their k is 60);
             `minmax`: the weighted sum of the scores, those of each query of each run scaled to [0, 1]. Where all of them
             are equal each is 1, as Pyserini has it. A run adds nothing to a document that it does not have
    weights  for `minmax`: one for each run, used as given; 1 where none are given
    hits     documents a query
    tag      without one the runs' own, joined: `bm25+minilm.rrf`

    A query that a run has no lines for is ranked by the others alone, which is said. Raises ToolkitError for fewer than two
    runs, parameters without meaning, a document twice in a query, and a score that is not finite.
    """
    weights = check_method(len(runs), method, k, weights, hits)
    for run in runs:
        check_scores(run)
    queries, query_ids = merge((run.queries, run.query_ids) for run in runs)
    docs, doc_ids = merge((run.docs, run.doc_ids) for run in runs)
    places = text_order(query_ids)
    pairs, positions = np.unique(places[queries] * len(doc_ids) + docs, return_inverse=True)
    given = np.zeros((len(runs), len(pairs)))
    start = 0
    for row, run, weight in zip(given, runs, weights, strict=True):
        lines = positions[start : start + len(run)]
        start += len(run)
        _refuse_repeats(run, lines, len(pairs))
        if method == "rrf":
            row[lines] = 1 / (k + run.ranks())
        else:
            row[lines] = weight * _scaled(run)
    given.sort(axis=0)  # sums of floating-point numbers depend on their order: smallest first, whoever they come from
    queries, docs = (codes.astype(np.int32) for codes in np.divmod(pairs, len(doc_ids)))
    ordered = tuple(query_ids.take(np.argsort(places)).to_pylist())
    tag = tag or f"{'+'.join(run.tag or 'run' for run in runs)}.{method}"
    for run in runs:
        if absent := set(ordered).difference(run.query_ids):
            say(f"note: {_name(run)} has no lines for {len(absent)} of {len(ordered)} queries ({three(absent)})")
    fused = Run(ordered, queries, Ids(doc_ids, docs), given.sum(axis=0), tag=tag)
    order = fused.order()  # lines in their order: the same arrays however the runs were ordered
    return fused.take(order[fused.ranks()[order] <= hits])


def parse_method(text: str) -> dict[str, Any]:
    """`rrf:k=60` -> {"method": "rrf", "k": 60}, `minmax:0.7,0.3` -> {"method": "minmax", "weights": (0.7, 0.3)}: for `fuse`.

    Raises ToolkitError for what is neither.
    """
    name, colon, rest = text.partition(":")
    key, _, value = rest.partition("=")
    try:
        if name == "minmax":
            return {"method": name} | ({"weights": tuple(map(float, rest.split(",")))} if colon else {})
        if name == "rrf" and (key == "k" or not colon):
            number = int if value.isdecimal() else float
            return {"method": name, "k": number(value) if colon else K}
    except ValueError as error:
        raise ToolkitError(f"no fusion method {text!r}", FORMS) from error
    raise ToolkitError(f"no fusion method {text!r}", FORMS)


def check_method(
    runs: int, method: str = "rrf", k: float = K, weights: Sequence[float] | None = None, hits: int = 1000
) -> Sequence[float]:
    """The weights of so many runs, after everything was found to have a meaning; ToolkitError where something has none."""
    if runs < 2:
        raise ToolkitError(f"{runs} run to fuse", "name two or more")
    if method not in METHODS:
        raise ToolkitError(f"no fusion method {method!r}", FORMS)
    check_counts(hits=hits)
    if not 0 <= k <= MOST:
        raise ToolkitError(f"k is {k}", f"k is a number from 0 to {MOST:,}; 60 is the paper's")
    if weights is None:
        weights = [1] * runs
    elif method == "rrf":
        raise ToolkitError("reciprocal rank fusion has no weights", "minmax has")
    if len(weights) != runs:
        raise ToolkitError(f"{len(weights)} weights for {runs} runs", "give one for each run, in their order")
    for weight in weights:
        if not 0 < weight < math.inf:
            raise ToolkitError(f"a weight is {weight}", "weights are above 0; leave a run out that is to count nothing")
    return weights


def _scaled(run: Run) -> np.ndarray:
    """Each line's score between the lowest (0) and the highest (1) of its query; 1 where these are the same."""
    low, high = np.full(len(run.query_ids), np.inf), np.full(len(run.query_ids), -np.inf)
    np.minimum.at(low, run.queries, run.scores)
    np.maximum.at(high, run.queries, run.scores)
    above, span = run.scores - low[run.queries], (high - low)[run.queries]
    return np.divide(above, span, out=np.ones(len(run)), where=span > 0)


def _refuse_repeats(run: Run, positions: np.ndarray, among: int) -> None:
    seen = np.zeros(among, bool)
    seen[positions] = True
    if np.count_nonzero(seen) < len(positions):
        order = np.argsort(positions, kind="stable")
        same = np.flatnonzero(positions[order][1:] == positions[order][:-1])[0]
        line = int(order[same + 1])
        query_id, doc_id = run.query_ids[run.queries[line]], run.documents[line]
        raise ToolkitError(f"{_name(run)}: document {doc_id} comes twice in query {query_id}", "keep one of the lines")


def _name(run: Run) -> str:
    return run.source or run.tag or "a run"
