"""The figures that carry a report's argument: their numbers by hand and as evaluate has them, and that each can be drawn."""

import pytest

from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.report.collect import collect
from toolkit.report.plots import PLOTS
from toolkit.report.plots.placement import beside_points, spread

PLOT = {plot.name: plot for plot in PLOTS}
MODES = ("ori", "ins", "rev")
G, N = "gold documents", "instruction negatives"
# by mode, what is relevant of the query's documents g (gold) and n (excluded by the instruction)
RELEVANT = {"ori": "gn", "ins": "g", "rev": "n"}


def model_of(lists: dict[str, dict[str, str]]):
    """A report of runs: tag -> query id (`a-1-ori`) -> its documents, a letter each, best first."""
    query_ids = dict.fromkeys(query_id for of_run in lists.values() for query_id in of_run)
    qrels = [Qrel(query_id, doc, 1) for query_id in query_ids for doc in RELEVANT[query_id.rpartition("-")[2]]]
    runs = [
        Run.from_dict(
            {query_id: {doc: -float(place) for place, doc in enumerate(docs)} for query_id, docs in of_run.items()}, tag=tag
        )
        for tag, of_run in lists.items()
    ]
    (model,) = collect(runs, qrels=Qrels.from_rows(qrels))
    return model


def three(query: str, ori: str, ins: str, rev: str) -> dict[str, str]:
    return {f"{query}-{mode}": docs for mode, docs in zip(MODES, (ori, ins, rev), strict=True)}


FOLLOWS = three("a-1", "xxgn", "gxxn", "nxxg")


def test_slopes_are_geometric_means_over_queries_and_count_what_is_missing():
    # gold of a-1 at 4, 1, 16; of a-2 at 1, 1 and missing in a list of 3: rank 4, the root of 16 * 4 is 8
    lists = three("a-1", "bcdgn", "gn", "bcdefhijklmopqrgn") | three("a-2", "gn", "gn", "nbc")
    found = {row[2:4]: row[4:] for row in PLOT["rank-slopes"].drawn(model_of({"mine": lists})).rows}
    assert found[G, "ori"] == (pytest.approx(2), 2, 0)
    assert found[G, "ins"] == (pytest.approx(1), 2, 0)
    assert found[G, "rev"] == (pytest.approx(8), 2, 1)
    assert found[N, "ins"] == (pytest.approx(2), 2, 0)


def test_a_query_that_a_run_lacks_in_a_mode_has_no_rank_and_is_counted_as_missing():
    whole = three("a-1", "bgn", "gbn", "nbg") | three("a-2", "bgn", "gbn", "nbg")
    part = {query_id: docs for query_id, docs in whole.items() if query_id != "a-2-ins"}
    model = model_of({"whole": whole, "part": part})
    found = {(row[0], *row[2:4]): row[4:] for row in PLOT["rank-slopes"].drawn(model).rows}
    assert found["part", G, "ins"] == (pytest.approx(1), 2, 1)
    assert [row[:4] for row in PLOT["query-slopes"].drawn(model).rows if row[0] == "part"] == [
        ("part", "all", kind, "a-1") for kind in (G, N)
    ]


def test_slopes_query_by_query_are_the_ranks():
    model = model_of({"mine": three("a-1", "bcgn", "gbcn", "nbcg")})
    assert [row[2:] for row in PLOT["query-slopes"].drawn(model).rows] == [
        (G, "a-1", *map(pytest.approx, (3, 1, 4))),
        (N, "a-1", *map(pytest.approx, (4, 4, 1))),
    ]


def test_labels_in_a_column_keep_their_order_and_distance():
    assert spread([10, 60, 30], 100, 13) == [10, 60, 30]
    assert spread([50, 50, 50], 100, 10) == [40, 50, 60]
    assert spread([0, 0, 90], 100, 10) == [0, 10, 90]
    assert spread([5.0] * 5, 20, 10) == [0, 5, 10, 15, 20]  # more than fit: the distance shrinks
    assert spread([], 20) == []


def test_labels_beside_points_do_not_cover_each_other():
    points = [(100, 100), (104, 102), (300, 20), (300, 20)]
    labels = beside_points(points, ["first system", "second system", "third", "fourth"], (400, 200))
    boxes = []
    for (x, y), label, name in zip(points, labels, ["first system", "second system", "third", "fourth"], strict=True):
        width = 6.2 * len(name)
        left = x + label.dx - {"left": 0, "right": width, "center": width / 2}[label.align]
        boxes.append((left, y + label.dy - 6, left + width, y + label.dy + 6))
    for number, one in enumerate(boxes):
        for other in boxes[:number]:
            assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
