"""From runs that are model to the report: its page, or its tables as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolkit.benchmarks import resolve_topics
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.pages import Browsed, Frame, browse, finder, languages_of
from toolkit.provenance import command_line
from toolkit.report.collect import JUDGED
from toolkit.report.model import ReportModel
from toolkit.report.report_page import render
from toolkit.report.report_tables import Section, overview, section
from toolkit.report.table_output import FORMATS
from toolkit.report.text_table import Table
from toolkit.texts import texts_from


@dataclass(frozen=True, eq=False)
class Report:
    """Everything but the queries. overview: each system over all benchmarks; None for a single one."""

    sections: tuple[Section, ...]
    overview: Table | None

    @property
    def tables(self) -> list[Table]:
        """All of them, in order."""
        return [*([self.overview] if self.overview else []), *(table for each in self.sections for table in each.tables)]


def report(
    benchmarks: Sequence[ReportModel], *, missing: str = "worst", published: bool = False, claims: bool = False
) -> Report:
    """The tables of runs of one or several benchmarks.

    missing    as in `toolkit.evaluate`
    published  also what the benchmarks' papers print of the systems, beside the runs
    claims     also what the papers claim, over the runs

    Raises ToolkitError where nothing published can be set beside the runs: of a mini, never.
    """
    sections = [section(model, missing=missing, published=published, claims=claims) for model in benchmarks]
    return Report(tuple(sections), overview(benchmarks) if len(benchmarks) > 1 else None)


def to_text(made: Report, format: str) -> str:
    """All tables as `latex`, `markdown` or `csv`."""
    return FORMATS[format](made.tables)


def to_html(
    made: Report,
    *,
    index: str | None = None,
    docs: str | None = None,
    missing: str = "worst",
    frame: Frame | None = None,
) -> str:
    """The page.

    index, docs  where texts of documents come from, see `toolkit.texts`; without, the benchmarks' corpora, and where these
                 cannot be read, the page says so and has none
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
                problems[f"texts of documents are not in this page: {error}"] = None
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
