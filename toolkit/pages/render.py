"""HTML that needs nothing beside itself: the frame of a page, and the browser of queries in it."""

from __future__ import annotations

import base64
import functools
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit import __version__
from toolkit.pages.browser import CHARACTERS, TOP, Browsed

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

FOLDER = Path(__file__).parent
LIMIT = 7_900_000  # bytes of a browser's data: with its frame a page stays under 8 MB


def render(browsed: Browsed, *, title: str, notes: Sequence[str] = ()) -> str:
    """One page with a browser of queries and nothing else."""
    return page(title, browser(browsed, notes=notes))


def page(title: str, body: Markup, *, style: str = "", script: str = "") -> str:
    """A whole page: its parts with their style and scripts, and no way to ask a network for anything.

    style, script  what the parts need beside those of the browser
    """
    from markupsafe import Markup

    return template(FOLDER, "page.html").render(
        title=title,
        version=__version__,
        style=Markup("\n".join([_file("page.css"), _file("browser.css"), style])),
        script=Markup("\n".join([_file("browser.js"), script])),
        body=body,
    )


def browser(browsed: Browsed, *, notes: Sequence[str] = ()) -> Markup:
    """Queries to sort and filter, rankings side by side, texts on a click: a part of a page, of which it may have several.

    Texts of queries and documents come from outside: they are data, which the page's script shows as text and never as HTML.
    """
    from markupsafe import Markup

    room = LIMIT - len(_json(_data(browsed, notes, 0)).encode())
    packed, characters = _fitting(browsed, room)
    data = _json(_data(browsed, notes, characters))
    return Markup(template(FOLDER, "browser.html").render(data=Markup(data), packed=packed))


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


def _data(browsed: Browsed, notes: Sequence[str], characters: int) -> dict[str, Any]:
    """What the table of queries shows; characters: of each document."""
    place = {column: number for number, column in enumerate(browsed.columns)}
    return {
        "runs": browsed.runs,
        "columns": browsed.columns,
        "top": TOP,
        "characters": characters,
        "shortened": characters < CHARACTERS,
        "notes": list(notes),
        "questions": [
            {
                "id": question.id,
                "group": question.group,
                "text": question.text,
                "values": {place[column]: values for column, values in question.values.items()},
            }
            for question in browsed.questions
        ],
    }


def _fitting(browsed: Browsed, room: int) -> tuple[str, int]:
    """What a click shows in at most so many bytes, and how many characters of each document that leaves.

    Most of it is texts: where they are too many, each is shortened, down to none.
    """
    characters, without = CHARACTERS, 0
    packed = _packed(browsed, characters)
    while len(packed) > room and characters:
        without = without or len(_packed(browsed, 0))
        # texts take what is over in proportion to their lengths, or a little more: short ones compress less
        share = max(room - without, 0) / (len(packed) - without)
        characters = int(characters * share * 0.95)
        packed = _packed(browsed, characters)
    return packed, characters


def _packed(browsed: Browsed, characters: int) -> str:
    """What a click shows, packed: a third of its size."""
    content = {
        "docs": browsed.docs,
        "texts": [text[:characters] for text in browsed.texts],
        "modes": [question.modes for question in browsed.questions],
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(_encodable(text).encode(), mtime=0)).decode()


def _encodable(text: str) -> str:
    """With `?` for halves of characters, which JSON may bring and no file can hold."""
    return text.encode("utf-8", "replace").decode()


def _json(data: Any) -> str:
    """JSON that may stand in a script element: nothing in it can end the element or begin a comment."""
    text = _encodable(json.dumps(data, ensure_ascii=False, separators=(",", ":")))
    escapes = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
    for sign, escape in escapes.items():
        text = text.replace(sign, escape)
    return text
