"""`tandem build check`: all findings as tables, the exit status of a checker, the same in Python."""

import csv
import io
import json

import pytest
from command import tandem
from planted_folders import a_run, planted

import tandem_ir
from toolkit.construction.checks.benchmark_check import check_benchmark
from toolkit.core.errors import ToolkitError

WROTE = {"role": "wrote", "by": "gpt-4o", "family": "gpt", "prompt": "build-target", "step": "targets"}
SHORT = {"gold": lambda text: " ".join(text.split()[:30])}


def check(folder, *options, **how):
    return tandem("build", "check", folder.name, *options, cwd=folder.parent, **how)


def test_a_clean_folder_has_no_findings(tmp_path):
    done = check(planted(tmp_path / "mine", unrelated=20, made={"d0-0": [{"role": "wrote", "by": "person"}]}))
    assert (done.returncode, done.stderr) == (0, "mine: no problems, no warnings\n")
    assert done.stdout.split("\n", 1)[0] == "No findings"
    assert "Near-duplicates" not in done.stdout


def test_warnings_end_with_status_0_and_are_counted(tmp_path):
    folder = planted(tmp_path / "mine", made={"d0-0": [WROTE], "q3": [WROTE]}, **SHORT)
    done = check(folder)
    assert (done.returncode, done.stderr) == (0, "mine: no problems, 1 warning\n")
    said = "a classifier's area 1.00, at least 1.00; fewer words alone 1.00"
    assert f"group all: surface tells gold documents from instruction negatives: {said}" in done.stdout
    lines = done.stdout.splitlines()
    makers = lines.index("Who made the items")
    assert lines[makers + 3].split() == ["gpt-4o", "gpt", "wrote", "gold", "documents", "1", "32", "0.0312"]
    assert lines[makers + 4].split() == ["gpt-4o", "gpt", "wrote", "queries", "1", "16", "0.0625"]
    concerned = lines[lines.index("Systems of the registry that should not be compared on them") + 3 :][:2]
    assert [line.split(maxsplit=3) for line in concerned] == [
        ["gpt-4o", "system", "1", "gpt-4o"],
        ["gpt-4o", "family", "3", "gpt-4-0613-judge, gpt-4-0613-judge-one-shot, gpt-4-0613-expander"],
    ]


def test_runs_are_warned_of_and_compared_with_themselves_without_instruction(tmp_path):
    folder = planted(tmp_path / "mine", made={"d0-0": [WROTE]})
    done = check(folder, a_run(folder, "gpt-4o").name)
    assert "warning  gpt-4o: 1 of 32 gold documents were written by gpt-4o, the system itself" in done.stdout
    assert "nDCG@10 of the ranking without it" in done.stdout
    assert "q3-pos" in done.stdout


def test_a_terminal_shows_the_first_of_many_rows_and_a_pipe_all(tmp_path):
    folder = planted(tmp_path / "mine", cores=30)
    run = a_run(folder, "bm25", cores=30).name
    shown = check(folder, run, columns=120).stdout
    assert (shown.count("-pos "), "10 further queries" in shown) == (20, True)
    assert check(folder, run, "--all", columns=120).stdout.count("-pos ") == 30
    assert check(folder, run).stdout.count("-pos ") == 30


def test_problems_end_with_status_1(tmp_path):
    folder = planted(tmp_path / "mine", made={"d0-0": [WROTE], "nobody": [WROTE]})
    corpus = (folder / "corpus.jsonl").read_text().splitlines()
    corpus[2] = corpus[0].replace("d0-0", "d0-2")
    (folder / "corpus.jsonl").write_text("\n".join(corpus) + "\n")
    done = check(folder)
    assert done.returncode == 1
    assert "problem  provenance.jsonl: 1 item is neither document nor query (nobody)" in done.stdout
    assert "problem  documents d0-0 and d0-2 are one text, and only one is relevant to query q0-pos" in done.stdout
    assert done.stderr == "mine: 2 problems, 1 warning\n"


def test_a_folder_that_cannot_be_read_is_an_error(tmp_path):
    folder = planted(tmp_path / "mine")
    (folder / "topics.jsonl").write_text("no\n")
    done = check(folder)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")


def test_an_unknown_name_is_an_error(tmp_path):
    done = tandem("build", "check", "infosearch-minni", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "error: no benchmark 'infosearch-minni'"
    assert "did you mean 'infosearch-mini'" in done.stderr


@pytest.mark.parametrize("name", ["infosearch-mini-length", "instructir-mini", "mfollowir-mini-zho", "berds-mini"])
def test_it_works_on_the_minis(tmp_path, name):
    done = tandem("build", "check", name, cwd=tmp_path)
    assert done.returncode == 0
    assert "Surface cues" in done.stdout
    assert "not checked  circularity" in done.stdout


def test_as_json_every_table_has_its_rows(tmp_path):
    folder = planted(tmp_path / "mine", made={"d0-0": [WROTE]}, **SHORT)
    tables = {table["title"]: table["rows"] for table in json.loads(check(folder, "--format", "json").stdout)["tables"]}
    assert [row["model"] for row in tables["Who made the items"]] == ["gpt-4o"]
    [row] = tables["Surface cues"]
    assert (row["gold"], row["others"], row["cue feature"], row["cue area"]) == (32, 32, "fewer words", 1.0)


def test_as_csv_too(tmp_path):
    done = check(planted(tmp_path / "mine", **SHORT), "--format", "csv")
    blocks = done.stdout.split("\n\n")
    rows = list(csv.DictReader(io.StringIO(blocks[-1])))
    assert rows[0]["cue feature"] == "fewer words"


def test_the_same_in_python(tmp_path):
    folder = planted(tmp_path / "mine", made={"d0-0": [WROTE]}, **SHORT)
    found = tandem_ir.check_benchmark(folder, a_run(folder, "gpt-4o"))
    assert found.problems == ()
    assert [row.cue.name for row in found.cues] == ["fewer words"]
    assert [(row.run, row.relation, row.share.text) for row in found.circular] == [
        ("gpt-4o", "system", "1 of 32 gold documents")
    ]
    assert len(found.warnings) == 2
    assert found.warnings == check_benchmark(str(folder), a_run(folder, "gpt-4o")).warnings


def test_a_similarity_that_is_none_is_refused(tmp_path):
    with pytest.raises(ToolkitError, match="threshold"):
        check_benchmark(planted(tmp_path / "mine"), similarity=2)
    assert check(tmp_path / "mine", "--similarity", "2").returncode == 2


def test_what_is_not_judged_is_said(tmp_path):
    folder = planted(tmp_path / "mine")
    for path in folder.glob("qrels.*"):
        path.unlink()
    done = check(folder)
    assert done.returncode == 0
    assert "not checked  labels and surface cues: nothing is judged in all" in done.stdout
