"""Saved web pages as documents: readability finds the article, html2text writes it as text."""

from __future__ import annotations

import itertools
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from toolkit.core.documents import Doc
from toolkit.core.errors import missing_extra
from toolkit.formats.corpus import Batch, Entry

PAGES, EMPTY, LONG = "pages", "pages without text", "pages read in part"
MOST = 2_000_000  # characters of a page that are read: the worst that we know take 20 microseconds each
# the parser compares each attribute of a tag with all others: those with thousands are left with none
_LONG_TAG = re.compile(r"<(/?[A-Za-z][\w:-]*)[^<>]{20000,}+>")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")


class PageReader:
    """Gives rows of web results their ids and texts.

    about  is told how many rows were pages, and of those how many had no text (they are left out) or were read in part
    """

    def __init__(self, about: dict[str, Any]) -> None:
        self._about = about
        self._rows: Counter[str] = Counter()  # of each question so far

    def read(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The same documents; a row of a question that has no id of its own is called `<question>-<its number>`."""
        for batch in batches:
            if batch.ready:
                yield batch
            else:
                entries = list(itertools.chain.from_iterable(map(self._read, batch.entries())))
                yield Batch(partial(list, entries))

    def _read(self, entry: Entry) -> Iterator[Entry]:
        if entry.problem or not (entry.question or entry.page):
            yield entry
            return
        doc = entry.doc
        self._rows[entry.question] += 1
        if not doc.doc_id:
            doc = doc._replace(doc_id=f"{entry.question}-{self._rows[entry.question]}")
        if entry.page:
            title, text = page_text(doc.text[:MOST])
            for what, value in ((PAGES, 1), (EMPTY, not text), (LONG, len(doc.text) > MOST)):
                self._about[what] = self._about.get(what, 0) + int(value)
            if not text:
                return
            doc = Doc(doc.doc_id, doc.title or title, text)
        yield entry._replace(doc=doc, page=False)


def page_text(html: str) -> tuple[str, str]:
    """A page's title and its text, as Markdown without links and images; both empty where it has no text.

    All of the page is taken where readability finds no article in it, or cannot read it. MissingExtra without the libraries.
    """
    try:
        from readability import Document
    except ImportError as error:
        raise missing_extra("a corpus of saved pages", "web") from error
    logging.getLogger("readability").setLevel(logging.CRITICAL)  # it logs what it raises
    html = _LONG_TAG.sub(r"<\1>", _CONTROLS.sub("", html.encode("utf-8", "replace").decode()))
    try:
        page = Document(_sound(html))
        title, text = page.short_title(), _markdown(page.summary(html_partial=True))
    except Exception:  # what breaks a parser of the web has no common class; the page may still have text
        title, text = "", ""
    return title, text or _all_of(html)


def _sound(html: str) -> str:
    """The page as a tree is written again: html2text's own parser takes hours for what is never closed."""
    import lxml.html

    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
    return lxml.html.tostring(lxml.html.document_fromstring(html.encode(), parser=parser), encoding="unicode")


def _all_of(html: str) -> str:
    try:
        return _markdown(_sound(html))
    except Exception:  # as above: the page is counted as one without text
        return ""


def _markdown(html: str) -> str:
    from html2text import HTML2Text

    writer = HTML2Text(bodywidth=0)
    writer.ignore_links = writer.ignore_images = writer.ignore_emphasis = True
    return _CONTROLS.sub("", writer.handle(html)).strip()
