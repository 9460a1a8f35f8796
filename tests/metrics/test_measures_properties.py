"""Every measure against its slow literal transcription, on runs made to hit what is odd."""

import literal
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import metrics
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.metrics.families.paired import ideal_wise_of_ranks, wise_of_ranks

VARIANTS, TIES = ("paper", "release", "source"), ("trec", "file")
DOCS = [f"d{i}" for i in range(8)] + ["é", "Z"]
# few values, so that scores tie; 1 + 1e-9 ties with 1 in 32 bits only
VALUES = [1.0, 1.0 + 1e-9, 1.0 - 1e-9, -2.5, -1.0, 0.0, 0.5, 2.0, 30.25]
SCORES = st.sampled_from(VALUES)
MODES = ("ori", "ins", "rev")
BASES = ("a-1", "a-2", "b-1", "b-2")


@st.composite
def paired_cases(draw):
    """A run and qrels over two core queries with two instructions each; some modes, queries and documents are missing.

    Made of bytes, one a label and one a place in the run: 24 dictionaries would take twenty times as long to draw.
    """
    run, qrels = {}, {}
    size = len(BASES) * len(MODES) * (2 * len(DOCS) + 1)
    cells = iter(draw(st.binary(min_size=size, max_size=size)))
    for query_id in (f"{base}-{mode}" for base in BASES for mode in MODES):
        labels = {doc: byte % 8 - 5 for doc, byte in zip(DOCS, cells, strict=False) if byte % 8 > 3}
        qrels[query_id] = labels or {DOCS[0]: 0}
        # the lower half of a byte is the score, the upper half where in the file it stands
        places = sorted((byte >> 4, doc, byte % 16) for doc, byte in zip(DOCS, cells, strict=False))
        ranked = {doc: VALUES[number] for _, doc, number in places if number < len(VALUES)}
        if ranked and next(cells) % 8:
            run[query_id] = ranked
    return run, qrels


def from_dict(qrels):
    return Qrels.from_rows(Qrel(q, doc, label) for q, labels in qrels.items() for doc, label in labels.items())


def by_query(name, run, qrels, **options):
    found = {}
    for values in metrics.evaluate([name], Run.from_dict(run), from_dict(qrels), **options):
        suffix = "" if values.mode in ("", "paired") else f"-{values.mode}"
        found |= {f"{query_id}{suffix}": value for query_id, value in zip(values.query_ids, values.values, strict=True)}
    return found


def near(values):
    return pytest.approx(values, abs=1e-9, rel=0)


@given(paired_cases(), st.sampled_from(VARIANTS), st.sampled_from(TIES), st.sampled_from([1, 3, 20]))
def test_wise_is_its_definition(case, variant, ties, k):
    name = f"(variant='{variant}',ties='{ties}')@{k}"
    assert by_query(f"WISE{name}", *case) == near(literal.wise_of_run(*case, k, variant, ties))
    assert by_query(f"WISE_ideal{name}", *case) == near(literal.ideal_wise_of_run(*case, k, variant, ties))


@given(paired_cases(), st.sampled_from(("paper", "release")), st.sampled_from(TIES))
def test_sicr_is_its_definition(case, variant, ties):
    assert by_query(f"SICR(variant='{variant}',ties='{ties}')", *case) == near(literal.sicr_of_run(*case, variant, ties))


@given(paired_cases(), st.sampled_from(TIES))
def test_pmrr_and_mean_ranks_are_their_definitions(case, ties):
    assert by_query(f"pMRR(ties='{ties}')", *case) == near(literal.pmrr_of_run(*case, ties))
    for name, gold in (("GoldRank", True), ("NegativeRank", False)):
        assert by_query(f"{name}(ties='{ties}')", *case) == near(literal.mean_ranks_of_run(*case, ties, gold=gold))


@given(paired_cases(), st.sampled_from(TIES), st.sampled_from([1, 3, 10]))
def test_robustness_is_its_definition(case, ties, k):
    assert by_query(f"Robustness(ties='{ties}')@{k}", *case) == near(literal.robustness_of_run(*case, k, ties))


@given(
    st.dictionaries(st.tuples(st.sampled_from("pqrs"), st.sampled_from(DOCS)), st.integers(-1, 2), min_size=1, max_size=12),
    st.dictionaries(st.sampled_from(DOCS), SCORES, max_size=8),
    st.sampled_from(TIES),
    st.integers(1, 6),
)
def test_perspective_measures_are_their_definitions(judgments, ranked, ties, k):
    qrels = Qrels.from_rows(Qrel("q", doc, label, perspective) for (perspective, doc), label in judgments.items())
    run = Run.from_dict({"q": ranked, "other": {"d1": 1.0}})
    order = literal.ranking(ranked, ties)
    found = metrics.evaluate([f"MRecall(ties='{ties}')@{k}", f"PerspectiveP(ties='{ties}')@{k}"], run, qrels)
    expected = [literal.mrecall(order, judgments, k), literal.perspective_precision(order, judgments, k)]
    assert [values.aggregate for values in found] == near(expected)


RANKS = st.integers(1, 45)


@given(RANKS, RANKS, RANKS, st.integers(1, 25), st.sampled_from([1, 5, 20]), st.sampled_from(VARIANTS))
def test_wise_of_ranks_is_equations_3_to_6(r_ori, r_ins, r_rev, n, k, variant):
    found = float(wise_of_ranks([r_ori], [r_ins], [r_rev], [n], k, variant)[0])
    assert found == near(literal.wise(r_ori, r_ins, r_rev, n, k, variant))
    assert -1 <= found <= 1
    assert found <= float(wise_of_ranks([r_ori], [1], [r_ori + 1], [max(n, r_ori + 1)], k, variant)[0])
    assert float(ideal_wise_of_ranks([r_ori], [n], k, variant)[0]) == near(literal.wise(r_ori, 1, r_ori + 1, n, k, variant))


ALL = [
    "WISE@20",
    "WISE(variant='release',ties='trec')@20",
    "SICR",
    "pMRR",
    "GoldRank",
    "Robustness@5",
    "nDCG@5",
    "AP",
    "RR",
    "Judged@3",
]


@given(paired_cases(), st.randoms(use_true_random=False))
def test_the_order_of_lines_changes_no_bit(case, random):
    run, qrels = case
    lines = [(q, doc, score) for q, docs in run.items() for doc, score in docs.items()]
    judgments = [(q, doc, label) for q, labels in qrels.items() for doc, label in labels.items()]

    def values(lines, judgments):
        columns = list(zip(*lines, strict=True)) or [(), (), ()]
        found = metrics.evaluate(ALL, Run.from_columns(*columns), Qrels.from_columns(*zip(*judgments, strict=True)))
        return [(v.measure, v.mode, repr(v.aggregate), dict(zip(v.query_ids, v.values.tolist(), strict=True))) for v in found]

    straight = values(lines, judgments)
    random.shuffle(lines)
    random.shuffle(judgments)
    assert values(lines, judgments) == straight


@given(paired_cases())
def test_an_unjudged_document_added_last_never_raises_ndcg(case):
    run, qrels = case
    longer = {q: {**docs, "unjudged": min(docs.values()) - 1} for q, docs in run.items()}
    before, after = by_query("nDCG@10", run, qrels), by_query("nDCG@10", longer, qrels)
    assert all(after[q] <= before[q] and 0 <= after[q] <= 1 for q in before)
