"""What the papers' tables of statistics print, computed from what is on this machine."""

import os
from statistics import fmean

import pytest
from command import tandem
from followir_layout import CROSS_LINGUAL, QUERIES, write_mfollowir
from published_layout import write_infosearch

from toolkit import datasets, registry
from toolkit.core.documents import Doc
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.topics import Topic
from toolkit.datasets.benchmark import Benchmark
from toolkit.datasets.copies.verify import verify
from toolkit.datasets.group_data import Part
from toolkit.datasets.statistics import STATISTICS, Row, printed_statistics
from toolkit.registry.published import Printed, statistics

# of write_infosearch(("audience",)): two core queries of few words
AUDIENCE = (
    "audience ori n_queries: 100 expected, 2 found; audience ori avg_query_words: 9.02 expected, 4.00 found; "
    "audience ins avg_query_words: 20.46 expected, 9.00 found; audience rev avg_query_words: 15.91 expected, 7.00 found; "
    "audience n_docs: 840 expected, 16 found"
)


class Small(Benchmark):
    """Two instructed queries of one core query, three documents, and a question with two perspectives."""

    def __init__(self):
        super().__init__(registry.benchmark("infosearch-mini"))
        topics = [
            Topic("a-1-ins", "how far far", query="how far", instruction="far", mode="ins", group_id="a"),
            Topic("a-2-ins", "how far far", query="how far", instruction="near by", mode="ins", group_id="a"),
            Topic("b-ins", "why", query="why", mode="ins", group_id="b", perspectives=("It's so.", "No")),
        ]
        qrels = Qrels.from_rows([Qrel("a-1-ins", "d1", 2), Qrel("a-1-ins", "d2", 0), Qrel("a-2-ins", "d1", 1)])
        docs = [Doc(name, "", "text") for name in ("d1", "d2", "d3")]
        written = {"expansions": {"b-ins": (("one", "Well-known, it's so."), ("two", "No"))}}
        self._parts = {"audience": Part("audience", {"ins": topics}, {"ins": qrels}, docs, published=written)}


def test_every_statistic_of_a_benchmark_one_can_count_by_eye():
    found = {name: compute(Small(), ("audience",), "ins") for name, compute in STATISTICS.items()}
    assert found == {
        "queries": 3,
        "cores": 2,
        "queries_per_core": 1.5,
        "distinct_texts": 2,
        "documents": 3,
        "relevant_per_query": 2 / 3,
        "query_characters": (7 + 7 + 3) / 3,
        "instruction_characters": (3 + 7) / 2,
        "words": (3 + 1) / 2,
        "perspectives": 2,
        "perspective_words": (3 + 1) / 2,  # It's so . | No
        "instruction_tokens": (1 + 2) / 2,
        "generated_perspectives": 2,
        "generated_words": (9 + 1) / 2,  # Well - known , it ' s so . | No
    }


@pytest.mark.parametrize(
    ("printed", "value", "differs"),
    [
        ("40", 40, False),
        ("40", 41, True),
        ("10.8", 10.84, False),
        ("10.8", 10.86, True),
        ("7.81", 7.8185, True),
        ("73", 73.49, False),
        ("73", None, False),
    ],
)
def test_a_value_differs_where_it_rounds_to_another(printed, value, differs):
    cell = Printed("2", "fas n_queries", ("fas",), "", "queries", printed, "", "")
    row = Row("fas n_queries", "queries", value, cell)
    assert row.differs == differs
    assert bool(row.problem) == differs
    assert not Row("x", "queries", value, cell._replace(inconsistent="the paper says so itself")).problem


@pytest.mark.parametrize(("within", "value", "problem"), [(0, 6.6, False), (0, 6.65, True), (0, 8.0, True), (0.3, 8.0, False)])
def test_a_length_that_is_counted_in_another_way_may_be_five_percent_off_or_what_its_row_says(within, value, problem):
    cell = Printed("9", "format ori avg_query_words", ("format",), "ori", "words", "6.30", "not said how", "", within)
    assert bool(Row("format ori avg_query_words", "words", value, cell).problem) == problem


def test_every_printed_cell_leads_to_groups_and_statistics_that_there_are():
    papers = [name for name in registry.benchmarks() if statistics(name)]
    assert {"infosearch", "instructir", "mfollowir", "berds"} <= set(papers)
    for name in papers:
        spec = registry.benchmark(name)
        groups = {group["name"] for group in spec.groups}
        for cell in statistics(name):
            assert cell.statistic in STATISTICS, cell
            assert set(cell.groups) <= groups, cell
            assert cell.mode in ("", *spec.modes) or cell.mode in ("multilingual", "cross-lingual"), cell
            assert float(cell.value) > 0


def test_both_settings_of_mfollowir_have_cells_of_their_own(home, tmp_path):
    write_mfollowir(tmp_path, ("fas",))
    write_mfollowir(tmp_path, ("fas",), CROSS_LINGUAL)
    datasets.take("mfollowir", tmp_path)
    mfollowir = datasets.load("mfollowir")
    rows = {row.place: row.value for row in printed_statistics(mfollowir, mfollowir.groups, ("fas", "cross-lingual/fas"))}
    length = fmean(len(query) for query in QUERIES.values())
    assert rows["fas n_queries"] == 2
    assert rows["fas rel_docs_per_query_before"] == 2
    assert rows["fas rel_docs_per_query_after"] == 1
    assert rows["fas multilingual query_chars"] == length + len(" سرطان مغز")
    assert rows["fas cross-lingual query_chars"] == length + len(" radio")
    assert rows["fas multilingual instruction_chars_changed"] == len("changed narrative of 310.")
    assert rows["zho n_queries"] is None
    assert rows["total n_queries"] is None


def test_verify_names_each_cell_that_differs_and_lets_listed_ones_be(home, tmp_path):
    datasets.take("infosearch", write_infosearch(tmp_path, ("audience",)))
    benchmark = datasets.load("infosearch")
    finding = list(verify(benchmark, benchmark.groups))[-1]
    assert (finding.group, finding.check) == ("infosearch", "table 9")
    assert finding.problem == AUDIENCE


def test_the_command_prints_the_papers_value_beside_ours(home, tmp_path):
    datasets.take("mfollowir", write_mfollowir(tmp_path, ("rus",)))
    lines = show("mfollowir")
    assert lines[0] == "place\tstatistic\tprinted\tcomputed\tnote"
    assert "rus n_queries\tqueries\t40\t2\tDIFFERENT" in lines
    assert "zho n_queries\tqueries\t43\t-\tnot on this machine" in lines


def show(name):
    return tandem("benchmarks", "show", name, "--stats", env=os.environ).stdout.splitlines()


def test_a_group_has_the_papers_cells_about_it_alone(home, tmp_path):
    datasets.take("mfollowir", write_mfollowir(tmp_path, ("rus", "fas")))
    places = [line.split("\t")[0] for line in show("mfollowir-rus")[1:]]
    assert "rus n_queries" in places
    assert not [place for place in places if not place.startswith("rus ") or "cross-lingual" in place]


def test_a_group_of_which_the_paper_prints_nothing_has_its_own_sizes(home, tmp_path):
    (tmp_path / "queries.jsonl").write_text('{"_id": "7_1", "text": "I teach. [SEP] cats"}\n')
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("qid\tpid\tscore\n7_1\tp1\t1\n")
    datasets.take("instructir", tmp_path)
    assert "query-only\tqueries\t\t1\t" in show("instructir-query-only")


def test_a_benchmark_without_such_a_table_shows_its_own_sizes(home):
    lines = show("infosearch-mini-audience")
    spec = registry.benchmark("infosearch-mini")
    (counts,) = (group["counts"] for group in spec.groups if group["name"] == "audience")
    for what in ("queries", "cores", "documents"):
        assert f"audience ins\t{what}\t\t{counts[what]}\t" in lines
    assert "audience ins\trelevant_per_query\t\t1.00\t" in lines
    assert not any(line.startswith("format") for line in lines)
