"""print what has bash, zsh or fish complete commands, options and names

put it where the shell reads it, and open a new one:
  tandem completion bash >> ~/.bashrc
  tandem completion zsh >> ~/.zshrc
  tandem completion fish > ~/.config/fish/completions/tandem.fish

The Tab key then completes commands, options, and the names of benchmarks (with their groups and modes), systems, indexes,
registered runs and measures, and files.
"""

import argparse
import sys

from toolkit.parsers import command
from toolkit.shell import guard

SHELLS = ("bash", "zsh", "fish")


def parser() -> argparse.ArgumentParser:
    made = command("completion", __doc__)
    made.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")
    return made


def main(args: argparse.Namespace) -> None:
    import argcomplete

    print(argcomplete.shellcode(["tandem"], shell=args.shell))


if __name__ == "__main__":
    sys.exit(guard(parser, main))
