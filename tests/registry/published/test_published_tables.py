"""The papers' tables: complete, each number with its scale, each system an entry's or unmapped for a reason."""

import csv
from collections import Counter
from pathlib import Path

import ir_measures
import pytest

from toolkit import metrics, registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.evaluation.scores.core_queries import BY_CORE
from toolkit.models.systems.system_facts import overview
from toolkit.registry import published
from toolkit.registry.published.paper_tables import (
    PUBLISHED,
    SCALES,
    Place,
    is_of,
    kind_of,
    papers,
    picks,
    reading,
    row_of,
    rows_named,
    sources,
)

SHARED = Path(__file__).resolve().parents[4] / "shared" / "published"
PAPERS = ("infosearch", "mfollowir", "instructir", "berds")
# nobody knows which of the two the paper ran; the judge of BERDS comes whole and as an adapter
ONE_ROW = [{"repllama-v1-7b", "repllama-reproduced"}, {"berds-mistral-evaluator", "berds-mistral-evaluator-lora"}]
# the paper uses them and prints no row of theirs
USED_ONLY = {"uae-large-v1", "gpt-4-0613-expander"}


def printed_in(paper):
    """Name -> how the paper prints it, of the entries that it reports."""
    return {name: spec.printed[paper] for name, spec in registry.systems().items() if paper in spec.printed}


def cell(paper, **where):
    [found] = [each for each in published.cells(paper) if picks(where, each._asdict())]
    return found


def test_there_are_four_papers():
    assert set(papers()) == set(PAPERS)
    assert published.cells("nevir") == ()


def test_public_results_are_no_papers_tables():
    assert set(sources()) == {*PAPERS, "followir"}
    cells = published.cells("followir")
    assert len(cells) == 600 + 6 * (600 - 27)  # p-MRR of all; nine models have it alone
    assert len({each.system for each in cells}) == 200
    [one] = [
        each
        for each in cells
        if picks({"system": "intfloat/e5-large-v2", "mode": "og", "measure": "nDCG@5"}, each._asdict())
        and each.group.startswith("News21")
    ]
    assert one.ours == Place(("news21",), "og", "nDCG@5")
    assert row_of("followir", registry.systems()["e5-large-v2"]) == {"name": "intfloat/e5-large-v2"}
    assert row_of("followir", registry.systems()["bm25"]) == row_of("followir", None) == {}


@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data beside the checkout")
def test_the_tables_are_those_that_were_handed_down():
    theirs = {path.name: path.read_bytes() for paper in (*PAPERS, "mteb") for path in SHARED.glob(f"{paper}-*.csv")}
    assert {path.name: path.read_bytes() for path in PUBLISHED.glob("*-*.csv")} == theirs


@pytest.mark.parametrize("paper", PAPERS)
def test_every_number_is_read_with_a_scale(paper):
    rows = [
        row
        for path in PUBLISHED.glob(f"{paper}-*.csv")
        for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    ]
    cells = published.cells(paper)
    assert Counter(each.printed for each in cells) == Counter(row["value"] for row in rows)
    assert {each.scale for each in cells} <= set(SCALES)
    # what is a share cannot be above one, but for how much of the ideal is lost
    shares = [each for each in cells if each.scale != "number" and each.measure != "WISE_per"]
    assert max(each.value for each in shares) <= 1


def test_a_value_is_brought_to_our_scale():
    assert cell("infosearch", table=1, system="GPT-4o", measure="WISE").value == 0.335  # printed 33.5, times 100
    assert cell("infosearch", table=1, system="GPT-4o", mode="ori", measure="gold_rank").value == 2.6  # a rank
    assert cell("mfollowir", table=3, system="GritLM-7B", group="fas", measure="nDCG@20").value == 0.409  # a fraction
    assert cell("mfollowir", table=3, system="GritLM-7B", group="fas", measure="pMRR").value == -0.035  # times 100
    assert cell("berds", table=5, system="CONT.", group="all/sphere", measure="MRecall@100").value == 0.831  # per cent
    # 7.2 / 100 is 0.07200000000000001 in floats
    assert cell("infosearch", table=1, system="Mistral-ins-v0.2", kind="listwise", measure="pMRR").value == 0.072


@pytest.mark.parametrize(
    ("paper", "where", "place"),
    [
        (
            "infosearch",
            {"table": 2, "system": "BM25", "group": "average", "measure": "WISE"},
            Place(("audience", "keyword", "format", "language", "length", "source"), "", "WISE(variant='release')@20"),
        ),
        (
            "infosearch",
            {"table": 22, "system": "BM25", "mode": "rev", "measure": "nDCG@10"},
            Place(("source",), "rev", "nDCG@10"),
        ),
        (
            "mfollowir",
            {"table": 3, "system": "mE5-base", "group": "fas", "measure": "nDCG@20"},
            Place(("cross-lingual/fas",), "og", "nDCG@20"),
        ),
        ("mfollowir", {"table": 4, "system": "mE5-base", "group": "fas", "measure": "pMRR"}, Place(("fas",), "", "pMRR")),
        ("instructir", {"table": 3, "system": "BM25", "measure": "Robustness@10"}, Place(("all",), "", "Robustness@10")),
        (
            "berds",
            {"table": 3, "system": "DPR", "group": "kialo/sphere", "measure": "P@5"},
            Place(("kialo/test",), "", "PerspectiveP@5"),
        ),
        ("instructir", {"table": 4, "system": "BM25", "measure": "gap:nDCG@10"}, None),
        ("berds", {"table": 4, "system": "DPR", "group": "average/sphere", "mode": "re-ranking", "measure": "P@5"}, None),
        ("infosearch", {"table": 9, "group": "audience", "mode": "ori", "measure": "n_queries"}, None),
    ],
)
def test_a_cell_says_which_of_our_scores_it_is_compared_with(paper, where, place):
    assert cell(paper, **where).ours == place


@pytest.mark.parametrize("paper", PAPERS)
def test_what_a_cell_is_compared_with_is_there(paper):
    spec = registry.benchmark(paper)
    places = {each.ours for each in published.cells(paper) if each.ours}
    assert places
    for place in places:
        assert set(place.groups) <= {group["name"] for group in spec.groups}
        assert place.mode.removesuffix(BY_CORE) in ("", *spec.modes)
        if not place.measure.startswith("WISE_per"):  # evaluation adds it to WISE and its ideal
            assert str(metrics.parse(place.measure)) == place.measure
            assert ir_measures.parse_measure(place.measure)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_printed_system_is_an_entry_or_unmapped_with_a_reason(paper):
    rows = list(printed_in(paper).values())
    known = reading(paper).get("unmapped", {})
    assert all(len(why) > 10 for why in known.values())
    without = {each.system for each in published.cells(paper) if each.system and not any(is_of(each, row) for row in rows)}
    assert without == set(known)


@pytest.mark.parametrize("paper", PAPERS)
def test_an_entry_names_a_row_that_is_there_and_its_alone(paper):
    printed = printed_in(paper)
    found = {name: [each for each in published.cells(paper) if is_of(each, row)] for name, row in printed.items()}
    assert all(found.values())
    owners = {}
    for name, own in found.items():
        for each in own:
            owners.setdefault(each, set()).add(name)
    assert all(names in ONE_ROW for names in owners.values() if len(names) > 1)


@pytest.mark.parametrize("paper", PAPERS)
def test_the_systems_that_a_paper_reports_are_printed_in_it(paper):
    reported = {name for name, spec in registry.systems().items() if paper in spec.papers}
    assert reported - set(printed_in(paper)) <= USED_ONLY
    assert set(printed_in(paper)) <= reported


def test_one_name_in_three_kinds_is_three_systems():
    own = {name: row for name, row in printed_in("infosearch").items() if row["name"] == "Mistral-ins-v0.2"}
    assert {name: row["kind"] for name, row in own.items()} == {
        "mistral-7b-instruct-v0.2-mean": "bi-encoder",
        "mistral-7b-instruct-v0.2-pointwise": "pointwise",
        "mistral-7b-instruct-v0.2-listwise": "listwise",
    }
    named = rows_named("infosearch")
    assert named["Mistral-ins-v0.2"] is None
    assert named["Mistral-ins-v0.2 (listwise)"] == {"name": "Mistral-ins-v0.2", "kind": "listwise"}
    assert named["GPT-4o"] == {"name": "GPT-4o"}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_inconsistency_is_of_cells_that_are_there(paper):
    known = published.inconsistencies(paper)
    assert known
    for each in known:
        assert all(any(picks(where, its._asdict()) for its in published.cells(paper)) for where in each.cells), each.what


def test_a_doubtful_cell_says_so_and_another_does_not():
    for table in (2, 22):
        [flaw] = cell("infosearch", table=table, system="BM25", group="source", measure="WISE").inconsistent
        assert "1.97" in flaw
        assert "-9.4" in flaw
    assert cell("infosearch", table=2, system="GPT-4o", group="source", measure="WISE").inconsistent == ()
    assert cell("berds", table=17, system="DPR", group="arguana/sphere", measure="MRecall@10").inconsistent
    [statistic] = [each for each in published.statistics("berds") if each.place == "all n_queries_test"]
    assert "2,406" in statistic.inconsistent


@pytest.mark.parametrize("row", [{}, {"kind": "listwise"}, {"name": 7}, {"name": "A", "table": 1}])
def test_an_entry_that_does_not_say_which_row_is_its_own_is_refused(row):
    with pytest.raises(ToolkitError, match="system mine: how infosearch prints it is not understood"):
        SystemSpec("mine", "", "dense", printed={"infosearch": row})


def test_an_entry_is_shown_with_its_rows():
    lines = [" ".join(line.split()) for line in overview(registry.system("contriever-msmarco"))]
    assert "printed instructir: Contriever-msmarco; berds: CONTRIEVER, CONT." in lines
    assert "printed berds: Mistral-7B (judge, fine-tuned)" in [
        " ".join(line.split()) for line in overview(registry.system("berds-mistral-evaluator"))
    ]


@pytest.mark.parametrize("paper", PAPERS)
def test_a_heading_stands_for_kinds_that_there_are(paper):
    kinds = {spec.kind for spec in registry.systems().values()} | {"bm25-fields", "okapi"}
    headings = {each.kind for each in published.cells(paper) if each.ours} - {""}
    for kind in kinds:
        assert kind_of(paper, kind) in {"", *headings}
    assert {kind_of(paper, kind) for kind in kinds} >= headings
