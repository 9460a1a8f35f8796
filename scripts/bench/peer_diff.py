"""Two runs compared by a peer, in an environment of its own: `peer_diff.py ranx|repro_eval A B QRELS SAMPLES`.

It asks of each, for three measures, what it offers of a diff: of ranx Fisher's randomisation, of repro_eval Kendall's tau over
the union, rank-biased overlap, root mean square errors and t tests.
"""

import sys


def ranx(a: str, b: str, qrels: str, samples: int) -> None:
    from ranx import Qrels, Run, compare

    runs = [Run.from_file(path, kind="trec", name=path) for path in (a, b)]
    judged = Qrels.from_file(qrels, kind="trec")
    print(compare(judged, runs, ["ndcg@10", "mrr@1", "map"], stat_test="fisher", n_permutations=samples))


def repro_eval(a: str, b: str, qrels: str, samples: int) -> None:
    import ir_measures
    from repro_eval.Evaluator import RpdEvaluator

    evaluator = RpdEvaluator(qrels_orig_path=qrels, run_b_orig_path=a, run_b_rep_path=b)
    evaluator.measures = [ir_measures.parse_measure(name) for name in ("nDCG@10", "RR@1", "AP")]  # of dozens
    evaluator.evaluate()
    for found in (evaluator.ktu(), evaluator.rbo(), evaluator.nrmse(), evaluator.ttest()):
        print(found)


if __name__ == "__main__":
    peer, a, b, qrels, samples = sys.argv[1:]
    {"ranx": ranx, "repro_eval": repro_eval}[peer](a, b, qrels, int(samples))
