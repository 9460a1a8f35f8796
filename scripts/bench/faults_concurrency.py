"""Sixty-four processes at once on one fresh TANDEM_HOME, some of them killed: the same bytes as each makes alone."""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from bench_faults import ROOT, Outcome
from faults_kills import LEFT

AT_ONCE, KILLED = 64, 8
LATEST = 500  # seconds
SOON = 40  # in which a process may be killed
MINI = "infosearch-mini-audience"
BASELINES = {name: ROOT / "runs" / "baselines" / f"infosearch-mini.{name}.v2.trec.gz" for name in ("bm25", "all-minilm-l6-v2")}
RUNS = tuple(map(str, BASELINES.values()))
# what is run, `out` the file that it makes; as often as it stands here
COMMANDS: dict[tuple[str, ...], int] = {
    ("report", *RUNS, "--benchmark", MINI, "--output", "out"): 32,
    ("search", "--topics", MINI, "--output", "out"): 8,
    ("search", "--topics", "../mine", "--output", "out"): 8,
    ("evaluate", *RUNS, "--benchmark", MINI, "--format", "csv", "--output", "out"): 6,
    ("diff", *RUNS, "--benchmark", MINI, "--html", "out"): 10,
}


def tries(folder: Path, seed: int, numbers: range) -> Iterator[Outcome]:
    """One process each, in rounds of as many as run at once; the numbers say which of a round are shown."""
    wanted: dict[tuple[str, ...], tuple[int, bytes]] = {}  # command -> its status and what it makes
    for first in sorted({number - number % AT_ONCE for number in numbers}):
        for number, outcome in enumerate(one_round(folder / "round", random.Random(f"{seed} {first}"), wanted, first), first):
            if number in numbers:
                yield outcome


def one_round(folder: Path, rng: random.Random, wanted: dict, first: int) -> list[Outcome]:
    from own_folders import good

    shutil.rmtree(folder, ignore_errors=True)
    good(folder / "mine")
    for words in COMMANDS.keys() - wanted.keys():
        status, made, said = alone(words, folder / "alone", folder / "home alone")
        if not made:
            raise SystemExit(f"{' '.join(words)}: {said}")
        wanted[words] = status, made
    home = folder / "home"
    lines = [words for words, times in COMMANDS.items() for _ in range(times)]
    rng.shuffle(lines)
    started = [(words, folder / str(place), start(words, folder / str(place), home)) for place, words in enumerate(lines)]
    kills = [threading.Timer(rng.uniform(0, SOON), kill, [process]) for _, _, process in rng.sample(started, KILLED)]
    for each in kills:
        each.start()
    ended = [(words, place, process.communicate(timeout=LATEST)[1], process.returncode) for words, place, process in started]
    for each in kills:
        each.join()
    outcomes = [outcome(first + n, *each, home, wanted[each[0]]) for n, each in enumerate(ended)]
    left = [path.name for path in home.rglob("*") if path.name.endswith(LEFT)]
    return outcomes if not left else [*outcomes[:-1], Outcome(first + AT_ONCE - 1, "at once", f"left behind: {left[0]}", False)]


def outcome(number: int, words: tuple[str, ...], place: Path, said: str, status: int, home: Path, wanted: tuple) -> Outcome:
    """How one process ended; one that was killed is run again, by itself."""
    killed = status == -signal.SIGKILL
    if killed:
        status, made, said = alone(words, place, home)
    else:
        made = bytes_of(place)
    problems = [f"status {status}"] if status != wanted[0] else ["other bytes"] if made != wanted[1] else []
    ending = "the same bytes" + (", killed and run again" if killed else "")
    detail = f"{' '.join(words)}: {len(made)} and {len(wanted[1])} bytes [{said.strip()[-300:]}]"
    return Outcome(number, f"at once: {words[0]}", "; ".join(problems) or ending, not problems, detail)


def start(words: tuple[str, ...], place: Path, home: Path) -> subprocess.Popen:
    place.mkdir(exist_ok=True)
    line, env = [sys.executable, "-m", f"toolkit.{words[0]}", *words[1:]], {**os.environ, "TANDEM_HOME": str(home)}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen(line, cwd=place, env=env, text=True, start_new_session=True, **quiet)


def alone(words: tuple[str, ...], place: Path, home: Path) -> tuple[int, bytes, str]:
    process = start(words, place, home)
    said = process.communicate(timeout=LATEST)[1]
    return process.returncode, bytes_of(place), said


def bytes_of(place: Path) -> bytes:
    """What the command made; it is gone afterwards."""
    out = place / "out"
    made = out.read_bytes() if out.is_file() else b""
    out.unlink(missing_ok=True)
    return made


def kill(process: subprocess.Popen) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
