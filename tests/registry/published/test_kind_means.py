"""Means over kinds of systems: the paper's own table, and runs in a report."""

from pathlib import Path

import pytest
from command import tandem

from toolkit.core.errors import ToolkitError
from toolkit.registry.published.kind_means import kind_means, part_of, printed_means
from toolkit.registry.published.paper_tables import cells
from toolkit.reporting.report.collect import collect
from toolkit.reporting.tables.sections import has_kinds, kind_table

BASELINES = Path(__file__).parents[3] / "runs" / "baselines"


def test_list_wise_rerankers_are_divided_as_the_papers_headings_do():
    found = {(each.kind, each.part): each for each in printed_means("infosearch", "2") if each.measure == "WISE"}
    values = {place: (round(100 * each.value, 2), each.systems) for place, each in found.items()}
    # 8.1, -3.2, -6.5, 14.5, 33.5; of these -3.2, -6.5 and 14.5 are fine-tuned
    assert values["listwise", ""] == (9.28, 5)
    assert values["listwise", "fine-tuned"] == (1.6, 3)
    assert values["listwise", "zero-shot"] == (20.8, 2)
    assert list(values) == [
        *[("sparse", ""), ("bi-encoder", ""), ("pointwise", "")],
        *[("listwise", ""), ("listwise", "zero-shot"), ("listwise", "fine-tuned")],
    ]


def test_every_list_wise_system_of_the_paper_is_in_one_part():
    systems = {cell.system for cell in cells("infosearch") if cell.kind == "listwise"}
    assert {part_of("infosearch", "listwise", system) for system in systems} == {"fine-tuned", "zero-shot"}
    assert part_of("infosearch", "pointwise", "Mistral-ins-v0.2") == part_of("berds", "", "BM25") == ""


def test_own_numbers_in_the_papers_form_have_the_same_means():
    own = [cell._replace(value=0.5) for cell in cells("infosearch") if (cell.table, cell.group) == ("2", "average")]
    assert {each.value for each in kind_means("infosearch", own)} == {0.5}


def test_a_paper_without_kinds_is_refused():
    with pytest.raises(ToolkitError, match="the berds paper prints no kinds of systems"):
        printed_means("berds")


def test_the_command_prints_a_row_a_kind(tmp_path):
    done = tandem("benchmarks", "published", "infosearch", "--means", "--table", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    [row] = [line.split() for line in done.stdout.splitlines() if "zero-shot" in line]
    assert row == ["listwise", "zero-shot", "2", "0.2080", "0.2705"]


def test_a_report_has_the_mean_of_each_kind():
    paths = [str(path) for path in sorted(BASELINES.glob("infosearch-mini.bm25*.v2.trec.gz"))]
    (model,) = collect(paths, ["infosearch-mini"])
    assert has_kinds(model)
    table = kind_table(model)
    sparse = [facts for facts in model.systems if facts.heading == "sparse"]
    [row] = [row for row in table.rows if row[0].text == "sparse"]
    column = next(place for place, head in enumerate(table.heads) if head.title.startswith("WISE"))
    mean = sum(facts.value("WISE@20", "paired", "average") for facts in sparse) / len(sparse)
    assert (row[1].text, row[column].value) == (str(len(sparse)), pytest.approx(mean))
    (alone,) = collect(paths[:1], ["infosearch-mini"])
    assert not has_kinds(alone)
