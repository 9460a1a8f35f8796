"""The figures that carry a report's argument: their numbers by hand and as evaluate has them, and that each can be drawn."""

import hashlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.evaluation.comparison.comparison import compare
from toolkit.evaluation.scores.judgments import from_benchmark
from toolkit.reporting.figures import PLOTS
from toolkit.reporting.figures.drawing import to_spec
from toolkit.reporting.figures.kinds.placement import beside_points, spread
from toolkit.reporting.figures.kinds.tradeoff import _ends, front
from toolkit.reporting.report.collect import collect
from toolkit.reporting.report.model import Key
from toolkit.reporting.tables.rank_table import ranked

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


def run_of(name: str, tag: str) -> Run:
    """All judged documents of each query, in an order that the tag decides."""
    rows: dict[str, dict[str, float]] = {}
    for part in from_benchmark(name).parts:
        for row in part.qrels:
            digest = hashlib.sha256(f"{tag}/{row.query_id}/{row.doc_id}".encode()).hexdigest()
            rows.setdefault(row.query_id, {})[row.doc_id] = int(digest[:8], 16) / 16**8
    return Run.from_dict(rows, tag=tag)


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
        width = 6.5 * len(name)
        left = x + label.dx - {"left": 0, "right": width, "center": width / 2}[label.align]
        boxes.append((left, y + label.dy - 6, left + width, y + label.dy + 6))
    for number, one in enumerate(boxes):
        for other in boxes[:number]:
            assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


def test_points_of_the_tradeoff_are_what_evaluate_says_and_the_front_is_what_nobody_beats():
    assert front([("a", 0, 3), ("b", 1, 2), ("c", 1, 1), ("d", 2, 0), ("e", 0, 3)]) == ["a", "e", "b", "d"]
    model = model_of({"follows": FOLLOWS, "ignores": three("a-1", "gnx", "gnx", "gnx")})
    rows = {row[0]: row for row in PLOT["tradeoff"].drawn(model).rows}
    for facts in model.runs:
        assert rows[facts.name][1] == facts.value("WISE@20", "paired", "all")
        assert rows[facts.name][2] == facts.value("nDCG@10", "ins", "all")
        assert rows[facts.name][3] == facts.value("nDCG@10", "ori", "all")
    assert rows["ignores"][4] == rows["ignores"][1]  # it is blind
    assert rows["follows"][5] < rows["follows"][6]  # the bounds of random orders


def test_differences_are_those_of_the_comparison():
    lists = {f"a-{n}": (FOLLOWS, three("a-1", "gnx", "gnx", "gnx"))[n % 2] for n in range(1, 25)}
    good = {key.replace("a-1", query): docs for query in lists for key, docs in FOLLOWS.items()}
    mixed = {key.replace("a-1", query): docs for query, own in lists.items() for key, docs in own.items()}
    model = model_of({"good": good, "mixed": mixed})
    found = {row[:4]: row[5:9] for row in PLOT["differences"].drawn(model).rows}
    changes = {
        (each.measure, each.mode): (each.difference, each.low, each.high, each.p)
        for each in compare(*(facts.run for facts in model.runs), model.judgments, ["nDCG@10", "WISE@20"]).changes
    }
    for column in (("nDCG@10", "ins"), ("WISE@20", "paired")):
        assert found[(*column, "good", "mixed")] == pytest.approx(changes[column], nan_ok=True)
        assert found[(*column, "mixed", "good")][0] == -found[(*column, "good", "mixed")][0]


def test_bars_are_means_of_core_queries_and_open_the_query_that_differs_most():
    # benchmark of ours: two instructions of one core query are one bar
    model = report_of("infosearch-mini-audience", "one", "other")
    rows = PLOT["win-tie-loss"].drawn(model).rows
    cores = model.judgments.parts[0].cores
    assert len(rows) == len(set(cores.values()))
    other = next(facts for facts in model.runs if facts.name == rows[0][0])
    values = other.values[Key("all", "WISE@20", "paired")]
    for _, _, core, value, *_ in rows:
        own = [each for query_id, each in zip(values.query_ids, values.values, strict=True) if cores[query_id] == core]
        assert value == pytest.approx(sum(own) / len(own))
    differences = [row[5] for row in rows]
    assert differences == sorted(differences, reverse=True)
    spec = to_spec(PLOT["win-tie-loss"], model)
    bars = spec["datasets"][spec["data"]["name"]]
    assert {row["query"] for row in bars} <= set(cores)
    for row in bars:
        by_query = {
            query_id: [
                facts.values[Key("all", "WISE@20", "paired")].values[values.query_ids.index(query_id)] for facts in model.runs
            ]
            for query_id in cores
            if cores[query_id] == cores[row["query"]]
        }
        assert max(by_query, key=lambda query_id: abs(by_query[query_id][0] - by_query[query_id][1])) == row["query"]


def test_ranks_are_those_of_the_table():
    model = report_of("infosearch-mini-audience", "one", "other", "third")
    rows = PLOT["system-ranks"].drawn(model).rows
    known = {(key.measure, key.mode, each.name): each for key, systems in ranked(model).items() for each in systems.systems}
    assert {row[:2] for row in rows} == {("nDCG@10", "ins"), ("WISE@20", "paired"), ("pMRR", "paired"), ("SICR", "paired")}
    for measure, mode, name, place, low, high, score in rows:
        each = known[measure, mode, name]
        assert (low, high, score) == (each.first, each.last, each.score)
        assert low <= place <= high


def report_of(name: str, *tags: str):
    (model,) = collect([run_of(name, tag) for tag in tags], [name])
    return model


def recorded(facts, **method):
    step = {"name": "mine", "method": "dense", "hits": 10, "queries cut": 3 * len(method)}
    return replace(facts, records=({"method": {"retrieval": [step | method.pop("step", {})], **method}},))


def test_a_run_is_read_against_the_placebo_run_that_was_made_as_it_was():
    model = report_of("infosearch-mini-audience", "full", "placebo", "deeper")
    full, placebo, deeper = sorted(model.runs, key=lambda facts: ["full", "placebo", "deeper"].index(facts.run.tag))
    runs = (recorded(full), recorded(placebo, instruction="placebo"), recorded(deeper, step={"hits": 20}))
    found = {row[:3]: row[4:] for row in PLOT["controls"].drawn(replace(model, runs=runs)).rows}
    assert {name for *_, name in found} == {"full", "deeper"}  # a placebo run is no row of its own
    for measure, mode in (("nDCG@10", "ins"), ("nDCG@10", "rev"), ("WISE@20", "paired")):
        value, kind, other, low, high = found[measure, mode, "full"]
        assert (value, kind, other) == (full.value(measure, mode, "all"), "placebo", placebo.value(measure, mode, "all"))
        assert low <= other <= high
        blind = next(row.value for row in deeper.references["blind"] if (row.measure, row.mode) == (measure, mode))
        assert found[measure, mode, "deeper"][1:] == ("blind", blind, "", "")


# berds-mini and instructir-mini have no modes between which a document could be followed
EVERYWHERE = {"differences", "win-tie-loss", "system-ranks"}
FOLLOWED = {*EVERYWHERE, "controls", "tradeoff", "rank-slopes", "query-slopes"}
BENCHMARKS = {
    "infosearch-mini-audience": FOLLOWED,
    "mfollowir-mini": FOLLOWED,
    "instructir-mini": EVERYWHERE,
    "berds-mini": EVERYWHERE,
}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_each_figure_applies_where_it_says_something_and_can_be_drawn(name):
    vl_convert = pytest.importorskip("vl_convert")
    model = report_of(name, "one", "other")
    assert {plot.name for plot in PLOTS if plot.place == "argument" and plot.applies(model)} == BENCHMARKS[name]
    for plot in BENCHMARKS[name]:
        svg = vl_convert.vegalite_to_svg(to_spec(PLOT[plot], model))
        assert "other" in svg
        for wrong in ("NaN", "undefined", "-0.0", "\u22120.0<"):
            assert wrong not in svg


def test_one_run_has_no_differences():
    model = report_of("infosearch-mini-audience", "one")
    shown = {plot.name for plot in PLOTS if plot.place == "argument" and plot.applies(model)}
    assert shown == {"tradeoff", "rank-slopes", "query-slopes", "controls"}


@given(value=st.floats(-1, 1), apart=st.floats(0, 1e-3))
def test_an_axis_has_a_length_however_near_its_values_are(value, apart):
    low, high = _ends([value, value + apart])
    assert low < value <= value + apart < high
