"""Whole processes side by side: alternating runs, medians, ratios."""

import resource
import statistics
import subprocess
import time
from http.server import ThreadingHTTPServer
from pathlib import Path


class Server(ThreadingHTTPServer):
    """Takes as many connections at once as a client opens: those that no queue holds are tried again a second later."""

    daemon_threads, request_queue_size = True, 128


def measure(command: list[str], log: Path) -> tuple[float, float]:
    """Wall and CPU seconds of a process with all its threads."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    with log.open("w") as out:
        subprocess.run(command, check=True, stdout=out, stderr=out)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(contestants: dict[str, list[str]], rounds: int, log: Path) -> None:
    """Run the commands in turn, `rounds` times, and print each median, and the first one's beside each other's."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    for number in range(1, rounds + 1):
        for name, command in contestants.items():
            wall, cpu = measure(command, log)
            times[name].append((wall, cpu))
            print(f"round {number}: {name:<10} {wall:7.2f} s wall {cpu:7.2f} s CPU", flush=True)
    medians = {name: [statistics.median(values) for values in zip(*taken, strict=True)] for name, taken in times.items()}
    ours, *peers = medians
    for name, (wall, cpu) in medians.items():
        print(f"median:  {name:<10} {wall:7.2f} s wall {cpu:7.2f} s CPU")
    for peer in peers:
        ratios = [theirs / mine for mine, theirs in zip(medians[ours], medians[peer], strict=True)]
        print(f"{ours} is {ratios[0]:.2f}x as fast as {peer} (wall), {ratios[1]:.2f}x (CPU)")
