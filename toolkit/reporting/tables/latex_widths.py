"""How wide text is in print, in points, by the metrics of the fonts that papers are set in: never less than it is."""

import functools
import re
import unicodedata
from collections.abc import Sequence

# Widths in em: the widest of Computer Modern (roman at 8, 9 and 10 pt, italic at 8 pt: small sizes are relatively wider) and
# Times (roman, italic), from their .tfm and .afm files, rounded up to 0.05. Linux Libertine, of ACM's class, is narrower.
_GLYPHS = {
    0.3: "l \u00a0",
    0.35: "fij!',.:;`·",
    0.4: "-[]",
    0.45: "stI()",
    0.5: "cerz_",
    0.55: '0123456789ago"*/?\\^{}~†',
    0.6: "bdhkpquvxyJ–",
    0.65: "nS",
    0.7: "FLZ<>↑↓",
    0.75: "EP",
    0.8: "wABCHNRTUVXY",
    0.85: "DGKOQ$&+=−",
    0.9: "m#%Δ±×≤≥",
    0.95: "@",
}
_EM = {glyph: width for width, glyphs in _GLYPHS.items() for glyph in glyphs}
_WIDEST = 1.1  # W, and what no table knows: Chinese characters are 1 em
BOLD = 1.2  # cmbx8 and Times-Bold beside the same: digits 1.12
# names may be broken behind these signs, numbers and `p-MRR` not
_CHUNK = re.compile(r"(?<=\w\w-)|(?<=[+/_:,=])|(?<=\.)(?=[^\W\d_])|(?=[(@])")
_BLANKS = re.compile(r"[ \t\r\n]+")
LONGEST = 12  # characters of a name in a cell that are not broken; TeX hyphenates the words of sentences


@functools.lru_cache(maxsize=1 << 14)  # a layout is tried many times over the same cells
def em(text: str) -> float:
    """The width of a line in em, of the upright font."""
    return sum(_EM.get(glyph) or _EM.get(unicodedata.normalize("NFD", glyph)[0], _WIDEST) for glyph in text)


def number_em(text: str) -> float:
    """The same of a number, whose minus is that of formulas."""
    return em(text.replace("-", "−"))


def chunks(text: str, longest: int = LONGEST) -> list[str]:
    """The pieces between which a line may be broken: a blank stands before what is a word of its own."""
    pieces = []
    for word in _BLANKS.sub(" ", text).strip().replace(" · ", " ·\u00a0").split(" "):
        blank = " " if pieces else ""
        for piece in filter(None, _CHUNK.split(word)):
            for start in range(0, len(piece), longest):
                pieces.append(blank + piece[start : start + longest])
                blank = ""
    return pieces


def lines(text: str, width: float) -> list[str]:
    """The text in lines that are not wider than `width` em, unless one piece is."""
    broken: list[str] = []
    for piece in chunks(text):
        if broken and em(broken[-1] + piece) <= width:
            broken[-1] += piece
        else:
            broken.append(piece.lstrip())
    return broken


def least(texts: Sequence[str]) -> float:
    """The smallest width in em in which these texts can be set."""
    return max((em(piece.lstrip()) for text in texts for piece in chunks(text)), default=0.0)
