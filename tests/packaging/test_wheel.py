"""A wheel holds all that a checkout does, and works from any folder."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.lucene

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    source, target = tmp_path_factory.mktemp("source") / "tandem", tmp_path_factory.mktemp("wheel")
    # built from what git tracks: what is forgotten in git is missing here as well
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    source.mkdir()
    copy = "xargs -0 -I{} cp --parents {} "
    subprocess.run(f"{copy} '{source}'", shell=True, cwd=ROOT, input=tracked, check=True)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target), str(source)]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    return next(target.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory, borrowing_venv):
    python = borrowing_venv(tmp_path_factory.mktemp("environment"))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(pip, check=True, capture_output=True)
    return python


def run(python, folder, *argv):
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env |= {"TANDEM_HOME": str(folder / "home")}
    done = subprocess.run([str(python), *argv], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_shipped_file_is_in_the_wheel(wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, tracked.split("\0")):
        folder = name.partition("/")[0]
        if folder == "toolkit":
            assert name in held
        elif folder in ("topics", "qrels", "indexes", "runs"):
            assert f"toolkit/shipped/{name}" in held


def test_an_installed_tandem_searches_and_evaluates_from_any_folder(installed, tmp_path):
    where = run(installed, tmp_path, "-c", "import toolkit; print(toolkit.__file__)").strip()
    assert ROOT not in Path(where).parents
    run(installed, tmp_path, "-m", "toolkit.search", "--topics", "infosearch-mini", "--output", "run.trec")
    table = run(installed, tmp_path, "-m", "toolkit.evaluate", "run.trec", "--benchmark", "infosearch-mini")
    assert "WISE" in table
    assert "audience" in table


def test_the_console_script_is_the_same_command(installed, tmp_path):
    tandem = installed.parent / "tandem"
    done = subprocess.run([tandem, "benchmarks", "list"], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "infosearch-mini" in done.stdout
