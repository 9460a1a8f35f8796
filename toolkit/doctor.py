"""check what is missing on this machine, and how to get it

checked: Python, Java, torch, FAISS, Ray, cache, disk, network, proxies and settings.
exit status: 1 where something is bad; what is optional and absent is only named.
"""

import argparse
import sys

from toolkit.parsers import command
from toolkit.printing import write_lines
from toolkit.shell import guard

MARKS = {"ok": "ok    ", "absent": "absent", "bad": "BAD   "}


def parser() -> argparse.ArgumentParser:
    made = command("doctor", __doc__)
    text = "list the packages that extras (all, if none is named) bring here, with the version and licence of their metadata"
    made.add_argument("--licences", nargs="*", metavar="EXTRA", help=text)
    return made


def main(args: argparse.Namespace) -> int:
    if args.licences is not None:
        return _list_licences(args.licences or ["all"])
    from toolkit.engine.machine_check import examine

    bad = False
    for finding in examine():
        write_lines([f"{MARKS[finding.state]}  {finding.name:<12} {finding.detail}"], indent=21)
        if finding.fix:
            write_lines([f"{'':<20} fix: {finding.fix}"], indent=5)
        bad = bad or finding.state == "bad"
    return 1 if bad else 0


def _list_licences(extras: list[str]) -> int:
    from importlib.metadata import metadata

    from toolkit.core.errors import ToolkitError
    from toolkit.core.system.installation import licences

    known = metadata("tandem-ir").get_all("Provides-Extra", [])
    if unknown := [extra for extra in extras if extra not in known]:
        raise ToolkitError(f"no extra {', '.join(map(repr, unknown))}", f"known: {', '.join(known)}")
    found = licences(f"tandem-ir[{','.join(extras)}]")
    write_lines(f"{name:<34} {version or '-':<16} {licence}" for name, version, licence in found)
    return 0


if __name__ == "__main__":
    sys.exit(guard(parser, main))
