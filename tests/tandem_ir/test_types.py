"""The type checker: nothing is wrong in what is checked, it sees through users' scripts, and what it does not see gets less."""

import configparser
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command import ROOT
from mypy_cache import copy_known_types

HERE = Path(__file__).parent
LEFT_OUT = 67  # errors of the rooms of kinds that setup.cfg leaves out: may only fall
IGNORED = 1  # comments that silence the checker: may only fall

pytestmark = [pytest.mark.process, pytest.mark.slow]


def checked(*arguments: str) -> list[str]:
    """The errors, as `file:line`; the cache in .mypy_cache makes ten seconds two."""
    command = [sys.executable, "-m", "mypy", "--no-error-summary", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr + done.stdout
    return [line for line in done.stdout.splitlines() if ": error: " in line]


def test_what_is_checked_has_no_error():
    assert checked() == []


def test_a_typed_script_of_a_user_is_clean():
    script = HERE / "typed_script.py"
    assert len(re.findall(r"\btandem\.[a-z_]+\(", script.read_text())) >= 20
    assert checked(str(script)) == []


def test_each_mistake_of_a_script_is_found():
    script = HERE / "wrong_script.py"
    wrong = [number for number, line in enumerate(script.read_text().splitlines(), 1) if "# wrong: " in line]
    found = {int(error.split(":")[1]) for error in checked(str(script))}
    assert len(wrong) == 5
    assert found == set(wrong)


def test_what_the_checker_does_not_see_gets_less(tmp_path):
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    config.remove_option("mypy-toolkit.*", "disable_error_code")
    with open(tmp_path / "all.cfg", "w", encoding="utf-8") as file:
        config.write(file)
    copy_known_types(tmp_path / "cache")  # of libraries they hold under these settings too
    assert len(checked("--config-file", str(tmp_path / "all.cfg"), "--cache-dir", str(tmp_path / "cache"))) <= LEFT_OUT
    sources = (
        path.read_text(encoding="utf-8") for folder in ("tandem_ir", "toolkit") for path in (ROOT / folder).rglob("*.py")
    )
    assert sum(source.count("type: ignore") for source in sources) <= IGNORED
