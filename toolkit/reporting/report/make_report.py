"""From runs that are model to the report: its page, or its tables as text (Markdown and CSV; `latex_output` has LaTeX)."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import write_text
from toolkit.core.tables import tabular
from toolkit.core.tables.aligned_table import PLAIN, TableStyle
from toolkit.core.tables.table_forms import markdown, markdown_table
from toolkit.datasets import resolve_topics
from toolkit.files.provenance import command_line
from toolkit.reporting.pages import Browsed, Frame, browse, finder, languages_of
from toolkit.reporting.report.collect import JUDGED
from toolkit.reporting.report.model import ReportModel
from toolkit.reporting.report.report_page import render
from toolkit.reporting.tables.latex_output import to_latex
from toolkit.reporting.tables.sections import Section, overview, section
from toolkit.reporting.tables.text_table import BEST, KIND, KINDS, OF_KIND, SIGNS, Cell, Table, check_kinds, styled, transposed
from toolkit.retrieval.texts import texts_from


@dataclass(frozen=True, eq=False)
class Report:
    """Everything but the queries. overview: each system over all benchmarks; None for a single one."""

    sections: tuple[Section, ...]
    overview: Table | None

    @property
    def tables(self) -> list[Table]:
        """All of them, in order."""
        return [*([self.overview] if self.overview else []), *(table for each in self.sections for table in each.tables)]


class ReportText(str):
    """A report as text, which a notebook shows as the page in a frame. `path` is the file that it was written to, if any."""

    path: Path | None = None

    def save(self, path: str | Path) -> Path:
        """Write it to a file."""
        write_text(path, self)
        self.path = Path(path)
        return self.path

    def __repr__(self) -> str:
        return f"ReportText({len(self):,} characters{f', {self.path}' if self.path else ''})"

    def _repr_html_(self) -> str:
        text = html.escape(self)
        if not self.startswith("<!"):
            return f"<pre>{text}</pre>"
        return f'<iframe srcdoc="{text}" width="100%" height="800" style="border: 0"></iframe>'


def report(
    benchmarks: Sequence[ReportModel],
    *,
    missing: str = "worst",
    published: bool = False,
    claims: bool = False,
    style: TableStyle = PLAIN,
) -> Report:
    """The tables of runs of one or several benchmarks.

    missing    as in `toolkit.evaluation`
    published  also what the benchmarks' papers print of the systems, beside the runs
    claims     also what the papers claim, over the runs
    style      decimals and per cent; CSV has numbers at full precision

    Raises ToolkitError where nothing published can be set beside the runs: of a mini, never.
    """
    how = {"missing": missing, "published": published, "claims": claims, "style": style}
    sections = tuple(section(model, **how) for model in benchmarks)
    return Report(sections, styled(overview(benchmarks), style) if len(benchmarks) > 1 else None)


def to_text(made: Report, format: str, *, tables: Sequence[str] = (), transpose: bool = False, width: str | None = None) -> str:
    """Tables as `latex`, `markdown` or `csv`.

    tables     kinds of `toolkit.reporting.tables.text_table.KINDS`, in this order; all where none are named
    transpose  whether measures are rows and systems columns (not in CSV)
    width      of LaTeX: `column` or `page`, see `toolkit.reporting.tables.latex_output`

    Raises ToolkitError for tables that are not known, or that this report has none of.
    """
    check_kinds(tables)
    present = [kind for kind in KINDS if any(table.kind == kind for table in made.tables)]
    for kind in tables:
        if kind not in present:
            raise ToolkitError(f"this report has no table {kind!r}", f"it has {', '.join(present)}")
    chosen = [table for kind in tables for table in made.tables if table.kind == kind] if tables else made.tables
    if format == "csv":
        return to_csv(chosen)
    chosen = [transposed(table) if transpose else table for table in chosen]
    return to_latex(chosen, width) if format == "latex" else to_markdown(chosen)


def to_html(
    made: Report, *, index: str | None = None, docs: str | None = None, missing: str = "worst", frame: Frame | None = None
) -> str:
    """The page.

    index, docs  where texts of documents come from, see `toolkit.retrieval.texts`; without, the benchmarks' corpora, and
                 where these cannot be read, the page says so and has none
    frame        of a page of a site
    """
    browsed = [_browse(each.model, index, docs, missing) for each in made.sections]
    return render(made.sections, browsed, made.overview, frame.command if frame else command_line(), frame)


def _browse(model: ReportModel, index: str | None, docs: str | None, missing: str) -> tuple[Browsed, list[str]]:
    """The queries, and what is to be said of their documents."""
    known = {key.measure for facts in model.runs for key in facts.values}
    problems: dict[str, None] = {}
    find, languages = None, {}
    if model.topics:
        topics = resolve_topics(model.judgments.reference or model.name)
        languages = languages_of(model.judgments, topics)
        wanted = finder(model.judgments, topics, texts_from(topics, index=index, docs=docs))

        def find(group: str, doc_ids: Sequence[str]) -> Mapping[str, Doc]:
            try:
                return wanted(group, doc_ids)
            except ToolkitError as error:
                if index or docs:
                    raise
                problems[f"texts of documents are not in this page: {error.message}"] = None
                return {}

    queries = browse(
        [facts.run for facts in model.runs],
        [facts.name for facts in model.runs],
        model.judgments,
        [*(measure for measure in model.measures if measure in known), JUDGED],
        topics=model.topics,
        find=find,
        languages=languages,
        missing=missing,
    )
    return queries, list(problems)


COLUMNS = ("table", "block", "row", "column", "value", "mark")
STYLES = {BEST: "**%s**", OF_KIND: "*%s*", **{mark: f"%s{sign}" for mark, sign in SIGNS.items()}}
SAID = {BEST: "**Bold**", OF_KIND: "*Italic*", **SIGNS}


def to_markdown(tables: Sequence[Table]) -> str:
    """A heading, a table and its caption each; kinds of systems are rows of their own."""
    texts = []
    for table in tables:
        rows = []
        for block in table.blocks:
            if block.heading:
                rows.append([f"*{markdown(block.label)}*", *[""] * (len(table.heads) - 1)])
            rows += [[_markdown_cell(cell) for cell in row] for row in block.rows]
        notes = [f"{SAID[mark]}: {markdown(meaning)}." for mark, meaning in table.used_marks.items()]
        notes.append(markdown(table.legend))
        heads, right = [markdown(head.label + head.arrow) for head in table.heads], [head.number for head in table.heads]
        texts.append(f"## {markdown(table.title)}\n\n{markdown_table(heads, right, rows)}\n{' '.join(notes)}\n")
    return "\n".join(texts)


def _markdown_cell(cell: Cell) -> str:
    text = markdown(cell.text)
    for mark in sorted(cell.mark.split(), key=list(STYLES).index):
        text = STYLES[mark] % text
    return text


def to_csv(tables: Sequence[Table]) -> str:
    """A line a number, at full precision: table, block (kind of system, run), row, column, value, mark."""
    rows = [(table, block, row) for table in tables for block in table.blocks for row in block.rows]
    records = []
    for table, block, row in rows:
        cells = list(zip(table.heads, row, strict=True))
        kind = next((cell.text for head, cell in cells if head.title == KIND), "")
        for head, cell in cells[1:]:
            if head.title != KIND:
                value = cell.value if head.number else cell.text
                line = (table.name, block.heading or kind, row[0].text, head.title, value, cell.mark)
                records.append(dict(zip(COLUMNS, line, strict=True)))
    return tabular.to_csv(COLUMNS, records)
