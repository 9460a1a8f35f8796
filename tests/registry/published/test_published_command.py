"""`tandem benchmarks published` as a user meets it."""

import csv
import json
import re

import pytest
from command import tandem

from toolkit.core.errors import ToolkitError
from toolkit.core.tables.aligned_table import to_text
from toolkit.registry.published import claims
from toolkit.registry.published.paper_tables import cells_of, papers
from toolkit.registry.published.tables_as_text import lay_out, long_forms


def published(*arguments, status=0):
    done = tandem("benchmarks", "published", *arguments)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def rows(paper, system, table=None):
    return list(csv.DictReader(long_forms(cells_of(paper, table, system))["csv"]().splitlines()))


def test_a_table_is_shown_as_it_is_printed_with_what_contradicts_it():
    lines = published("infosearch", "--table", "2").splitlines()
    assert lines[0] == "table 2"
    assert lines[1].split() == ["WISE", "SICR"]
    assert lines[2].split()[:4] == ["system", "kind", "audience", "keyword"]
    bm25 = next(line for line in lines if line.startswith("BM25"))
    assert "1.97 [1]" in bm25
    assert "-12.0 [2]" in bm25
    assert "[" not in next(line for line in lines if line.startswith("GTE-Qwen2"))
    assert "printed as times 100: WISE, SICR" in lines
    assert next(line for line in lines if line.startswith("[1] ")).startswith("[1] BM25, source, WISE: table 2 prints 1.97")


def test_every_number_of_a_paper_comes_out_once():
    for paper in papers():
        cells = cells_of(paper)
        assert len(list(csv.DictReader(long_forms(cells)["csv"]().splitlines()))) == len(cells)
        assert len(json.loads(long_forms(cells)["json"]())["rows"]) == len(cells)
        text = to_text(lay_out(cells))
        assert {f"table {each.table}" for each in cells if each.table.isdigit()} <= set(text.splitlines())
        assert {each.printed for each in cells} <= set(text.split())


def test_a_system_is_named_as_here_or_as_there():
    ours = rows("infosearch", "mistral-7b-instruct-v0.2-listwise", "1")
    assert {(row["system"], row["kind"]) for row in ours} == {("Mistral-ins-v0.2", "listwise")}
    assert ours == rows("infosearch", "Mistral-ins-v0.2 (listwise)", "1")
    assert {row["table"] for row in rows("berds", "contriever-msmarco")} == {"3", "4", "5", "8", "17"}
    row = next(row for row in ours if row["measure"] == "SICR")
    assert (row["printed"], row["scale"], row["value"]) == ("22.0", "times 100", "0.22")
    assert row["compared"].endswith(" SICR(variant='release')")


def test_a_name_that_is_printed_three_times_is_not_chosen_from():
    error = published("infosearch", "--system", "Mistral-ins-v0.2", status=2)
    assert error.splitlines()[0] == "error: the infosearch paper prints 'Mistral-ins-v0.2' 3 times"
    assert "Mistral-ins-v0.2 (pointwise)" in error


@pytest.mark.parametrize(
    ("paper", "table", "system", "message"),
    [
        ("nevir", None, None, "nothing published is known of nevir"),
        ("infosearch", "3", None, "the infosearch paper has no table '3' of numbers"),
        ("infosearch", None, "gpt4o", "the infosearch paper prints no system 'gpt4o'"),
        ("infosearch", None, "colbertv2", "the infosearch paper does not report colbertv2"),
        ("infosearch", "9", "gpt-4o", "table 9 of the infosearch paper has no row of gpt-4o"),
    ],
)
def test_what_there_is_not_is_said(paper, table, system, message):
    with pytest.raises(ToolkitError) as error:
        cells_of(paper, table, system)
    assert error.value.message == message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["infosearch-mini"], "infosearch-mini was written for this project: nothing is published of it"),
        (["infosearch", "--table", "9", "--agreement"], "table 9 of the infosearch paper has no scores of systems"),
        (["infosearch", "--claims", "--system", "gpt-4o"], "agreement, claims and means are over all systems"),
    ],
)
def test_what_is_asked_wrongly_is_usage(arguments, message):
    assert published(*arguments, status=2).splitlines()[0] == f"error: {message}"


def test_a_near_name_is_offered():
    assert "did you mean 'gpt-4o'?" in published("infosearch", "--system", "gpt4o", status=2)


def test_the_agreement_of_table_1():
    lines = {line.split("  ")[0]: line.split() for line in published("infosearch", "--agreement").splitlines()}
    assert [lines[name][-1] for name in ("pMRR", "WISE", "SICR", "nDCG@10 ins")] == ["0.14", "0.48", "0.49", "0.41"]


def test_claims_and_what_the_tables_say_to_them():
    lines = published("mfollowir", "--claims").splitlines()
    line = next(line for line in lines if "No other bi-encoder does" in line)
    assert re.split(" {2,}", line) == [
        "does not hold", "No other bi-encoder does", "5.1", "E5-Mistral-Instruct-7B has p-MRR 1.0"
    ]  # fmt: skip
    told = json.loads(published("mfollowir", "--claims", "--format", "json"))["rows"]
    assert [row["outcome"] for row in told] == [claim.holds for claim in claims("mfollowir")]


def test_public_results_are_shown_by_the_entry_or_the_models_name():
    done = tandem("benchmarks", "published", "followir", "--system", "e5-large-v2", "--format", "csv")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert {(row["system"], row["kind"]) for row in rows} == {("intfloat/e5-large-v2", "1.18.0")}
    assert (
        done.stdout
        == tandem("benchmarks", "published", "followir", "--system", "intfloat/e5-large-v2", "--format", "csv").stdout
    )
    done = tandem("benchmarks", "published", "followir", "--between-groups", "--system", "e5-large-v2")
    assert (done.returncode, done.stderr.splitlines()[1]) == (2, "hint:  leave --system out")
