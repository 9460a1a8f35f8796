"""BIRCO as it is released: pickles of which nothing is executed, the objective as instruction, a pool a query."""

import math
import pickle

import numpy as np
import pytest

from toolkit import datasets, registry
from toolkit.core.errors import ToolkitError
from toolkit.datasets.group_data import counts, totals
from toolkit.datasets.layouts import birco
from toolkit.evaluation import evaluate

README = "# BIRCO\n\n### RELIC:\n\nFind the quotation.\n\n### ArguAna:\n\nFind what refutes the query.\n\n## Setup\n"
LABELS = {"q1": {"d2": 0, "d1": 1, "d3": 0}, "q2": {"d3": 2, "d4": 1, "d1": 0}}


def write(folder, content=None, readme=README):
    content = content or {
        "query": {"q1": "taxes are good", "q2": "zoos are bad"},
        # as the release has them: texts of NumPy's
        "corpus": {f"d{n}": np.str_(f"argument {n}") for n in range(1, 5)},
        "qrel": LABELS,
    }
    path = folder / "datasets" / "arguana" / "test_set.pickle"
    path.parent.mkdir(parents=True)
    path.write_bytes(pickle.dumps(content))
    (folder / "readme.md").write_bytes(readme.encode(errors="surrogateescape"))
    return folder


def test_the_objective_is_the_instruction_and_the_pool_the_candidates(home, tmp_path):
    part = datasets.take("birco", write(tmp_path))["arguana"]
    assert counts(part) == {"cores": 2, "queries": 2, "documents": 4}
    assert totals(part) == {"queries": 2, "qrels": 3, "documents": 4}
    topic = part.topics[""][0]
    assert topic.text == "Find what refutes the query. taxes are good"
    assert (topic.query, topic.instruction) == ("taxes are good", "Find what refutes the query.")
    assert list(part.scoreddocs[""].to_dict()["q1"]) == ["d1", "d2", "d3"]
    assert {(row.query_id, row.doc_id): row.relevance for row in part.qrels[""]}["q2", "d3"] == 2
    assert dict(birco.checks(part, registry.benchmark("birco").group("arguana"))) == {
        "pools": "5001 documents expected, 6 found"
    }
    again = datasets.load("birco").part("arguana")
    assert again.topics == part.topics
    assert list(again.scoreddocs[""].query_ids) == ["q1", "q2"]


def test_the_authors_ndcg_over_a_ranking_of_theirs_is_ours(home, tmp_path):
    datasets.take("birco", write(tmp_path))
    ranks = {"q1": ["d3", "d1", "d2"], "q2": ["d4", "d1", "d3"]}
    path = tmp_path / "RankLlama.pickle"
    path.write_bytes(pickle.dumps({query: [np.str_(doc) for doc in docs] for query, docs in ranks.items()}))
    [value] = [row.value for row in evaluate([path], benchmark="birco-arguana", measures=["nDCG@10"]).rows if not row.query_id]
    theirs = []
    for query, docs in ranks.items():
        gained = sum(LABELS[query][doc] / math.log2(place + 2) for place, doc in enumerate(docs))
        best = sorted(LABELS[query].values(), reverse=True)
        theirs.append(gained / sum(label / math.log2(place + 2) for place, label in enumerate(best)))
    assert value == pytest.approx(sum(theirs) / 2, abs=1e-15)


class Harmful:
    def __reduce__(self):
        return print, ("executed",)


@pytest.mark.parametrize(
    ("content", "readme", "message"),
    [
        ({"query": Harmful()}, README, "something else than dict"),
        ({"query": {}, "corpus": {}}, README, "is no test set of BIRCO"),
        ({"query": {"q": "t"}, "corpus": {"d": "t"}, "qrel": {"q": ["d"]}}, README, "'qrel' is no mapping"),
        ({"query": {"q": "t"}, "corpus": {"d": "t"}, "qrel": {"q": {"other": 1}}}, README, "2 problems"),
        (None, "# BIRCO\n", "has no objective of ArguAna"),
        (None, "\udcff", "birco-arguana has text that is no UTF-8"),
        ({"query": {"q": "t"}, "corpus": {"d": "half \ud800"}, "qrel": {"q": {"d": 1}}}, README, "text that is no UTF-8"),
    ],
)
def test_what_cannot_be_right_is_refused(home, tmp_path, capsys, content, readme, message):
    with pytest.raises(ToolkitError, match=message):
        datasets.take("birco", write(tmp_path, content, readme))
    assert "executed" not in capsys.readouterr().out


def test_a_folder_without_a_test_set_says_what_it_should_hold(home, tmp_path):
    with pytest.raises(ToolkitError) as error:
        datasets.take("birco", tmp_path)
    assert "datasets/arguana/test_set.pickle" in error.value.hint
