"""`tandem runs`, as a process: what it prints, what it writes, how it ends."""

import gzip
import json
import os
import re
import subprocess
import sys

import pytest
from command import tandem

from toolkit.files.provenance import write_record

CLEAN = "q1-ori Q0 a 1 2.25 bm25\nq1-ori Q0 b 2 1.5 bm25\nq1-ins Q0 a 1 1 bm25\n"
FIXABLE = "\ufeff# made by hand\r\nq1 Q0  a 7 1.50 t\r\nq2 Q0 c 1 3 t\nq1 Q0  a 7 1.50 t\n\nq1\tQ0\tb\tx\t2.5e0\tt\n"
FIXED = "# made by hand\nq1 Q0 b 1 2.5e0 t\nq1 Q0 a 2 1.50 t\nq2 Q0 c 1 3 t\n"


def runs(folder, *arguments, stdin=b"", status=0):
    done = tandem("runs", *arguments, cwd=folder, input=stdin, text=False)
    assert done.returncode == status, done.stderr.decode()
    return done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    (tmp_path / "clean.trec").write_text(CLEAN)
    (tmp_path / "fixable.trec").write_text(FIXABLE, newline="")
    (tmp_path / "wrong.trec").write_text("q Q0 a 1 2 t\nq Q0 b 2 t\nq Q0 a 3 1 t\nq Q0 c 9 0.5 u\n")
    return tmp_path


def test_a_clean_run_verifies(folder):
    assert runs(folder, "verify", "clean.trec") == ("clean.trec: no problems, no warnings\n", "")


def test_every_problem_is_printed_with_line_and_code(folder):
    out, _ = runs(folder, "verify", "clean.trec", "wrong.trec", status=1)
    assert out == (
        "clean.trec: no problems, no warnings\n"
        "wrong.trec, line 2: R001 expected 6 columns, found 5\n"
        "wrong.trec, line 3: R004 document a of query q again, first on line 1\n"
        "wrong.trec, line 4: R103 warning: 2 tags, the first is t\n"
        "wrong.trec: 2 problems, 1 warning\n"
    )


def test_warnings_alone_are_no_failure(folder):
    (folder / "odd.trec").write_text("q Q0 a 2 2 t\nq Q0 b 1 1 t\n")
    out, _ = runs(folder, "verify", "odd.trec")
    assert out == (
        "odd.trec, line 1: R102 warning: ranks contradict scores in 1 of 1 queries\nodd.trec: no problems, 1 warning\n"
    )


def test_what_cannot_be_read_ends_with_2_and_the_other_files_are_verified(folder):
    (folder / "broken.gz").write_bytes(gzip.compress(CLEAN.encode())[:-9])
    out, errors = runs(folder, "verify", "absent.trec", "broken.gz", "wrong.trec", "clean.trec", status=2)
    assert out.splitlines()[-2:] == ["wrong.trec: 2 problems, 1 warning", "clean.trec: no problems, no warnings"]
    assert errors.splitlines()[0] == "error: no file absent.trec"
    assert errors.splitlines()[2].startswith("error: broken.gz, line ")


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="no file that opens and cannot be read")
def test_a_file_that_the_disk_refuses_does_not_stop_the_others(folder):
    out, errors = runs(folder, "verify", "/proc/self/mem", "x" * 300, "clean.trec", status=2)
    assert out == "clean.trec: no problems, no warnings\n"
    assert [line for line in errors.splitlines() if line.startswith("error: ")] == [
        "error: [Errno 5] Input/output error",
        f"error: file name too long ({'x' * 300})",
    ]


def test_many_problems_are_counted_readably(folder):
    (folder / "many.trec").write_text("q Q0\n" * 1234)
    assert runs(folder, "verify", "many.trec", status=1)[0].endswith("many.trec: 1,234 problems, no warnings\n")


def test_twenty_problems_are_shown_unless_all_are_wanted(folder):
    (folder / "many.trec").write_text("q Q0\n" * 30)
    out, _ = runs(folder, "verify", "many.trec", status=1)
    assert out.splitlines()[19:] == [
        "many.trec, line 20: R001 expected 6 columns, found 2",
        "many.trec: ... and 10 more (--all shows them)",
        "many.trec: 30 problems, no warnings",
    ]
    out, _ = runs(folder, "verify", "many.trec", "--all", status=1)
    assert len(out.splitlines()) == 31


def test_standard_input_is_verified(folder):
    assert runs(folder, "verify", "-", stdin=CLEAN.encode())[0] == "standard input: no problems, no warnings\n"


def test_qrels_are_verified(folder):
    (folder / "qrels.txt").write_text("q 0 a 1\nq 0 a 0\nq 0 b 1\nq 0 b 1\n")
    out, _ = runs(folder, "verify", "--qrels", "qrels.txt", status=1)
    assert out == (
        "qrels.txt, line 2: Q003 document a of query q is judged 0, but 1 on line 1\n"
        "qrels.txt, line 4: Q101 warning: document b of query q is judged 1 again, as on line 3\n"
        "qrels.txt: 1 problem, 1 warning\n"
    )


def test_fix_cures_what_is_safe_and_keeps_scores_as_written(folder):
    out, errors = runs(folder, "verify", "fixable.trec", "--fix", "fixed.trec")
    assert [line.split(": ")[1][:4] for line in out.splitlines()[:-1]] == ["F101", "F102", "F103", "R005", "R101", "R104"]
    assert errors == "fixed.trec: written\n"
    assert (folder / "fixed.trec").read_text() == FIXED
    assert runs(folder, "verify", "fixed.trec")[0] == "fixed.trec: no problems, no warnings\n"


def test_fix_keeps_the_order_of_equal_scores(folder):
    """Evaluators that keep a file's order of ties, and trec_eval that does not, score the repaired file as the old one."""
    (folder / "ties.trec").write_text("q Q0 a 5 1 t\nq Q0 c 6 1 t\nq Q0 b 7 1 t\nq Q0 d 1 1.00000000001 t\n")
    runs(folder, "verify", "ties.trec", "--fix", "fixed.trec")
    assert (folder / "fixed.trec").read_text() == ("q Q0 d 1 1.00000000001 t\nq Q0 a 2 1 t\nq Q0 c 3 1 t\nq Q0 b 4 1 t\n")


def test_fix_writes_to_standard_output(folder):
    out, errors = runs(folder, "verify", "fixable.trec", "--fix", "-")
    assert out == FIXED
    assert errors.splitlines()[-2:] == ["fixable.trec: 1 problem, 5 warnings", "-: written"]


def test_fix_writes_nothing_where_a_problem_stays(folder):
    _, errors = runs(folder, "verify", "wrong.trec", "--fix", "fixed.trec", status=1)
    assert errors == "fixed.trec: not written, some problems have no safe repair\n"
    assert not (folder / "fixed.trec").exists()


def test_fixed_qrels_keep_their_order(folder):
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\r\nq2\ta\t1\r\nq1\ta\t0\r\nq2\ta\t1\r\n", newline="")
    runs(folder, "verify", "--qrels", "qrels.tsv", "--fix", "fixed.txt")
    assert (folder / "fixed.txt").read_text() == "q2 0 a 1\nq1 0 a 0\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no file to verify"),
        (["a", "b", "--fix", "c"], "--fix OUT repairs one file, 2 are named"),
        (["a", "--fix", "c", "--benchmark", "x"], "--fix OUT repairs lines, --benchmark looks at ids"),
    ],
)
def test_verify_says_what_is_missing(folder, arguments, message):
    assert runs(folder, "verify", *arguments, status=2)[1].splitlines()[0] == f"error: {message}"


def test_codes_are_explained(folder):
    lines = runs(folder, "verify", "--codes")[0].splitlines()
    assert "R001  error             A run line has exactly six columns, divided by blanks or tabs." in lines
    assert "R102  warning  fixable  Ranks say another order than the scores. The scores decide." in lines


def test_show_tells_what_a_run_holds(folder):
    write_record(folder / "clean.trec", {"method": {"k1": 0.9}})
    (folder / "ranks.trec").write_text("7 Q0 a 1 2 t\n7 Q0 b 2 1 t\n7 Q0 c 3 1 t\n")
    assert runs(folder, "show", "clean.trec", "ranks.trec")[0] == (
        "clean.trec\n"
        "  tag        bm25\n"
        "  lines      3\n"
        "  queries    2\n"
        "  modes      ori 1, ins 1\n"
        "  documents  2 different ones\n"
        "  depth      1 to 2, median 2\n"
        "  ties       none\n"
        "  scores     1 to 2.25, 2 decimals\n"
        "  record     without a SHA-256 of the run\n"
        "    method:\n"
        "      k1: 0.9\n"
        "\n"
        "ranks.trec\n"
        "  tag        t\n"
        "  lines      3\n"
        "  queries    1\n"
        "  modes      none in the query ids\n"
        "  documents  3 different ones\n"
        "  depth      3 to 3, median 3\n"
        "  ties       2 documents share their score (as a 32-bit float) with another of the query\n"
        "  scores     1 to 2, whole numbers\n"
        "  record     none beside the file\n"
    )


def test_show_refuses_what_verify_refuses(folder):
    _, errors = runs(folder, "show", "wrong.trec", status=2)
    assert errors.splitlines()[0] == "error: wrong.trec: 2 problems"


@pytest.mark.parametrize("form", ["trec", "json", "parquet", "mteb"])
def test_a_converted_run_converts_back(folder, form):
    _, errors = runs(folder, "convert", "clean.trec", "--to", form, "--output", "other")
    assert errors == f"clean.trec: 3 documents of 2 queries written as {form}\n"
    back, _ = runs(folder, "convert", "other", "--to", "trec", "--output", "-", "--tag", "bm25", "--quiet")
    assert back == CLEAN


def test_requests_convert_to_a_run(folder):
    requests = [{"query": {"text": "x", "qid": "q"}, "candidates": [{"docid": "a", "score": 1}, {"docid": "b", "score": 2}]}]
    out, _ = runs(folder, "convert", "-", "--to", "trec", "--output", "-", "--tag", "e5", stdin=json.dumps(requests).encode())
    assert out == "q Q0 b 1 2 e5\nq Q0 a 2 1 e5\n"


def test_requests_need_a_source_of_texts(folder):
    _, errors = runs(folder, "convert", "clean.trec", "--to", "rank-llm", "--output", "requests.json", status=2)
    assert errors.splitlines()[1] == "hint:  name their source: --benchmark ID, or --topics T --docs D"
    assert not (folder / "requests.json").exists()


def test_a_run_of_a_benchmark_converts_to_requests_with_its_texts(folder):
    (folder / "mini.trec").write_text("audience-001-1-ins Q0 audience-002 1 2.5 t\n")
    runs(folder, "convert", "mini.trec", "--to", "rank-llm", "--benchmark", "infosearch-mini", "--output", "requests.json")
    [request] = json.loads((folder / "requests.json").read_text())
    assert request["query"]["qid"] == "audience-001-1-ins"
    assert request["query"]["text"].startswith("how do mRNA vaccines train the immune system ")
    [candidate] = request["candidates"]
    assert (candidate["docid"], candidate["score"]) == ("audience-002", 2.5)
    assert len(candidate["doc"]["content"]) > 100
    back, _ = runs(folder, "convert", "requests.json", "--to", "trec", "--output", "-", "--tag", "t")
    assert back == (folder / "mini.trec").read_text()


def test_requests_take_their_texts_from_files(folder):
    (folder / "topics.tsv").write_text("q1-ori\twhy\nq1-ins\twhy, in short\n")
    (folder / "docs.jsonl").write_text('{"id": "a", "title": "A", "text": "one"}\n{"id": "b", "text": "two"}\n')
    arguments = ("--to", "rank-llm", "--topics", "topics.tsv", "--docs", "docs.jsonl", "--output", "requests.json")
    runs(folder, "convert", "clean.trec", *arguments)
    first, second = json.loads((folder / "requests.json").read_text())
    assert [row["doc"]["content"] for row in first["candidates"]] == ["A one", "two"]
    assert second["query"] == {"text": "why, in short", "qid": "q1-ins"}
    (folder / "docs.jsonl").write_text('{"id": "a", "text": "one"}\n')
    _, errors = runs(folder, "convert", "clean.trec", *arguments, status=2)
    assert errors.splitlines()[0] == "error: no text for 1 of 2 documents of the run: b"


def test_a_run_of_another_benchmark_has_no_texts(folder):
    _, errors = runs(
        folder, "convert", "clean.trec", "--to", "rank-llm", "--benchmark", "infosearch-mini", "--output", "x.json", status=2
    )
    assert errors.splitlines()[0] == "error: no query of clean.trec is one of infosearch-mini: q1-ori, q1-ins"


def test_the_forms_of_the_command_are_those_of_the_package():
    from toolkit import runs as command
    from toolkit.files.formats import FORMS

    assert (*(form.name for form in FORMS.values() if form.write), "rank-llm") == command.FORMATS
    assert tuple(FORMS) == command.READ
    assert [name for name in FORMS if not re.search(rf"\b{name} ", command.CONVERT_EPILOG.replace(":", " "))] == []


def test_help_lists_the_commands(folder):
    out, _ = runs(folder, "--help")
    assert out.startswith("usage: tandem runs ")
    assert all(f"    {name} " in out for name in ("show", "verify", "convert"))


MEASURED = """
import resource, sys
from toolkit.runs import main, parser
from toolkit.shell import guard
status = guard(parser, main, ["verify", "--fix", *sys.argv[1:]])
print(status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""


@pytest.mark.process
def test_a_long_file_is_repaired_without_an_object_a_line(tmp_path):
    lines = [f"query-{n // 1000} Q0 document-{n} 1 {n % 997} bm25  \r\n" for n in range(200_000)]
    (tmp_path / "long.trec").write_text("".join(lines[::-1] + lines[:1000]), newline="")
    (tmp_path / "short.trec").write_text("".join(lines[:1000]), newline="")
    peaks = []
    for name in ("short", "long"):
        line = [sys.executable, "-c", MEASURED, f"{name}.out", f"{name}.trec"]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
        status, peak = done.stdout.splitlines()[-1].split()
        assert status == "0", done.stderr
        peaks.append(int(peak))
    assert (tmp_path / "long.out").read_bytes().count(b"\n") == 200_000
    assert peaks[1] - peaks[0] < 70  # MB: 9 are the file's bytes; a list of its columns takes 190
