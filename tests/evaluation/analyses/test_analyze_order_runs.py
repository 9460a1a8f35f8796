"""analyze order on runs of systems that do and do not see an order."""

import pytest
from command import tandem

from toolkit.files.formats import read_run


@pytest.mark.lucene
def test_a_bag_of_words_sees_no_order_and_is_told_so(tmp_path, home):
    runs = [searched(f"instructir-mini{group}", "bm25", tmp_path) for group in ("", "-query-first")]
    done = analysed(*runs)
    run, measure, first, second, gap = done.splitlines()[2].split()[:5]
    assert (run, measure, first, gap) == ("bm25", "nDCG@10", second, "0.0000")
    assert "no instance scores differently: a bag of words (BM25) has no order" in done


@pytest.mark.model
def test_a_dense_system_is_sent_the_other_order(tmp_path, home):
    runs = [searched(f"instructir-mini{group}", "all-minilm-l6-v2", tmp_path) for group in ("", "-query-first")]
    first, second = (read_run(run).to_dict() for run in runs)
    assert all(first[query_id] != second[query_id] for query_id in first)
    assert "no instance scores differently" not in analysed(*runs)


def searched(topics, system, folder):
    path = folder / f"{topics}.trec"
    command = ["search", "--topics", topics, "--system", system, "--output", path, "--quiet"]
    tandem(*command, check=True)
    return path


def analysed(first, second):
    command = ["analyze", "order", first, second, "--benchmark", "instructir-mini"]
    return tandem(*command, check=True).stdout
