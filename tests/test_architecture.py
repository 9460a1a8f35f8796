"""The shape of the package, read from its syntax trees: what imports what, and what `--help` loads."""

import ast
import configparser
import functools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import tandem

from toolkit.__main__ import commands
from toolkit.engine import machine_check

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "toolkit"

LEVELS = {
    "core": 0,
    **dict.fromkeys(("files", "registry"), 1),
    **dict.fromkeys(("datasets", "metrics", "models"), 2),
    "engine": 3,
    "retrieval": 4,
    **dict.fromkeys(("evaluation", "jobs"), 5),
    "reporting": 6,
    **dict.fromkeys(("construction", "studies"), 7),
}
HEAVY = {"torch", "faiss", "transformers", "sentence_transformers", "ir_datasets", "ir_measures", "jnius", "pyserini", "pandas"}
SOURCES = sorted(PACKAGE.rglob("*.py"))
DOORS = sorted(PACKAGE.glob("*.py"))
COMMANDS = sorted(commands())


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(tree(path)))


def module_of(path: Path) -> str:
    """`toolkit/files/runs/lint.py` -> `toolkit.files.runs.lint`; a folder's `__init__.py` -> the folder."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """`toolkit.files.runs.lint` -> `files`; of a door its name, of the package itself ``."""
    return module.split(".")[1] if "." in module else ""


MODULES = {module_of(path): path for path in SOURCES}


@functools.cache
def lazily_named(package: str) -> dict[str, str]:
    """What a folder's `__init__.py` names and loads when it is asked for -> the module that has it."""
    calls = [node for node in nodes(MODULES[package]) if isinstance(node, ast.Call)]
    named = [ast.literal_eval(call.args[1]) for call in calls if ast.unparse(call.func) == "lazy_names"]
    return {
        name: module if "." in module else f"{package}.{module}"
        for modules in named
        for module, names in modules.items()
        for name in names
    }


@functools.cache
def imported(module: str) -> frozenset[str]:
    """The modules of toolkit that a module imports when it runs, anywhere in it: those that have the names it asks for."""
    found = set()
    for node in running(tree(MODULES[module])):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            for alias in node.names if node.module in MODULES else ():
                inside = f"{node.module}.{alias.name}"
                found.add(inside if inside in MODULES else lazily_named(node.module).get(alias.name, node.module))
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in MODULES}
    return frozenset(found - {module})


def running(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree without those that are there for type checkers alone."""
    left = [tree]
    while left:
        for node in ast.iter_child_nodes(left.pop()):
            if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
                yield node
                left.append(node)


def test_imports_point_down():
    rooms = {module: room_of(module) for module in MODULES if MODULES[module] not in DOORS}
    assert set(rooms.values()) == LEVELS.keys()
    assert [
        f"{module} imports {other}"
        for module, room in rooms.items()
        for other in sorted(imported(module))
        if room_of(other) not in ("", room) and LEVELS.get(room_of(other), 9) >= LEVELS[room]
    ] == []


def test_no_modules_import_each_other_in_circles():
    """Each module is left out once all that it imports is; what cannot be left out is in a circle."""
    left = {module: set(imported(module)) for module in MODULES}
    while ready := [module for module, needed in left.items() if not needed & left.keys()]:
        for module in ready:
            del left[module]
    while outer := [module for module in left if not any(module in needed for needed in left.values())]:
        for module in outer:  # these only import a circle
            del left[module]
    assert sorted(left) == []


def test_doors_are_imported_by_nobody():
    doors = {f"toolkit.{name}" for name in COMMANDS}
    assert [module for module in MODULES if doors & imported(module)] == []


def test_doors_are_thin():
    assert [path.name for path in DOORS if path.read_text(encoding="utf-8").count("\n") > 200] == []


def test_rooms_are_seen_at_a_glance():
    assert sorted(path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__") == sorted(LEVELS)
    folders = {path.parent for path in SOURCES} - {PACKAGE}
    assert {str(folder): count for folder in folders if (count := len(list(folder.glob("*.py")))) > 16} == {}


def test_every_folder_of_the_package_is_packaged():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    packaged = set(setup["options"]["packages"].split())
    folders = {".".join(path.parent.relative_to(ROOT).parts) for path in PACKAGE.rglob("__init__.py")}
    assert folders <= packaged
    shipped = packaged - folders
    assert all(name.startswith(("tandem_ir", "toolkit.shipped")) for name in shipped), shipped


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
    asked = {(room_of(module_of(path)), name) for path in SOURCES for name in environment_variables(path)}
    assert {(part, name) for part, name in asked if name not in known} == {
        ("models", "TORCHINDUCTOR_CACHE_DIR"),  # set, where the user did not
        *(("files", name) for name in ("name", "NETRC", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")),
        *(("engine", name) for name in ("name", "RAY_ADDRESS", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN")),
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
    reader = ROOT / "toolkit" / "core" / "system" / "yaml_json.py"
    files = (path for package in ("toolkit", "tandem_ir") for path in (ROOT / package).rglob("*.py") if path != reader)
    assert [str(path) for path in files if loaders.search(path.read_text(encoding="utf-8"))] == []
    assert loaders.search(reader.read_text(encoding="utf-8"))


def test_systems_are_chosen_where_names_of_other_registries_are_known():
    taken = [
        module_of(path)
        for path in SOURCES
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom) and node.module == "toolkit.registry.choice"
        if any(alias.name == "choose_system" for alias in node.names)
    ]
    assert taken == ["toolkit.models"]


def test_files_that_the_docs_of_the_architecture_name_are_there():
    known = {str(path.relative_to(ROOT)) for path in ROOT.glob("[a-z]*/**/*") if "__pycache__" not in path.parts}
    known |= {"toolkit/shipped"}  # in a wheel alone
    pages = [ROOT / "docs" / "architecture.md", *(ROOT / "docs" / "decisions").glob("*.md")]
    named = {
        (page.name, name)
        for page in pages
        for name in re.findall(r"`([\w./-]+\.(?:py|yaml)|[\w-]+(?:/[\w-]+)+/?)`", page.read_text("utf-8"))
    }
    ends = {path[place:] for path in known for place in (0, *(match.end() for match in re.finditer("/", path)))}
    assert sorted((page, name) for page, name in named if name.rstrip("/") not in ends) == []


def test_no_file_has_a_name_that_says_nothing():
    """The name of a file says what is in it without its folder."""
    assert [str(path.relative_to(ROOT)) for path in SOURCES if path.stem in GENERIC and path not in DOORS] == []
