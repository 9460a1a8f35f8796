"""How plots look: told apart without colour, legible on light and dark, names that stay text, the same bytes every time."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolkit.report.plots.style import COLOURS, GREY, WIDEST, labels, look

ROOT = Path(__file__).resolve().parents[2]
WHITE, DARK = "#ffffff", "#121212"  # Chromium's canvas in a dark scheme


def contrast(first: str, second: str) -> float:
    """WCAG 2.2: 3 is what graphics need."""

    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_colours_are_legible_on_light_and_dark_pages():
    assert COLOURS[0] == "#000000"  # a page turns it into its colour of text
    for colour in (*COLOURS[1:], GREY):
        assert min(contrast(colour, WHITE), contrast(colour, DARK)) >= 3, colour


def test_no_two_of_56_runs_share_colour_and_mark_and_neighbours_share_neither():
    drawn = [look(number) for number in range(56)]
    assert len({(each.colour, each.marker) for each in drawn}) == 56
    pairs = list(itertools.pairwise(drawn))
    assert all(first.colour != second.colour and first.marker != second.marker for first, second in pairs)
    assert {each.line for each in drawn} == {"-", "--", "-.", ":"}


def test_names_are_short_and_of_signs_that_xml_can_hold():
    long = "a" * 50 + "1" + "b" * 50
    assert labels(["bm25", "a\x01\ud800b\n", long]) == {
        "bm25": "bm25",
        "a\x01\ud800b\n": "a\ufffd\ufffdb\ufffd",
        long: "a" * 19 + "\u2026" + "b" * 19,
    }


def test_names_that_would_be_shortened_to_the_same_stay_whole():
    first, second = ("a" * 50 + digit + "b" * 50 for digit in "12")
    assert labels([first, second]) == {first: first, second: second}
    assert len(labels([first])[first]) <= WIDEST


DRAWN = """
import hashlib, sys
from pathlib import Path
from toolkit.report.figures import applying, save, to_svg
from toolkit.report.collect import collect
for name in ("infosearch-mini-audience", "mfollowir-mini", "berds-mini"):
    run = Path(sys.argv[1]) / f"{name.removesuffix('-audience')}.bm25.v1.trec.gz"
    (model,) = collect([run], [name])
    for plot in applying(model):
        print(name, plot.name, hashlib.sha256(to_svg(plot, model, "a-").encode()).hexdigest())
for path in save([model], Path(sys.argv[2])):
    print(path.name, hashlib.sha256(path.read_bytes()).hexdigest())
"""


@pytest.mark.process
def test_two_processes_draw_the_same_bytes(tmp_path):
    lines = {}
    for seed in ("1", "2"):
        drawn = [sys.executable, "-c", DRAWN, str(ROOT / "runs" / "baselines"), str(tmp_path / seed)]
        done = subprocess.run(drawn, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        lines[seed] = dict(line.rpartition(" ")[::2] for line in done.stdout.splitlines())
    assert lines["1"] == lines["2"]
    names = {"intervals", "wise-surface", "wise-reward", "histograms", "radar", "heatmap", "mrecall", "coverage", "stance"}
    assert {place.split(" ")[1] for place in lines["1"] if " " in place} == names
    files = {
        f"berds-mini.{name}.{suffix}" for name in ("mrecall", "coverage", "stance") for suffix in ("pdf", "svg", "png", "csv")
    }
    assert {place for place in lines["1"] if " " not in place} == files
