"""Circularity: a system that is scored on items which it, its base or its family made is warned of, and no other is."""

import subprocess
import sys

import pytest
import yaml
from command import tandem
from planted_folders import a_run, planted

from toolkit.core.runs import Run, ScoredDoc
from toolkit.evaluation.comparison.circularity import (
    BASE_MODEL,
    FAMILY,
    GOLD,
    NEGATIVE,
    OTHER,
    QUERY,
    RELEVANT,
    SYSTEM,
    circular,
    circularity_notes,
    relation,
    scored_items,
    shares_of,
    systems_of,
)
from toolkit.evaluation.scores.judgments import from_benchmark
from toolkit.files.provenance.identity import file_digest
from toolkit.files.runs.conversion import read_run
from toolkit.registry.families import lineage

WROTE = {"role": "wrote", "by": "mistralai/Mistral-7B-v0.1", "family": "mistral", "step": "targets"}
JUDGED = {"role": "judged", "by": "gpt-4o", "family": "gpt", "step": "filter"}
PERSON, RULE = {"role": "judged", "by": "person"}, {"role": "filtered", "by": "rule"}
MADE = {
    **{f"d{core}-0": [WROTE, JUDGED] for core in range(5)},  # gold
    "d0-2": [WROTE, PERSON, RULE],  # an instruction negative
    "q3": [JUDGED],
    "q4-pos": [JUDGED],  # named in its mode
    "d9-3": [PERSON],
}


@pytest.fixture
def folder(tmp_path):
    return planted(tmp_path / "mine", made=MADE)


def run_of(tag):
    return Run.from_rows([ScoredDoc("q0-base", "d0-0", 1.0), ScoredDoc("q0-pos", "d0-0", 1.0)], tag=tag)


def evaluated(run, folder, *options):
    return tandem("evaluate", run.name, "--benchmark", folder.name, *options, cwd=folder.parent)


def test_items_are_counted_by_what_they_are(folder):
    found = {kind: len(ids) for kind, ids in scored_items(from_benchmark(str(folder))).items()}
    assert found == {GOLD: 32, NEGATIVE: 32, QUERY: 16}
    assert {kind: len(ids) for kind, ids in scored_items(from_benchmark("berds-mini")).items()} == {
        RELEVANT: 83,
        OTHER: 35,
        QUERY: 12,
    }


def test_shares_are_of_models_alone(folder):
    rows = [(share.by, share.role, share.text) for share in shares_of(from_benchmark(str(folder)))]
    assert rows == [
        ("gpt-4o", "judged", "5 of 32 gold documents"),
        ("gpt-4o", "judged", "2 of 16 queries"),
        ("mistralai/Mistral-7B-v0.1", "wrote", "5 of 32 gold documents"),
        ("mistralai/Mistral-7B-v0.1", "wrote", "1 of 32 instruction negatives"),
    ]


@pytest.mark.parametrize(
    ("system", "model", "family", "expected"),
    [
        ("gpt-4o", "gpt-4o", "", SYSTEM),
        ("gpt-4o", "openai/gpt-4o", "", SYSTEM),
        ("mistral-7b-instruct-v0.2-listwise", "mistral-7b-instruct-v0.2-judge", "", SYSTEM),  # one checkpoint, two entries
        ("e5-mistral-7b-instruct", "mistralai/Mistral-7B-v0.1", "", BASE_MODEL),
        ("e5-mistral-7b-instruct", "zephyr-7b-beta-judge", "", FAMILY),
        ("gpt-4o", "gpt-4-0613-judge", "", FAMILY),
        ("zephyr-7b-beta-listwise", "castorini/rank_zephyr_7b_v1_full", "", FAMILY),  # made from the system itself
        ("gpt-4o", "our-server-42", "gpt", FAMILY),  # as the build says
        ("gpt-4o", "our-server-42", "", ""),
        ("gpt-4o", "mistralai/Mistral-7B-v0.1", "mistral", ""),
        ("bm25", "gpt-4o", "gpt", ""),
        ("all-minilm-l6-v2", "smollm2-135m-instruct", "", ""),
    ],
)
def test_how_close_a_model_is_to_a_system(system, model, family, expected):
    assert relation(lineage(system), lineage(model), family) == expected


def test_two_folders_of_one_name_are_two_models():
    assert relation(lineage("/a/checkpoint"), lineage("/b/checkpoint")) == ""


@pytest.mark.parametrize("tag", ["bm25", "all-minilm-l6-v2", "bm25+all-minilm-l6-v2.rrf", "somebody-elses"])
def test_systems_that_made_nothing_are_not_warned_of(folder, tag):
    assert circularity_notes([run_of(tag)], from_benchmark(str(folder))) == []


def test_of_a_run_the_closest_system_counts(folder):
    shares = shares_of(from_benchmark(str(folder)))
    rows = circular([run_of("bm25.rerank-zephyr-7b-beta-listwise"), run_of("e5-mistral-7b-instruct+gpt-4o")], shares)
    assert [(row.system, row.relation, row.share.by, row.share.items) for row in rows] == [
        ("zephyr-7b-beta-listwise", BASE_MODEL, "mistralai/Mistral-7B-v0.1", GOLD),
        ("zephyr-7b-beta-listwise", BASE_MODEL, "mistralai/Mistral-7B-v0.1", NEGATIVE),
        ("gpt-4o", SYSTEM, "gpt-4o", GOLD),
        ("gpt-4o", SYSTEM, "gpt-4o", QUERY),
        ("e5-mistral-7b-instruct", BASE_MODEL, "mistralai/Mistral-7B-v0.1", GOLD),
        ("e5-mistral-7b-instruct", BASE_MODEL, "mistralai/Mistral-7B-v0.1", NEGATIVE),
    ]


def test_evaluate_warns_with_shares(folder):
    done = evaluated(a_run(folder, "e5-mistral-7b-instruct"), folder)
    assert (
        "warning: e5-mistral-7b-instruct: 5 of 32 gold documents and 1 of 32 instruction negatives were written by "
        "mistralai/Mistral-7B-v0.1, the base of e5-mistral-7b-instruct: its scores may be too high"
    ) in done.stdout.splitlines()
    assert "gpt-4o" not in done.stdout
    assert "warning" not in evaluated(a_run(folder, "bm25"), folder).stdout


def test_the_record_of_a_run_says_more_than_its_tag(folder):
    run = a_run(folder, "mine")
    steps = [{"name": "bm25"}], [{"name": "local", "checkpoint": "me/tuned", "base": "mistralai/Mistral-7B-v0.1"}]
    record = {
        "method": dict(zip(("retrieval", "reranking"), steps, strict=True)),
        "data": {"run": {"sha256": file_digest(run)}},
    }
    run.with_name("run.trec.yaml").write_text(yaml.safe_dump(record))
    assert [each.names for each in systems_of(read_run(run))] == [("bm25",), ("local", "me/tuned")]
    assert "were written by mistralai/Mistral-7B-v0.1, the base of local" in evaluated(run, folder).stdout


def test_a_judge_that_its_own_system_is_scored_with_is_warned_of(folder):
    qrels = folder.parent / "judged.txt"
    qrels.write_text("q0-base 0 d0-0 1\nq0-pos 0 d0-0 1\n")
    record = {"method": {"judging": [{"name": "gpt-4-0613-judge"}]}, "data": {"qrels": {"sha256": file_digest(qrels)}}}
    qrels.with_name("judged.txt.yaml").write_text(yaml.safe_dump(record))
    run = a_run(folder, "gpt-4o")
    done = tandem("evaluate", run.name, "--qrels", qrels.name, "--modes", "base=base", "pos=instructed", cwd=folder.parent)
    assert "1 of 1 gold documents were judged by gpt-4-0613-judge, of the family of gpt-4o (gpt)" in done.stdout


def test_a_report_has_the_warning_too(folder):
    run = a_run(folder, "gpt-4o")
    done = tandem("report", run.name, "--benchmark", folder.name, "--format", "csv", cwd=folder.parent)
    assert "were judged by gpt-4o, the system itself" in done.stderr


def test_provenance_that_cannot_be_read_is_an_error_where_it_is_needed(folder):
    (folder / "provenance.jsonl").write_text("no\n")
    done = evaluated(a_run(folder, "gpt-4o"), folder)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].endswith("mine/provenance.jsonl: 1 line is no provenance")
    assert evaluated(a_run(folder, "bm25"), folder).returncode == 0  # is no model: nobody can have been it


@pytest.mark.process
def test_without_provenance_evaluate_loads_nothing_more(tmp_path):
    folder = planted(tmp_path / "mine")
    run = a_run(folder, "gpt-4o")
    code = (
        "import sys; from toolkit.evaluate import main, parser; from toolkit.shell import guard;"
        f"guard(parser, main, [{str(run)!r}, '--benchmark', {str(folder)!r}]);"
        "words = ('circular', 'registry.families', 'item_prov');"
        "print(sorted(name for name in sys.modules if any(word in name for word in words)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
