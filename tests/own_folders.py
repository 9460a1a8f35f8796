"""Folders of benchmarks for tests: a sound one, the unsound ones of `fixtures/own-bad`, and one of a size."""

import re
import shutil
from pathlib import Path

FIXTURES = Path(__file__).resolve().parent / "fixtures"
GOOD = FIXTURES / "own-good"
BAD = sorted((FIXTURES / "own-bad").glob("*.txt"))
SECTION = re.compile(rb"^== (.*)\n", re.MULTILINE)


def good(folder: Path, **files: str) -> Path:
    """The sound folder; files (`corpus_jsonl="..."`) replace its own."""
    shutil.copytree(GOOD, folder)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return folder


def bad(fixture: Path, folder: Path) -> list[str]:
    """Make the folder of a fixture: the sound one with the fixture's files in place of its own; the problems that it has."""
    shutil.copytree(GOOD, folder)
    words = SECTION.split(fixture.read_bytes())
    sections = {name.decode(): text for name, text in zip(words[1::2], words[2::2], strict=True)}
    problems = sections.pop("problems").decode().splitlines()
    for name, text in sections.items():
        if name.endswith(" is not there"):
            (folder / name.removesuffix(" is not there")).unlink()
        else:
            (folder / name).write_bytes(text)
    return problems


def mended(folder: Path) -> None:
    """Put the sound files back."""
    for path in folder.iterdir():
        path.unlink()
    shutil.copytree(GOOD, folder, dirs_exist_ok=True)
