"""The shape of the package, read from its syntax trees: what imports what, and what `--help` loads."""

import ast
import configparser
import functools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command import tandem

from toolkit.engine import machine_check

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "toolkit"

LEVELS = {
    "core": 0,
    **dict.fromkeys(("store", "formats", "registry"), 1),
    **dict.fromkeys(("provenance", "published"), 1.5),  # what benchmarks are verified by, models and files identified by
    **dict.fromkeys(("benchmarks", "measures", "models"), 2),
    **dict.fromkeys(("texts", "instructions"), 2.5),  # what every stage reads documents and instructions by
    "engine": 2.5,
    "steps": 2.6,
    "encode": 3,
    "index": 3.1,  # holds what was encoded
    "search": 3.2,  # opens indexes
    **dict.fromkeys(("fuse", "rerank", "judge", "expand", "diversify", "evaluate", "runs", "systems"), 3.3),
    "pages": 3.5,  # what diff and report show alike
    "jobs": 4,
    **dict.fromkeys(("diff", "analyze"), 5),
    **dict.fromkeys(("report", "gate", "regress"), 6),
    **dict.fromkeys(("cite", "measure_cards"), 5.5),
    **dict.fromkeys(("build", "experiment", "reproduce"), 6.5),
    "options": 7,
    **dict.fromkeys(("shell", "doctor", "cache", "completion"), 8),
}
BESIDE = {
    "encode": {"index"},
    "benchmarks": {"measures", "texts"},
    "measures": {"measure_cards"},
    "runs": {"evaluate"},
}  # commands that need a part of their own level
HEAVY = {"torch", "faiss", "transformers", "sentence_transformers", "ir_datasets", "ir_measures", "jnius", "pyserini", "pandas"}
SOURCES = sorted(PACKAGE.rglob("*.py"))
COMMANDS = sorted(path.parent.name for path in PACKAGE.glob("*/__main__.py"))


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def part_of(path: Path) -> str:
    """`toolkit/files/runs/runs.py` -> `formats`; `toolkit/files/store.py` -> `store`; the package's own two files -> ``."""
    first = path.relative_to(PACKAGE).parts[0]
    return "" if first in ("__init__.py", "__main__.py") else first.removesuffix(".py")


def imported_parts(path: Path) -> set[str]:
    """The parts of toolkit that a file imports, anywhere in it."""
    parts = set()
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            if node.module == "toolkit":
                parts |= {alias.name for alias in node.names if alias.name in LEVELS}
            elif node.module and node.module.startswith("toolkit."):
                parts.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            parts |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("toolkit.")}
    return parts


def crosses(path: Path, part: str, imported: str) -> bool:
    """Whether a file may not import a part: what lies below may be, and by commands the shell and what joins stages."""
    if path.name != "__main__.py":
        return LEVELS[imported] >= LEVELS[part]
    allowed = {"shell", "options", "jobs"} | BESIDE.get(part, set())
    return imported not in allowed and LEVELS[imported] >= LEVELS[part]


def test_imports_point_down():
    # toolkit/__init__.py names what it offers lazily; toolkit/__main__.py starts commands
    parts = {path: part_of(path) for path in SOURCES if part_of(path)}
    unknown = set(parts.values()) - LEVELS.keys()
    assert not unknown, "add them to LEVELS and to the design"
    assert [
        f"{path.relative_to(ROOT)} imports {imported}"
        for path, part in parts.items()
        for imported in sorted(imported_parts(path) - {part})
        if crosses(path, part, imported)
    ] == []


def test_main_files_are_imported_by_nobody():
    for path in SOURCES:
        for node in nodes(path):
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


HELP = """
import contextlib, io, json, runpy, sys
for name in sys.argv[1:]:
    printed = io.StringIO()
    sys.argv = [f"tandem {name}", "--help"]
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_module(f"toolkit.{name}", run_name="__main__")
    except SystemExit as end:
        assert not end.code, name
    print(json.dumps([name, printed.getvalue(), sorted({name.partition(".")[0] for name in sys.modules})]))
"""


@pytest.mark.process
def test_help_is_light():
    done = subprocess.run([sys.executable, "-c", HELP, *COMMANDS], capture_output=True, text=True, check=True)
    shown = [json.loads(line) for line in done.stdout.splitlines()]
    assert [name for name, _, _ in shown] == COMMANDS
    for name, text, loaded in shown:  # what an earlier command loaded counts for the later ones
        assert text.startswith(f"usage: tandem {name} ")
        assert HEAVY.isdisjoint(loaded), name


def test_every_command_is_listed_with_a_line_of_help():
    lines = {line.split()[0]: line.split(maxsplit=1)[1:] for line in tandem().stdout.splitlines() if line.startswith("  ")}
    assert sorted(lines) == COMMANDS
    assert [name for name, text in lines.items() if len("".join(text)) <= 10] == []


@pytest.mark.process
def test_importing_the_package_registers_and_loads_nothing():
    code = "import sys, toolkit; print(sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = ast.literal_eval(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert HEAVY.isdisjoint(loaded)
    assert "numpy" not in loaded
    assert "pyarrow" not in loaded


def test_help_of_a_command_can_be_asked_for_by_name():
    assert tandem("help").stdout == tandem("--help").stdout
    assert tandem("help", "evaluate").stdout == tandem("evaluate", "--help").stdout
    assert tandem("help", "evalute").stderr.startswith("error: no command 'evalute'")


def test_unknown_command_names_the_nearest():
    done = tandem("evalute")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "error: no command 'evalute'"
    assert done.stderr.splitlines()[1].startswith("hint:  did you mean 'evaluate'? Known: ")


@pytest.mark.process
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


def test_modules_and_functions_stay_small():
    large = []
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        if text.count("\n") > 400:
            large.append(f"{path} has over 400 lines")
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno > 60:
                large.append(f"{path}: {node.name} has over 60 lines")
    assert large == []


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
        *("NO_COLOR", "TERM"),  # of every terminal
        *("_ARGCOMPLETE", "COMP_LINE", "COMP_POINT"),  # of a shell that asks what completes a line
    }
    asked = {(part_of(path), name) for path in SOURCES for name in environment_variables(path)}
    assert {(part, name) for part, name in asked if name not in known} == {
        *(("doctor", name) for name in ("name", "RAY_ADDRESS")),
        ("models", "TORCHINDUCTOR_CACHE_DIR"),  # set, where the user did not
        *(("store", name) for name in ("name", "NETRC", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")),
        *(("engine", name) for name in ("name", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN")),
        ("models", "name"),
        ("models", "self.key_name"),
    }  # secrets and what Java would read are kept out; and the variable in which a server's entry or api says that its key is
    assert {*machine_check.SETTINGS, *machine_check.KEYS} <= known


ASKING = {"os.getenv", *(f"os.environ.{name}" for name in ("get", "pop", "setdefault"))}


def environment_variables(path: Path) -> set[str]:
    """The names by which a file asks `os.environ`, in whatever way; a name that is computed counts as its expression."""
    found = []
    for node in nodes(path):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
            found.append(node.slice)
        elif isinstance(node, ast.Compare) and ast.unparse(node.comparators[-1]) == "os.environ":
            found.append(node.left)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ASKING and node.args:
            found.append(node.args[0])
    return {node.value if isinstance(node, ast.Constant) else ast.unparse(node) for node in found}


GENERIC = {
    "job",
    "plan",
    "method",
    "facts",
    "kept",
    "kinds",
    "output",
    "inputs",
    "sources",
    "settings",
    "page",
    "table",
    "tables",
    "metadata",
    "published",
    "foreign",
    "moved",
    "questions",
    "records",
    "parts",
}


def test_yaml_and_json_are_read_in_one_place():
    loaders = re.compile(r"\b(?:yaml\.\w*load\w*|json\.loads?|JSONDecoder|tomllib|\w*SafeLoader)\b")
    reader = ROOT / "toolkit" / "core" / "yaml_json.py"
    files = (path for package in ("toolkit", "tandem_ir") for path in (ROOT / package).rglob("*.py") if path != reader)
    assert [str(path) for path in files if loaders.search(path.read_text(encoding="utf-8"))] == []
    assert loaders.search(reader.read_text(encoding="utf-8"))


def test_no_file_has_a_name_that_says_nothing():
    """The name of a file says what is in it without its folder."""
    assert [str(path.relative_to(ROOT)) for path in SOURCES if path.stem in GENERIC] == []
