"""The commands in README and guides do what they say: they are run.

Blocks marked `bash` and `python` are run in order, page by page, in an empty folder; `sh` marks what needs the
network or published data and is not run, `text` is output: right after a block that is run, each of its lines was printed.
"""

import glob
import itertools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import build_answers
import pytest
from command import tandem, within
from endpoint import Script, serving

from toolkit.__main__ import commands

ROOT = Path(__file__).resolve().parent.parent.parent
RENDERED = ROOT / "docs" / "reference" / "commands"  # by scripts/docs, for the site alone: may be there or not
PAGES = sorted([ROOT / "README.md", *(page for page in (ROOT / "docs").rglob("*.md") if page.parent != RENDERED)])
PRINTED = re.compile(r"<!-- printed by: tandem (.*?) -->\n```text\n(.*?)```", re.DOTALL)
BLOCK = re.compile(r"^```(bash|python)\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
EXPECTED = re.compile(r"^Expected, .*:\n\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL)  # of a registered run
HERE = re.compile(r"<<'(\w+)'\n.*?^\1$", re.MULTILINE | re.DOTALL)
STATEMENT = re.compile(rf"(?:{HERE.pattern}|\\\n|[^\n])+", re.MULTILINE | re.DOTALL)
SUFFIXES = (".py", ".md", ".yaml", ".txt", ".cfg", ".toml")
NEEDS_A_SHELL = set("|&;<>$`!")


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """Language, text, and what is shown of its output."""
    text = page.read_text(encoding="utf-8")
    found = BLOCK.findall(text)
    if found and (expected := EXPECTED.search(text)):  # of a wheel that has to be fetched no block is run
        found[-1] = (*found[-1][:2], expected[1])
    return found


def statements(text: str) -> list[str]:
    """The lines of a block; a here-document and what ends in a backslash belong to theirs."""
    return [found[0] for found in STATEMENT.finditer(text)]


def arguments(statement: str) -> list[str] | None:
    """What follows `tandem` in a statement that is nothing else, None in one for a shell."""
    words = shlex.split(statement.replace("\\\n", " "), comments=True)
    if words[:2] == ["python", "-m"] and len(words) > 2 and words[2].startswith("toolkit."):
        words = ["tandem", words[2].removeprefix("toolkit."), *words[3:]]
    if words[:1] != ["tandem"] or NEEDS_A_SHELL & set("".join(words)):
        return None
    return words[1:]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def server(request):
    """What a page's commands need to ask a language model: a scripted server for pages about builds, else nothing."""
    page = getattr(request.node, "callspec", None) and request.node.callspec.params.get("page")
    if page is None or not page.name.startswith("build"):
        yield {}
        return
    with serving(Script(build_answers.answer)) as script:
        yield {"OPENAI_BASE_URL": script.base}


@pytest.fixture
def run(tmp_path, home, all_remade, server):
    """`run(language, text)`: what a block prints, in a folder of the page's own."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "TANDEM_HOME": str(home), "HF_HUB_OFFLINE": "1", **server}

    def in_shell(statement):
        command = ["bash", "-euo", "pipefail", "-c", statement]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)

    def in_python(text):
        return within(lambda _: exec(compile(text, "guide", "exec"), {"__name__": "__main__"}), [], cwd=tmp_path, env=env)

    def done(statement):
        words = arguments(statement)
        if words is None:
            return in_shell(statement)
        if words == ["regress", "run", "--all"]:
            return all_remade()[0]
        matches = (sorted(glob.glob(word, root_dir=tmp_path)) if "*" in word else [word] for word in words)
        return tandem(*itertools.chain.from_iterable(matches), cwd=tmp_path, env=env)

    def run(language, text):
        printed = ""
        for part in [text] if language == "python" else statements(text):
            ended = in_python(part) if language == "python" else done(part)
            assert ended.returncode == 0, f"{part}\n{ended.stdout}\n{ended.stderr}"
            printed += ended.stdout + ended.stderr
        return printed

    return run


def is_line(shown: str, printed: str) -> bool:
    return shown.strip() == "..." or shown.rstrip() == printed.rstrip()


def has_cells(shown: str, printed: str) -> bool:
    """Whether a row has what an entry registers of it, in this order: `evaluate` may print more columns."""
    cells = iter(printed.split())
    return set(shown) == {"-"} or all(cell in cells for cell in shown.split())


@pytest.mark.lucene
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_run_and_print_what_it_shows(page, run):
    for language, text, shown in blocks(page):
        printed = run(language, text).splitlines()
        alike = has_cells if page.parent.name == "regressions" else is_line
        assert [line for line in shown.splitlines() if not any(alike(line, other) for other in printed)] == [], text


@pytest.mark.model
def test_the_tables_of_the_baselines_are_what_their_commands_print(tmp_path, run):
    for system, output in (("bm25", "bm25.trec"), ("all-minilm-l6-v2", "minilm.trec")):
        run("bash", f"tandem search --topics infosearch-mini --system {system} --output {output}")
    shown = PRINTED.findall((ROOT / "docs" / "guides" / "infosearch-mini.md").read_text(encoding="utf-8"))
    assert len(shown) == 2
    for command, text in shown:
        lines = iter(run("bash", f"tandem {command}").splitlines())
        # in this order; lines may be left out
        assert [line for line in text.splitlines() if line not in lines] == []


def test_here_documents_and_long_lines_are_one_statement():
    text = "cat > a <<'END'\ntandem x\n\nEND\ntandem y \\\n  z\n\necho 1 # one\n"
    assert statements(text) == ["cat > a <<'END'\ntandem x\n\nEND", "tandem y \\\n  z", "echo 1 # one"]
    assert [arguments(each) for each in statements(text)] == [None, ["y", "z"], None]
    assert arguments("python -m toolkit.search --output - | head") is None


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            path = (page.parent / target).resolve()
            rendered = path.parent == RENDERED and path.stem.removeprefix("tandem-") in {"README", *commands()}
            assert rendered or path.exists(), f"{page.relative_to(ROOT)} links to {target}"


def test_what_contributing_names_is_there():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = [name.removeprefix("./") for name in re.findall(r"`((?:[\w.-]+/)*[\w.-]+/?)`", text)]
    named = [name for name in named if "/" in name or Path(name).suffix in SUFFIXES]
    assert len(named) > 40
    made = {"site/", "site/index.html", ".venv-docs"}
    absent = [name for name in named if not any((ROOT / base / name).exists() for base in ("", "toolkit", "tests"))]
    assert set(absent) - made == set()
