"""What is known to differ from the authors' way stands beside every number of a row: on the page and in comparison.csv."""

import csv
import html
import re

from toolkit.studies.reproduce import Outcome, Reproduction
from toolkit.studies.reproduce.compared_cells import compared, to_csv
from toolkit.studies.reproduce.comparison_page import render


def test_every_dense_row_of_infosearch_says_that_its_vectors_are_compared_by_cosine(tmp_path):
    reproduction = Reproduction("infosearch", output=tmp_path / "out")
    dense = {row.system.name: row for row in reproduction.tables.rows if row.system.kind == "dense"}
    assert len(dense) == 9
    [remark] = {row.part.remarks["dense"] for row in dense.values()}
    assert "dot product" in remark
    outcome = Outcome(cells=compared(reproduction.tables, {}))
    lines = list(csv.DictReader(to_csv(outcome.cells).splitlines()))
    assert {line["system"] for line in lines if remark in line["known"]} == set(dense)
    assert not [line for line in lines if line["system"] in dense and remark not in line["known"]]
    page = render(reproduction, outcome)
    tables = re.findall(r'<section id="table-(\d+)".*?</section>', page, flags=re.DOTALL)
    assert tables == ["1", "2", *map(str, range(17, 23))]
    for table in tables:
        section = page[page.index(f'<section id="table-{table}"') :].partition("</section>")[0]
        [number] = re.findall(rf'<li[^>]*id="table-{table}-note-(\d+)"[^>]*>{re.escape(html.escape(remark))}', section)
        rows = re.findall(r'<th scope="row" class="name">(.*?)<small>([^<]*)</small></th>', section, flags=re.DOTALL)
        noted = {name for head, name in rows if f'href="#table-{table}-note-{number}"' in head}
        assert noted == {name for _, name in rows if name in dense} == set(dense)
