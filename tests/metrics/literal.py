"""The measures once more, slowly and literally, from their definitions; imports nothing from toolkit.

A run is {query id with mode: {document: score}}, qrels {query id with mode: {document: label}} (or, for perspectives,
{question: {(perspective, document): label}}). The order of a dictionary is the order of the file.
"""

import math
import struct
from functools import cmp_to_key


def single(score):
    """The nearest 32-bit float, as trec_eval keeps a score."""
    return struct.unpack("f", struct.pack("f", score))[0]


def ranking(scored, ties):
    if ties == "file":
        return sorted(scored, key=lambda doc: -scored[doc])  # sorted is stable

    def compare(a, b):
        if single(scored[a]) != single(scored[b]):
            return -1 if single(scored[a]) > single(scored[b]) else 1
        return -1 if a.encode() > b.encode() else 1

    return sorted(scored, key=cmp_to_key(compare))


def rank(run, query, doc, ties):
    order = ranking(run.get(query, {}), ties)
    return order.index(doc) + 1 if doc in order else len(order) + 1


def wise(r_ori, r_ins, r_rev, n, k, variant):
    if r_ins <= r_ori < r_rev:  # eq. 4: the reward
        if (r_ori <= n if variant == "paper" else r_ori < n) and r_ins == 1:
            return 1.0
        if r_ori <= k:
            climb = (r_ori - r_ins) if variant == "release" else math.sqrt(r_ori - r_ins)
            return (1 - climb / k) / math.sqrt(r_ins)
        return 0.01
    if variant != "release" and r_rev < r_ori < r_ins:  # eq. 5: the penalty
        return -1.0
    if r_ori <= r_ins:
        return (r_ori - r_ins) / r_ins
    return (r_rev - r_ori) / r_ori


def relevant(qrels, query):
    return [doc for doc, label in qrels.get(query, {}).items() if label > 0]


def split(qrels, base, ori="ori", ins="ins"):
    """The gold documents and the instruction negatives of a query."""
    old, new = relevant(qrels, f"{base}-{ori}"), relevant(qrels, f"{base}-{ins}")
    return [doc for doc in old if doc in new], [doc for doc in old if doc not in new]


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def bases(qrels):
    found = {query.rpartition("-")[0] for query in qrels}
    return [base for base in found if f"{base}-ori" in qrels and f"{base}-ins" in qrels]


def lacks(run, base, modes):
    return any(not run.get(f"{base}-{mode}") for mode in modes)


def wise_of_run(run, qrels, k, variant, ties):
    values = {}
    for base in bases(qrels):
        gold, _ = split(qrels, base)
        if not gold:
            continue
        n = len(relevant(qrels, f"{base}-ori"))
        ranks = [[rank(run, f"{base}-{mode}", doc, ties) for mode in ("ori", "ins", "rev")] for doc in gold]
        values[base] = mean(wise(*row, n, k, variant) for row in ranks)
        if lacks(run, base, ("ori", "ins", "rev")):
            values[base] = -1.0
    return values


def ideal_wise_of_run(run, qrels, k, variant, ties):
    values = {}
    for base in bases(qrels):
        gold, _ = split(qrels, base)
        if gold and not lacks(run, base, ("ori",)):
            n = len(relevant(qrels, f"{base}-ori"))
            ranks = [rank(run, f"{base}-ori", doc, ties) for doc in gold]
            values[base] = mean(wise(r, 1, r + 1, n, k, variant) for r in ranks)
    return values


def sicr_of_run(run, qrels, variant, ties):
    values = {}
    for base in bases(qrels):
        gold, _ = split(qrels, base)
        if gold:
            complies = []
            for doc in gold:
                below = -math.inf if variant == "paper" else 0
                r_ori, r_ins, r_rev = (rank(run, f"{base}-{mode}", doc, ties) for mode in ("ori", "ins", "rev"))
                s_ori, s_ins, s_rev = (run.get(f"{base}-{mode}", {}).get(doc, below) for mode in ("ori", "ins", "rev"))
                holds = r_ins < r_ori and s_ins > s_ori and r_ori < r_rev and s_ori > s_rev
                if variant == "release" and r_ori == 1:
                    holds = r_ins == 1 and s_ins >= s_ori and r_rev > 1 and s_ori > s_rev
                complies.append(float(holds))
            values[base] = 0.0 if lacks(run, base, ("ori", "ins", "rev")) else mean(complies)
    return values


def pmrr(r_old, r_new):
    if r_old > r_new:
        return (1 / r_old) / (1 / r_new) - 1
    return 1 - (1 / r_new) / (1 / r_old)


def pmrr_of_run(run, qrels, ties):
    values = {}
    for base in bases(qrels):
        _, negatives = split(qrels, base)
        if negatives:
            ranks = [[rank(run, f"{base}-{mode}", doc, ties) for mode in ("ori", "ins")] for doc in negatives]
            values[base] = -1.0 if lacks(run, base, ("ori", "ins")) else mean(pmrr(*row) for row in ranks)
    return values


def mean_ranks_of_run(run, qrels, ties, *, gold):
    values = {}
    for base in bases(qrels):
        docs = split(qrels, base)[0 if gold else 1]
        for mode in ("ori", "ins", "rev"):
            if docs and not lacks(run, base, (mode,)):
                values[f"{base}-{mode}"] = mean(rank(run, f"{base}-{mode}", doc, ties) for doc in docs)
    return values


def ndcg(ranked, labels, k):
    def dcg(gains):
        return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains[:k]))

    best = dcg(sorted((max(label, 0) for label in labels.values()), reverse=True))
    return dcg([max(labels.get(doc, 0), 0) for doc in ranked]) / best if best else 0.0


def robustness_of_run(run, qrels, k, ties):
    worst = {}
    for query, labels in qrels.items():
        base, _, mode = query.rpartition("-")
        group = f"{base.rpartition('-')[0]}-{mode}"
        worst[group] = min(worst.get(group, math.inf), ndcg(ranking(run.get(query, {}), ties), labels, k))
    return worst


def mrecall(ranked, judgments, k):
    perspectives = {perspective for perspective, _ in judgments}
    covered = {p for (p, doc), label in judgments.items() if label > 0 and doc in ranked[:k]}
    return float(len(covered) >= (len(perspectives) if len(perspectives) <= k else k))


def perspective_precision(ranked, judgments, k):
    return sum(any(label > 0 and d == doc for (_, d), label in judgments.items()) for doc in ranked[:k]) / k


def order(run, query, above, below, ties):
    """1 where the first document stands above the second, -1 below, 0 where both are missing."""
    difference = rank(run, query, below, ties) - rank(run, query, above, ties)
    return (difference > 0) - (difference < 0)


def selection_of_run(run, qrels, ties):
    """The query with its mode -> the share of pairs that change their order as the mode wants, less the others."""
    values = {}
    for base in bases(qrels):
        gold, negatives = split(qrels, base)
        for mode, wanted in (("ins", 1), ("rev", -1)):
            if gold and negatives:
                old, new = f"{base}-ori", f"{base}-{mode}"
                changes = [
                    wanted * (order(run, new, g, n, ties) - order(run, old, g, n, ties)) / 2 for g in gold for n in negatives
                ]
                values[new] = -1.0 if lacks(run, base, ("ori", mode)) else mean(changes)
    return values


def irs_of_run(run, qrels, documents, ties):
    """The query with its mode -> IRS; in the reversed mode the negatives are asked for."""

    def gain(ranks, docs):
        return sum(1 / math.log2(ranks.get(doc, documents + 1) + 1) for doc in docs)

    values = {}
    for base in bases(qrels):
        gold, negatives = split(qrels, base)
        old, *new = (
            {doc: place for place, doc in enumerate(ranking(run.get(f"{base}-{mode}", {}), ties), 1)}
            for mode in ("ori", "ins", "rev")
        )
        for mode, ranks in zip(("ins", "rev"), new, strict=True):
            asked, out = (gold, negatives) if mode == "ins" else (negatives, gold)
            before = gain(old, asked) - gain(old, out)
            whole = gain(ranks, asked) - gain(ranks, out) - before
            first, last = (asked, out) if whole >= 0 else (out, asked)
            extreme = {doc: place for place, doc in enumerate(first, 1)}
            extreme |= {doc: documents - place for place, doc in enumerate(reversed(last))}
            most = gain(extreme, asked) - gain(extreme, out) - before
            value = whole / (most if whole >= 0 else abs(most)) if most else 0.0
            values[f"{base}-{mode}"] = -1.0 if lacks(run, base, ("ori", mode)) else value
    return values
