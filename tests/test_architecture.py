"""The shape of the package, read from its syntax trees: what imports what, and what `--help` loads."""

import ast
import configparser
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "toolkit"

LEVELS = {
    "core": 0,
    **dict.fromkeys(("store", "formats", "registry"), 1),
    **dict.fromkeys(("provenance", "published"), 1.5),  # what benchmarks are verified by, models and files identified by
    **dict.fromkeys(("benchmarks", "measures", "models"), 2),
    **dict.fromkeys(("texts", "instructions"), 2.5),  # what every stage reads documents and instructions by
    "steps": 2.6,
    "encode": 3,
    "index": 3.1,  # holds what was encoded
    "search": 3.2,  # opens indexes
    **dict.fromkeys(("fuse", "rerank", "judge", "expand", "diversify", "evaluate", "runs", "systems"), 3.3),
    "pages": 3.5,  # what diff and report show alike
    "jobs": 4,
    **dict.fromkeys(("diff", "analyze"), 5),
    "report": 6,
    "regress": 6,
    **dict.fromkeys(("shell", "doctor", "cache"), 8),
}
HEAVY = {"torch", "faiss", "transformers", "sentence_transformers", "ir_datasets", "ir_measures", "jnius", "pyserini", "pandas"}
SOURCES = sorted(PACKAGE.rglob("*.py"))
COMMANDS = sorted(path.parent.name for path in PACKAGE.glob("*/__main__.py"))


def part_of(path: Path) -> str:
    """`toolkit/formats/runs.py` -> `formats`; `toolkit/store.py` -> `store`; the package's own two files -> ``."""
    first = path.relative_to(PACKAGE).parts[0]
    return "" if first in ("__init__.py", "__main__.py") else first.removesuffix(".py")


def imported_parts(path: Path) -> set[str]:
    """The parts of toolkit that a file imports, anywhere in it."""
    parts = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            if node.module == "toolkit":
                parts |= {alias.name for alias in node.names if alias.name in LEVELS}
            elif node.module and node.module.startswith("toolkit."):
                parts.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            parts |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("toolkit.")}
    return parts


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path):
    part = part_of(path)
    if not part:  # toolkit/__init__.py names what it offers lazily; toolkit/__main__.py starts commands
        return
    assert part in LEVELS, f"{part} has no level: add it to LEVELS and to the design"
    for imported in imported_parts(path) - {part}:
        if path.name == "__main__.py":
            assert imported == "shell" or LEVELS[imported] < 8 or imported == part
        else:
            assert LEVELS[imported] < LEVELS[part], (
                f"{part} (level {LEVELS[part]}) imports {imported} (level {LEVELS[imported]})"
            )


def test_main_files_are_imported_by_nobody():
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            assert all("__main__" not in module.split(".") for module in modules), path


def test_every_folder_of_the_package_is_packaged():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    packaged = set(setup["options"]["packages"].split())
    folders = {".".join(path.parent.relative_to(ROOT).parts) for path in PACKAGE.rglob("__init__.py")}
    assert folders <= packaged
    shipped = packaged - folders
    assert all(name.startswith(("tandem_ir", "toolkit.shipped", "toolkit.corpora", "toolkit.registry")) for name in shipped), (
        shipped
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_light(name):
    code = (
        "import json, runpy, sys\n"
        f"sys.argv = ['tandem {name}', '--help']\n"
        "try:\n"
        f"    runpy.run_module('toolkit.{name}', run_name='__main__')\n"
        "except SystemExit as end:\n"
        "    assert not end.code, end.code\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"usage: tandem {name}")
    assert HEAVY.isdisjoint(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_listed_with_a_line_of_help(name):
    listed = subprocess.run([sys.executable, "-m", "toolkit"], capture_output=True, text=True, check=True).stdout
    line = next(line for line in listed.splitlines() if line.startswith(f"  {name} "))
    assert len(line.split(maxsplit=1)[1]) > 10


def test_importing_the_package_registers_and_loads_nothing():
    code = "import sys, toolkit; print(sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = ast.literal_eval(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert HEAVY.isdisjoint(loaded)
    assert "numpy" not in loaded
    assert "pyarrow" not in loaded


def test_unknown_command_names_the_nearest():
    done = subprocess.run([sys.executable, "-m", "toolkit", "evalute"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "error: no command 'evalute'"
    assert done.stderr.splitlines()[1].startswith("hint:  did you mean 'evaluate'? Known: ")


def test_no_path_of_a_machine_and_no_registry_host_in_the_project():
    # written in parts so that this file does not hold what it looks for
    banned = ("/" + "work/", "pypi" + ".org", "files.python" + "hosted", "registry.npm" + "js", "deb.deb" + "ian")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if not path.is_file() or path.suffix in (".gz", ".cfs", ".si"):
            continue
        content = path.read_bytes()
        for word in banned:
            assert word.encode() not in content, f"{name} names {word}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_and_functions_stay_small(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 400, f"{path} has over 400 lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno <= 60, f"{path}: {node.name} has over 60 lines"


def test_environment_variables_are_the_documented_ones():
    """`os.environ` is asked for nothing that the design does not name."""
    known = {
        "TANDEM_HOME",
        "TANDEM_INDEX_MIRROR",
        "OPENAI_BASE_URL",
        "OPENAI_API_KEY",
        "HF_TOKEN",
        "HF_ENDPOINT",
        "HF_HUB_OFFLINE",
        "JAVA_HOME",
    }
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("os.environ.get", "os.getenv") and node.args:
                name = node.args[0]
                assert not isinstance(name, ast.Constant) or name.value in known, f"{path} asks for {name.value}"
