"""What commands print fits a terminal of 80, 120 and 160 columns: no line is wider, no table breaks, no tab is in it."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from command import tandem

from tests.test_options import PARSERS

ROOT = Path(__file__).resolve().parent.parent
BASELINES = ROOT / "runs" / "baselines"
WIDTHS = (80, 120, 160)
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def baseline(name):
    return str(BASELINES / f"{name}.v2.trec.gz")


BM25, DENSE, RULES = (baseline(f"infosearch-mini.{name}") for name in ("bm25", "all-minilm-l6-v2", "bm25+rules"))
INSTRUCTIR = [baseline(f"instructir-mini.{name}") for name in ("bm25", "all-minilm-l6-v2")]
BERDS = [baseline(f"berds-mini.{name}") for name in ("bm25", "all-minilm-l6-v2")]
BOTH = ["--benchmark", "infosearch-mini"]

# one line a command that prints a table or a list
LINES = {
    "evaluate": [BM25, *BOTH],
    "evaluate --references": [BM25, DENSE, "--benchmark", "infosearch-mini-audience", "--references"],
    "evaluate --baseline": [BM25, DENSE, *BOTH, "--baseline", "bm25"],
    "evaluate --by-query": [BM25, "--benchmark", "infosearch-mini-audience", "--by-query"],
    "evaluate --explain": [BM25, DENSE, "--explain", "audience-001-1"],
    "diff": [BM25, DENSE, *BOTH, "--exit-zero"],
    "diff --relative": [BM25, DENSE, RULES, *BOTH, "-m", "WISE", "nDCG@10", "--relative", "--exit-zero"],
    "diff --rankings": [BM25, DENSE, "--rankings", "--exit-zero"],
    "benchmarks list": [],
    "benchmarks show": ["infosearch"],
    "benchmarks show --stats": ["infosearch-mini-audience", "--stats"],
    "benchmarks verify": ["berds-mini"],
    "benchmarks published": ["infosearch"],
    "benchmarks published --system": ["berds", "--system", "bm25"],
    "benchmarks published --agreement": ["infosearch", "--table", "1", "--agreement"],
    "benchmarks published --claims": ["infosearch", "--claims"],
    "systems list": [],
    "systems list --kind": ["--kind", "judge"],
    "systems show": ["e5-mistral-7b-instruct"],
    "index": ["list", "msmarco"],
    "regress list": [],
    "cache list": [],
    "cache verify": [],
    "gate": [BM25, BM25, *BOTH, "-m", "WISE"],
    "reproduce": ["infosearch", "--dry-run"],
    "runs show": [BM25],
    "runs verify": ["bm25.trec.gz"],
    "runs verify --codes": ["--codes"],
    "judge": ["--score", "labelled.jsonl", "--judge", "random"],
    "analyze order": [*INSTRUCTIR, "--benchmark", "instructir-mini"],
    "analyze overlap": [INSTRUCTIR[1], "--filter-run", INSTRUCTIR[0], "--benchmark", "instructir-mini"],
    "analyze diversity": ["--benchmark", "infosearch-mini-ins"],
    "analyze dimensions": ["--benchmark", "instructir-mini", "infosearch-mini-ins"],
    "analyze coverage": [*BERDS, "--benchmark", "berds-mini"],
    "analyze stance": [BERDS[0], "--benchmark", "berds-mini"],
    "analyze measures": [BM25, DENSE, "--benchmark", "infosearch-mini-audience"],
    "analyze power": ["--run", *INSTRUCTIR, "--benchmark", "instructir-mini"],
    "build status": ["mine"],
    "build check": ["infosearch-mini-format"],
    "build review status": ["mine"],
    "published prompts": ["infosearch"],
    "measures list": [],
    "measures show": ["WISE"],
    "measures axioms": [],
    "measures references": ["infosearch-mini"],
    "measures sensitivity": [BM25, *BOTH],
    "measures discrimination": [BM25, DENSE, *BOTH],
}
SEARCHING = {"measures references"}  # with BM25
# their tables are those of others above; they want runs or systems that are not here
ALIKE = {"analyze paraphrase", "analyze crosslingual", "experiment", "systems check"}
FORM = """
title: Does the document answer the query?
introduction: Judge by the text alone.
fields: [{name: query, label: Query}, {name: text, label: Document}]
questions:
  - {id: answers, text: Does it?, choices: [{id: "yes", text: "Yes"}, {id: "no", text: "No"}], accepted: ["yes"], reason: "no"}
"""
LABELLED = "".join(f'{{"question": "q", "document": "d{n}", "perspective": "p", "label": {n}}}\n' for n in (0, 1))


def words_of(line):
    name = line.partition(" --")[0]
    return [*name.split(), *LINES[line]]


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("line", [pytest.param(line, marks=pytest.mark.lucene if line in SEARCHING else ()) for line in LINES])
def test_no_line_is_wider_than_the_terminal(line, columns, tmp_path):
    (tmp_path / "labelled.jsonl").write_text(LABELLED)
    (tmp_path / "bm25.trec.gz").symlink_to(BM25)
    if words_of(line)[-1] == "mine":
        tandem("build", "new", "instructir", "mine", cwd=tmp_path, check=True)
        tandem("build", "run", "mine", "seeds", cwd=tmp_path, check=True)
        (tmp_path / "mine" / "seeds.yaml").write_text(FORM)
        review = ("--step", "seeds", "--form", "seeds.yaml", "--output", "form.html")
        tandem("build", "review", "export", "mine", *review, cwd=tmp_path, check=True)
    done = tandem(*words_of(line), cwd=tmp_path, columns=columns)
    assert done.returncode == 0, done.stderr
    for text in (done.stdout, done.stderr):
        plain = ESCAPES.sub("", text)
        assert "\t" not in plain
        assert [each for each in re.split(r"[\r\n]", plain) if len(each) > columns] == []
    assert done.stdout or done.stderr
    rules = sum(bool(re.fullmatch("-+", each)) for each in ESCAPES.sub("", done.stdout).splitlines())
    assert rules <= TABLES.get(line, 1)
    assert done.stdout.count("--all shows all") <= 1


# how many tables a command prints; a table that is broken into blocks has more rules
TABLES = {
    "evaluate --explain": 2,
    "diff": 3,
    "diff --relative": 6,
    "benchmarks published": 99,
    "benchmarks published --system": 99,
    "analyze diversity": 2,
    "build check": 99,
    "measures show": 99,
    "measures references": 99,
}


def test_every_command_with_options_for_tables_is_among_them():
    having = {name for name, parser in PARSERS.items() if any("--sort" in action.option_strings for action in parser._actions)}
    assert having - {line.partition(" --")[0] for line in LINES} == ALIKE


def test_headline_columns_fit_80_columns_and_all_shows_the_others():
    words = ("evaluate", DENSE, "--benchmark", "infosearch-mini-audience", "--references", "--all")
    shown = tandem(*words[:-1], columns=80).stdout
    head = ESCAPES.sub("", shown).splitlines()[1].split()
    assert head[:7] == ["run", "ori", "ins", "rev", "pMRR", "SICR", "WISE@20"]
    assert "\n  random 2.5%  " in shown
    assert "GoldRank" in shown.rpartition("left out here")[2]
    everything = tandem(*words, columns=80).stdout
    assert "GoldRank" in everything.partition("\n---")[0]
    assert "left out here" not in everything


def test_a_pipe_gets_all_columns_without_colour():
    piped = tandem("evaluate", BM25, *BOTH).stdout
    assert "GoldRank" in piped.splitlines()[0]
    assert "\x1b" not in piped


def test_lists_stay_tab_separated_in_a_pipe():
    assert tandem("systems", "list").stdout.splitlines()[0] == "name\tkind\tsize\tlicence\tverified\tpapers"
    assert tandem("benchmarks", "list").stdout.startswith("name\tgroups\tmodes\there\tdescription\n")
    assert tandem("benchmarks", "verify", "berds-mini").stdout.splitlines()[0].count("\t") == 2
    assert tandem("index", "list", "robust04.flat").stdout.split("\t")[1:3] == ["lucene", "1.73 GB"]


def test_an_output_file_gets_all_columns_on_a_terminal_too(tmp_path):
    tandem("evaluate", BM25, *BOTH, "--output", "table.txt", cwd=tmp_path, columns=80, check=True)
    assert "GoldRank" in (tmp_path / "table.txt").read_text().splitlines()[0]


def test_colour_is_left_out_where_the_user_wants_none():
    assert "\x1b[1m" in tandem("systems", "list", columns=80).stdout
    done = tandem("systems", "list", env={**os.environ, "NO_COLOR": "1", "TERM": "xterm"})
    assert "\x1b" not in done.stdout


def test_quiet_silences_notes_and_nothing_else():
    loud, quiet = (tandem("evaluate", BM25, *BOTH, *more, columns=80) for more in ((), ("--quiet",)))
    assert quiet.stdout == loud.stdout.partition("\n\n")[0] + "\n"
    assert quiet.stderr == ""


def test_a_note_is_printed_once():
    done = tandem("diff", BM25, DENSE, RULES, *BOTH, "-m", "WISE", "--exit-zero")
    assert done.stdout.count("infosearch-mini was written for this project") == 1


NOTED = ("diff", BM25, DENSE, *BOTH, "--exit-zero")


def test_a_terminal_gets_five_notes_the_weightiest_first_and_how_to_see_the_others():
    shown = tandem(*NOTED, columns=160).stdout
    everything = tandem(*NOTED, "--notes", columns=160).stdout
    more = re.search(r"^(\d+) more: --notes$", shown, re.MULTILINE)
    assert more
    assert "more: --notes" not in everything
    assert len(everything.splitlines()) > len(shown.splitlines()) + int(more[1]) - 2  # a long one is wrapped
    assert "infosearch-mini was written for this project" in shown
    assert "p < 0.05 after Holm's correction" in shown


def test_a_pipe_a_file_and_json_get_every_note(tmp_path):
    piped = tandem(*NOTED).stdout
    tandem(*NOTED, "--output", "made.txt", cwd=tmp_path, columns=80)
    assert (tmp_path / "made.txt").read_text() == piped
    notes = json.loads(tandem(*NOTED, "--format", "json", columns=80).stdout)["pairs"][0]["notes"]
    assert len(notes) > 5
    assert all(note in piped for note in notes)


def test_scores_in_per_cent_with_decimals_sorted():
    words = (BM25, DENSE, "--benchmark", "infosearch-mini-ins", "-m", "nDCG@10", "--percent", "--decimals", "1")
    made = tandem("evaluate", *words, "--sort", "nDCG@10", "--format", "markdown", check=True)
    rows = [[cell.strip() for cell in row.strip("|\n").split("|")] for row in made.stdout.splitlines()[2:]]
    values = [float(row[-1]) for row in rows]
    assert values == sorted(values, reverse=True)
    assert values[0] > 1
    assert "in per cent" in made.stderr
    wrong = tandem("evaluate", *words, "--sort", "nDGC@10")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("error: no column 'nDGC@10' to sort by\nhint:  did you mean ")


@pytest.mark.process
@pytest.mark.parametrize("columns", WIDTHS)
def test_a_real_pseudo_terminal_is_measured(columns):
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    line = [sys.executable, "-m", "toolkit.benchmarks", "list"]
    with subprocess.Popen(line, stdin=other, stdout=other, stderr=other, env={**env, "TERM": "xterm"}) as process:
        os.close(other)
        shown = b""
        while True:
            try:
                part = os.read(main, 65536)
            except OSError:  # how a pseudo terminal says that it is over
                break
            shown += part
            if not part:
                break
    assert process.returncode == 0
    lines = ESCAPES.sub("", shown.decode()).splitlines()
    assert columns - 12 <= max(map(len, lines)) <= columns
