"""Small files that unpack to far more: runs, judgments, topics and documents of which a megabyte is more than a gigabyte. A
line each, in time and memory, and nothing is left behind. `faults_archives` has archives and pickles.
"""

import gzip
import itertools
import os
import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import zstandard
from bench_faults import Outcome, command, drawn

SIZE = 1_150_000_000  # bytes: more than what any compressed text may unpack to
MEMORY = 3 << 30  # bytes that a process may have taken at its peak
CONTENTS = {"zeros": b"\0", "one word": b"x", "lines": b" " * 1023 + b"\n"}
PACKINGS = ("gz", "zst")
# file -> the command that reads it
USES = {
    "run.trec": ("evaluate", "--run", "{}", "--qrels", "qrels.txt", "-m", "RR"),
    "run.json": ("runs", "convert", "{}", "--to", "trec", "--output", "out"),
    "qrels.txt": ("evaluate", "--run", "run.trec", "--qrels", "{}", "-m", "RR"),
    "topics.jsonl": ("search", "--topics", "{}", "--index", "nowhere", "--output", "out"),
    "docs.jsonl": ("encode", "{}", "--system", "all-minilm-l6-v2", "--output", "out"),
    "verified.trec": ("runs", "verify", "{}"),
}
CASES = list(itertools.product(USES, CONTENTS, PACKINGS))


def tries(folder: Path, seed: int, numbers: range) -> Iterator[Outcome]:
    """One file, content and packing each."""
    for number, (name, content, packing) in drawn(CASES, seed, numbers):
        work = folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        (work / "run.trec").write_text("q Q0 d 1 2 t\n")
        (work / "qrels.txt").write_text("q 0 d 1\n")
        (work / f"bomb.{name}.{packing}").symlink_to(packed(folder / "packed", content, packing))
        words = [word.format(f"bomb.{name}.{packing}") for word in USES[name]]
        Path("/proc/self/clear_refs").write_text("5")  # the peak of this try, not of an earlier one
        done, problems = command(*words, cwd=work, env={**os.environ, "TANDEM_HOME": str(work / "home")})
        peak = int(re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())[1]) << 10
        problems += [f"{peak / 1e9:.1f} GB of memory"] if peak > MEMORY else []
        found = words[0] == "runs" and words[1] == "verify" and b"F002" in done.stdout  # which was asked
        problems += [f"status {done.returncode}"] if done.returncode != 2 - found else []
        problems += ["no error: line"] if not found and b"error: " not in done.stderr else []
        left = sum(path.stat().st_size for path in work.rglob("*") if path.is_file() and not path.is_symlink())
        problems += [f"{left / 1e6:.0f} MB are left behind"] if left > 1 << 20 else []
        ending = "unpacks to more" if b"unpacks to more than" in done.stderr else "refused in a line"
        detail = f"{name}, {content}, {packing}: {'; '.join(problems)} [{done.stderr.decode(errors='replace').strip()[-300:]}]"
        yield Outcome(number, "bombs", "; ".join(problems) or ending, not problems, detail)


def packed(folder: Path, content: str, packing: str) -> Path:
    """So much of a content in a packed file, which is made where it is not there yet."""
    path, opened = folder / f"{content}.{packing}", {"gz": partial(gzip.open, compresslevel=1), "zst": zstandard.open}
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        piece = CONTENTS[content] * ((1 << 20) // len(CONTENTS[content]))
        with opened[packing](path.with_suffix(".part"), "wb") as file:
            for _ in range(SIZE >> 20):
                file.write(piece)
        path.with_suffix(".part").rename(path)
    return path
