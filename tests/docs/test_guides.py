"""The commands in README and guides do what they say: they are run.

Blocks marked `bash` and `python` are run in order, page by page, in an empty folder; `sh` marks what needs the
network or published data and is not run, `text` is output.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.lucene

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
PRINTED = re.compile(r"<!-- printed by: tandem (.*?) -->\n```text\n(.*?)```", re.DOTALL)
BLOCK = re.compile(r"^```(bash|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_run(page, tmp_path, home):
    env = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TANDEM_HOME": str(home),
        "HF_HUB_OFFLINE": "1",
    }
    for language, text in blocks(page):
        command = ["bash", "-euo", "pipefail", "-c", text] if language == "bash" else [sys.executable, "-c", text]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"


def test_the_tables_of_the_readme_are_what_their_commands_print(tmp_path, home):
    env = {**os.environ, "TANDEM_HOME": str(home)}
    tandem = [sys.executable, "-m", "toolkit"]
    for system, output in (("bm25", "bm25.trec"), ("all-minilm-l6-v2", "minilm.trec")):
        search = [*tandem, "search", "--topics", "infosearch-mini", "--system", system, "--output", output]
        subprocess.run(search, cwd=tmp_path, env=env, check=True, capture_output=True)
    shown = PRINTED.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(shown) == 2
    for command, text in shown:
        done = subprocess.run([*tandem, *command.split()], cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.stdout.partition("\n\n")[0].strip() == text.strip()


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"
