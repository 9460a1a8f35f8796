"""Tables of a report in LaTeX, laid out so that nothing is wider than a column or page of the usual classes.

The width of a table is estimated from the metrics of the fonts that papers are set in, never less than it is: no TeX is
needed here.
"""

import functools
import itertools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from toolkit.core.tables.table_forms import latex, latex_number, latex_tabular
from toolkit.reporting.tables.text_table import BEST, DAGGER, OF_KIND, WORSE, Block, Cell, Head, Table, grouped, transposed

# in points, the narrowest of three layouts: a column is ACL's (7.7 cm; acmart's sigconf 8.5 cm), a page article's text
# (345 pt; ACL 16 cm, sigconf 17.8 cm) and its height without a caption
COLUMN, PAGE, HEIGHT = 219.0, 345.0, 500.0
# font size, line height, and \tabcolsep, the first that fits; in points and not \small, which every class has another of
FONTS = ((9, 11, 6), (9, 11, 4), (8, 9.5, 4), (8, 9.5, 3))
NOTE = (8, 9.5)
LONGEST_OF_SENTENCE = 24  # characters
SLACK = 1.15  # lines of wrapped words over those of their width
STYLES = {BEST: r"\textbf{%s}", OF_KIND: r"\textit{%s}", DAGGER: r"%s\rlap{$^{\dagger}$}"}
STYLES |= {WORSE: r"%s\rlap{$^{\ddagger}$}"}
SAID = {BEST: r"\textbf{Bold}", OF_KIND: r"\textit{Italic}", DAGGER: r"$\dagger$"}
SAID |= {WORSE: r"$\ddagger$"}
WIDTHS = ("column", "page")
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


def to_latex(tables: Sequence[Table], width: str | None = None) -> str:
    """A table environment each, with the rules of the package booktabs.

    width  `column` or `page` (table*, across both columns); without, a column where a table fits one. What fits nowhere in
           8 points has kinds of systems as headings or measures as rows where that helps, or else is several tables.
    """
    return "\n".join(_environment(part) for table in tables for part in layout(table, width))


@dataclass(frozen=True)
class Part:
    """One table environment: a table, or a part of it; widths  (columns,) in points, as estimated; limit  `COLUMN` or `PAGE`"""

    table: Table
    font: tuple[float, float, float]
    widths: tuple[float, ...]
    limit: float
    number: int = 1
    of: int = 1

    @property
    def total(self) -> float:
        """Its width, as estimated."""
        return sum(self.widths) + 2 * self.font[2] * (len(self.widths) - 1)

    @property
    def tabular(self) -> str:
        """What is so wide, without the environment around it."""
        table = self.table
        columns = _columns(table)
        size = self.font[0]
        heads = [_head(head, cells, width, size) for head, cells, width in zip(table.heads, columns, self.widths, strict=True)]
        above, rules, place = [], [], 1
        for text, count in table.spans:
            above.append(f"\\multicolumn{{{count}}}{{c}}{{{latex(text)}}}" if text else " & ".join([""] * count))
            rules += [f"\\cmidrule(lr){{{place}-{place + count - 1}}}"] if text else []
            place += count
        blocks = []
        for block in table.blocks:
            words = _words(block.label, self.total, size)
            heading = [[f"\\multicolumn{{{len(self.widths)}}}{{@{{}}l@{{}}}}{{\\textit{{{words}}}}}"]] if block.heading else []
            rows = ([_cell(*each, size) for each in zip(row, table.heads, self.widths, strict=True)] for row in block.rows)
            blocks.append([*heading, *rows])
        alignment = "".join("r" if head.number else "l" for head in table.heads)
        lines = [*([above] if above else []), heads]
        return latex_tabular(f"@{{}}{alignment}@{{}}", lines, blocks, " ".join(rules)).rstrip("\n")


def layout(table: Table, width: str | None = None) -> list[Part]:
    """The environments that a table is set in."""
    limits = {"column": [COLUMN], "page": [PAGE], None: [COLUMN, PAGE]}[width]
    by_kind = grouped(table)
    tries = [(table, True), (by_kind, True), (by_kind, False)]
    kinds = [head.number for head in by_kind.heads]
    # words on the left alone, which transposing makes heads of
    tries += [(transposed(table), False)] if kinds == sorted(kinds) else []
    for (candidate, whole), limit in itertools.product(tries, limits):
        fitted = _fitted(_printed(candidate), limit, whole=whole)
        if fitted and len(by_rows := list(_by_rows(fitted))) == 1:
            return by_rows
    # as many columns as fit, those of a measure together where they fit; names are broken where that makes fewer parts
    table = _printed(by_kind)
    of_measure = itertools.groupby(range(1, len(table.heads)), lambda n: (table.heads[n].name and table.heads[n].above) or n)
    groups = [list(places) for _, places in of_measure]
    pieces = min((_divided(table, groups, limits[-1], whole) for whole in (True, False)), key=len)
    parts = [part for piece in pieces for part in _by_rows(piece)]
    return [replace(part, number=number, of=len(parts)) for number, part in enumerate(parts, 1)]


def _printed(table: Table) -> Table:
    """With heads as they are set: a measure above a single mode is one text with it."""
    heads = []
    for above, count in table.spans or [("", len(table.heads))]:
        for head in table.heads[len(heads) : len(heads) + count]:
            alone = not above or (count == 1 and head.column is not None)
            text = head.label if alone and table.spans else head.short
            heads.append(Head("" if alone else head.above, text + head.arrow, head.number))
    return replace(table, heads=tuple(heads))


def _fitted(table: Table, limit: float, *, whole: bool = False) -> Part | None:
    """The table in the largest font in which it fits. Words are broken only where it fits in none (`whole`: never), and then in
    the font that makes the fewest lines.
    """
    for font in FONTS:
        if (part := _sized(table, font, limit, False)).total <= limit:
            return part
    broken = [] if whole else [part for font in FONTS if (part := _sized(table, font, limit, True)).total <= limit]
    return min(broken, key=lambda part: sum(_row_lines(row, part) for row in part.table.rows), default=None)


def _sized(table: Table, font: tuple[float, float, float], limit: float, breaks: bool) -> Part:
    size, _, gap = font
    columns = _columns(table)
    texts = [(_head_lines(*each), each[1]) for each in zip(table.heads, columns, strict=True)]
    widths = [size * max([_cells_em(cells), *map(em, lines)]) for lines, cells in texts]
    for (above, count), start in zip(table.spans, [0, *itertools.accumulate(count for _, count in table.spans)], strict=False):
        together = sum(widths[start : start + count]) + 2 * gap * (count - 1)
        widths[start + count - 1] += max(size * em(above) - together, 0)
    if breaks:
        floors = [
            width if head.number else min(width, size * least([head.short, *(cell.text for cell in cells)]))
            for width, head, cells in zip(widths, table.heads, columns, strict=True)
        ]
        # the widest are made equal until all fit, none below its floor
        level, room, wide = max(widths), limit - 2 * gap * (len(widths) - 1), list(zip(widths, floors, strict=True))
        while sum(widths := [max(min(each, level), floor) for each, floor in wide]) > room and level > 0:
            level -= 1
    return Part(table, font, tuple(widths), limit)


def _columns(table: Table) -> list[tuple[Cell, ...]]:
    return list(zip(*(row for block in table.blocks for row in block.rows), strict=True)) or [()] * len(table.heads)


def _cells_em(cells: Sequence[Cell]) -> float:
    # the minus of a number is that of formulas
    texts = (cell.text if cell.value is None else cell.text.replace("-", "−") for cell in cells)
    bold = (BOLD if BEST in cell.mark.split() else 1 for cell in cells)
    return max((em(text) * wider for text, wider in zip(texts, bold, strict=True)), default=0.0)


def _head_lines(head: Head, cells: Sequence[Cell]) -> list[str]:
    """A head over numbers is not wider than they are, where it can be broken."""
    return lines(head.short, max(_cells_em(cells), em("0.000"))) if head.number else [head.short]


def _divided(table: Table, groups: Sequence[list[int]], limit: float, whole: bool) -> list[Part]:
    """Parts with as many columns as fit, each behind the names of its rows."""

    def fits(places: list[int]) -> Part | None:
        return _fitted(_with_columns(table, places), limit, whole=whole)

    parts: list[list[int]] = [[]]
    for group in groups:
        for piece in [group] if fits(group) else [[place] for place in group]:
            if parts[-1] and not fits(parts[-1] + piece):
                parts.append([])
            parts[-1] += piece
    return [fits(places) or _sized(_with_columns(table, places), FONTS[-1], limit, True) for places in parts]


def _with_columns(table: Table, places: Sequence[int]) -> Table:
    pick = lambda cells: tuple(cells[place] for place in (0, *places))  # noqa: E731
    blocks = tuple(replace(block, rows=tuple(map(pick, block.rows))) for block in table.blocks)
    return replace(table, heads=pick(table.heads), blocks=blocks)


def _by_rows(part: Part) -> Iterator[Part]:
    """Parts that are not higher than a page with their notes."""
    room = HEIGHT - NOTE[1] * SLACK * em(" ".join([*_explained(part.table), part.table.legend])) * NOTE[0] / part.limit
    heads = max(len(_head_lines(*each)) for each in zip(part.table.heads, _columns(part.table), strict=True))
    heads += bool(part.table.spans)
    most = max(room // part.font[1] - heads - len(part.table.blocks) / 2 - 1, 10)  # lines; rules take half of one
    blocks: list[Block] = []
    used = 0.0
    for block in part.table.blocks:
        rows: list[tuple[Cell, ...]] = []
        used += bool(block.heading)
        for row in block.rows:
            height = _row_lines(row, part)
            if used + height > most and (rows or blocks):
                filled = (*blocks, *([replace(block, rows=tuple(rows))] if rows else []))
                yield replace(part, table=replace(part.table, blocks=filled))
                blocks, rows, used = [], [], float(bool(block.heading))
            rows.append(row)
            used += height
        blocks += [replace(block, rows=tuple(rows))] if rows else []
    yield replace(part, table=replace(part.table, blocks=tuple(blocks)))


def _row_lines(row: Sequence[Cell], part: Part) -> int:
    of_words = [(cell.text, width / part.font[0]) for cell, width in zip(row, part.widths, strict=True) if cell.value is None]
    return max((len(lines(text, width)) for text, width in of_words if em(text) > width), default=1)


def _environment(part: Part) -> str:
    table, (size, height, gap) = part.table, part.font
    name = "table*" if part.limit == PAGE else "table"
    several = f" ({part.number} of {part.of})" if part.of > 1 else ""
    label = re.sub(r"[^A-Za-z0-9]+", "-", table.name).strip("-") + (f"-{part.number}" if part.number > 1 else "")
    notes = " ".join([*_explained(table), _sentence(table.legend)]).strip()
    body = [
        f"\\begin{{{name}}}[t]",
        "\\centering",
        f"\\caption{{{_sentence(table.title + several)}}}",
        f"\\label{{tab:{label}}}",
        f"\\fontsize{{{size:g}}}{{{height:g}}}\\selectfont",
        f"\\setlength{{\\tabcolsep}}{{{gap:g}pt}}",
        part.tabular,
    ]
    if notes:
        body += [
            "\\par\\smallskip",
            "\\begin{minipage}{\\linewidth}",
            f"\\fontsize{{{NOTE[0]:g}}}{{{NOTE[1]:g}}}\\selectfont\\raggedright",
            notes,
            "\\end{minipage}",
        ]
    return "\n".join([*body, f"\\end{{{name}}}"]) + "\n"


def _explained(table: Table) -> list[str]:
    return [f"{SAID[mark]}: {_sentence(meaning)}." for mark, meaning in table.used_marks.items()]


def _head(head: Head, cells: Sequence[Cell], width: float, size: float) -> str:
    if not head.number:
        return _words(head.short, width, size)
    broken = _head_lines(head, cells)
    stacked = r"\\".join(map(latex, broken))
    return f"\\shortstack[r]{{{stacked}}}" if len(broken) > 1 else stacked


def _cell(cell: Cell, head: Head, width: float, size: float) -> str:
    text = latex_number(cell.text) if head.number else _words(cell.text, width, size)
    for mark in sorted(cell.mark.split(), key=list(STYLES).index):
        text = STYLES[mark] % text
    return text


def _words(text: str, width: float, size: float) -> str:
    """Words in a line, or broken to a width in points."""
    fits = size * em(text) <= width
    return latex(text) if fits else f"\\parbox[t]{{{width:.1f}pt}}{{\\raggedright {_breakable(text)}\\strut}}"


def _breakable(text: str, longest: int = LONGEST) -> str:
    """Text that may be broken behind the signs that names have, and in very long words."""
    return "".join(
        latex(piece) if not before or piece[0] == " " or before[-1] == "-" else rf"\allowbreak{{}}{latex(piece)}"
        for before, piece in zip(["", *chunks(text, longest)], chunks(text, longest), strict=False)
    )


def _sentence(text: str) -> str:
    """The same of words that TeX hyphenates."""
    return _breakable(text, LONGEST_OF_SENTENCE)


@functools.lru_cache(maxsize=1 << 14)  # a layout is tried many times over the same cells
def em(text: str) -> float:
    """The width of a line in em, of the upright font."""
    return sum(_EM.get(glyph) or _EM.get(unicodedata.normalize("NFD", glyph)[0], _WIDEST) for glyph in text)


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
