"""A wheel holds all that a checkout does, and works from any folder."""

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from toolkit import __version__

pytestmark = [pytest.mark.lucene, pytest.mark.slow]

ROOT = Path(__file__).resolve().parent.parent.parent
FRESH = "TANDEM_FRESH" in os.environ  # pip brings what is needed, as `scripts/test --fresh` has it; else it is borrowed


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The files of the checkout."""
    source = tmp_path_factory.mktemp("source") / "tandem"
    # built from what git tracks: what is forgotten in git is missing here as well
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    source.mkdir()
    copy = "xargs -0 -I{} cp --parents {} "
    subprocess.run(f"{copy} '{source}'", shell=True, cwd=ROOT, input=tracked, check=True)
    return source


def made(source, target, *options, **environment):
    """What is built of the source, in the folder `target`."""
    command = [sys.executable, "-m", "build", *options, "--no-isolation", "--outdir", str(target), str(source)]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environment
    built = subprocess.run(command, capture_output=True, text=True, env=env)
    assert built.returncode == 0, built.stdout + built.stderr
    return target


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory):
    return next(made(source, tmp_path_factory.mktemp("wheel"), "--wheel").glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory, borrowing_venv):
    """The interpreter of an environment with the wheel and all that it can have."""
    folder = tmp_path_factory.mktemp("environment")
    if FRESH:
        return pip_installs(f"{wheel}[all,mteb,pyterrier]", fresh_venv(folder), "-c", str(ROOT / "constraints.txt"))
    return pip_installs(wheel, borrowing_venv(folder), "--no-deps", "--no-index")


def pip_installs(package, python, *options):
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", *options, str(package)]
    done = subprocess.run(pip, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return python


def fresh_venv(folder):
    venv.create(folder, symlinks=True)
    return folder / "bin" / "python"


def run(python, folder, *argv):
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env |= {"TANDEM_HOME": str(folder / "home")}
    done = subprocess.run([str(python), *argv], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_wheel_and_source_have_the_same_bytes_whenever_they_are_built(source, tmp_path):
    built = []
    for name in ("first", "second"):
        copy = shutil.copytree(source, tmp_path / name / "tandem", copy_function=shutil.copy)  # files of another time
        made(copy, tmp_path / f"{name}-dist", SOURCE_DATE_EPOCH="1700000000")
        built.append({path.name: sha256(path.read_bytes()).hexdigest() for path in (tmp_path / f"{name}-dist").iterdir()})
    assert sorted(built[0]) == [f"tandem_ir-{__version__}-py3-none-any.whl", f"tandem_ir-{__version__}.tar.gz"]
    assert built[0] == built[1]


def test_every_module_of_an_installed_tandem_is_imported(installed, tmp_path):
    code = (
        "import importlib, pkgutil, ir_datasets, ir_measures, tandem_ir, toolkit\n"
        "names = [each.name for package in (toolkit, tandem_ir)"
        " for each in pkgutil.walk_packages(package.__path__, package.__name__ + '.')]\n"
        "for name in names:\n"
        "    if name.rpartition('.')[2] != '__main__': importlib.import_module(name)\n"
        "print(len(names))"
    )
    assert int(run(installed, tmp_path, "-c", code)) > 400


def test_the_lines_of_the_readme_run_in_an_installed_tandem(installed, tmp_path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    ((code, shown),) = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert run(installed, tmp_path, "-c", code) == shown


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extra", "command"),
    [
        ("lucene", ("search", "--topics", "infosearch-mini", "--output", "run.trec")),
        ("dense", ("search", "--topics", "infosearch-mini", "--system", "all-minilm-l6-v2", "--output", "run.trec")),
        ("dense", ("encode", "--topics", "infosearch-mini", "--system", "all-minilm-l6-v2", "--output", "vectors")),
        ("dense", ("index", "infosearch-mini-audience", "--system", "all-minilm-l6-v2", "--output", "index")),
        ("dense", ("systems", "explain", "all-minilm-l6-v2", "--topics", "infosearch-mini", "--query", "audience-001-1")),
        ("", ("search", "--topics", "infosearch-mini-audience", "--recipe", "infosearch", "--output", "run.trec")),
        ("", ("doctor",)),
    ],
)
def test_a_wheel_without_extras_says_what_to_install(core, package, tmp_path, extra, command):
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"TANDEM_HOME": str(tmp_path)}
    done = subprocess.run(
        [core, "-m", f"toolkit.{command[0]}", *command[1:]], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == (1 if extra and command[0] != "systems" else 0), done.stderr
    if extra:
        assert f"pip install '{package}[{extra}]'" in done.stdout + done.stderr


@pytest.fixture(scope="module")
def core(package, tmp_path_factory, core_venv):
    """The interpreter of an environment without any extra."""
    folder = tmp_path_factory.mktemp("core")
    if FRESH:
        return pip_installs(package, fresh_venv(folder), "-c", str(ROOT / "constraints.txt"))
    return pip_installs(package, core_venv(folder), "--no-deps", "--no-index")


@pytest.fixture(scope="module")
def package(wheel, source, tmp_path_factory):
    """What that is installed from: the wheel; into a fresh one the source distribution."""
    return next(made(source, tmp_path_factory.mktemp("sdist"), "--sdist").glob("*.tar.gz")) if FRESH else wheel


def test_the_package_index_shows_the_readme_without_links_that_lead_nowhere(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        shown = archive.read(name).decode().partition("\n\n")[2]
    assert "The tutorial (docs/tutorial.md) takes ten minutes" in shown
    assert re.findall(r"\]\((?!https?://)[^)]*\)|<img|<picture", shown) == []
