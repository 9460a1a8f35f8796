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
    parser = command("doctor", __doc__, EPILOG)
    help = "in place of the checks, list the packages of tandem-ir[all] with version and licence, as their metadata say"
    parser.add_argument("--licences", action="store_true", help=help)
    return parser


def main(args: argparse.Namespace) -> int:
    from toolkit.engine.machine_check import examine

    if args.licences:
        from toolkit.engine.licences import licences

        write_lines(f"{name:<34} {version or '-':<16} {licence}" for name, version, licence in licences("tandem-ir[all]"))
        return 0
    bad = False
    for finding in examine():
        write_lines([f"{MARKS[finding.state]}  {finding.name:<12} {finding.detail}"], indent=21)
        if finding.fix:
            write_lines([f"{'':<20} fix: {finding.fix}"], indent=5)
        bad = bad or finding.state == "bad"
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(guard(parser, main))
