"""What the Tab key gets, and how soon."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command import tandem

from toolkit import registry
from toolkit.__main__ import commands
from toolkit.complete import completer_of, kinds, parser, with_subcommands
from toolkit.completion import SHELLS
from toolkit.datasets import find
from toolkit.metrics import parse
from toolkit.registry import completions

OUT = "completions"


def completed(line: str, folder: Path) -> list[str]:
    """What a shell would offer behind a line."""
    asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9"}
    asked |= {"_ARGCOMPLETE_STDOUT_FILENAME": str(folder.parent / OUT), "_ARGCOMPLETE_IFS": "\n"}
    done = subprocess.run(
        [sys.executable, "-m", "toolkit"], env=os.environ | asked, cwd=folder, capture_output=True, check=True
    )
    assert (done.stdout, done.stderr) == (b"", b"")
    return [name.strip() for name in (folder.parent / OUT).read_text().splitlines()]


@pytest.fixture
def folder(tmp_path, home):
    """With runs, and an entry of a user's own that is not readable as YAML."""
    work = tmp_path / "work"
    for name in ("bm25.trec", "bm25.trec.yaml", "runs/run.trec", "runs/run.trec.yaml", ".hidden"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("")
    systems = home / "registry" / "systems"
    systems.mkdir(parents=True)
    (systems / "mine.yaml").write_text("- name: nevermore-base\n  kind: [dense\n")
    return work


@pytest.mark.process
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("tandem ev", {"evaluate"}),
        ("tandem help ev", {"evaluate"}),
        ("tandem regress c", {"cite"}),
        ("tandem search --que", {"--query-template"}),
        ("tandem report bm25.trec --format l", {"latex"}),
        ("tandem evaluate bm25.trec --benchmark nev", {"nevir"}),
        (
            "tandem evaluate --benchmark infosearch-mini-len",
            {"infosearch-mini-length", *(f"infosearch-mini-length-{mode}" for mode in ("ori", "ins", "rev"))},
        ),
        ("tandem search --topics t --system nevermore", {"nevermore-base"}),
        ("tandem regress cite infosearch-mini.bm25+r", {"infosearch-mini.bm25+rules.v2"}),
        ("tandem index fetch msmarco-v2-passage-s", {"msmarco-v2-passage-slim"}),
        ("tandem evaluate bm25.trec -m SIC", {"SICR"}),
        ("tandem evaluate ", {"bm25.trec", "runs/", "runs/run.trec"}),
        ("tandem diff bm25.trec runs/", {"runs/run.trec"}),
        ("tandem nothing --x", set()),
        ("tandem evaluate --no-such-option x --bench", {"--benchmark"}),
    ],
)
def test_the_tab_key_completes(line, offered, folder):
    assert set(completed(line, folder)) == offered


def test_names_are_those_of_the_registry(home):
    assert set(completions.systems("no-such-file")) == registry.systems().keys()
    assert set(completions.regressions("")) == registry.regressions().keys()
    assert set(completions.benchmarks("")) == registry.benchmarks().keys()
    assert registry.indexes().keys() <= set(completions.indexes("no-such-file"))
    assert {"msmarco", "wikipedia-dpr", "infosearch-mini"} <= set(completions.indexes("no-such-file"))
    assert [str(parse(name)) for name in completions.measures("")] == completions.measures("")


@pytest.mark.parametrize("name", ["infosearch-mini", "mfollowir", "berds", "instructir", "followir"])
def test_parts_of_a_benchmark_are_names_that_it_has(name):
    offered = [each for each in completions.benchmarks(f"{name}-") if each.startswith(f"{name}-")]
    assert offered
    assert [each for each in offered if find(each) is None] == []


def test_every_completer_is_of_an_option_that_exists():
    made = [
        (command, action)
        for name in commands()
        for command, below in with_subcommands(
            name, parser(commands(), f"tandem {name} ")._subparsers._group_actions[0].choices[name]
        )
        for action in below._actions
    ]
    named = {(command, action.option_strings[-1] if action.option_strings else str(action.metavar)) for command, action in made}
    assert kinds().keys() <= {name for _, name in named} | {f"{command} {name}" for command, name in named}
    runs = {
        action.metavar: command
        for command, action in made
        if action.dest in ("run", "runs") and not completer_of(command, action)
    }
    assert runs == {}


@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_printed_names_the_command(shell):
    done = tandem("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert "_ARGCOMPLETE" in done.stdout
    assert re.search(r"^ *(complete|compdef) .*tandem", done.stdout, re.M)


@pytest.mark.process
def test_bash_calls_it(folder):
    code = tandem("completion", "bash").stdout
    ask = "COMP_LINE='tandem ev'; COMP_POINT=9; COMP_TYPE=9; _python_argcomplete tandem ev tandem; echo ${COMPREPLY[@]}"
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    (bin_folder / "tandem").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m toolkit "$@"\n')
    (bin_folder / "tandem").chmod(0o755)
    path = {"PATH": f"{bin_folder}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", f"{code}\n{ask}"], env=os.environ | path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "evaluate"


@pytest.mark.process
def test_a_key_press_loads_nothing_heavy_and_help_no_completion(folder):
    code = (
        "import sys, runpy, contextlib, io\n"
        "sys.argv = ['tandem', '--help']\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    runpy.run_module('toolkit', run_name='__main__')\n"
        "assert not {'argcomplete', 'toolkit.complete', 'numpy'} & sys.modules.keys()\n"
        "from toolkit.registry import completions as names\n"
        "for each in (names.benchmarks, names.systems, names.regressions, names.measures, names.runs):\n"
        "    assert each('')\n"
        "assert not {'numpy', 'pandas', 'pyarrow', 'ir_measures', 'ir_datasets'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)
