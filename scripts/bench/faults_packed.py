"""What others pack: archives of a reproduction that hold more, less or something else than their manifest says, pickles that
expand, runs whose names a server would send as a page. A line each, in time and memory; nothing that a browser runs is copied.
"""

import gzip
import hashlib
import json
import mimetypes
import os
import pickle
import resource
import shutil
import socket
import stat
import unicodedata
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import zstandard
from bench_faults import Outcome, command, prepared

COMPOSED = "caf\u00e9.trec"
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)
RUN, MANIFEST = "table/run.trec", "manifest.json"


class Packed(NamedTuple):
    """A damage to a folder or a zip archive of a reproduction."""

    damage: str
    zipped: bool


class Pickled(NamedTuple):
    name: str


class Named(NamedTuple):
    """The name of a run in `report --site`."""

    name: str


def _link(path: Path, target: str) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def _pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


def _folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir(parents=True)


def _moved(path: Path) -> None:
    run = path.with_name("run.trec")
    run.rename(path)
    run.symlink_to(path.name)


def _manifest(change: Callable[[dict], object]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        content = json.loads(path.read_text())
        path.write_text(json.dumps(change(content)))

    return write


def _renamed(old: str, new: str) -> Callable[[dict], dict]:
    return lambda content: {**content, "files": {new if name == old else name: sha for name, sha in content["files"].items()}}


WRITE = lambda path: path.write_bytes(b"q1 Q0 d1 1 9 another\n")  # noqa: E731  one of a table of functions
# damage -> the file that it is done to, and what is done; empty manifests and such end the command with status 2
DAMAGES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a file more": ("table/more.trec", WRITE),
    "a file more at the top": ("more.trec", WRITE),
    "a hidden file": (".hidden", WRITE),
    "a file of a Mac": ("__MACOSX/._run.trec", WRITE),
    "no suffix": ("table/run", WRITE),
    "another case": ("table/RUN.trec", WRITE),
    "a composed twin": (f"table/{DECOMPOSED}", WRITE),
    "a blank behind": ("table/run.trec ", WRITE),
    "a line feed": ("table/run\n.trec", WRITE),
    "turned letters": ("table/run\u202ecert.trec", WRITE),
    "control characters": ("table/\x1b[31mrun", WRITE),
    "a second manifest": (f"table/{MANIFEST}", WRITE),
    "a script": ("setup.py", WRITE),
    "a pipe": ("table/pipe", _pipe),
    "a socket": ("table/socket", _socket),
    "a link to nothing": ("table/link", lambda path: _link(path, "nowhere")),
    "a link outside": ("table/link", lambda path: _link(path, "/etc/passwd")),
    "a link to a folder": ("link", lambda path: _link(path, "table")),
    "a link to itself": ("table/link", lambda path: _link(path, "link")),
    "a link up": ("table/up", lambda path: _link(path, "..")),
    "an empty folder": ("empty", _folder),
    "an empty folder of an odd name": ("table/ \n", _folder),
    "changed": (RUN, WRITE),
    "empty": (RUN, lambda path: path.write_bytes(b"")),
    "missing": (RUN, Path.unlink),
    "a link in its place": (RUN, lambda path: _link(path, "/etc/passwd")),
    "a link to the same bytes": ("table/moved", _moved),
    "a pipe in its place": (RUN, _pipe),
    "a folder in its place": (RUN, _folder),
    "a letter of the composed name": (f"table/{COMPOSED}", lambda path: path.rename(path.with_name(DECOMPOSED))),
    "no manifest": (MANIFEST, Path.unlink),
    "a manifest that is a pipe": (MANIFEST, _pipe),
    "a manifest that is a list": (MANIFEST, _manifest(lambda content: [content])),
    "a manifest without files": (MANIFEST, _manifest(lambda content: {**content, "files": None})),
    "a manifest of numbers": (MANIFEST, _manifest(lambda content: {**content, "files": {RUN: 5}})),
    "a manifest 50,000 deep": (MANIFEST, lambda path: path.write_text('{"files":' * 50_000)),
    "a manifest of bytes": (MANIFEST, lambda path: path.write_bytes(b"\xff\xfe\x00")),
    "a manifest that leads up": (MANIFEST, _manifest(_renamed(RUN, "../run.trec"))),
    "a manifest that leads away": (MANIFEST, _manifest(_renamed(RUN, "/etc/passwd"))),
    "a manifest of another case": (MANIFEST, _manifest(_renamed(RUN, RUN.upper()))),
    "a manifest of another digest": (
        MANIFEST,
        _manifest(lambda content: {**content, "files": dict.fromkeys(content["files"], "0")}),
    ),
}
UNPACKED_ALONE = ("a socket", "a link to the same bytes")  # no archive holds one
NAMES = [
    f"x.{suffix}" for suffix in ("html", "htm", "xhtml", "HTML", "js", "mjs", "svg", "xml", "xsl", "css", "pdf", "wasm", "swf")
]
NAMES += [
    f"x.{suffix}" for suffix in ("php", "shtml", "phtml", "asp", "cgi", "hta", "mht", "mhtml", "xht", "vbs", "svgz", "htc")
]
NAMES += [
    "x.html.trec",
    "x.trec.html",
    "x.html.trec.gz",
    "x.php.trec",
    "html",
    ".html",
    "x..html",
    "x.html.",
    "x.h\u0442ml",
    "x.ht ml",
]
NAMES += [
    "index.html",
    "x.trec.js.txt",
    "con.html",
    "-x.html",
    "x;.html",
    "x%2ehtml",
    "x.html\u200b",
    "<img src=x>.html",
    "x.xht.zst",
]
ACTIVE = ("text/html", "xml", "javascript", "ecmascript", "text/css", "application/pdf", "wasm", "flash", "x-httpd", "x-sh")


class _Expanded:
    """A tensor of `count` numbers whose storage holds one, as torch pickles it."""

    def __init__(self, *sizes: int):
        self.sizes = sizes

    def made(self) -> object:
        import torch

        return torch.zeros(1).as_strided(self.sizes, (0,) * len(self.sizes))


def _deflated(path: Path) -> None:
    """The same file compressed: zeros that unpack to half a gigabyte."""
    import torch

    whole = path.with_suffix(".whole")
    torch.save({"embeddings.word_embeddings.weight": torch.zeros(125_000_000)}, whole)
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    whole.unlink()


def _saved(path: Path, content: object, **options: object) -> None:
    import torch

    torch.save(content, path, **options)


def _views(count: int, rows: int) -> dict:
    import torch

    table = torch.zeros(8_000)
    return {f"w{n}": table.as_strided((rows, 8_000), (0, 1)) for n in range(count)}


def _nested() -> bytes:
    """Lists of two of the list below, forty times: a billion values in a few bytes."""
    value: object = "x"
    for _ in range(40):
        value = [value, value]
    return pickle.dumps({"w": value}, protocol=2)


NAME = "embeddings.word_embeddings.weight"
PICKLES: dict[str, Callable[[Path], object]] = {
    "4 TB of one number": lambda path: _saved(path, {NAME: _Expanded(10**6, 10**6).made()}),
    "8 EB of one number": lambda path: _saved(path, {NAME: _Expanded(2 * 10**9, 10**9).made()}),
    "6 GB of 32 KB": lambda path: _saved(path, _views(20, 10_000)),
    "6 GB in 2,000 views": lambda path: _saved(path, _views(2_000, 100)),
    "400 MB deflated": _deflated,
    "4 TB of one number, as torch wrote it once": lambda path: _saved(
        path, {NAME: _Expanded(10**6, 10**6).made()}, _use_new_zipfile_serialization=False
    ),
    "lists that double": lambda path: path.write_bytes(_nested()),
    "code": lambda path: path.write_bytes(b"cos\nsystem\n(S'touch taken'\ntR."),
    "no tensors": lambda path: _saved(path, {"w": "text"}),
    "truncated": lambda path: (_saved(path, _views(1, 1)), path.write_bytes(path.read_bytes()[:-900])),
    "nothing": lambda path: path.write_bytes(b""),
}
CASES = [
    *(Packed(damage, zipped) for damage in DAMAGES for zipped in (False, True) if not (zipped and damage in UNPACKED_ALONE)),
    *map(Pickled, PICKLES),
    *map(Named, NAMES),
]


def outcome(number: int, case: NamedTuple, folder: Path) -> Outcome:
    whole, work = prepared(folder, prepare), folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(whole, work)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    words, problems_of = {Packed: verified, Pickled: unpickled, Named: published}[type(case)](work, case)
    done, problems = command(*words, cwd=work, env={**os.environ, "TANDEM_HOME": str(work / "home")})
    problems += problems_of(done)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    problems += [f"{grown / 1e9:.1f} GB of memory"] if grown > 3 << 30 else []
    problems += ["no error: line"] if done.returncode == 2 and b"error: " not in done.stderr else []
    problems += ["a control character in messages"] if b"\x1b" in done.stdout + done.stderr else []
    kind = {Packed: "archives of a reproduction", Pickled: "pickles that expand", Named: "names of published runs"}[type(case)]
    ending = ["published inert", "named, status 1", "refused in a line"][min(done.returncode, 2)]
    detail = f"{case}: {'; '.join(problems)} [{(done.stdout + done.stderr).decode(errors='replace').strip()[-300:]}]"
    return Outcome(number, kind, "; ".join(problems) or ending, not problems, detail)


def verified(work: Path, case: Packed) -> tuple[tuple, Callable]:
    """`reproduce --verify`: whatever is not as the manifest says is named."""
    place = work / "archive"
    name, damage = DAMAGES[case.damage]
    path = place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    damage(path)
    if case.zipped:
        place = zip_of(place, work / "archive.zip")

    def problems(done) -> Iterator[str]:
        if done.returncode not in (1, 2):
            yield "not found"
        shown = done.stdout.decode(errors="replace")
        plain = name.isprintable() and unicodedata.is_normalized("NFC", name)
        if done.returncode == 1 and plain and name != MANIFEST and path.name not in shown:
            yield "not named"
        if done.returncode == 1 and any(not line.isprintable() for line in shown.splitlines()):
            yield "a name that prints as another"

    return ("reproduce", "--verify", place), problems


def zip_of(folder: Path, path: Path) -> Path:
    """All of a folder, pipes and links as what they are."""
    with zipfile.ZipFile(path, "w") as packed:
        for each in sorted(folder.rglob("*")):
            info = zipfile.ZipInfo(each.relative_to(folder).as_posix() + "/" * (each.is_dir() and not each.is_symlink()))
            info.external_attr = each.lstat().st_mode << 16
            regular = stat.S_ISREG(each.lstat().st_mode)
            packed.writestr(info, os.readlink(each) if each.is_symlink() else each.read_bytes() if regular else b"")
    return path


def unpickled(work: Path, case: Pickled) -> tuple[tuple, Callable]:
    """`encode` with such weights: a line, and nothing on the disk."""
    (work / "bert" / "model.safetensors").unlink()
    PICKLES[case.name](work / "bert" / "pytorch_model.bin")

    def problems(done) -> Iterator[str]:
        if done.returncode not in (1, 2) or (work / "out").exists():
            yield "read as weights"
        held = sum(path.stat().st_size for path in (work / "home").rglob("*") if path.is_file())
        if held > 1 << 20:
            yield f"{held / 1e6:.0f} MB are left behind"
        if list(work.rglob("taken")):
            yield "code ran"

    return ("encode", "docs.jsonl", "--system", "mine", "--systems", "mine.yaml", "--output", "out"), problems


def published(work: Path, case: Named) -> tuple[tuple, Callable]:
    """`report --site` of a run of this name, whose ids are a script."""
    data = (work / "run.trec").read_bytes()
    packed = {".gz": gzip.compress, ".zst": zstandard.compress}.get(Path(case.name).suffix, bytes)
    (work / case.name).write_bytes(packed(data))

    def problems(done) -> Iterator[str]:
        if done.returncode:
            yield f"status {done.returncode}"
        for path in (work / "site" / "runs").rglob("*"):
            parts = path.name.lower().split(".")
            guessed = [mimetypes.guess_type(f"x.{part}", strict=False)[0] or "" for part in parts[1:]]
            runs = any(active in each for each in guessed for active in ACTIVE) or {"php", "hta"} & set(parts[1:])
            if path.is_file() and runs:
                yield f"{path.name} is published"

    return ("report", f"./{case.name}", "--qrels", "qrels.txt", "--site", "site"), problems


def prepare(folder: Path) -> None:
    """A sound archive, a checkpoint, a run."""
    import tiny

    table = folder / "archive" / "table"
    table.mkdir(parents=True)
    (table / "run.trec").write_text("q1 Q0 d1 1 9 first\n")
    (table / COMPOSED).write_text("q1 Q0 d2 1 9 first\n")
    files = {f"table/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest() for path in table.iterdir()}
    (folder / "archive" / MANIFEST).write_text(json.dumps({"paper": "infosearch", "files": files}))
    tiny.tiny_bert(folder / "bert")
    entry = {
        "name": "mine",
        "description": "d",
        "kind": "dense",
        "checkpoint": "./bert",
        "parameters": {"pooling": "cls", "similarity": "cos"},
    }
    (folder / "mine.yaml").write_text(json.dumps(entry))
    (folder / "docs.jsonl").write_text('{"id": "d1", "text": "the cat"}\n')
    (folder / "run.trec").write_text("q1 Q0 <script>alert(1)</script> 1 9 <script>\nq1 Q0 d2 2 8 <script>\n")
    (folder / "qrels.txt").write_text("q1 0 d2 1\n")
