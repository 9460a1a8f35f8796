"""check what is missing on this machine, and how to get it"""

import argparse
import sys

from toolkit.parsers import command
from toolkit.printing import write_lines
from toolkit.shell import guard

EPILOG = """checked: Python, Java, torch, FAISS, Ray, cache, disk, network, proxies and settings.
exit status: 1 where something is bad; what is optional and absent is only named."""
MARKS = {"ok": "ok    ", "absent": "absent", "bad": "BAD   "}


def parser() -> argparse.ArgumentParser:
    return command("doctor", __doc__, EPILOG)


def main(args: argparse.Namespace) -> int:
    from toolkit.engine.machine_check import examine

    bad = False
    for finding in examine():
        write_lines([f"{MARKS[finding.state]}  {finding.name:<12} {finding.detail}"], indent=21)
        if finding.fix:
            write_lines([f"{'':<20} fix: {finding.fix}"], indent=5)
        bad = bad or finding.state == "bad"
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(guard(parser, main))
