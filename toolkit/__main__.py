"""`python -m toolkit NAME ...` and the console script `tandem NAME ...`: the same as `python -m toolkit.NAME ...`."""

import difflib
import os
import runpy
import sys
from pathlib import Path

from toolkit import __version__

SHARED = (
    *("__init__", "__main__", "complete", "shell", "parsers", "printing"),
    *("options", "model_options", "judging_options"),
)  # what commands share; every other file here is a command


def commands() -> dict[str, str]:
    """Each command with its summary, the first line of its docstring, read from the files without importing them."""
    files = sorted(file for file in Path(__file__).parent.glob("*.py") if file.stem not in SHARED)
    summaries = {}
    for file in files:
        with file.open(encoding="utf-8") as lines:
            summaries[file.stem] = lines.readline().rstrip("\n").strip('"')
    return summaries


def main(argv: list[str] | None = None) -> int:
    """Show the list of commands, or run the one named first."""
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] == "--version":
        print(f"tandem-ir {__version__}")
        return 0
    known = commands()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks what completes its line
        from toolkit.complete import answer

        answer(known, os.environ["COMP_LINE"], int(os.environ["COMP_POINT"]))
    if argv[:1] == ["help"]:
        argv = [*argv[1:], "--help"]
    if not argv or argv[0] in ("-h", "--help"):
        usage = "usage: tandem COMMAND ...   (the same as python -m toolkit.COMMAND ...)\n\ncommands:\n"
        sys.stdout.write(usage + "".join(f"  {name:<12} {text}\n" for name, text in known.items()))  # at once, for `| head`
        return 0
    if argv[0] not in known:
        close = difflib.get_close_matches(argv[0], known, n=1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        print(f"error: no command '{argv[0]}'\nhint:  {hint}Known: {', '.join(known)}", file=sys.stderr)
        return 2
    sys.argv = [f"tandem {argv[0]}", *argv[1:]]
    runpy.run_module(f"toolkit.{argv[0]}", run_name="__main__", alter_sys=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
