"""The plots of a report: the numbers in them are evaluate's, and each is there where its data are."""

import hashlib
import itertools
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
import vl_convert
from scipy import stats

from toolkit.core.errors import ToolkitError
from toolkit.core.modes import Modes
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.evaluation import evaluate
from toolkit.evaluation.analyses.coverage import coverage
from toolkit.evaluation.analyses.paraphrase import paraphrase
from toolkit.evaluation.analyses.stance import stance
from toolkit.evaluation.scores.judgments import Judgments, Part, from_benchmark
from toolkit.evaluation.scores.stance import by_stance
from toolkit.metrics.families.paired import VARIANTS, wise_of_ranks
from toolkit.reporting.figures import PLOTS, intervals
from toolkit.reporting.figures.drawing import caption, to_spec
from toolkit.reporting.figures.kinds import surface
from toolkit.reporting.figures.kinds.group_values import stages
from toolkit.reporting.figures.kinds.size import family
from toolkit.reporting.figures.theme import MOST, ticks
from toolkit.reporting.report.collect import collect
from toolkit.reporting.report.model import Key, QueryValues, RunFacts
from toolkit.reporting.report.run_facts import Cost

PLOT = {plot.name: plot for plot in PLOTS}
HOSTILE = ("_$\\frac{1$<b>&\"'", "x" * 60 + "1" + "x" * 60)
BENCHMARKS = {
    "infosearch-mini-audience": {"intervals", "wise-surface", "wise-reward", "histograms"},
    "mfollowir-mini": {"intervals", "heatmap", "histograms"},
    "instructir-mini": {"intervals", "paraphrases"},
    "instructir-mini-paraphrases": {"intervals"},
    "berds-mini": {"mrecall", "coverage", "stance"},
}


def run_of(name: str, tag: str) -> Run:
    """All judged documents of each query in an order that the tag decides, the relevant ones a little higher."""
    rows = {}
    for part in from_benchmark(name).parts:
        judged = list(part.qrels)
        docs = sorted({row.doc_id for row in judged})
        for row in judged:
            scores = rows.setdefault(row.query_id, {})
            for doc_id in () if scores else docs:
                scores[doc_id] = _chance(tag, row.query_id, doc_id)
            scores[row.doc_id] += 0.3 * (row.relevance > 0)
    return Run.from_dict(rows, tag=tag)


def _chance(*words: str) -> float:
    return int(hashlib.sha256("/".join(words).encode()).hexdigest()[:8], 16) / 16**8


@pytest.fixture(scope="module")
def model():
    """Name -> two runs of it; both forms of instructir-mini are in one report."""
    forms = ["instructir-mini", "instructir-mini-paraphrases"]
    alone = [[name] for name in BENCHMARKS if name not in forms]
    made = [collect([run_of(name, tag) for name in names for tag in HOSTILE], names) for names in [*alone, forms]]
    return {each.name: each for its in made for each in its}


def svg_of(plot, model):
    """A figure as its file has it."""
    return ElementTree.fromstring(vl_convert.vegalite_to_svg(to_spec(PLOT[plot], model)))


def texts_of(plot, model):
    """What is written in it."""
    root = svg_of(plot, model)
    assert not list(root.iter("{http://www.w3.org/2000/svg}image"))  # pages allow none
    return ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]


def evaluated(model, **options):
    """(measure, mode, run, group) -> value."""
    return {(row.measure, row.mode, row.run, row.group): row.value for row in evaluated_rows(model, **options)}


def evaluated_rows(model, **options):
    return evaluate([facts.run for facts in model.runs], benchmark=model.name, **options).rows


@pytest.mark.parametrize("name", BENCHMARKS)
def test_plots_apply_where_their_data_are(model, name):
    found = {plot.name for plot in PLOTS if plot.applies(model[name]) and plot.place != "argument"}
    assert found == BENCHMARKS[name]


@pytest.mark.parametrize(("name", "plot"), [(name, plot) for name, plots in BENCHMARKS.items() for plot in sorted(plots)])
def test_figures_have_titles_with_units_and_names_as_text_and_their_own_title_nowhere(model, name, plot):
    texts = texts_of(plot, model[name])
    if plot == "histograms":
        assert f"{HOSTILE[0]}, {next(iter(model[name].judgments.modes))}" in texts
    elif plot != "wise-reward":  # it is of variants
        assert HOSTILE[0] in texts
        assert any(text.startswith("xxx") and "\u2026" in text for text in texts)
    units = ("(fraction)", "(documents)", "(rank)")
    assert any(text.endswith(units) for text in texts) or plot == "histograms"
    assert PLOT[plot].title not in " ".join(texts)
    assert not any(text in ("-0.00", "\u22120.00") for text in texts)
    assert to_spec(PLOT[plot], model[name])["description"].startswith(f"{PLOT[plot].title}. ")


def test_radar_and_heatmap_show_the_values_of_evaluate(model):
    expected = evaluated(model["mfollowir-mini"])
    radar = {row[:3]: row[3] for row in PLOT["radar"].drawn(model["mfollowir-mini"]).rows}
    assert radar == {
        (measure, run, group): value
        for (measure, _, run, group), value in expected.items()
        if measure == "pMRR" and group != "average"
    }
    heatmap = {row[:4]: row[4] for row in PLOT["heatmap"].drawn(model["mfollowir-mini"]).rows}
    assert heatmap == expected


def test_bars_show_the_values_of_evaluate_within_their_intervals(model):
    for name in ("infosearch-mini-audience", "mfollowir-mini", "instructir-mini"):
        expected = evaluated(model[name])
        rows = PLOT["intervals"].drawn(model[name]).rows
        assert {row[:3]: row[3] for row in rows} == {
            key[:3]: value
            for key, value in expected.items()
            if key[0] in ("pMRR", "SICR", "WISE@20", "Robustness@10") and key[3] == model[name].overall
        }
        assert all(low <= value <= high for *_, value, low, high in rows)
        assert all(low < high for measure, *_, low, high in rows if measure == "pMRR")


def facts_of(values: dict[str, float], group="all", **fields) -> RunFacts:
    found = QueryValues(tuple(values), np.array(list(values.values())))
    run = Run.from_dict({"a-og": {"d": 1.0}}, tag="mine")
    return RunFacts("mine", run, None, "mine", "other", Cost(), (), (), values={Key(group, "pMRR", "paired"): found}, **fields)


def test_intervals_draw_whole_core_queries():
    cores = {"a1": "a", "a2": "a", "a3": "a", "b1": "b"}
    facts = facts_of({"a1": 0.5, "a2": 0.5, "a3": 0.5, "b1": 0.1})
    judgments = Judgments(
        "x", Modes({"og": "base", "changed": "instructed"}), (Part("all", Qrels.from_rows([Qrel("a1-og", "d", 1)]), cores),), ()
    )
    # two core queries, of which one is three queries: so little is known that the interval is the range of p-MRR
    assert intervals.interval(facts, judgments, list(facts.values)) == (-1.0, 1.0)


def test_intervals_of_an_average_are_over_all_groups():
    parts = tuple(Part(name, Qrels.from_rows([Qrel("a-og", "d", 1)])) for name in ("one", "two"))
    one, two = facts_of({"a": 0.2, "b": 0.3, "c": 0.1}, "one"), facts_of({"a": 0.6, "b": 0.6, "c": 0.6}, "two")
    both = replace(one, values={**one.values, **two.values})
    margin = stats.t.ppf(0.975, 2) * 0.1 / np.sqrt(3) / 2  # of the first alone, halved by the average
    assert intervals.interval(both, Judgments("x", Modes(), parts, ()), list(both.values)) == pytest.approx(
        (0.4 - margin, 0.4 + margin)
    )


def test_groups_that_a_run_lacks_are_left_out_where_absent_queries_are():
    whole = run_of("mfollowir-mini", "whole")
    part = replace(run_of("mfollowir-mini", "part").select(q for q in whole.query_ids if q.startswith("fas")), tag="part")
    (own,) = collect([whole, part], ["mfollowir-mini"], missing="skip")
    expected = {(row.run, row.measure): row.value for row in evaluated_rows(own, missing="skip") if row.group == "average"}
    found = {row[2]: row[3:] for row in PLOT["intervals"].drawn(own).rows}
    assert {name: value for name, (value, *_) in found.items()} == {name: expected[name, "pMRR"] for name in ("whole", "part")}
    assert all(low <= value <= high for value, low, high in found.values())
    assert {row[1] for row in PLOT["radar"].drawn(own).rows if row[2] != "fas"} == {"whole"}
    for plot in BENCHMARKS["mfollowir-mini"]:
        assert "whole" in " ".join(texts_of(plot, own))


def test_one_mode_alone_has_neither_pairs_nor_surfaces():
    (own,) = collect([run_of("infosearch-mini-audience-rev", "mine")], ["infosearch-mini-audience-rev"])
    assert {plot.name for plot in PLOTS if plot.applies(own)} == {"intervals"}


@pytest.mark.parametrize("variant", VARIANTS)
def test_documents_of_the_surface_have_the_wise_of_evaluate(model, variant):
    measure = f"WISE(variant='{variant}')@20"
    expected = {key[2]: value for key, value in evaluated(model["infosearch-mini-audience"], measures=[measure]).items()}
    found = PLOT["wise-surface"].drawn(model["infosearch-mini-audience"])
    values: dict = {}
    for row in found.rows:
        values.setdefault(row[0], {}).setdefault(row[1], []).append(row[found.columns.index(variant)])
    means = {run: np.mean([np.mean(its) for its in queries.values()]) for run, queries in values.items()}
    assert means == pytest.approx(expected)


def test_every_gold_document_of_a_panel_has_the_value_of_its_place():
    ranks = range(1, 26)
    panels = {surface.CLIMBED: [], surface.ROSE: [], None: []}
    for three in itertools.product(ranks, repeat=3):
        panels[surface.side_of(*three)].append(three)
    for variant in VARIANTS:
        r_ori, r_ins, r_rev = np.array(panels[surface.CLIMBED]).T
        n = np.full_like(r_ori, 3)
        assert np.array_equal(
            wise_of_ranks(r_ori, r_ins, r_rev, n, 20, variant), wise_of_ranks(r_ori, r_ins, r_ori + 1, n, 20, variant)
        )
        r_ori, r_ins, r_rev = np.array(panels[surface.ROSE]).T
        n = np.full_like(r_ori, 3)
        assert np.array_equal(
            wise_of_ranks(r_ori, r_ins, r_rev, n, 20, variant), wise_of_ranks(r_ori, np.ones_like(r_ori), r_rev, n, 20, variant)
        )


@pytest.mark.parametrize("deepest", [40, 41, 100, 1001])
def test_cells_of_ranks_cover_every_rank_once(deepest):
    sides = surface.edges(deepest)
    assert (sides[0], sides[-1]) == (0.5, deepest + 0.5)
    assert list(surface.centres(deepest)[:20]) == list(range(1, 21))
    assert np.all((sides[:-1] < surface.centres(deepest)) & (surface.centres(deepest) < sides[1:]))


def test_rewards_are_those_of_the_definition(model):
    found = {row[:3]: row[3] for row in PLOT["wise-reward"].drawn(model["infosearch-mini-audience"]).rows}
    assert surface.usual_n(PLOT["wise-surface"].drawn(model["infosearch-mini-audience"]).rows) == 2
    # METRICS: (2, 1, 3, N = 2) is 1 / 0.95 / 0.95 and (5, 1, 9, 2) is 0.90 / 0.80 / 0.90
    assert [found[variant, "rises to rank 1", 2] for variant in VARIANTS] == pytest.approx([1, 0.95, 0.95])
    assert [found[variant, "rises to rank 1", 5] for variant in VARIANTS] == pytest.approx([0.9, 0.8, 0.9])
    assert [found[variant, "stays", 21] for variant in VARIANTS] == [0.01] * 3


def test_bins_count_gold_documents_negatives_and_others():
    qrels = [Qrel(f"q-1-{mode}", doc, 1) for mode, docs in (("ori", "gn"), ("ins", "g"), ("rev", "n")) for doc in docs]
    scores = {"ori": {"g": 3.0, "n": 3.0, "x": 0.0}, "ins": {"g": 3.0, "n": 0.0}, "rev": {"n": 3.0, "x": 0.0, "y": 0.0}}
    run = Run.from_dict({f"q-1-{mode}": its for mode, its in scores.items()}, tag="mine")
    (made,) = collect([run], qrels=Qrels.from_rows(qrels))
    found = PLOT["histograms"].drawn(made)
    assert found.columns == ("run", "mode", "kind", "from score", "to score", "documents", "share")
    full = [(mode, kind, low, high, count, share) for _, mode, kind, low, high, count, share in found.rows if count]
    first, last = (0.0, pytest.approx(0.1)), (pytest.approx(2.9), 3.0)
    assert full == [
        ("ori", "gold", *last, 1, 1.0),
        ("ori", "negatives", *last, 1, 1.0),
        ("ori", "others", *first, 1, 1.0),
        ("ins", "gold", *last, 1, 1.0),
        ("ins", "negatives", *first, 1, 1.0),
        ("rev", "negatives", *last, 1, 1.0),
        ("rev", "others", *first, 2, 1.0),
    ]


def test_curves_are_mrecall_and_coverage(model):
    own = model["berds-mini"]
    measures = [f"MRecall@{k}" for k in (1, 2, 3, 5, 10, 40, 100)]
    expected = evaluated(own, measures=measures)
    found = {row[:2]: row[2] for row in PLOT["mrecall"].drawn(own).rows}
    assert len(found) == 200
    assert {(run, int(measure[8:])): value for (measure, _, run, _), value in expected.items()} == pytest.approx(
        {key: value for key, value in found.items() if f"MRecall@{key[1]}" in measures}
    )
    covered = {row[:2]: row[2] for row in PLOT["coverage"].drawn(own).rows}
    for depth in (1, 4, 20, 100):
        rows = coverage([facts.run for facts in own.runs], own.judgments, depth=depth).rows
        wanted = {row.run: row.value for row in rows if row.measure.startswith("Covered") and row.run != "union"}
        assert {facts.name: covered[facts.name, depth] for facts in own.runs} == pytest.approx(wanted)


def test_sides_have_the_values_of_their_analysis(tmp_path):
    questions, sides = run_of("berds-mini", "mine"), run_of("berds-mini", "other")
    lists = {f"{query_id}.{n}": docs for n in "12" for query_id, docs in (questions, sides)[n == "2"].to_dict().items()}
    given = Run.from_dict(lists, tag="mine")
    for stances in ({}, dict.fromkeys(questions.query_ids[::2], "2")):
        path = tmp_path / "stances.tsv"
        path.write_text("".join(f"{query_id}\t{n}\n" for query_id, n in stances.items()))
        (own,) = collect([questions], ["berds-mini"], perspectives=[given], stances=path if stances else None)
        forms = {"question": questions, **by_stance(given, own.judgments, stances or None)}
        rows = stance(forms, own.judgments, stances or None).rows
        values = {(row.mode, row.measure.removesuffix("@5")): pytest.approx(row.value) for row in rows}
        expected = {key: value for key, value in values.items() if key[0] in forms}
        found = {row[1:3]: row[3] for row in PLOT["stance"].drawn(own).rows}
        found |= {(form, "Lean"): lean for _, form, lean in PLOT["lean"].drawn(own).rows}
        assert len(found) == 15
        assert found == {key: expected[key] for key in found}
        assert PLOT["lean"].applies(own)
        assert {"opposing", "lean (p \u2212 n) / p (fraction)"} <= set(texts_of("lean", own))


def test_runs_of_perspectives_stand_beside_one_run_of_their_system():
    given = Run.from_dict({"mini-007.1": {"d": 1.0}, "mini-007.2": {"d": 1.0}}, tag="strange")
    with pytest.raises(ToolkitError, match="0 of the runs of questions are of its system, strange"):
        collect([run_of("berds-mini", "mine")], ["berds-mini"], perspectives=[given])
    names = ["instructir-mini", "berds-mini"]
    with pytest.raises(ToolkitError, match="of one benchmark"):
        collect([run_of(name, "mine") for name in names], names, perspectives=[given])


def test_quality_stands_against_the_cost_that_is_known(model):
    own = model["mfollowir-mini"]
    first, second = own.runs
    known = replace(own, runs=(replace(first, cost=Cost(parameters=3e8)), replace(second, cost=Cost(parameters=7e9))))
    expected = evaluated(own)
    assert PLOT["size"].applies(known)
    assert PLOT["size"].drawn(known).columns[3] == "parameters"
    found = {(*row[:3], "average"): row[4] for row in PLOT["size"].drawn(known).rows}
    assert found == {key: value for key, value in expected.items() if key[3] == "average"}
    assert [row[3] for row in PLOT["size"].drawn(known).rows] == [3e8, 7e9] * (len(found) // 2)
    assert not PLOT["size"].applies(replace(known, x="seconds"))
    texts = texts_of("size", known)
    assert {"300M", "1B", "3B"} <= set(texts)  # of a logarithmic axis
    assert texts.count(HOSTILE[0]) == len(found) // 2  # beside its point, in each panel


def test_sizes_of_one_model_are_joined_by_a_line():
    assert {family(f"e5-{size}-v2") for size in ("small", "base", "large")} == {"e5-v2"}
    assert family("qwen2.5-7b-instruct") == family("qwen2.5-0.5b-instruct") == "qwen2.5-instruct"
    assert family("bm25+rules") == "bm25+rules"
    assert family("all-minilm-l6-v2") == "all-minilm-l6-v2"


def test_a_figure_shows_the_numbers_behind_it_with_five_digits(model):
    own = model["infosearch-mini-audience"]
    spec = to_spec(PLOT["intervals"], own)
    shown = [row for rows in spec["datasets"].values() for row in rows if "value" in row]
    wanted = [(*row[:2], *row[3:]) for row in PLOT["intervals"].drawn(own).rows]
    found = [(row["measure"], row["mode"], row["value"], row["low"], row["high"]) for row in shown]
    assert sorted(found) == [(*row[:2], *(pytest.approx(number, rel=1e-4) for number in row[2:])) for row in sorted(wanted)]
    assert all(row[name] == float(f"{row[name]:.5g}") for row in shown for name in ("value", "low", "high"))


def test_panels_of_a_figure_have_one_scale(model):
    own = model["infosearch-mini-audience"]
    domains = [
        [layer["encoding"]["x"]["scale"]["domain"] for layer in panel["layer"] if "scale" in layer["encoding"].get("x", {})]
        for panel in to_spec(PLOT["intervals"], own)["concat"]
    ]
    assert len(domains) > 3
    assert len({tuple(domain) for panel in domains for domain in panel}) == 1
    of_run: dict = {}
    for panel in to_spec(PLOT["histograms"], own)["concat"]:
        name = panel["title"].rpartition(", ")[0]
        of_run.setdefault(name, set()).add(str([panel["encoding"][axis]["scale"]["domain"] for axis in "xy"]))
    assert len(of_run) == 2
    assert all(len(domains) == 1 for domains in of_run.values())


def test_an_interval_of_no_success_is_no_point():
    (own,) = collect([run_of("infosearch-mini-audience", "mine")], ["infosearch-mini-audience"])
    key = next(key for key in own.runs[0].values if key.measure == "SICR")
    flat = replace(own.runs[0].values[key], values=np.zeros_like(own.runs[0].values[key].values))
    still = replace(own, runs=(replace(own.runs[0], values={**own.runs[0].values, key: flat}),))
    low, high = next(row[4:] for row in PLOT["intervals"].drawn(still).rows if row[0] == "SICR")
    assert (low, high) == (0.0, pytest.approx(0.2876, abs=1e-4))  # Wilson's of 0 of 12 core queries


@pytest.mark.parametrize(("plot", "name"), [("mrecall", "berds-mini"), ("wise-surface", "infosearch-mini-audience")])
def test_logarithmic_axes_name_more_than_one_rank(model, plot, name):
    assert {"1", "2", "5", "10", "20"} <= set(texts_of(plot, model[name]))


def test_curves_over_depth_are_steps(model):
    lines = to_spec(PLOT["mrecall"], model["berds-mini"])["layer"][0]
    assert lines["mark"]["interpolate"] == "step-after"
    assert lines["encoding"]["x"]["scale"]["type"] == "log"


def test_a_radar_is_asked_for_and_has_five_groups_or_more(model):
    (own,) = collect([run_of("infosearch-mini", tag) for tag in HOSTILE], ["infosearch-mini"], radar=True)
    assert PLOT["radar"].applies(own)
    assert not PLOT["radar"].applies(replace(own, radar=False))
    assert not PLOT["radar"].applies(replace(model["mfollowir-mini"], radar=True))  # three languages
    assert {"audience", "source", "SICR (fraction)", HOSTILE[0]} <= set(texts_of("radar", own))


def test_a_radar_has_retrieval_and_reranking_apart(model):
    (own,) = collect([run_of("infosearch-mini", tag) for tag in HOSTILE], ["infosearch-mini"], radar=True)
    first, *others = own.runs
    apart = replace(
        own, runs=(replace(first, heading="sparse"), *(replace(run, heading="listwise reranker") for run in others))
    )
    assert stages(own) == {"": {run.name for run in own.runs}}
    assert stages(apart) == {"retrieval": {first.name}, "reranking": {run.name for run in others}}
    circles = to_spec(PLOT["radar"], apart)["concat"]
    titles = [circle["title"] for circle in circles]
    assert titles[:2] == [f"{titles[0].partition(', ')[0]}, {stage}" for stage in ("retrieval", "reranking")]
    assert len(circles) == 2 * len(to_spec(PLOT["radar"], own)["concat"])
    domains = [circle["layer"][0]["encoding"]["x"]["scale"]["domain"] for circle in circles]
    assert domains[0] == domains[1]  # the same rings


def test_ticks_of_a_radar_are_round_and_hold_all_values():
    assert ticks([0.12, 0.58]) == pytest.approx([0, 0.2, 0.4, 0.6])
    assert ticks([-0.55, 0.1]) == pytest.approx([-0.6, -0.4, -0.2, 0, 0.2])
    assert ticks([0.0]) == pytest.approx([0, 0.2])


def test_of_many_runs_the_best_are_drawn_and_the_caption_says_so(model):
    own = model["berds-mini"]
    many = replace(own, runs=tuple(replace(own.runs[0], name=f"run {number}") for number in range(30)))
    texts = texts_of("mrecall", many)
    assert len([text for text in texts if text.startswith("run ")]) == MOST
    assert caption(PLOT["mrecall"], many).endswith("Drawn are the 12 best of 30 runs, or on a page those that are chosen.")
    assert caption(PLOT["mrecall"], own) == PLOT["mrecall"].caption
    assert len([text for text in texts_of("stance", many) if text.startswith("run ")]) == 30  # a row each


def test_cells_of_a_surface_have_the_values_of_their_places():
    deepest = 60
    x, y = np.meshgrid(*[surface.centres(deepest)] * 2)
    values = wise_of_ranks(x, y, x + 1, 2, 20, "paper")
    cells = list(surface._cells(values, deepest))
    for row, column in np.ndindex(values.shape):
        (own,) = [
            cell for cell in cells if cell["_x"] < x[row, column] < cell["_x2"] and cell["_y"] < y[row, column] < cell["_y2"]
        ]
        assert own["_value"] == pytest.approx(round(values[row, column] * 10) / 10)
    assert len(cells) < values.size / 3


def test_paraphrases_have_the_values_of_their_analysis(model):
    own, others = model["instructir-mini"], model["instructir-mini-paraphrases"]
    found = {row[:2]: (row[2], row[5]) for row in PLOT["paraphrases"].drawn(own).rows}
    assert {name for name, _ in found} == set(HOSTILE)
    for first, second in zip(own.runs, others.runs, strict=True):
        rows = paraphrase(first.run, second.run, own.judgments, others.judgments).rows
        values = {row.mode: (pytest.approx(row.value), row.queries) for row in rows}
        assert found[first.name, "original"] == values["original"]
        assert found[first.name, "worst paraphrase"] == values["worst"]


def test_runs_of_paraphrases_are_found_by_system_where_names_differ(model):
    own, others = model["instructir-mini"], model["instructir-mini-paraphrases"]
    alone = replace(own, runs=own.runs[:1])
    other = replace(others.runs[1], name="reworded", called=own.runs[0].called)
    assert PLOT["paraphrases"].applies(replace(alone, beside=(replace(others, runs=(other,)),)))
    strange = replace(other, called="another")
    assert not PLOT["paraphrases"].applies(replace(alone, beside=(replace(others, runs=(strange,)),)))
