"""Each claim of the papers as a function: from a frame of numbers to whether it holds.

Frames and how numbers are picked out of them: `toolkit.registry.published.claim_numbers`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from toolkit.core.system.yaml_json import read_yaml
from toolkit.registry.loader import FOLDER
from toolkit.registry.published.claim_numbers import Missing, above, all_above, every, leads, numbers, rises, rows, same, value

if TYPE_CHECKING:
    from pandas import DataFrame, Series

RERANKERS = ["listwise", "pointwise"]  # InfoSearch
RETRIEVERS = ["sparse", "bi-encoder"]
GROUPS = ["audience", "keyword", "format", "language", "length", "source"]
BOTH = ("Robustness@10", "nDCG@10")  # InstructIR
SYSTEMS = read_yaml(FOLDER / "published" / "claim-systems.yaml")  # paper -> what claims are about -> its systems
UNTUNED, TUNED, INSTRUCTOR = (SYSTEMS["instructir"][which] for which in ("untuned", "tuned", "tuned_from"))
OVERLAPPED = [*UNTUNED[1:], *TUNED]  # table 5 is without BM25, which says what overlaps
FOLLOWERS = SYSTEMS["mfollowir"]["followers"]
SETS = ("arguana", "kialo", "opinionqa")  # BERDS
CORPORA = ("wikipedia", "sphere", "google")


def _followed(frame: DataFrame, kind: str | list[str], measure: str = "WISE", group: str = "average") -> float:
    """InfoSearch's mean over the systems of some kinds."""
    return numbers(frame, table=2, kind=kind, group=group, measure=measure).mean()


def _follows(frame: DataFrame, *, by: str = "system", **where: object) -> list[Series]:
    """InfoSearch's averages over attributes of some systems, by WISE and by SICR."""
    return [numbers(frame, by, table=2, group="average", measure=measure, **where) for measure in ("WISE", "SICR")]


def _larger_follow(paper: str, numbers_of: Callable[..., Series]) -> bool:
    """Whether a paper's large systems have a higher mean than its small ones."""
    large, small = (numbers_of(system=SYSTEMS[paper][size]).mean() for size in ("large", "small"))
    return above(large, small)


def _below_sparse(frame: DataFrame) -> Series:
    """Which other systems of InfoSearch are below BM25 by p-MRR."""
    column = numbers(frame, table=1, measure="pMRR")
    others = column[column.index.get_level_values("system") != "BM25"]
    if others.empty:
        raise Missing("no other system than BM25")
    return above(value(frame, table=1, system="BM25", measure="pMRR"), others)


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


def _overlap(frame: DataFrame, measure: str, **where: object) -> Series:
    """How much InstructIR's table 5 changes scores."""
    return numbers(frame, table=5, measure=f"gap:{measure}", **where)


def _across(frame: DataFrame, measure: str = "pMRR", *by: str, group: str = "average", **where: object) -> Series:
    """What mFollowIR prints of English instructions, averages over languages."""
    return numbers(frame, *by, table=3, mode="cross-lingual", group=group, measure=measure, **where)


def _falls(frame: DataFrame, measure: str = "pMRR", **where: object) -> bool:
    """Whether mFollowIR's systems are worse in the language of the documents than with English instructions."""
    native = numbers(frame, table=4, mode="multilingual", group="average", measure=measure, **where)
    return all_above(_across(frame, measure, **where), native)


def _follow_in(frame: DataFrame, language: str) -> bool:
    """Whether mFollowIR's followers are on average above the other bi-encoders over documents of a language."""
    column = _across(frame, "pMRR", "system", group=language, kind="bi-encoder")
    is_follower = column.index.isin(FOLLOWERS)
    if is_follower.sum() < len(FOLLOWERS) or is_follower.all():
        raise Missing("those trained on instructions and others")
    return above(column[is_follower].mean(), column[~is_follower].mean())


def _alike_across_languages(frame: DataFrame) -> bool:
    """Whether mFollowIR's systems are ordered alike in each pair of languages."""
    columns = [_across(frame, "pMRR", "system", "kind", group=language) for language in ("fas", "rus", "zho")]
    return every([above(left.corr(right, method="spearman"), 0.5) for left, right in combinations(columns, 2)])


def _high_quality_below_zero(frame: DataFrame) -> bool:
    quality, followed = _across(frame, "nDCG@20"), _across(frame)
    return above(0, followed.reindex(quality.index[quality >= quality.median()]).min())


def _best_loses(frame: DataFrame) -> float:
    """The points of p-MRR, to the whole one, by which mFollowIR's best bi-encoder falls from table 3 to table 4."""
    across = _across(frame, kind="bi-encoder")
    native = numbers(frame, table=4, mode="multilingual", group="average", measure="pMRR", kind="bi-encoder")
    best = across.idxmax()
    if best not in native.index:
        raise Missing(f"{best[0]} in the language of the documents")
    return round(100 * (across[best] - native[best]))


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


def _changed(
    frame: DataFrame, mode: str, systems: Sequence[str] = ("BM25", "DPR", "CONTRIEVER"), measure: str = "MRecall@5"
) -> tuple[Series, Series]:
    """A measure of BERDS' table 4 with a method and without, by system and group."""
    by, where = ("system", "group"), {"table": 4, "system": list(systems), "measure": measure}
    return numbers(frame, *by, mode=mode, **where), numbers(frame, *by, mode="default", **where)


def _gains(frame: DataFrame, mode: str, measure: str = "MRecall@5", factor: float = 1) -> int:
    """In how many settings of BERDS' table 4 a method has a higher value than without it, times a factor."""
    changed, default = _changed(frame, mode, measure=measure)
    gains = changed - factor * default
    if gains.isna().any():
        raise Missing("a setting has no number with the method, or none without it")
    return int(above(gains, 0).sum())


def _helps_dense(frame: DataFrame, mode: str) -> bool:
    changed, default = _changed(frame, mode, ("CONTRIEVER", "DPR"))
    return above((changed - default).dropna().mean(), 0)


def _table_3(frame: DataFrame, measure: str) -> Series:
    """BERDS' averages over data sets, by system and corpus."""
    averages = [f"average/{corpus}" for corpus in CORPORA]
    column = numbers(frame, "system", "group", table=3, mode="default", measure=measure, group=averages)
    return column.rename(lambda group: group.removeprefix("average/"), level="group")


def _table_5(frame: DataFrame, measure: str) -> Series:
    """The same of table 5, which has all questions in one and another name of CONTRIEVER."""
    column = numbers(frame, "system", "group", table=5, measure=measure)
    column = column.rename({"CONT.": "CONTRIEVER"}, level="system")
    return column.rename(lambda group: group.removeprefix("all/"), level="group")


def _best_setting(column: Series) -> bool:
    """Whether CONTRIEVER on Sphere is above every other setting."""
    return leads(("CONTRIEVER", "sphere"), column)


def _ordered_alike(left: Series, right: Series) -> float:
    """The share of pairs of places that two columns order alike, of those that neither has as equal."""
    pairs = [(left[a] - left[b], right[a] - right[b]) for a, b in combinations(left.index.intersection(right.index), 2)]
    same_sign = [x * y > 0 for x, y in pairs if not (same(x, 0) or same(y, 0))]
    if not same_sign:
        raise Missing("no two places have both")
    return sum(same_sign) / len(same_sign)


def _corpora_at_10(frame: DataFrame, system: str) -> bool:
    groups = [f"average/{corpus}" for corpus in ("sphere", "google", "wikipedia")]
    recalls = [value(frame, table=17, system=system, measure="MRecall@10", group=group) for group in groups]
    return all(above(better, worse) for better, worse in pairwise(recalls))


def _judges_best(frame: DataFrame, measure: str) -> bool:
    judges = numbers(frame, "system", "kind", "mode", table=7, kind="judge", measure=measure)
    return same(value(frame, table=7, system="GPT-4", mode="one-shot", measure=measure), judges.max())


def _leans_to_query(frame: DataFrame) -> bool:
    """Whether each retriever leans more to a side when the query states that side than when it is the question (figure 3)."""
    forms = ("supporting", "question", "opposing")
    leans = [numbers(frame, "system", "group", table="figure3", mode=form, measure="Lean") for form in forms]
    return every([all_above(more, less) for more, less in pairwise(leans)])


def _judges_best_of_open(frame: DataFrame, measure: str) -> bool:
    judges = numbers(frame, "system", "mode", table=7, kind="judge", measure=measure)
    return leads(("Mistral-7B", "fine-tuned"), judges[judges.index.get_level_values("system") != "GPT-4"])


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
    "infosearch-rerankers-everywhere": lambda t: every(
        [above(_followed(t, RERANKERS, group=group), _followed(t, RETRIEVERS, group=group)) for group in GROUPS]
    ),
    "infosearch-size": lambda t: _larger_follow(
        "infosearch", partial(numbers, t, table=2, kind="bi-encoder", group="average", measure="WISE")
    ),
    "infosearch-pmrr-sparse": lambda t: _below_sparse(t).mean() > 0.5,
    "infosearch-pmrr-eleven": lambda t: (_below_sparse(t).sum(), len(_below_sparse(t))) == (11, 17),
    "infosearch-pmrr-gpt-4o": lambda t: every(
        [
            above(value(t, table=1, system=system, measure="pMRR"), value(t, table=1, system="GPT-4o", measure="pMRR"))
            for system in ("Bge-Large-v1.5", "Instructor-XL")
        ]
    ),
    "infosearch-gritlm": lambda t: every([leads("GritLM", column) for column in _follows(t, kind="bi-encoder")]),
    "infosearch-llama": lambda t: every([leads("Llama-3.1", column) for column in _follows(t, kind="pointwise")]),
    "infosearch-rankzephyr": lambda t: every(
        [rises(column, "Zephyr-beta", "RankZephyr-v1") for column in _follows(t, kind="listwise")]
    ),
    "infosearch-mistral": lambda t: every(
        [rises(column, "bi-encoder", "pointwise", "listwise") for column in _follows(t, by="kind", system="Mistral-ins-v0.2")]
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
    "instructir-repllama": lambda t: every(
        [leads("RepLLaMa", numbers(t, table=3, system=UNTUNED, measure=measure)) for measure in BOTH]
    ),
    "instructir-instructor-size": lambda t: _rising(t, *reversed(INSTRUCTOR)),
    "instructir-order": _order_matters_to_tuned,
    "instructir-instructor-order": lambda t: every(
        [above(numbers(t, table=4, system=list(INSTRUCTOR), measure=f"gap:{each}").min(), 0) for each in BOTH]
    ),
    "instructir-overlap": lambda t: every(
        [above(0, _overlap(t, "nDCG@10").max()), above(_overlap(t, "Robustness@10").min(), 0)]
    ),
    "instructir-overlap-instructor": lambda t: above(
        _overlap(t, "nDCG@10", system=list(INSTRUCTOR)).min(),
        _overlap(t, "nDCG@10", system=[*UNTUNED, "TART-dual", "E5-mistral-7b-instruct"]).max(),
    ),
    "instructir-overlap-colbert": lambda t: every(
        [leads("ColBERT-v2.0", _overlap(t, measure, system=OVERLAPPED).abs()) for measure in BOTH]
    ),
    "instructir-overlap-repllama": lambda t: leads("RepLLaMa", -_overlap(t, "Robustness@10", system=OVERLAPPED).abs()),
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
    "mfollowir-below-zero": lambda t: above(0, _across(t, system=SYSTEMS["mfollowir"]["uninstructed"])).mean() > 0.5,
    "mfollowir-languages": lambda t: every([_follow_in(t, language) for language in ("fas", "rus", "zho")]),
    "mfollowir-size": lambda t: every(
        [_larger_follow("mfollowir", partial(_across, t, kind=kind)) for kind in ("bi-encoder", "cross-encoder")]
    ),
    "mfollowir-generalise": _alike_across_languages,
    "mfollowir-quality": _high_quality_below_zero,
    "mfollowir-gap": lambda t: _best_loses(t) == 5,
    "mfollowir-drop": lambda t: _falls(t, system=FOLLOWERS),
    "mfollowir-all-drop": lambda t: _falls(t, kind="bi-encoder"),
    "mfollowir-worse": lambda t: every([_falls(t), _falls(t, "nDCG@20")]),
    "berds-abstract": lambda t: same(_mrecall(t, group=[f"average/{each}" for each in CORPORA]).max(), 0.3374),
    # DPR was not run on the results of a web search
    "berds-contriever": lambda t: every(
        [_more_diverse(t, "CONTRIEVER", "BM25"), _more_diverse(t, "CONTRIEVER", "DPR", CORPORA[:2])]
    ),
    "berds-order": lambda t: every([_more_diverse(t, "CONTRIEVER", "BM25"), _more_diverse(t, "BM25", "DPR", CORPORA[:2])]),
    "berds-methods": lambda t: every([_helps_dense(t, mode) for mode in ("re-ranking", "query expansion")]),
    "berds-reranking-count": lambda t: _gains(t, "re-ranking") == 4,
    "berds-expansion-count": lambda t: _gains(t, "query expansion") == 6,
    "berds-reranking-precision": lambda t: all_above(*reversed(_changed(t, "re-ranking", measure="P@5"))),
    "berds-expansion-precision": lambda t: _gains(t, "query expansion", "P@5") == 5,
    "berds-expansion-tenth": lambda t: _gains(t, "query expansion", factor=1.1) == 3,
    "berds-best": lambda t: every(
        [same(_table_3(t, measure).max(), best) for measure, best in (("MRecall@5", 0.3064), ("P@1", 0.5867))]
    ),
    "berds-best-setting": lambda t: every([_best_setting(_table_3(t, measure)) for measure in ("MRecall@5", "P@1")]),
    "berds-web": lambda t: _more_diverse_corpus(t, "average/sphere", "average/wikipedia", ["CONTRIEVER", "DPR"]),
    "berds-search-results": lambda t: _more_diverse_corpus(t, "average/sphere", "average/google", ["CONTRIEVER", "BM25"]),
    "berds-search-results-average": lambda t: every([_corpora_at_10(t, system) for system in ("BM25", "CONTRIEVER")]),
    "berds-coverage": lambda t: _ordered_alike(_table_3(t, "MRecall@5"), _table_5(t, "MRecall@100")) > 0.5,
    "berds-coverage-best": lambda t: every(
        [
            _best_setting(_table_5(t, "MRecall@100")),
            _best_setting(-_table_5(t, "mean_size_to_cover")),
            same(_table_5(t, "MRecall@100").max(), 0.831),
            same(_table_5(t, "mean_size_to_cover").min(), 17.8),
        ]
    ),
    "berds-union": lambda t: round(value(t, table=6, group="average/wikipedia", measure="MRecall"), 2) == 0.62,
    "berds-judge": lambda t: every([_judges_best(t, measure) for measure in ("accuracy", "F1")]),
    "berds-judge-open": lambda t: every([_judges_best_of_open(t, measure) for measure in ("accuracy", "F1")]),
    "berds-supporting": lambda t: all_above(
        *(
            numbers(t, "system", "group", table="figure2", mode="question", measure=each)
            for each in ("SupportingOnly", "OpposingOnly")
        )
    ),
    "berds-sycophancy": _leans_to_query,
}
