"""What is public stands in a file that a change of it has to touch."""

import argparse
import runpy

from command import ROOT

import tandem_ir
from toolkit.__main__ import commands

MADE = runpy.run_path(str(ROOT / "scripts" / "render_docs"))
FILE = ROOT / "docs" / "reference" / "interface.txt"


def test_the_file_says_what_the_code_has():
    assert FILE.read_text(encoding="utf-8") == MADE["interface"](), (
        "scripts/render_docs writes it; the changelog names what changed"
    )


def test_every_name_and_command_is_in_it():
    lines = FILE.read_text(encoding="utf-8").splitlines()
    assert [name for name in tandem_ir.__all__ if not any(line.startswith(f"tandem_ir.{name}") for line in lines)] == []
    assert [name for name in commands() if f"tandem {name}" not in lines] == []


def test_a_signature_has_names_and_defaults_alone():
    class Public:
        data = 1

        def __init__(self, place: str, *, depth: int = 3): ...

        def call(self, each: int) -> int:
            return each

        def _own(self): ...

    assert list(MADE["signatures"]("P", Public)) == ["P(place, *, depth=3)", "P.call(self, each)", "P.data"]
    assert list(MADE["signatures"]("n", 1)) == ["n"]


def test_an_option_is_pinned_with_its_names_and_whether_it_is_required():
    parser = argparse.ArgumentParser("x")
    parser.add_argument("-m", "--measure", metavar="M", required=True)
    parser.add_argument("run", metavar="RUN")
    assert list(MADE["command_lines"]("tandem x", parser)) == ["tandem x", "  -m, --measure M (required)", "  RUN"]
