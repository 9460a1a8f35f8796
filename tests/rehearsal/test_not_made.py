"""The page that lists what cannot be made is current and names rows that there are; what else has no number is found."""

from checkpoints import not_from_the_hub
from not_made import PAGE, not_made, page
from passes import without_numbers

from toolkit import registry
from toolkit.registry.published.paper_tables import papers
from toolkit.studies.reproduce.table_rows import tables_of


def test_the_page_is_what_the_registry_and_the_list_say():
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_row_of_the_list_is_one_of_the_tables():
    assert set(not_made()) == set(papers())
    for paper, of_paper in not_made().items():
        assert set(of_paper) <= {row.name for row in tables_of(paper).rows}


def test_cells_without_a_number_are_found_but_those_of_rows_that_cannot_be_made():
    lines = (
        "table,part,system,group,mode,measure,ours",
        "4,wikipedia,bm25,kialo,default,P@5,0.0",
        "4,wikipedia-reranking,bm25,kialo,re-ranking,relchange:P@5,",  # of 0 no change is a share
        "4,wikipedia-reranking,dpr,kialo,re-ranking,relchange:P@5,",
        "5,without-overlap,bm25,all,,gap:nDCG@10,",
        "5,without-overlap,gtr,all,,gap:nDCG@10,",
        "6,,,,,MRecall@5,",  # no row is for it
    )
    found = without_numbers("\n".join(lines).encode(), {"without-overlap/gtr": "why"})
    assert found == [
        ("4", "wikipedia-reranking", "dpr", "kialo", "re-ranking", "relchange:P@5"),
        ("5", "without-overlap", "bm25", "all", "", "gap:nDCG@10"),
    ]


def test_systems_say_that_the_rehearsal_loads_them():
    systems = registry.systems()
    # all-minilm-l6-v2 and the like come with a package, and were run
    loaded = {name for name in systems if name not in not_from_the_hub()}
    assert {name for name in loaded if systems[name].verified not in ("tiny checkpoint", "rehearsal")} == set()
    assert {systems[name].verified for name in systems if name not in loaded} == {"run", "facts only"}
