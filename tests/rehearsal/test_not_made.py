"""The page that lists what cannot be made is current, and names rows that there are."""

from not_made import PAGE, not_made, page

from toolkit.published.paper_tables import papers
from toolkit.reproduce.table_rows import tables_of


def test_the_page_is_what_the_registry_and_the_list_say():
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_row_of_the_list_is_one_of_the_tables():
    assert set(not_made()) == set(papers())
    for paper, of_paper in not_made().items():
        assert set(of_paper) <= {row.name for row in tables_of(paper).rows}
