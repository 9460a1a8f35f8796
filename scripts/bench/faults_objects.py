"""Objects of a user's own that print, exit, move, raise or answer wrongly, when they are imported, made or asked. What they
print is no result, what ends them is an error in a line, and a run is that of the same object which does nothing else.
"""

import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench_faults import Outcome, command, drawn, prepared

MODULE = """
import os, subprocess, sys


def act():
    {act}


{imported}


class Model:
    def __init__(self):
        {made}

    def score(self, pairs):
        {asked}
        return {scores}

    def rank(self, query, docs):
        {asked}
        return {ranks}

    def encode(self, texts, kind):
        {asked}
        return {vectors}
"""
# name -> what it does, whether it is an error
ACTS = {
    "print": ("print('printed by it')", False),
    "print without a buffer": ("os.write(1, b'printed by it')", False),
    "a process that prints": ("subprocess.run(['echo', 'printed by it'], check=True)", False),
    "a shell that prints": ("os.system('echo printed by it')", False),
    "its own standard output": ("sys.__stdout__ and sys.stdout.write('printed by it'); sys.stdout.flush()", False),
    "another folder": ("os.chdir('/')", False),
    "sys.exit(0)": ("sys.exit(0)", True),
    "sys.exit(1)": ("sys.exit(1)", True),
    "sys.exit('words')": ("sys.exit('words')", True),
    "raise": ("raise ValueError('a \\x1b[31m word\\nand a line')", True),
    "exit in a process": ("subprocess.run([sys.executable, '-S', '-c', 'raise SystemExit(3)'], check=True)", True),
}
STAGES = ("imported", "made", "asked")
GOOD = {
    "scores": "[float(len(doc)) for _, doc in pairs]",
    "ranks": "sorted(range(len(docs)), key=lambda place: (len(docs[place]), place))",
    "vectors": "[[1.0 + len(text), 1.0] for text in texts]",
}
WRONG = {
    "scores": ("[float('nan')] * len(pairs)", "[1.0]", "None", "['x'] * len(pairs)", "[[1.0, 2.0]] * len(pairs)"),
    "ranks": ("[0] * len(docs)", "[99]", "None", "'x'", "list(range(len(docs) + 1))"),
    "vectors": ("[[float('inf'), 1.0]] * len(texts)", "[[1.0]]", "None", "['x'] * len(texts)", "[[]] * len(texts)"),
}
WHAT = ("--run", "run.trec", "--topics", "topics.jsonl", "--docs", "docs.jsonl", "--system", "python:own_object:Model")
USES = {
    "scores": ("rerank", *WHAT, "--kind", "cross-encoder"),
    "ranks": ("rerank", *WHAT, "--kind", "listwise"),
    "vectors": ("encode", "docs.jsonl", "--system", "python:own_object:Model"),
}
CASES = [
    *(
        (act, stage, use, output)
        for act, stage, use, output in itertools.product(ACTS, STAGES, ("scores", "ranks"), ("-", "out"))
    ),
    *((act, "asked", "vectors", "out") for act in ACTS),
    *((answer, "", use, "out") for use, answers in WRONG.items() for answer in answers),
]


def module(use: str, act: str, stage: str) -> str:
    """The text of the object that does this at that stage; an act that is none of ACTS is its answer."""
    answers = GOOD | ({} if act in ACTS or not act else {use: act})
    stages = {each: "act()" if each == stage else "pass" for each in STAGES}
    return MODULE.format(act=ACTS[act][0] if act in ACTS else "pass", **answers, **stages)


def tries(folder: Path, seed: int, numbers: range) -> Iterator[Outcome]:
    """One act or answer, when, of which method and to where each."""
    whole = prepared(folder, prepare)
    for number, case in drawn(CASES, seed, numbers):
        act, stage, use, output = case
        wanted = result(whole, folder / "work", module(use, "", ""), use, output)
        found = result(whole, folder / "work", module(use, act, stage), use, output)
        problems = [*wanted["problems"], *found["problems"]]
        problems += ["the object without it fails"] if wanted["status"] or not wanted["bytes"] else []
        fails = ACTS[act][1] if act in ACTS else True
        if fails:
            problems += [f"status {found['status']}"] if found["status"] not in (1, 2) else []
            problems += ["a run"] if found["bytes"] else []
            problems += ["no error: line"] if b"error: " not in found["said"] else []
        else:
            problems += [f"status {found['status']}"] if found["status"] else []
            problems += ["another run"] if found["bytes"] != wanted["bytes"] else []
        problems += ["printed on standard output"] if any(found["leaked"]) else []
        ending = "refused in a line, no run" if fails else "the same run"
        detail = f"{case}: {'; '.join(problems)} [{found['said'].decode(errors='replace').strip()[-300:]}]"
        yield Outcome(number, "own objects", "; ".join(problems) or ending, not problems, detail)


def result(whole: Path, work: Path, text: str, use: str, output: str) -> dict:
    """What a command made, said, and let through to the descriptor of standard output."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(whole, work)
    (work / "own_object.py").write_text(text)
    forget()
    with descriptor() as leaked:
        done, problems = command(
            *USES[use], "--output", output, cwd=work, env={**os.environ, "TANDEM_HOME": str(work / "home")}
        )
    path = work / output
    paths = sorted(path.glob("*.npy")) if path.is_dir() else [path] if path.exists() else []
    made = done.stdout if output == "-" else b"".join(each.read_bytes() for each in paths)
    return {"status": done.returncode, "problems": problems, "bytes": made, "said": done.stderr, "leaked": leaked}


@contextmanager
def descriptor() -> Iterator[list[bytes]]:
    """Descriptor 1 is a file: `command` has standard output elsewhere, and what is in the file went around it."""
    kept, found = os.dup(1), []
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            yield found
        finally:
            os.dup2(kept, 1)
            os.close(kept)
            file.seek(0)
            found += [file.read()]


def forget() -> None:
    """What the process has imported and made of the last object."""
    from toolkit.models.checkpoints import own_systems

    own_systems._made.clear()
    own_systems._imported.clear()
    sys.modules.pop("own_object", None)


def prepare(folder: Path) -> None:
    """Three queries, six documents, and a run."""
    folder.mkdir(parents=True)
    topics = [f'{{"id": "q{n}", "text": "query {n}"}}\n' for n in range(3)]
    docs = [f'{{"id": "d{n}", "text": "{"word " * (n + 1)}"}}\n' for n in range(6)]
    (folder / "topics.jsonl").write_text("".join(topics))
    (folder / "docs.jsonl").write_text("".join(docs))
    rows = [f"q{q} Q0 d{d} {d + 1} {9 - d} first\n" for q in range(3) for d in range(6)]
    (folder / "run.trec").write_text("".join(rows))
