"""Each claim of the papers as a function: from the numbers of the tables, or of runs in their form, to whether it holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from toolkit.core.errors import ToolkitError
from toolkit.published.inconsistencies import picks
from toolkit.published.paper_tables import Cell

TOLERANCE = 1e-9  # sums of printed decimals
Column = Mapping[tuple[str, ...], float]

RERANKERS = ["listwise", "pointwise"]  # InfoSearch
RETRIEVERS = ["sparse", "bi-encoder"]
GROUPS = ("audience", "keyword", "format", "language", "length", "source")
BOTH = ("Robustness@10", "nDCG@10")  # InstructIR
INSTRUCTOR = {"INSTRUCTOR-base": "GTR-base", "INSTRUCTOR-large": "GTR-large", "INSTRUCTOR-XL": "GTR-XL"}  # -> tuned from
UNTUNED = ["BM25", "ColBERT-v2.0", "Contriever-msmarco", "GTR-base", "GTR-large", "GTR-XL", "RepLLaMa"]
TUNED = ["TART-dual", *INSTRUCTOR, "E5-mistral-7b-instruct"]
ACROSS = {"table": 3, "mode": "cross-lingual", "group": "average"}  # mFollowIR
NATIVE = {"table": 4, "mode": "multilingual", "group": "average"}
FOLLOWERS = ["Promptriever-Llama2", "Promptriever-Llama3.1", "GritLM-7B"]
UNINSTRUCTED = [
    *("mContriever-msmarco", "mE5-small", "mE5-base", "mE5-large", "mDPR-tied-PFT", "RepLLaMA", "GTE-multilingual-base"),
    *("Nomic-Embed", "Jina-reranker-v2-multi", "BGE-reranker-v2-m3", "mT5-13B-mmarco-100k"),
]
SETS = ("arguana", "kialo", "opinionqa")  # BERDS
CORPORA = ("wikipedia", "sphere", "google")


class Missing(Exception):
    """There are no numbers for something that a claim is about."""


class Numbers:
    """The numbers of a paper's tables, or of runs in their form: fractions, counts and ranks, as `Cell.value` has them."""

    def __init__(self, cells: Sequence[Cell]):
        self._cells = [(cell._asdict(), cell.value) for cell in cells]

    def column(self, *by: str, **where: object) -> Column:
        """Every number that fits, by the columns named in `by`, or by system, kind and group.

        where  column of the tables (table, system, kind, group, mode, measure) -> a value or a list of them
        Raises `Missing` where nothing fits, ToolkitError where two numbers share a place: tables print some twice.
        """
        by = by or ("system", "kind", "group")
        numbers: dict[tuple[str, ...], float] = {}
        for cell, value in self._cells:
            if picks(where, cell) and numbers.setdefault(tuple(cell[name] for name in by), value) != value:
                raise ToolkitError(f"several numbers fit {where}", "name what tells them apart")
        if not numbers:
            raise Missing(f"no numbers for {where}")
        return numbers

    def value(self, **where: object) -> float:
        """The one number that fits; errors as of `column`."""
        return self.column("measure", **where)[(str(where["measure"]),)]

    def names(self, **where: object) -> int:
        """How many systems there are under different names."""
        systems = {cell["system"] for cell, _ in self._cells if picks(where, cell)}
        if not systems:
            raise Missing(f"no numbers for {where}")
        return len(systems)


def above(left: float, right: float) -> bool:
    """Whether one number is larger than another by more than sums of decimals are inexact."""
    return left > right + TOLERANCE


def same(left: float, right: float) -> bool:
    """Whether neither number is above the other."""
    return abs(left - right) <= TOLERANCE


def mean(values: Sequence[float]) -> float:
    """Of some numbers, summed exactly."""
    return math.fsum(values) / len(values)


def every(parts: list[bool]) -> bool:
    """Whether all parts of a claim hold; in a list each is computed, so that a claim is open where one lacks its numbers."""
    return all(parts)


def all_above(left: Column, right: Column) -> bool:
    """Whether each number of one column is above that of the other; `Missing` where they share no place."""
    shared = [place for place in left if place in right]
    if not shared:
        raise Missing("no place has both")
    return all(above(left[place], right[place]) for place in shared)


def leads(system: str, column: Column) -> bool:
    """Whether a system is above every other one of a column; `Missing` where it or others are not there."""
    scores = [value for place, value in column.items() if place[0] == system]
    others = [value for place, value in column.items() if place[0] != system]
    if not scores or not others:
        raise Missing(f"{system} and others")
    return above(min(scores), max(others))


def _followed(n: Numbers, kind: str | list[str], measure: str = "WISE", group: str = "average") -> float:
    """InfoSearch's mean over the systems of some kinds."""
    return mean(list(n.column(table=2, kind=kind, group=group, measure=measure).values()))


def _leads_all(n: Numbers, columns: Sequence[Mapping[str, object]]) -> bool:
    """Whether GPT-4o leads in each of some columns of InfoSearch's table 2."""
    return every([leads("GPT-4o", n.column(table=2, **where)) for where in columns])


def _attributes(n: Numbers) -> bool:
    dense = {group: _followed(n, "bi-encoder", group=group) for group in GROUPS[:4]}
    return above(min(dense["language"], dense["keyword"]), max(dense["format"], dense["audience"]))


def _incomplete(n: Numbers) -> bool:
    shares = n.column(table=2, group="average", measure="SICR").values()
    return sum(above(0.5, share) for share in shares) > 0.5 * len(shares)


def _robustness(n: Numbers, system: str, measure: str = "Robustness@10") -> float:
    """InstructIR's table 3."""
    return n.value(table=3, system=system, measure=measure)


def _rising(n: Numbers, *systems: str) -> bool:
    """Whether each of some systems is above the one before it in InstructIR's table 3, by both measures."""
    scores = [[_robustness(n, system, measure) for system in systems] for measure in BOTH]
    return all(above(after, before) for values in scores for before, after in pairwise(values))


def _no_better(n: Numbers, pairs: Mapping[str, str]) -> bool:
    """Whether no system is above the one it was tuned from, by either measure."""
    gains = [(_robustness(n, tuned, each), _robustness(n, base, each)) for tuned, base in pairs.items() for each in BOTH]
    return not any(above(*gain) for gain in gains)


def _gains_with_size(n: Numbers) -> bool:
    small, large, xl = [_robustness(n, tuned) - _robustness(n, base) for tuned, base in INSTRUCTOR.items()]
    return above(large, small) and above(xl, large)


def _order_matters_to_tuned(n: Numbers) -> bool:
    tuned, rest = (n.column(table=4, system=systems, measure="gap:Robustness@10").values() for systems in (TUNED, UNTUNED))
    return above(min(gap**2 for gap in tuned), max(gap**2 for gap in rest))  # gaps have signs


def _across(n: Numbers, measure: str = "pMRR", **where: object) -> Sequence[float]:
    """What mFollowIR prints of English instructions, averages over languages."""
    return list(n.column(measure=measure, **where, **ACROSS).values())


def _falls(n: Numbers, measure: str = "pMRR", **where: object) -> bool:
    """Whether mFollowIR's systems are worse in the language of the documents than with English instructions."""
    return all_above(n.column(measure=measure, **where, **ACROSS), n.column(measure=measure, **where, **NATIVE))


def _mrecall(n: Numbers, *by: str, **where: object) -> Column:
    """BERDS' table 3."""
    return n.column(*by, table=3, mode="default", measure="MRecall@5", **where)


def _more_diverse(n: Numbers, better: str, worse: str, corpora: Sequence[str] = CORPORA) -> bool:
    """Whether one of BERDS' retrievers is above another on each data set of each corpus."""
    groups = [f"{name}/{corpus}" for corpus in corpora for name in SETS]
    return all_above(*(_mrecall(n, "group", system=system, group=groups) for system in (better, worse)))


def _more_diverse_corpus(n: Numbers, better: str, worse: str, systems: list[str]) -> bool:
    """Whether each of some retrievers is above on one corpus, or one data set of it, what it is on another."""
    return all_above(*(_mrecall(n, "system", system=systems, group=group) for group in (better, worse)))


def _corpora_at_10(n: Numbers, system: str) -> bool:
    where = {"table": 17, "system": system, "measure": "MRecall@10"}
    sphere, google, wikipedia = [n.value(group=f"average/{corpus}", **where) for corpus in ("sphere", "google", "wikipedia")]
    return above(sphere, google) and above(google, wikipedia)


def _judges_best(n: Numbers, measure: str) -> bool:
    judges = n.column("system", "kind", "mode", table=7, kind="judge", measure=measure)
    return same(n.value(table=7, system="GPT-4", mode="one-shot", measure=measure), max(judges.values()))


FUNCTIONS: dict[str, Callable[[Numbers], bool]] = {
    "infosearch-rerankers": lambda n: above(_followed(n, RERANKERS), _followed(n, RETRIEVERS)),
    "infosearch-rerankers-strict": lambda n: above(_followed(n, RERANKERS, "SICR"), _followed(n, RETRIEVERS, "SICR")),
    "infosearch-incomplete": _incomplete,
    "infosearch-tuning": lambda n: above(
        n.value(table=2, system="FollowIR", group="average", measure="WISE"),
        n.value(table=2, system="Mistral-ins-v0.2", kind="pointwise", group="average", measure="WISE"),
    ),
    "infosearch-gpt-4o": lambda n: _leads_all(n, [{"group": "average", "measure": measure} for measure in ("WISE", "SICR")]),
    "infosearch-listwise-pointwise": lambda n: above(_followed(n, "listwise"), _followed(n, "pointwise")),
    "infosearch-listwise-pointwise-strict": lambda n: above(
        _followed(n, "listwise", "SICR"), _followed(n, "pointwise", "SICR")
    ),
    "infosearch-pointwise-dense": lambda n: above(_followed(n, "pointwise"), _followed(n, "bi-encoder")),
    "infosearch-dense-sparse": lambda n: above(_followed(n, "bi-encoder"), _followed(n, "sparse")),
    "infosearch-attributes": _attributes,
    "infosearch-gpt-4o-everywhere": lambda n: _leads_all(
        n, [{"kind": RERANKERS, "group": group, "measure": "WISE"} for group in GROUPS]
    ),
    "infosearch-gpt-4o-rank": lambda n: same(n.value(table=1, system="GPT-4o", mode="ori", measure="gold_rank"), 3.51),
    "infosearch-fifteen": lambda n: n.names(table=1) == 15,
    "infosearch-six-rerankers": lambda n: n.names(table=1, kind=RERANKERS) == 6,
    "instructir-twelve": lambda n: n.names(table=3) == 12,
    "instructir-above-half": lambda n: above(min(n.column(table=3, system=UNTUNED, measure="nDCG@10").values()), 0.5),
    "instructir-most-robust": lambda n: leads("E5-mistral-7b-instruct", n.column(table=3, measure="Robustness@10")),
    "instructir-instructor-gtr": lambda n: every([_rising(n, tuned, base) for tuned, base in INSTRUCTOR.items()]),
    "instructir-tuned-no-better": lambda n: _no_better(n, {"TART-dual": "Contriever-msmarco", **INSTRUCTOR}),
    "instructir-gtr-size": lambda n: _rising(n, "GTR-base", "GTR-large", "GTR-XL"),
    "instructir-size": lambda n: every([_rising(n, "Contriever-msmarco", larger) for larger in ("GTR-large", "GTR-XL")]),
    "instructir-size-tuning": _gains_with_size,
    "instructir-order": _order_matters_to_tuned,
    "instructir-paraphrase": lambda n: leads(
        "ColBERT-v2.0", n.column(table="figure3", system=["BM25", "ColBERT-v2.0"], measure="drop")
    ),
    "mfollowir-language-models": lambda n: above(
        min(_across(n, "nDCG@20", system=["Jina-reranker-v2-multi", "BGE-reranker-v2-m3"])),
        max(_across(n, "nDCG@20", system=["Mistral-7B-Instruct", "FollowIR-7B"])),
    ),
    "mfollowir-cross-encoders": lambda n: above(mean(_across(n, kind="cross-encoder")), mean(_across(n, kind="bi-encoder"))),
    "mfollowir-follow": lambda n: above(min(_across(n, system=FOLLOWERS)), 0),
    "mfollowir-only-three": lambda n: sum(not above(0, value) for value in _across(n, kind="bi-encoder")) == 3,
    "mfollowir-below-zero": lambda n: above(0, max(_across(n, system=UNINSTRUCTED))),
    "mfollowir-drop": lambda n: _falls(n, system=FOLLOWERS),
    "mfollowir-all-drop": lambda n: _falls(n, kind="bi-encoder"),
    "mfollowir-worse": lambda n: every([_falls(n), _falls(n, "nDCG@20")]),
    "berds-abstract": lambda n: same(max(_mrecall(n, group=[f"average/{each}" for each in CORPORA]).values()), 0.3374),
    # DPR was not run on the results of a web search
    "berds-contriever": lambda n: every(
        [_more_diverse(n, "CONTRIEVER", "BM25"), _more_diverse(n, "CONTRIEVER", "DPR", CORPORA[:2])]
    ),
    "berds-order": lambda n: every([_more_diverse(n, "CONTRIEVER", "BM25"), _more_diverse(n, "BM25", "DPR", CORPORA[:2])]),
    "berds-methods": lambda n: above(
        min(n.column("system", "group", "mode", table=4, system=["CONTRIEVER", "DPR"], measure="relchange:MRecall@5").values()),
        0,
    ),
    "berds-web": lambda n: _more_diverse_corpus(n, "average/sphere", "average/wikipedia", ["CONTRIEVER", "DPR"]),
    "berds-search-results": lambda n: every(
        [_more_diverse_corpus(n, f"{each}/sphere", f"{each}/google", ["CONTRIEVER", "BM25"]) for each in SETS]
    ),
    "berds-search-results-average": lambda n: every([_corpora_at_10(n, system) for system in ("BM25", "CONTRIEVER")]),
    "berds-coverage": lambda n: above(
        *(n.value(table=5, system="DPR", group=f"all/{each}", measure="MRecall@100") for each in ("wikipedia", "sphere"))
    ),
    "berds-union": lambda n: round(n.value(table=6, group="average/wikipedia", measure="MRecall"), 2) == 0.62,
    "berds-judge": lambda n: every([_judges_best(n, measure) for measure in ("accuracy", "F1")]),
}
