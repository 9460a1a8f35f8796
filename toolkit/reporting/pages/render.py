"""HTML that needs nothing beside itself: the frame of a page, and the browser of queries in it."""

from __future__ import annotations

import base64
import functools
import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from toolkit import __version__
from toolkit.core.scores import in_mode, shown_measure
from toolkit.evaluation.scores.score_table import is_share
from toolkit.reporting.pages.browser import CHARACTERS, KINDS, OTHER, TOP, UNJUDGED, Browsed
from toolkit.reporting.pages.bundles import Bundle

if TYPE_CHECKING:
    import jinja2
FOLDER = Path(__file__).parent
LIMIT = 7_900_000  # bytes of the data of all browsers of a page, in a report of the whole page: it stays under 8 MB
ENTRY = 4  # bytes of a packed document in a list, at least
NAME, NOTE = 200, 2000  # characters of a run's name, and of a note


class Frame(NamedTuple):
    """What a page has around it as a page of a site.

    links    (title, relative address) of the site's pages; of the page itself without an address
    assets   relative address of the folder that has the files of the libraries
    command  the command line that makes the site
    folds    (title, (title, relative address) of each) of lists of more pages that belong to this one
    """

    links: tuple[tuple[str, str], ...]
    assets: str
    command: str
    folds: tuple[tuple[str, Sequence[tuple[str, str]]], ...] = ()


def render(browsed: Browsed, *, title: str, notes: Sequence[str] = (), above: Markup | str = "", **parts: Any) -> str:
    """One page with a browser of queries below `above`; parts  as for `page`"""
    return page(title, above + browsers([(browsed, notes)], LIMIT - len(above.encode()))[0], **parts)


def page(
    title: str, body: Markup, *, style: str = "", script: str = "", libraries: Sequence[Bundle] = (), frame: Frame | None = None
) -> str:
    """A whole page: its parts with their style and scripts, and no way to ask a network for anything.

    style, script  what the parts need beside those of the browser
    libraries      what stands before them, see `toolkit.reporting.pages.bundles`
    frame          of a page of a site, which shares its libraries with the others; without, the page has them in itself
    """
    return template(FOLDER, "page.html").render(
        title=shortened(title, NAME),
        version=__version__,
        style=Markup("\n".join([_file("page.css"), _file("browser.css"), style])),
        script=Markup("\n".join([_file("browser.js"), script])),
        body=body,
        libraries=[each._replace(script=Markup(each.licensed), style=Markup(each.style)) for each in libraries],
        shared=[name for each in libraries for name in each.files] if frame else [],
        frame=frame,
    )


def browsers(parts: Sequence[tuple[Browsed, Sequence[str]]], room: int) -> list[Markup]:
    """Queries to sort and filter, rankings side by side, texts on a click: the parts of one page, each with notes of its own.

    room  bytes for all of them: what needs less than its share leaves the rest to the others; what does not fit is left out,
          and said

    Texts of queries and documents come from outside: they are data, which the page's script shows as text and never as HTML.
    """
    made: dict[int, Markup] = {}
    fittings = [Fitting(browsed, notes) for browsed, notes in parts]
    sizes = [each.size(each.whole) if len(parts) > 1 else 0 for each in fittings]
    for number in sorted(range(len(parts)), key=lambda number: sizes[number]):
        data, packed, texts = fittings[number].content(room // (len(parts) - len(made)))
        room -= len(data.encode()) + len(packed) + len(texts)
        made[number] = Markup(template(FOLDER, "browser.html").render(data=Markup(data), packed=packed, texts=texts))
    return [made[number] for number in range(len(parts))]


@functools.cache
def template(folder: Path, name: str) -> jinja2.Template:
    """A template that escapes what is put into it, unless it is Markup."""
    import jinja2

    loader = jinja2.FileSystemLoader(folder)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template(name)


def _file(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


class Shown(NamedTuple):
    """How much of a browser is in its page, in the order in which it is limited where it is too much.

    characters  of each document
    judged      relevant documents of each query and mode that stand in none of its lists
    top         documents of each list
    words       characters of each query and instruction
    queries     the first ones
    """

    characters: int
    judged: int
    top: int
    words: int
    queries: int


LEAST = Shown(characters=0, judged=0, top=1, words=20, queries=0)


class Fitting:
    """A browser, and how much of it fits into a page."""

    def __init__(self, browsed: Browsed, notes: Sequence[str]):
        self.browsed, self.notes = browsed, notes
        modes = [mode for question in browsed.questions for mode in question.modes]
        texts = [question.text for question in browsed.questions] + [mode["text"] for mode in modes]
        longest = max(map(len, texts), default=0)
        judged = max((len(mode["judged"]) for mode in modes), default=0)
        characters = max(map(len, browsed.texts), default=0)
        self.whole = Shown(min(characters, CHARACTERS), judged, TOP, longest, len(browsed.questions))
        kinds = {kind for mode in modes for _, _, kind, _ in mode["judged"]}
        self.kinds = [kind for kind in KINDS if kind in kinds or kind == UNJUDGED]
        self.listed = sum(len(ranking) for mode in modes for ranking in mode["lists"])
        self.opening, self.moves = browsed.opening, any(map(any, browsed.moves))
        # each depends on some of the limits alone: what a smaller page needs is seldom made again
        self._questions = functools.cache(self._questions_json)
        self._rankings = functools.cache(self._packed_rankings)
        self._texts = functools.cache(self._packed_texts)

    def content(self, room: int) -> tuple[str, str, str]:
        """The JSON of what the table of queries shows, and rankings and texts, which a click shows, packed: all in so many
        bytes."""
        shown = self.whole
        # where the lists alone are surely too large, everything is not packed to see that
        lists = shown._replace(characters=0, judged=0)
        if self.listed * ENTRY > room and self.size(lists) >= room:
            shown = lists
        for name, least in LEAST._asdict().items():
            shown = self._within(room, name, least, shown)
        return self._parts(shown)

    def _within(self, room: int, name: str, least: int, shown: Shown) -> Shown:
        """With one limit as low as it has to be."""
        lowest = shown._replace(**{name: min(least, getattr(shown, name))})
        smallest = self.size(lowest) if (needed := self.size(shown)) > room else 0
        while needed > room:
            if smallest >= room:
                return lowest
            # what is over grows about as the limit does; a little less, for short texts compress less
            share = 0.95 * (room - smallest) / (needed - smallest)
            limit = getattr(lowest, name) + int((getattr(shown, name) - getattr(lowest, name)) * share)
            shown = shown._replace(**{name: limit})
            needed = self.size(shown)
        return shown

    def size(self, shown: Shown) -> int:
        """Bytes in the page."""
        data, *packed = self._parts(shown)
        return len(data.encode()) + sum(map(len, packed))

    def _parts(self, shown: Shown) -> tuple[str, str, str]:
        limits = (shown.judged, shown.top, shown.queries)
        about = script_json(self._data(shown)).removesuffix("}")
        data = f'{about},"questions":{self._questions(shown.words, shown.queries)}}}'
        return data, self._rankings(*limits)[0], self._texts(shown.characters, *limits)

    def _data(self, shown: Shown) -> dict[str, Any]:
        """What the table of queries shows beside the queries."""
        browsed = self.browsed
        opened = "" if len(browsed.runs) < 2 else "No measure differs. "
        if self.moves:
            opened = f"Opens on what moved most: {_column(*browsed.columns[self.opening])['name']}. "
        limits = {
            "characters": f"documents have their first {shown.characters} characters",
            "judged": f"of the relevant documents of a query that stand in no list, {shown.judged} are named",
            "top": f"lists have their top {shown.top}",
            "words": f"queries and instructions have their first {shown.words} characters",
            "queries": f"of {self.whole.queries:,} queries the first {shown.queries:,} are here",
        }
        limited = [text for name, text in limits.items() if getattr(shown, name) < getattr(self.whole, name)]
        notes = [f"So that the page stays small: {'; '.join(limited)}."] if limited else []
        return {
            "runs": [shortened(run, NAME) for run in browsed.runs],
            "columns": [_column(*column) for column in browsed.columns],
            "opening": self.opening,
            "about": f"{opened}Lists have their top {shown.top}; relevant documents have their true ranks.",
            "roles": dict(browsed.modes),
            "languages": dict(browsed.languages),
            "kinds": self.kinds,
            "top": shown.top,
            "characters": shown.characters,
            "notes": [*notes, *(shortened(note, NOTE) for note in self.notes)],
        }

    def _questions_json(self, words: int, queries: int) -> str:
        place = {column: number for number, column in enumerate(self.browsed.columns)}
        return script_json(
            [
                {
                    "id": question.id,
                    "group": question.group,
                    "text": shortened(question.text, words),
                    "modes": [(mode["mode"], shortened(mode["text"], words)) for mode in question.modes],
                    "values": {place[column]: values for column, values in question.values.items()},
                }
                for question in self.browsed.questions[:queries]
            ]
        )

    def _packed_rankings(self, judged: int, top: int, queries: int) -> tuple[str, list[int]]:
        """Rankings, a third of their size, and the documents that they have, numbered as they come."""
        codes: dict[int, int] = {}
        modes = [[_mode(mode, judged, top, codes) for mode in question.modes] for question in self.browsed.questions[:queries]]
        return gzipped({"modes": modes, "docs": [self.browsed.docs[code] for code in codes]}), list(codes)

    def _packed_texts(self, characters: int, *limits: int) -> str:
        return gzipped([self.browsed.texts[code][:characters] for code in self._rankings(*limits)[1]])


def gzipped(content: Any) -> str:
    """JSON of anything, packed for a script element; `unpacked` of browser.js makes it again."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    # level 6 is three times as fast as the best one, which makes a page a hundredth smaller
    return base64.b64encode(gzip.compress(_encodable(text).encode(), 6, mtime=0)).decode()


def _column(measure: str, mode: str) -> dict[str, Any]:
    """A measure in a mode: `name` as it is printed, `id` as ir_measures has it; whether values are fractions."""
    names = {"name": in_mode(shown_measure(measure), mode), "id": in_mode(measure, mode)}
    return {**names, "mode": mode, "share": is_share(measure)}


def _mode(mode: Mapping[str, Any], judged: int, top: int, codes: dict[int, int]) -> dict[str, Any]:
    """A mode of a query; `more` is how many of its relevant documents are not named."""
    lists = [ranking[:top] for ranking in mode["lists"]]
    listed = {doc for ranking in lists for doc, _ in ranking}
    others = [row[0] for row in mode["judged"] if row[0] not in listed and row[2] != OTHER]
    named = listed.union(others[:judged])
    return {
        "lists": [[(codes.setdefault(doc, len(codes)), score) for doc, score in ranking] for ranking in lists],
        "judged": [(codes.setdefault(doc, len(codes)), *row) for doc, *row in mode["judged"] if doc in named],
        "more": len(others[judged:]),
    }


def shortened(text: str, most: int) -> str:
    """The text, or as many characters of it and an ellipsis."""
    return text if len(text) <= most else f"{text[:most]}\u2026"


def _encodable(text: str) -> str:
    """With `?` for halves of characters, which JSON may bring and no file can hold."""
    return text.encode("utf-8", "replace").decode()


def script_json(data: Any) -> str:
    """JSON that may stand in a script element: nothing in it can end the element or begin a comment."""
    text = _encodable(json.dumps(data, ensure_ascii=False, separators=(",", ":")))
    for sign, escape in {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}.items():
        text = text.replace(sign, escape)
    return text
