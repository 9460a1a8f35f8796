"""Each claim of the papers as a function: from a frame of numbers to whether it holds.

A frame has a row for each number of the paper's tables, or of runs in their form, with the columns of `Cell`: fractions,
counts and ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from toolkit.core.errors import ToolkitError

if TYPE_CHECKING:
    from pandas import DataFrame, Series

TOLERANCE = 1e-9  # sums of printed decimals

RERANKERS = ["listwise", "pointwise"]  # InfoSearch
RETRIEVERS = ["sparse", "bi-encoder"]
GROUPS = ["audience", "keyword", "format", "language", "length", "source"]
BOTH = ("Robustness@10", "nDCG@10")  # InstructIR
INSTRUCTOR = {"INSTRUCTOR-base": "GTR-base", "INSTRUCTOR-large": "GTR-large", "INSTRUCTOR-XL": "GTR-XL"}  # -> tuned from
UNTUNED = ["BM25", "ColBERT-v2.0", "Contriever-msmarco", "GTR-base", "GTR-large", "GTR-XL", "RepLLaMa"]
TUNED = ["TART-dual", *INSTRUCTOR, "E5-mistral-7b-instruct"]
FOLLOWERS = ["Promptriever-Llama2", "Promptriever-Llama3.1", "GritLM-7B"]  # mFollowIR
UNINSTRUCTED = [
    *("mContriever-msmarco", "mE5-small", "mE5-base", "mE5-large", "mDPR-tied-PFT", "RepLLaMA", "GTE-multilingual-base"),
    *("Nomic-Embed", "Jina-reranker-v2-multi", "BGE-reranker-v2-m3", "mT5-13B-mmarco-100k"),
]
SETS = ("arguana", "kialo", "opinionqa")  # BERDS
CORPORA = ("wikipedia", "sphere", "google")


class Missing(Exception):
    """There are no numbers for something that a claim is about."""


def rows(frame: DataFrame, **where: object) -> DataFrame:
    """The rows that have, in every column that is named, the value or one of the values. `Missing` where there are none."""
    for name, value in where.items():
        frame = frame[frame[name].isin([str(each) for each in (value if isinstance(value, list) else [value])])]
    if frame.empty:
        raise Missing(f"no numbers for {where}")
    return frame


def numbers(frame: DataFrame, *by: str, **where: object) -> Series:
    """The numbers of `rows`, by the columns named in `by`, or by system, kind and group.

    Raises ToolkitError where two numbers share a place: tables print some twice.
    """
    by = by or ("system", "kind", "group")
    values = rows(frame, **where).drop_duplicates([*by, "value"]).set_index(list(by))["value"]
    if not values.index.is_unique:
        raise ToolkitError(f"several numbers fit {where}", "name what tells them apart")
    return values


def value(frame: DataFrame, **where: object) -> float:
    """The one number that fits; errors as of `numbers`."""
    return numbers(frame, "measure", **where).item()


def above(left: float | Series, right: float | Series) -> bool | Series:
    """Whether one number is larger than another by more than sums of decimals are inexact; of columns, for each place."""
    return left > right + TOLERANCE


def same(left: float, right: float) -> bool:
    """Whether neither number is above the other."""
    return abs(left - right) <= TOLERANCE


def every(parts: list[bool]) -> bool:
    """Whether all parts of a claim hold; in a list each is computed, so that a claim is open where one lacks its numbers."""
    return all(parts)


def all_above(left: Series, right: Series) -> bool:
    """Whether each number is above that of the same place in another column; `Missing` where they share no place."""
    differences = (left - right).dropna()
    if differences.empty:
        raise Missing("no place has both")
    return above(differences.min(), 0)


def leads(system: str, column: Series) -> bool:
    """Whether a system is above every other one of a column; `Missing` where it or others are not there."""
    is_system = column.index.get_level_values("system") == system
    if is_system.all() or not is_system.any():
        raise Missing(f"{system} and others")
    return above(column[is_system].min(), column[~is_system].max())


def _followed(frame: DataFrame, kind: str | list[str], measure: str = "WISE", group: str = "average") -> float:
    """InfoSearch's mean over the systems of some kinds."""
    return numbers(frame, table=2, kind=kind, group=group, measure=measure).mean()


def _leads_all(frame: DataFrame, columns: Iterable[Mapping[str, object]]) -> bool:
    """Whether GPT-4o leads in each of some columns of InfoSearch's table 2."""
    return every([leads("GPT-4o", numbers(frame, table=2, **where)) for where in columns])


def _attributes(frame: DataFrame) -> bool:
    dense = {group: _followed(frame, "bi-encoder", group=group) for group in GROUPS[:4]}
    return above(min(dense["language"], dense["keyword"]), max(dense["format"], dense["audience"]))


def _robustness(frame: DataFrame, system: str, measure: str = "Robustness@10") -> float:
    """InstructIR's table 3."""
    return value(frame, table=3, system=system, measure=measure)


def _rising(frame: DataFrame, *systems: str) -> bool:
    """Whether each of some systems is above the one before it in InstructIR's table 3, by both measures."""
    scores = [[_robustness(frame, system, measure) for system in systems] for measure in BOTH]
    return all(above(after, before) for values in scores for before, after in pairwise(values))


def _no_better(frame: DataFrame, pairs: Mapping[str, str]) -> bool:
    """Whether no system is above the one it was tuned from, by either measure."""
    gains = [_robustness(frame, tuned, each) - _robustness(frame, base, each) for tuned, base in pairs.items() for each in BOTH]
    return not above(max(gains), 0)


def _gains_with_size(frame: DataFrame) -> bool:
    small, large, xl = [_robustness(frame, tuned) - _robustness(frame, base) for tuned, base in INSTRUCTOR.items()]
    return above(large, small) and above(xl, large)


def _order_matters_to_tuned(frame: DataFrame) -> bool:
    tuned, rest = (numbers(frame, table=4, system=systems, measure="gap:Robustness@10").abs() for systems in (TUNED, UNTUNED))
    return above(tuned.min(), rest.max())


def _across(frame: DataFrame, measure: str = "pMRR", **where: object) -> Series:
    """What mFollowIR prints of English instructions, averages over languages."""
    return numbers(frame, table=3, mode="cross-lingual", group="average", measure=measure, **where)


def _falls(frame: DataFrame, measure: str = "pMRR", **where: object) -> bool:
    """Whether mFollowIR's systems are worse in the language of the documents than with English instructions."""
    native = numbers(frame, table=4, mode="multilingual", group="average", measure=measure, **where)
    return all_above(_across(frame, measure, **where), native)


def _mrecall(frame: DataFrame, *by: str, **where: object) -> Series:
    """BERDS' table 3."""
    return numbers(frame, *by, table=3, mode="default", measure="MRecall@5", **where)


def _more_diverse(frame: DataFrame, better: str, worse: str, corpora: Sequence[str] = CORPORA) -> bool:
    """Whether one of BERDS' retrievers is above another on each data set of each corpus."""
    groups = [f"{name}/{corpus}" for corpus in corpora for name in SETS]
    return all_above(*(_mrecall(frame, "group", system=system, group=groups) for system in (better, worse)))


def _more_diverse_corpus(frame: DataFrame, better: str, worse: str, systems: list[str]) -> bool:
    """Whether each of some retrievers is above on one corpus, or one data set of it, what it is on another."""
    return all_above(*(_mrecall(frame, "system", system=systems, group=group) for group in (better, worse)))


def _corpora_at_10(frame: DataFrame, system: str) -> bool:
    groups = [f"average/{corpus}" for corpus in ("sphere", "google", "wikipedia")]
    recalls = [value(frame, table=17, system=system, measure="MRecall@10", group=group) for group in groups]
    return all(above(better, worse) for better, worse in pairwise(recalls))


def _judges_best(frame: DataFrame, measure: str) -> bool:
    judges = numbers(frame, "system", "kind", "mode", table=7, kind="judge", measure=measure)
    return same(value(frame, table=7, system="GPT-4", mode="one-shot", measure=measure), judges.max())


FUNCTIONS: dict[str, Callable[[DataFrame], bool]] = {
    "infosearch-rerankers": lambda t: above(_followed(t, RERANKERS), _followed(t, RETRIEVERS)),
    "infosearch-rerankers-strict": lambda t: above(_followed(t, RERANKERS, "SICR"), _followed(t, RETRIEVERS, "SICR")),
    "infosearch-incomplete": lambda t: above(0.5, numbers(t, table=2, group="average", measure="SICR")).mean() > 0.5,
    "infosearch-tuning": lambda t: above(
        value(t, table=2, system="FollowIR", group="average", measure="WISE"),
        value(t, table=2, system="Mistral-ins-v0.2", kind="pointwise", group="average", measure="WISE"),
    ),
    "infosearch-gpt-4o": lambda t: _leads_all(t, [{"group": "average", "measure": measure} for measure in ("WISE", "SICR")]),
    "infosearch-listwise-pointwise": lambda t: above(_followed(t, "listwise"), _followed(t, "pointwise")),
    "infosearch-listwise-pointwise-strict": lambda t: above(
        _followed(t, "listwise", "SICR"), _followed(t, "pointwise", "SICR")
    ),
    "infosearch-pointwise-dense": lambda t: above(_followed(t, "pointwise"), _followed(t, "bi-encoder")),
    "infosearch-dense-sparse": lambda t: above(_followed(t, "bi-encoder"), _followed(t, "sparse")),
    "infosearch-attributes": _attributes,
    "infosearch-gpt-4o-everywhere": lambda t: _leads_all(
        t, [{"kind": RERANKERS, "group": group, "measure": "WISE"} for group in GROUPS]
    ),
    "infosearch-gpt-4o-rank": lambda t: same(value(t, table=1, system="GPT-4o", mode="ori", measure="gold_rank"), 3.51),
    "infosearch-fifteen": lambda t: rows(t, table=1)["system"].nunique() == 15,
    "infosearch-six-rerankers": lambda t: rows(t, table=1, kind=RERANKERS)["system"].nunique() == 6,
    "instructir-twelve": lambda t: rows(t, table=3)["system"].nunique() == 12,
    "instructir-above-half": lambda t: above(numbers(t, table=3, system=UNTUNED, measure="nDCG@10").min(), 0.5),
    "instructir-most-robust": lambda t: leads("E5-mistral-7b-instruct", numbers(t, table=3, measure="Robustness@10")),
    "instructir-instructor-gtr": lambda t: every([_rising(t, tuned, base) for tuned, base in INSTRUCTOR.items()]),
    "instructir-tuned-no-better": lambda t: _no_better(t, {"TART-dual": "Contriever-msmarco", **INSTRUCTOR}),
    "instructir-gtr-size": lambda t: _rising(t, "GTR-base", "GTR-large", "GTR-XL"),
    "instructir-size": lambda t: every([_rising(t, "Contriever-msmarco", larger) for larger in ("GTR-large", "GTR-XL")]),
    "instructir-size-tuning": _gains_with_size,
    "instructir-order": _order_matters_to_tuned,
    "instructir-paraphrase": lambda t: leads(
        "ColBERT-v2.0", numbers(t, table="figure3", system=["BM25", "ColBERT-v2.0"], measure="drop")
    ),
    "mfollowir-language-models": lambda t: above(
        _across(t, "nDCG@20", system=["Jina-reranker-v2-multi", "BGE-reranker-v2-m3"]).min(),
        _across(t, "nDCG@20", system=["Mistral-7B-Instruct", "FollowIR-7B"]).max(),
    ),
    "mfollowir-cross-encoders": lambda t: above(_across(t, kind="cross-encoder").mean(), _across(t, kind="bi-encoder").mean()),
    "mfollowir-follow": lambda t: above(_across(t, system=FOLLOWERS).min(), 0),
    "mfollowir-only-three": lambda t: (~above(0, _across(t, kind="bi-encoder"))).sum() == 3,
    "mfollowir-below-zero": lambda t: above(0, _across(t, system=UNINSTRUCTED).max()),
    "mfollowir-drop": lambda t: _falls(t, system=FOLLOWERS),
    "mfollowir-all-drop": lambda t: _falls(t, kind="bi-encoder"),
    "mfollowir-worse": lambda t: every([_falls(t), _falls(t, "nDCG@20")]),
    "berds-abstract": lambda t: same(_mrecall(t, group=[f"average/{each}" for each in CORPORA]).max(), 0.3374),
    # DPR was not run on the results of a web search
    "berds-contriever": lambda t: every(
        [_more_diverse(t, "CONTRIEVER", "BM25"), _more_diverse(t, "CONTRIEVER", "DPR", CORPORA[:2])]
    ),
    "berds-order": lambda t: every([_more_diverse(t, "CONTRIEVER", "BM25"), _more_diverse(t, "BM25", "DPR", CORPORA[:2])]),
    "berds-methods": lambda t: above(
        numbers(t, "system", "group", "mode", table=4, system=["CONTRIEVER", "DPR"], measure="relchange:MRecall@5").min(), 0
    ),
    "berds-web": lambda t: _more_diverse_corpus(t, "average/sphere", "average/wikipedia", ["CONTRIEVER", "DPR"]),
    "berds-search-results": lambda t: every(
        [_more_diverse_corpus(t, f"{each}/sphere", f"{each}/google", ["CONTRIEVER", "BM25"]) for each in SETS]
    ),
    "berds-search-results-average": lambda t: every([_corpora_at_10(t, system) for system in ("BM25", "CONTRIEVER")]),
    "berds-coverage": lambda t: above(
        *(value(t, table=5, system="DPR", group=f"all/{each}", measure="MRecall@100") for each in ("wikipedia", "sphere"))
    ),
    "berds-union": lambda t: round(value(t, table=6, group="average/wikipedia", measure="MRecall"), 2) == 0.62,
    "berds-judge": lambda t: every([_judges_best(t, measure) for measure in ("accuracy", "F1")]),
}
