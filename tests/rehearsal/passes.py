"""A paper reproduced from nothing by the real command line, on small data and checkpoints that local servers give."""

import csv
import io
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from chat_server import answer
from endpoint import Script
from endpoint import serving as serving_chat
from serving import Files, serving

from toolkit import registry
from toolkit.studies.reproduce.table_rows import RELATIVE

HERE = Path(__file__).resolve().parent
RECORDS = ".yaml"  # wall times, memory and host are in them
PAPERS = ("infosearch", "instructir", "mfollowir", "berds")
# a fifth of all rows, with every kind of system
FIFTH = {
    "infosearch": (
        "bm25",
        "e5-large-v2",
        "e5-mistral-7b-instruct",
        "rank-zephyr-7b",
        "gpt-4o",
        "mistral-7b-instruct-v0.2-pointwise",
    ),
    "instructir": ("bm25", "instructor-base", "repllama-v1-7b", "colbertv2"),
    "mfollowir": ("mt5-13b-mmarco-100k", "bge-reranker-v2-m3"),
    "berds": ("bm25",),
}
TOKEN = "hf_rehearsal"


@contextmanager
def world_served(world):
    """The environment of a command that has nothing but the servers: hub, mirror of prebuilt indexes, chat models."""
    from hub_server import serve

    archives = {f"/{path.name}": path.read_bytes() for path in (world / "indexes").glob("*.tar.gz")}
    gated = {spec.base or spec.checkpoint for spec in registry.systems().values() if spec.gated}
    with ExitStack() as running:
        yield {
            "HF_ENDPOINT": running.enter_context(serve(world, gated=gated)),
            "HF_TOKEN": TOKEN,
            "HF_HUB_OFFLINE": "0",
            "TANDEM_INDEX_MIRROR": running.enter_context(serving(Files(archives))).base,
            "OPENAI_BASE_URL": running.enter_context(serving_chat(Script(answer))).base,
            "OPENAI_API_KEY": "sk-rehearsal",
        }


@dataclass
class Place:
    """Where a pass runs, with caches of its own. world: what `write_datasets` and the checkpoints' maker wrote."""

    folder: Path
    world: Path
    served: dict

    def __post_init__(self):
        entries = self.home / "registry" / "indexes"
        if not entries.exists():
            entries.mkdir(parents=True)
            (entries / "rehearsal.yaml").write_bytes((self.world / "indexes" / "rehearsal.yaml").read_bytes())
            stored = self.folder / "ir_datasets" / "dpr-w100"
            stored.mkdir(parents=True)
            (stored / "docs.tsv.gz").write_bytes((self.world / "ir_datasets" / "dpr-w100" / "docs.tsv.gz").read_bytes())

    @property
    def home(self):
        return self.folder / "tandem"

    @property
    def environment(self):
        """What differs from this process's: caches of its own, and what is served."""
        own = {"TANDEM_HOME": self.home, "HF_HOME": self.folder / "hf", "IR_DATASETS_HOME": self.folder / "ir_datasets"}
        # fixed, as a cluster's workers have one each
        return {**self.served, **{name: str(folder) for name, folder in own.items()}, "OMP_NUM_THREADS": "1"}

    def run(self, *words, kill=""):
        """`tandem WORDS` as a process; kill: where it kills itself, see `killed/sitecustomize.py`."""
        paths = {"PYTHONPATH": str(HERE / "killed"), "KILL_AT": kill} if kill else {}
        command = [sys.executable, "-m", f"toolkit.{words[0]}", *map(str, words[1:])]
        started, steps = time.monotonic(), []
        with tempfile.TemporaryFile("w+") as out:
            how = {"stdout": out, "stderr": subprocess.PIPE, "text": True, "cwd": self.folder}
            with subprocess.Popen(command, env={**os.environ, **self.environment, **paths}, **how) as process:
                for line in process.stderr:
                    steps.append((time.monotonic() - started, line.rstrip("\n")))
            out.seek(0)
            return Done(process.returncode, out.read(), steps, time.monotonic() - started)

    def take(self, paper):
        """What is in the authors' code alone: candidates, paraphrases, labelled pairs."""
        copies = {"infosearch": ("infosearch", "InfoSearch"), "instructir": ("instructir-paraphrases", "InstructIR")}
        copies["berds"] = ("berds-perspective-detection", "berds")
        if paper in copies:
            name, folder = copies[paper]
            done = self.run("benchmarks", "fetch", name, "--from", self.world / folder)
            assert done.status == 0, done.said

    def reproduce(self, paper, systems=(), *words, kill=""):
        """The paper's tables, into `PAPER`."""
        chosen = [word for system in systems for word in ("--system", system)]
        return self.run("reproduce", paper, *chosen, "--output", paper, *words, kill=kill)

    def once(self, paper, systems):
        """`reproduce`, from nothing; what was done is remembered."""
        done = self.folder / f"{paper}.pickle"
        if not done.exists():
            self.folder.mkdir(exist_ok=True)
            self.take(paper)
            done.write_bytes(pickle.dumps(self.reproduce(paper, systems)))
        return pickle.loads(done.read_bytes())

    def bytes_of(self, paper):
        """name -> bytes of all that a reproduction leaves, but records."""
        folder = self.folder / paper
        files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != RECORDS)
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@dataclass
class Done:
    """What a command did. steps: (seconds since the start, line of standard error)."""

    status: int
    printed: str
    steps: list
    seconds: float

    @property
    def was_killed(self):
        return self.status == -signal.SIGKILL

    @property
    def said(self):
        return "\n".join(line for _, line in self.steps)

    @property
    def failures(self):
        """`PART/SYSTEM` -> why it could not be made."""
        found = re.findall(r"^error: (?:scores of )?(.*?): (.*)\nhint:  (.*)$", self.said, re.MULTILINE)
        # of a file its folder's last part and its stem
        return {"/".join(Path(what).with_suffix("").parts[-2:]): f"{message} ({hint})" for what, message, hint in found}

    def times(self):
        """(seconds, what) for each run that was begun."""
        begun = [(at, line) for at, line in self.steps if line.endswith((": not there yet", " is cached"))] or self.steps
        ends = [at for at, _ in begun[1:]] + [self.seconds]
        return [(end - at, line.partition(":")[0]) for (at, line), end in zip(begun, ends, strict=True)]


def without_numbers(table, expected):
    """(table, row, group, mode, measure) of the cells without a number of ours whose row could be made.

    A relative change has none where the random checkpoints' first value, in the mode `default`, is 0.
    """
    found = list(csv.DictReader(io.StringIO(table.decode())))
    names = ("table", "part", "system", "group", "mode", "measure")
    zero = {
        (row["table"], row["system"], row["group"], f"{RELATIVE}{row['measure']}")
        for row in found
        if row["mode"] == "default" and float(row["ours"] or "nan") == 0
    }
    empty = [tuple(row[name] for name in names) for row in found if row["part"] and not row["ours"]]
    return [cell for cell in empty if "/".join(cell[1:3]) not in expected and (cell[0], *cell[2:4], cell[5]) not in zero]
