"""`python -m toolkit.evaluate` as a user calls it: what it prints, where, and with which status."""

import json
import subprocess

import pytest
from command import tandem
from published_layout import write_infosearch

from toolkit import datasets
from toolkit.core.runs import Run
from toolkit.files.formats import write_run

MODES = ("ori", "ins", "rev")


def command(*options, **kwargs) -> subprocess.CompletedProcess:
    return tandem("evaluate", *options, **kwargs)


@pytest.fixture(scope="module")
def mini(tmp_path_factory):
    """A run of infosearch-mini over all modes: every list in the order of document ids."""
    benchmark = datasets.load("infosearch-mini")
    lists = {}
    for group in benchmark.groups:
        docs = sorted(doc.doc_id for doc in benchmark.docs(group))
        for mode in MODES:
            lists |= {topic.query_id: {doc: -float(i) for i, doc in enumerate(docs)} for topic in benchmark.topics(group, mode)}
    path = tmp_path_factory.mktemp("runs") / "by-id.trec"
    write_run(Run.from_dict(lists, tag="by-id"), path)
    return path


def test_the_table_of_the_paper(mini):
    done = command(mini, "--benchmark", "infosearch-mini")
    assert (done.returncode, done.stderr) == (0, "")
    head, modes, _, *rows = done.stdout.split("\n\n")[0].splitlines()
    assert head.split() == ["nDCG@10", "RR@1", "Robustness@10", "GoldRank"]
    paired = ["pMRR", "SICR", "WISE@20", "WISE_ideal@20", "WISE_per@20"]
    assert modes.split() == ["group", *MODES * 3, *paired, *MODES]
    groups = ["audience", "keyword", "format", "language", "length", "source", "average"]
    assert [row.split()[0] for row in rows] == groups
    assert all(len(row.split()) == 1 + 3 * 4 + 5 for row in rows)
    # one list for all modes: nothing moves
    assert all(row.split()[10:13] == ["0.0000", "0.0000", "0.0000"] for row in rows)
    assert "infosearch-mini was written for this project: no score on it is comparable with a published one" in done.stdout
    queries = sum(len(datasets.load("infosearch-mini").topics(group, mode)) for group in groups[:-1] for mode in MODES)
    assert f"by-id: {queries} queries judged, {queries} in the run, {queries} scored, 0 absent" in done.stdout


def test_the_average_is_over_groups_not_queries(mini):
    rows = json.loads(command(mini, "--benchmark", "infosearch-mini", "-m", "nDCG@10", "--format", "json").stdout)["rows"]
    of_ori = [row for row in rows if row["mode"] == "ori"]
    groups, average = of_ori[:-1], of_ori[-1]
    assert average["group"] == "average"
    assert average["value"] == pytest.approx(sum(row["value"] for row in groups) / 6, abs=1e-15)
    assert average["queries"] == sum(row["queries"] for row in groups)


def test_one_mode_of_one_group(mini):
    done = command(mini, "--benchmark", "infosearch-mini/audience/ins", "-m", "nDCG@10", "--format", "csv")
    assert done.stdout.splitlines()[0] == "run,group,mode,measure,value,queries"
    assert [line.split(",")[:4] for line in done.stdout.splitlines()[1:]] == [["by-id", "all", "ins", "nDCG@10"]]
    assert "of the run without judgments" in done.stderr


def test_output_goes_to_a_file_complete_or_not_at_all(mini, tmp_path):
    target = tmp_path / "scores.json"
    done = command(mini, "--benchmark", "infosearch-mini", "--format", "json", "--output", target)
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads(target.read_text())["schema"] == 1
    refused = command(mini, "--benchmark", "infosearch-mini", "-m", "nDGC@10", "--output", tmp_path / "none")
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[0] == "error: no measure 'nDGC' (in 'nDGC@10')"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scores.json"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--benchmark", "infosearch-mini"], "error: no run is named"),
        (["absent.trec", "--benchmark", "infosearch-mini"], "error: no file absent.trec"),
        (["absent.trec"], "error: no file absent.trec"),
        (["x.trec"], "error: evaluation needs a benchmark, or qrels: no record says which benchmark x.trec is of"),
        (["x.trec", "absent.trec"], "error: no file absent.trec"),
    ],
)
def test_wrong_usage_has_one_line_and_status_2(options, message, tmp_path):
    (tmp_path / "x.trec").write_text("q Q0 d 1 2.0 x\n")
    done = command(*options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == message
    assert done.stderr.splitlines()[1].startswith("hint:  ")


def test_a_broken_line_is_named_with_file_and_line(tmp_path):
    (tmp_path / "run").write_text("q Q0 d 1 2.0 x\nq Q0 e 2 1.0\n")
    (tmp_path / "qrels").write_text("q 0 d 1\n")
    done = command("run", "--qrels", "qrels", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "error: run, line 2: expected 6 columns, found 5"


def test_ranks_that_contradict_scores_in_every_query_are_the_first_note(tmp_path):
    lines = [f"q{query} Q0 d{rank} {rank} {rank / 10} t\n" for query in range(3) for rank in (1, 2)]
    (tmp_path / "run.trec").write_text("".join(lines))
    (tmp_path / "qrels").write_text("".join(f"q{query} 0 d1 1\n" for query in range(3)))
    notes = json.loads(command("run.trec", "--qrels", "qrels", "--format", "json", cwd=tmp_path).stdout)["notes"]
    assert notes[0].startswith("run.trec: ranks contradict scores in every query")
    (tmp_path / "run.trec").write_text("".join([*lines, "q3 Q0 d1 1 1 t\n"]))  # one query that does not
    assert "contradict" not in command("run.trec", "--qrels", "qrels", cwd=tmp_path).stdout


def test_any_run_and_qrels_without_modes(tmp_path):
    (tmp_path / "run").write_text("q Q0 d 1 2.0 x\nq Q0 e 2 1.0 x\n")
    (tmp_path / "qrels").write_text("q 0 e 1\n")
    done = command("run", "--qrels", "qrels", "-m", "RR", "P@1", cwd=tmp_path)
    table = "run      RR     P@1\n-------------------\nx    0.5000  0.0000\n"
    assert done.stdout == f"{table}\nx: 1 queries judged, 1 in the run, 1 scored, 0 absent\n"


def test_published_ids_are_read_and_written(tmp_path, home):
    tandem("benchmarks", "fetch", "infosearch", "--from", write_infosearch(tmp_path / "data"), check=True)
    runs = []
    for mode, (first, second) in {"ori": "ab", "ins": "ba", "rev": "ab"}.items():
        path = tmp_path / f"{mode}.trec"
        path.write_text(
            "".join(
                f"q{core}_{row} Q0 q{core}-gold-{doc} {rank} {1 / rank} made\n"
                for core in (1, 2)
                for row in "ab"
                for rank, doc in enumerate((first, second), 1)
            )
        )
        runs.append(f"{mode}={path}")
    options = ["--benchmark", "infosearch-audience", "--ids", "published"]
    done = command("--run", *runs, *options, "-m", "RR", "--by-query", "--format", "csv")
    assert done.returncode == 0, done.stderr
    rows = [line.split(",") for line in done.stdout.splitlines()[1:]]
    assert {row[-1] for row in rows} == {"", "q1_a", "q1_b", "q2_a", "q2_b"}
    # row a's gold document is second when instructed
    assert ["made", "all", "ins", "RR", "0.5", "1", "q1_a"] in rows
    assert ["made", "all", "ins", "RR", "1.0", "1", "q1_b"] in rows

    no_mode = command(tmp_path / "ori.trec", *options)
    assert f"{tmp_path / 'ori.trec'} has published ids whose mode is unclear: q1_a, q1_b, q2_a" in no_mode.stderr
    all_groups = command("--run", *runs, "--benchmark", "infosearch", "--ids", "published")
    assert "has ids that several groups share: q1_a, q1_b, q2_a, ... (4 in all)" in all_groups.stderr
    ours = command("--run", *runs, "--benchmark", "infosearch-audience")
    assert "made has no query of infosearch-audience: it has q1_a-ins, q1_a-ori" in ours.stderr


def test_explain_shows_ranks_scores_and_the_case_of_wise(tmp_path):
    for mode, docs in {"ori": "xgn", "ins": "gxn", "rev": "nx"}.items():
        lines = (f"q-1 Q0 {doc} {rank} {10 - rank}.5 mine\n" for rank, doc in enumerate(docs, 1))
        (tmp_path / f"run.{mode}").write_text("".join(lines))
        gold, negative = {"ori": (1, 1), "ins": (1, 0), "rev": (0, 1)}[mode]
        (tmp_path / f"qrels.{mode}").write_text(f"q-1 0 g {gold}\nq-1 0 n {negative}\n")
    files = ["--run", *(f"{mode}=run.{mode}" for mode in MODES), "--qrels", *(f"{mode}=qrels.{mode}" for mode in MODES)]
    done = command(*files, "--explain", "q-1", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert lines[:2] == ["mine, query q-1", "relevant in ori: N = 2; documents retrieved: 3 in ori, 3 in ins, 2 in rev"]
    gold, negative = (line.split() for line in lines[7:9])
    # R = 2, 1, 3: full reward where R_ori <= N, as in the paper; the release asks for R_ori < N
    assert gold[:11] == ["g", "gold", "2", "1", "3*", "8.5", "9.5", "-", "1.0000", "0.9500", "0.9500"]
    assert " ".join(gold[11:]) == "full reward reward within K reward within K yes yes"
    assert negative == ["n", "negative", "3", "3", "1", "7.5", "7.5", "9.5", "0.0000"]
    assert lines[10] == "* not in the run: ranked below its last document"

    unknown = command(*files, "--explain", "q-2", cwd=tmp_path)
    assert unknown.returncode == 2
    assert unknown.stderr.splitlines()[1] == "hint:  it has q-1-ins, q-1-ori, q-1-rev"


def test_a_run_without_a_mode_is_scored_where_missing_is_said(mini, tmp_path):
    lines = [line for line in mini.read_text().splitlines(True) if "-rev " not in line]
    (tmp_path / "two.trec").write_text("".join(lines))
    told = ("two.trec", "--benchmark", "infosearch-mini-audience", "-m", "nDCG@10", "--format", "csv")
    refused, scored = command(*told, cwd=tmp_path), command(*told, "--missing", "worst", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "by-id has no query in mode rev" in refused.stderr
    assert scored.returncode == 0, scored.stderr
    assert [line.split(",")[4] for line in scored.stdout.splitlines() if ",rev," in line] == ["0.0"]
