"""Names that complete a command, read from the registry's files as text: a key press waits neither for checks nor for numpy."""

import re
from itertools import chain
from pathlib import Path

from toolkit.core.system.files import home
from toolkit.core.system.yaml_json import read_json, read_yaml

SHIPPED = Path(__file__).parent
RECORD = ".yaml"
PLAIN_MEASURES = ("nDCG@10", "RR@10", "R@100", "AP", "P@10", "Success@10")  # of ir_measures, which takes long to load
_ENTRY = re.compile(r"^(?:- )?name: *[\"']?([^\s\"'#]+)", re.M)
_KEY = re.compile(r"^([\w.-]+):", re.M)


def benchmarks(prefix: str) -> list[str]:
    """Benchmarks; of one that is written out already, its groups and modes too."""
    found = _names("benchmarks")
    begun = [path for path in _files("benchmarks") for name in _entries(path) if prefix.startswith(name)]
    for entry in map(read_yaml, begun):
        name, modes = entry["name"], ["", *(f"-{mode}" for mode in entry.get("modes", {}))]
        groups = [group["name"] for group in entry.get("groups", [])] + [each for each in entry.get("selections", {}) if each]
        for part in ["", *(f"-{group.replace('/', '-')}" for group in groups)]:
            found += [f"{name}{part}{mode}" for mode in modes]
    return found


def systems(prefix: str) -> list[str]:
    """Systems, and files: a system may be a folder."""
    return [*_names("systems"), *files(prefix)]


def regressions(prefix: str) -> list[str]:
    """Registered runs."""
    return _names("regressions")


def indexes(prefix: str) -> list[str]:
    """Prebuilt indexes with their short names, benchmarks, and files."""
    snapshot = read_json(SHIPPED / "indexes" / "pyserini.json")
    aliases = _KEY.findall((SHIPPED / "index-aliases.yaml").read_text(encoding="utf-8"))
    return [*(row[0] for row in snapshot["indexes"]), *aliases, *_names("indexes"), *topics(prefix)]


def topics(prefix: str) -> list[str]:
    """Benchmarks and their parts, and files."""
    return [*benchmarks(prefix), *files(prefix)]


def measures(prefix: str) -> list[str]:
    """Measures of ours, and those of ir_measures that benchmarks show."""
    rows = {name: row for name, row in read_yaml(SHIPPED / "measures.yaml").items() if row["over"] != "aggregate"}
    needing = {name for name, row in rows.items() if row.get("parameters", {}).get("cutoff", {}).get("required")}
    return [*PLAIN_MEASURES, *(f"{name}@10" if name in needing else name for name in rows)]


def cards(prefix: str) -> list[str]:
    """Measures that have a card."""
    return list(read_yaml(SHIPPED / "measures.yaml"))


def runs(prefix: str) -> list[str]:
    """Files that are no records; where nothing is written yet, those in `runs/` too."""
    return [path for path in chain(files(prefix), [] if prefix else files("runs/")) if not path.endswith(RECORD)]


def files(prefix: str) -> list[str]:
    """Files and folders (with a `/`) that begin so, hidden ones where the prefix says so."""
    folder, slash, start = prefix.rpartition("/")
    try:
        found = sorted(Path(f"{folder}{slash}" or ".").expanduser().iterdir())
    except OSError:
        return []
    shown = (path for path in found if path.name.startswith(start) and (start or not path.name.startswith(".")))
    return [f"{folder}{slash}{path.name}{'/' if path.is_dir() else ''}" for path in shown]


def _names(kind: str) -> list[str]:
    return [name for path in _files(kind) for name in _entries(path)]


def _files(kind: str) -> list[Path]:
    return [path for folder in (SHIPPED, home() / "registry") for path in sorted((folder / kind).glob("*.yaml"))]


def _entries(path: Path) -> list[str]:
    try:
        return _ENTRY.findall(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):  # `tandem doctor` says what is wrong with it
        return []
