"""How plots look: told apart without colour, legible on light and dark, names that stay text, the same bytes every time."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from toolkit.reporting.figures.theme import COLOURS, DASHES, GREY, INK, SHAPES, WIDEST, cell, labels

ROOT = Path(__file__).resolve().parents[2]
WHITE, DARK = "#ffffff", "#121212"  # Chromium's canvas in a dark scheme
# linear RGB as people without one kind of cones see it, of the severest degree (Machado, Oliveira and Fernandes 2009, "A
# Physiologically-based Model for Simulation of Color Vision Deficiency", table 1); grey is the luminance of ITU-R BT.709
SEEN = {
    "all cones": np.eye(3),
    "protanopia": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "grey": np.tile([0.2126, 0.7152, 0.0722], (3, 1)),
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])  # of linear sRGB, D65
# the least CIE76 distance of two colours: 2.3 is just noticeable (Mahy, Van Eycken and Oosterlinck 1994). A page of white and
# one of near black, with a contrast of 3 to both, leave a range of 20 of 100 to greys: six of them are 3.7 apart
LEAST = {"all cones": 30, "protanopia": 15, "deuteranopia": 15, "grey": 3.5}


def linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(seen: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of linear RGB."""
    ratio = XYZ @ np.clip(seen, 0, 1) / (XYZ @ np.ones(3))
    x, y, z = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(first: str, second: str) -> float:
    """WCAG 2.2: 3 is what graphics need."""
    low, high = sorted(float(SEEN["grey"][0] @ linear(colour)) for colour in (first, second))
    return (high + 0.05) / (low + 0.05)


def test_colours_are_legible_on_light_and_dark_pages():
    assert COLOURS[0] == INK == "currentColor"  # black on light, white on dark
    for colour in (*COLOURS[1:], GREY):
        assert min(contrast(colour, WHITE), contrast(colour, DARK)) >= 3, colour


@pytest.mark.parametrize("ink", ["#000000", "#ffffff"])
@pytest.mark.parametrize("eyes", SEEN)
def test_any_two_colours_differ_for_everybody_and_in_grey(eyes, ink):
    for first, second in itertools.combinations((ink, *COLOURS[1:]), 2):
        apart = np.linalg.norm(lab(SEEN[eyes] @ linear(first)) - lab(SEEN[eyes] @ linear(second)))
        assert apart >= LEAST[eyes], (first, second, apart)


def test_no_two_of_56_runs_share_colour_and_shape_and_neighbours_share_neither():
    looks = [tuple(each[number % len(each)] for each in (COLOURS, SHAPES, DASHES)) for number in range(56)]
    assert len({look[:2] for look in looks}) == 56
    assert len({look[::2] for look in looks[:28]}) == 28
    assert all(not set(first) & set(second) for first, second in itertools.pairwise(looks))


def test_numbers_in_figures_have_a_true_minus_and_never_minus_zero():
    assert [cell(value) for value in (0.126, -0.126, -0.004, 0.0, -0.0)] == ["0.13", "\u22120.13", "0.00", "0.00", "0.00"]


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
import hashlib, json, sys
from pathlib import Path
from toolkit.reporting.figures.drawing import applying, save, to_spec
from toolkit.reporting.report.collect import collect
for name in ("infosearch-mini-audience", "mfollowir-mini", "berds-mini"):
    run = Path(sys.argv[1]) / f"{name.removesuffix('-audience')}.bm25.v2.trec.gz"
    (model,) = collect([run], [name])
    for plot in applying(model):
        print(name, plot.name, hashlib.sha256(json.dumps(to_spec(plot, model)).encode()).hexdigest())
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
    names = {"intervals", "wise-surface", "wise-reward", "histograms", "heatmap", "mrecall", "coverage", "stance"}
    assert {place.split(" ")[1] for place in lines["1"] if " " in place} >= names
    files = {
        f"berds-mini.{name}.{suffix}" for name in ("mrecall", "coverage", "stance") for suffix in ("pdf", "svg", "png", "csv")
    }
    assert {place for place in lines["1"] if " " not in place} >= files
