"""Saved web pages as documents: readability finds the article, html2text writes it as text."""

from __future__ import annotations

import logging
import re
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError, library
from toolkit.files.texts.corpus import Batch, Entry

if TYPE_CHECKING:
    from concurrent.futures import Future

PAGES, EMPTY, LONG = "pages", "pages without text", "pages read in part"
MOST = 2_000_000  # characters of a page that are read: the worst that we know take 20 microseconds each
AHEAD = 8  # batches that are read ahead for each process
# the parser compares each attribute of a tag with all others: those with thousands are left with none
_LONG_TAG = re.compile(r"<(/?[A-Za-z][\w:-]*)[^<>]{20000,}+>")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")


Text = Callable[[], tuple[str, str]]  # waits for a page's title and text


@contextmanager
def page_reader(about: dict[str, Any], processes: int = 1) -> Iterator[PageReader]:
    """The reader of all pages of a corpus, see `PageReader`; so many processes read pages at the same time.

    Their number changes nothing but the time. ToolkitError where one of them is ended from outside.
    """
    if processes == 1:
        yield PageReader(about, lambda html: partial(page_text, html))
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # new processes, not copies of this one: it may have threads, those of a JVM too
    # Ctrl-C reaches all processes of a terminal: they ignore it, the first one ends them
    with ProcessPoolExecutor(processes, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        try:
            yield PageReader(about, lambda html: partial(_result, pool.submit(page_text, html)), AHEAD * processes)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _result(future: Future) -> tuple[str, str]:
    from concurrent.futures.process import BrokenProcessPool

    try:
        return future.result()
    except BrokenProcessPool as error:
        hint = "was it killed for lack of memory? fewer --threads need less"
        raise ToolkitError("a process that reads pages has ended", hint, status=1) from error


class PageReader:
    """Gives rows of web results their ids and texts; `ahead` batches are begun before the first of them is waited for.

    `about` gets how many rows were pages, and of those how many had no text (they are left out) or were read in part.
    """

    def __init__(self, about: dict[str, Any], begin: Callable[[str], Text], ahead: int = 0) -> None:
        self._about, self._begin, self._ahead = about, begin, ahead
        self._rows: Counter[str] = Counter()  # of each question so far

    def read(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The same documents; a row of a question that has no id of its own is called `<question>-<its number>`."""
        waiting: deque[tuple[Batch, list[tuple[Entry, Text | None]]]] = deque()
        for batch in batches:
            entries = [] if batch.ready else batch.entries()
            waiting.append((batch, [(each, self._begin(each.doc.text[:MOST]) if each.page else None) for each in entries]))
            if len(waiting) > self._ahead:
                yield self._done(*waiting.popleft())
        while waiting:
            yield self._done(*waiting.popleft())

    def _done(self, batch: Batch, started: list[tuple[Entry, Text | None]]) -> Batch:
        if batch.ready:
            return batch
        return Batch(partial(list, [done for entry, text in started for done in self._read(entry, text)]))

    def _read(self, entry: Entry, read: Text | None) -> Iterator[Entry]:
        if entry.problem or not (entry.question or entry.page):
            yield entry
            return
        doc = entry.doc
        self._rows[entry.question] += 1
        if not doc.doc_id:
            doc = doc._replace(doc_id=f"{entry.question}-{self._rows[entry.question]}")
        if read:
            title, text = read()
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
    readability = library("readability", "a corpus of saved pages", "web")
    logging.getLogger("readability").setLevel(logging.CRITICAL)  # it logs what it raises
    html = _LONG_TAG.sub(r"<\1>", _CONTROLS.sub("", html.encode("utf-8", "replace").decode()))
    try:
        page = readability.Document(_sound(html))
        title, text = page.short_title(), _markdown(page.summary(html_partial=True))
    except Exception:  # what breaks a parser of the web has no common class; the page may still have text
        title, text = "", ""
    if not text:
        with suppress(Exception):  # as above: the page is counted as one without text
            text = _markdown(_sound(html))
    return title, text


def _sound(html: str) -> str:
    """The page as a tree is written again: html2text's own parser takes hours for what is never closed."""
    import lxml.html

    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
    return lxml.html.tostring(lxml.html.document_fromstring(html.encode(), parser=parser), encoding="unicode")


def _markdown(html: str) -> str:
    from html2text import HTML2Text

    writer = HTML2Text(bodywidth=0)
    writer.ignore_links = writer.ignore_images = writer.ignore_emphasis = True
    return _CONTROLS.sub("", writer.handle(html)).strip()
