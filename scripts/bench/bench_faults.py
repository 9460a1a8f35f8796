"""What happens when things go wrong: processes killed, files mutated, archives hostile, servers misbehaving, names that become
one, code that nobody asked for, odd addresses, many processes at once, ids that look like something else, objects that print or
exit, files that unpack to gigabytes, clusters that lose a node. Nothing is timed.

    .venv/bin/python scripts/bench/bench_faults.py [--only kills inputs archives endpoint ...] [--seed N]

Prints how many tries of each kind there were and how they ended, and names each that did not end as the docs say
(docs/threat-model.md); the exit status is 1 then. A try is made again by its seed and number:
`--only inputs --seed 1 --first 17 --tries 1`.
Each part runs in a process of its own, so that a crash is one outcome more, and the tries after it still run.
"""

import argparse
import json
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
# seconds without an outcome (120 elsewhere): then a try hangs
PATIENCE = {"kills": 300, "concurrency": 600, "endpoint": 60, "clusters": 600, "bombs": 300}


Case = TypeVar("Case")


class Outcome(NamedTuple):
    """How one try ended. number: by which it is made again; right: whether the docs say so; detail: what was seen."""

    number: int
    kind: str
    ending: str
    right: bool = True
    detail: str = ""


def prepared(folder: Path, prepare: Callable[[Path], None]) -> Path:
    """The folder that `prepare` fills, once for all processes of a part (one that a try ended may have left it half filled)."""
    whole = folder / "whole"
    if not (folder / "prepared").exists():
        shutil.rmtree(whole, ignore_errors=True)
        prepare(whole)
        (folder / "prepared").touch()
    return whole


def drawn(cases: Sequence[Case], seed: int, numbers: range) -> Iterator[tuple[int, Case]]:
    """The numbers with a case each, in an order of the seed."""
    order = random.Random(seed).sample(cases, len(cases))
    return ((number, order[number % len(order)]) for number in numbers)


def held_in(folder: Path, secret: str, *own: Path) -> list[str]:
    """The files of a folder that hold a secret, beside those that it was put into."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path not in own)
    return [path.name for path in paths if secret.encode() in path.read_bytes()]


def main() -> int:
    args = arguments()
    if args.child:
        return child(args)
    with tempfile.TemporaryDirectory(prefix="tandem-faults-") as folder:
        outcomes = [outcome for part in args.only for outcome in run_part(part, args, Path(folder))]
    return report(outcomes)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(TRIES), default=list(TRIES), metavar="PART", help=", ".join(TRIES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first try of each part")
    parser.add_argument("--tries", type=int, help=f"of each part (default: {TRIES})")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


TRIES = {
    "kills": 42,
    "inputs": 2_100,
    "archives": 171,
    "endpoint": 177,
    "addresses": 306,
    "trust": 673,
    "checkpoints": 396,
    "identity": 454,
    "concurrency": 128,
    "ids": 624,
    "objects": 158,
    "bombs": 36,
    "clusters": 8,
}


def run_part(part: str, args: argparse.Namespace, folder: Path) -> list[Outcome]:
    """The outcomes of one part. A process that dies or hangs is the outcome of the try that it was at."""
    number = args.first
    end = number + (TRIES[part] if args.tries is None else args.tries)
    outcomes: list[Outcome] = []
    while number < end:
        command = [sys.executable, __file__, "--only", part, "--seed", args.seed, "--first", number, "--tries", end - number]
        begun = number
        process = subprocess.Popen(
            [*map(str, command), "--child", str(folder / part)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(folder / part),
        )
        ending = ""
        for line in lines_of(process, PATIENCE.get(part, 120)):
            if line is None:
                process.kill()
                ending = f"hangs for {PATIENCE.get(part, 120)} s"
                break
            outcome = Outcome(*json.loads(line))
            outcomes.append(outcome)
            number = outcome.number + 1
            print(f"\r{part}: {number - args.first} of {end - args.first}", end="", file=sys.stderr, flush=True)
        status = process.wait()
        if number == begun and status and not ending and not outcomes:
            raise SystemExit(f"{part}: nothing could be tried (status {status})")
        if number < end:
            outcomes.append(Outcome(number, part, ending or f"the process ends with status {status}", False))
            number += 1
    print(file=sys.stderr)
    return outcomes


def lines_of(process: subprocess.Popen, patience: float) -> Iterator[str | None]:
    """The lines that a process prints; None where none came for so many seconds."""
    lines: queue.Queue = queue.Queue()

    def read() -> None:
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=patience)
        except queue.Empty:
            yield None
            return
        if not line:
            return
        yield line


def environment(folder: Path) -> dict[str, str]:
    """Nothing of the user's: a TANDEM_HOME of its own, no network but this machine's, no keys but one that must not be seen."""
    names = ("PATH", "HOME", "LANG", "TMPDIR", "JAVA_HOME", "PYTHONPATH")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    paths = os.pathsep.join(map(str, [ROOT, TESTS, Path(__file__).parent]))
    return {
        **kept,
        "PYTHONPATH": paths,
        "TANDEM_HOME": str(folder / "home"),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "2",
        "OPENAI_API_KEY": KEY,
        "NO_PROXY": "127.0.0.1",
    }


KEY = "sk-this-key-is-seen-nowhere-0123456789"


def child(args: argparse.Namespace) -> int:
    """Make the tries of one part, an outcome a line."""
    from importlib import import_module

    [part] = args.only
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no outcome
    args.child.mkdir(parents=True, exist_ok=True)
    tries = import_module(f"faults_{part}").tries(args.child, args.seed, range(args.first, args.first + args.tries))
    for outcome in tries:
        print(json.dumps(outcome), file=out, flush=True)
    return 0


def command(*words: object, **options: object) -> tuple[subprocess.CompletedProcess, list[str]]:
    """A command in this process, and what no command may do: a traceback, another status, a failure without its line, control
    characters for the terminal, the key."""
    from command import tandem

    try:
        done = tandem(*words, text=False, **options)
    except (Exception, RecursionError) as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        name = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
        return subprocess.CompletedProcess(words, 70, b"", str(error)[:200].encode()), [f"a traceback ({name})"]
    problems = [f"status {done.returncode}"] if done.returncode not in (0, 1, 2) else []
    problems += ["a control character on standard error"] if CONTROL.search(done.stderr) else []
    problems += ["the key is shown"] if KEY.encode() in done.stdout + done.stderr else []
    return done, problems


CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def report(outcomes: list[Outcome]) -> int:
    """Counts by kind and ending, then what did not end as it should."""
    endings = Counter((outcome.kind, outcome.ending, outcome.right) for outcome in outcomes)
    kinds = Counter(outcome.kind for outcome in outcomes)
    for kind, number in kinds.items():
        print(f"{kind}: {number}")
        for (_, ending, right), times in sorted(item for item in endings.items() if item[0][0] == kind):
            print(f"  {times:>5}  {ending}{'' if right else '  <-- WRONG'}")
    wrong = [outcome for outcome in outcomes if not outcome.right]
    for outcome in wrong:
        print(f"WRONG {outcome.kind}, number {outcome.number}: {outcome.ending}: {outcome.detail}")
    print(f"{len(outcomes)} tries, {len(wrong)} did not end as the docs say")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
