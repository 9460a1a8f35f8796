"""What is one thing and what is another: names that become one where files are named by them, objects of Python whose helpers
change, indexes with a changed bit. Never another's numbers: the run that a fresh TANDEM_HOME gives, or a line and no run.
"""

import itertools
import json
import os
import random
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import NamedTuple

from bench_faults import Outcome, command, drawn, prepared

COMPOSED = "caf\u00e9"
# names that become one; then names that do not
TWINS = [
    ("a/b", "a-b"),
    ("a-b/c", "a/b-c"),
    ("Group", "group"),
    ("ab1", "AB1"),
    (COMPOSED, unicodedata.normalize("NFD", COMPOSED)),
]
TWINS += [("\u212bngstr", "\u00c5ngstr"), ("\u212a1", "k1"), ("STRASSE", "stra\u00dfe"), ("\u03a3\u03c2", "\u03c3\u03c3")]
APART = [("a/b", "a_b"), ("a.b", "a-b"), ("group", "groups"), ("a1", "a2")]
SHIPPED = [("bm25", "BM25"), ("bm25", "Bm25"), ("e5-large-v2", "E5-Large-v2"), ("bm25+rules", "BM25+Rules")]
SEARCH = ("search", "--topics", "mine", "--output", "out")
READING = (
    ("benchmarks", "check", "mine"),
    SEARCH,
    ("evaluate", "mine.trec", "--benchmark", "mine"),
    ("index", "mine", "--output", "made"),
)
SECOND = (("systems", "show", "{}", "--systems", "mine.yaml"), (*SEARCH, "--system", "{}", "--systems", "mine.yaml"))


def groups(folder: Path, first: str, second: str) -> None:
    rows = [json.loads(line) for line in (folder / "mine" / "topics.jsonl").read_text().splitlines()]
    _lines(folder / "mine" / "topics.jsonl", [row | {"group": group} for row, group in zip(rows, (first, second), strict=True)])


def groups_with_documents(folder: Path, first: str, second: str) -> None:
    groups(folder, first, second)
    corpus = folder / "mine" / "corpus.jsonl"
    for name in {first.replace("/", "-"), second.replace("/", "-")}:
        shutil.copyfile(corpus, folder / "mine" / f"corpus.{name}.jsonl")
    corpus.unlink()


def modes(folder: Path, first: str, second: str) -> None:
    names = {"pos": first, "neg": second}
    config = {"name": "mine", "modes": {"base": "base", first: "instructed", second: "reversed"}, "measures": ["nDCG@10"]}
    (folder / "mine" / "benchmark.yaml").write_text(json.dumps(config))
    rows = [json.loads(line) for line in (folder / "mine" / "topics.jsonl").read_text().splitlines()]
    for row in rows:
        row["instructions"] = {names[mode]: text for mode, text in row["instructions"].items()}
    _lines(folder / "mine" / "topics.jsonl", rows)
    for mode, name in names.items():
        (folder / "mine" / f"qrels.{mode}.txt").rename(folder / "mine" / f"qrels.{name.replace('/', '-')}.txt")
        (folder / "mine.trec").write_text((folder / "mine.trec").read_text().replace(f"-{mode} ", f"-{name} "))


def entries(folder: Path, first: str, second: str) -> None:
    rows = [{"name": name, "like": "bm25", "description": "d"} for name in (first, second)]
    (folder / "mine.yaml").write_text(json.dumps(rows))


def entries_of_two_places(folder: Path, first: str, second: str) -> None:
    registry = folder / "home" / "registry" / "systems" / "mine.yaml"
    registry.parent.mkdir(parents=True)
    for path, name in ((registry, first), (folder / "mine.yaml", second)):
        path.write_text(json.dumps({"name": name, "like": "bm25", "description": "d"}))


def entry_beside_the_shipped(folder: Path, first: str, second: str) -> None:
    (folder / "mine.yaml").write_text(json.dumps({"name": second, "like": first, "description": "d"}))


NAMED: dict[Callable, tuple[list, list, tuple]] = {
    groups: (TWINS, APART, READING),
    groups_with_documents: (TWINS, APART[1:], READING[:3]),
    modes: (TWINS, [pair for pair in APART if "-" not in "".join(pair) and "/" not in "".join(pair)], READING),
    entries: (TWINS, APART, SECOND),
    entries_of_two_places: (TWINS, APART, SECOND),
    entry_beside_the_shipped: (SHIPPED, [("bm25", "bm26")], SECOND),
}

# how an object's module comes to a number that its vectors depend on: file -> text, `{}` the number
BODY = """
import zlib
import numpy as np
{}

class Model:
    def encode(self, texts, kind):
        from_number = lambda text: np.random.RandomState(zlib.crc32(f"{{number()}} {{text}}".encode()))
        return np.array([from_number(text).standard_normal(8) for text in texts], "float32")

    def score(self, pairs):
        return [float(zlib.crc32(f"{{number()}} {{pair}}".encode()) % 1000) for pair in pairs]


def number():
{}
"""


def body(head: str, inner: str = "    return K") -> str:
    return BODY.format(head, inner)


K = "K = {}\n"
SHAPES: dict[str, tuple[str, dict[str, str]]] = {
    "the module": ("own_model", {"own_model.py": body("K = {}")}),
    "from": ("own_model", {"own_model.py": body("from helper import K"), "helper.py": K}),
    "import": ("own_model", {"own_model.py": body("import helper", "    return helper.K"), "helper.py": K}),
    "import as": ("own_model", {"own_model.py": body("import json, helper as h", "    return h.K"), "helper.py": K}),
    "star": ("own_model", {"own_model.py": body("from helper import *"), "helper.py": K}),
    "try": (
        "own_model",
        {"own_model.py": body("try:\n    from helper import K\nexcept ImportError:\n    K = 0"), "helper.py": K},
    ),
    "in a function": ("own_model", {"own_model.py": body("", "    from helper import K\n    return K"), "helper.py": K}),
    "import_module": (
        "own_model",
        {"own_model.py": body("import importlib", "    return importlib.import_module('helper').K"), "helper.py": K},
    ),
    "__import__": ("own_model", {"own_model.py": body("", "    return __import__('helper').K"), "helper.py": K}),
    "of a helper": (
        "own_model",
        {"own_model.py": body("from helper import K"), "helper.py": "from further import K\n", "further.py": K},
    ),
    "a package beside": (
        "own_model",
        {"own_model.py": body("from tools import K"), "tools/__init__.py": "from .k import K\n", "tools/k.py": K},
    ),
    "a folder without __init__": ("own_model", {"own_model.py": body("from tools.k import K"), "tools/k.py": K}),
    "a submodule by its name": (
        "own_model",
        {"own_model.py": body("import tools.k", "    return tools.k.K"), "tools/__init__.py": "", "tools/k.py": K},
    ),
    "its package": (
        "own_package.model",
        {"own_package/__init__.py": K, "own_package/model.py": body("from own_package import K")},
    ),
    "a sibling": (
        "own_package.model",
        {"own_package/__init__.py": "", "own_package/model.py": body("from .conf import K"), "own_package/conf.py": K},
    ),
    "a parent": (
        "own_package.inner.model",
        {
            "own_package/__init__.py": "",
            "own_package/inner/__init__.py": "",
            "own_package/inner/model.py": body("from ..conf import K"),
            "own_package/conf.py": K,
        },
    ),
    "beside its package": (
        "own_package.model",
        {"own_package/__init__.py": "", "own_package/model.py": body("from helper import K"), "helper.py": K},
    ),
}
OBJECT = "python:{}:Model"
OUT = ("--output", "out")
# what is made with an object, twice: with the old number and with the new one
USES: dict[str, tuple[tuple[str, ...], ...]] = {
    "search": ((*SEARCH, "--system", OBJECT),),
    "experiment": (("experiment", OBJECT, "--benchmarks", "mine", *OUT),),
    "encode": (("encode", "docs.jsonl", "--system", OBJECT, *OUT),),
    "rerank": (("search", "--topics", "mine", "--system", "bm25", "--rerank", OBJECT, *OUT),),
}
# of TANDEM_HOME: what makes an index at its first search
SYSTEMS = {
    "lucene": {"kind": "bm25", "like": "bm25"},
    "faiss": {"kind": "dense", "checkpoint": "../bert", "parameters": {"pooling": "cls", "similarity": "cos"}},
    "multivector": {"kind": "multivector", "checkpoint": "../colbert"},
    "impact": {"kind": "impact", "checkpoint": "../masked"},
}
WAYS = ("in place", "in place, its time kept", "replaced", "replaced, its time kept", "shorter", "longer")
RECORDS = ("tandem.yaml", "tandem.sha256")  # about an index: another letter in them may mean the same


class Bit(NamedTuple):
    """A file of an index in TANDEM_HOME that changes: by its system, and its place among the files."""

    system: str
    file: int
    way: str
    searched: bool  # since it was made


MOST_FILES = 16
CASES = [
    *(
        (make, pair, words, one)
        for make, (twins, apart, commands) in NAMED.items()
        for one, pairs in ((True, twins), (False, apart))
        for pair in pairs
        for words in commands
    ),
    *itertools.product(SHAPES, USES),
    *(
        Bit(system, file, way, number % 2 == 0)
        for number, (system, file, way) in enumerate(itertools.product(SYSTEMS, range(MOST_FILES), WAYS))
        if (number + file) % 2 == 0
    ),
]


def tries(folder: Path, seed: int, numbers: range) -> Iterator[Outcome]:
    """Two names, an object that changes, or a changed file of an index each."""
    whole = prepared(folder, prepare)
    for number, case in drawn(CASES, seed, numbers):
        work = folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        if isinstance(case, Bit):
            yield changed(number, case, random.Random(f"{seed} {number}"), whole, work)
        elif len(case) == 2:
            yield renewed(number, *case, whole, work)
        else:
            yield named(number, *case, whole, work)


def run(words: tuple[str, ...], cwd: Path, home: Path) -> tuple[CompletedProcess, list[str]]:
    from toolkit.registry import loader

    loader._entries.cache_clear()  # of the TANDEM_HOME that was in the same place
    return command(*words, cwd=cwd, env={**os.environ, "TANDEM_HOME": str(home)})


def ended(number: int, kind: str, problems: list[str], ending: str, what: object, done: CompletedProcess) -> Outcome:
    detail = f"{what}: {'; '.join(problems)} [{done.stderr.decode(errors='replace').strip()[-300:]}]"
    return Outcome(number, f"identity: {kind}", "; ".join(problems) or ending, not problems, detail)


def named(
    number: int, make: Callable, pair: tuple[str, str], words: tuple[str, ...], one: bool, whole: Path, work: Path
) -> Outcome:
    """Two names: refused where they become one."""
    shutil.copytree(whole / "names", work)
    make(work, *pair)
    words = tuple(pair[1] if word == "{}" else word for word in words)
    done, problems = run(words, work, work / "home")
    refused = done.returncode in (1, 2) if words[1] == "check" else done.returncode == 2
    problems += ["not refused"] if one and not refused else ["refused"] if not one and done.returncode else []
    problems += ["a run"] if one and (work / "out").exists() else []
    problems += ["no error: line"] if done.returncode == 2 and b"error: " not in done.stderr else []
    ending = "refused in a line" if one else "read"
    return ended(
        number, "names that become one" if one else "names apart", problems, ending, (make.__name__, pair, words), done
    )


def renewed(number: int, shape: str, use: str, whole: Path, work: Path) -> Outcome:
    """An object's number changes: what is made then is what a fresh TANDEM_HOME makes."""
    shutil.copytree(whole / "names", work)
    module, files = SHAPES[shape]
    made, problems = [], []
    for value, home in (("1", "home"), ("22", "home"), ("22", "fresh")):
        for name, text in files.items():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_text(text.replace("{}", value))
        if home == "fresh":
            shutil.rmtree(work / "out", ignore_errors=True)
            (work / "out").unlink(missing_ok=True)
        forget(work)
        for words in USES[use]:
            done, found = run(tuple(word.format(module) for word in words), work, work / home)
            problems += found
        made.append((done.returncode, contents(work / "out")))
    (first, old), (second, new), (third, wanted) = made
    problems += ["the trap does not work"] if first or third or old == wanted else []
    problems += (
        ["the old numbers"] if second == 0 and new == old else ["other numbers"] if second == 0 and new != wanted else []
    )
    ending = "the new numbers" if second == 0 else "refused in a line"
    return ended(number, "objects of Python", problems, ending, (shape, use), done)


def contents(place: Path) -> bytes:
    """The bytes of runs and vectors, without what says when they were made."""
    paths = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.suffix in (".trec", ".npy"))
    return b"".join(path.read_bytes() for path in paths)


def forget(folder: Path) -> None:
    """What the process has imported from the folder."""
    from toolkit.models.checkpoints import own_systems

    own_systems._made.clear()
    own_systems._imported.clear()
    own = {path.relative_to(folder).parts[0].removesuffix(".py") for path in folder.rglob("*.py")}
    for name in [name for name in sys.modules if name.partition(".")[0] in own]:
        del sys.modules[name]
    for cache in list(folder.rglob("__pycache__")):
        shutil.rmtree(cache)


def changed(number: int, case: Bit, rng: random.Random, whole: Path, work: Path) -> Outcome:
    """One bit of an index in TANDEM_HOME."""
    shutil.copytree(whole / case.system, work)
    words = (*SEARCH, "--system", case.system, "--systems", "mine.yaml")
    wanted = (work / "first").read_bytes()
    if case.searched:
        run(words, work, work / "home")
        (work / "out").unlink(missing_ok=True)
        (work / "out.yaml").unlink(missing_ok=True)
    files = [path for path in sorted((work / "home" / "indexes").rglob("*")) if path.is_file() and path.stat().st_size]
    path = files[case.file % len(files)]
    change(path, case.way, rng)
    done, problems = run(words, work, work / "home")
    out = work / "out"
    same = done.returncode == 0 and out.read_bytes() == wanted
    if not (same and path.name in RECORDS):
        problems += [f"status {done.returncode}"] if done.returncode != 2 and not problems else []
        problems += ["another run"] if done.returncode == 0 and not same else ["a run"] if out.exists() else []
        problems += ["no error: line"] if done.returncode and b"error: " not in done.stderr else []
    ending = "the same run" if same else "refused in a line, no run"
    return ended(number, f"a bit of an index, {case.system}", problems, ending, (case, path.name), done)


def change(path: Path, way: str, rng: random.Random) -> None:
    """One bit, a byte less or a byte more."""
    data, times = bytearray(path.read_bytes()), path.stat()
    if way in ("shorter", "longer"):
        data = data[:-1] if way == "shorter" else data + b"\0"
    else:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    if way.startswith("replaced"):
        path.unlink()
    path.write_bytes(data)
    if way.endswith("kept"):
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def prepare(folder: Path) -> None:
    """A benchmark, and one with an index of each kind in its TANDEM_HOME."""
    import tiny
    from own_folders import good

    names = folder / "names"
    names.mkdir(parents=True)
    good(names / "mine")
    shutil.copyfile(names / "mine" / "corpus.jsonl", names / "docs.jsonl")
    (names / "mine.yaml").write_text("[]")
    run_of = [
        f"{query}-{mode} Q0 d{n} {n} {9 - n} first\n"
        for query in ("q1", "q2")
        for mode in ("base", "pos", "neg")
        for n in (1, 2, 3)
    ]
    (names / "mine.trec").write_text("".join(run_of))
    tiny.tiny_bert(folder / "bert")
    tiny.tiny_colbert(folder / "colbert")
    tiny.tiny_bert(folder / "masked", "BertForMaskedLM")
    for name, entry in SYSTEMS.items():
        place = folder / name
        good(place / "mine")
        entry = {**entry, "checkpoint": str(folder / entry["checkpoint"][3:])} if "checkpoint" in entry else entry
        (place / "mine.yaml").write_text(json.dumps({"name": name, "description": "d", **entry}))
        done, problems = run((*SEARCH[:-1], "first", "--system", name, "--systems", "mine.yaml"), place, place / "home")
        if problems or done.returncode:
            raise SystemExit(f"{name}: {problems} {done.stderr.decode()}")


def _lines(path: Path, rows: list[dict]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
