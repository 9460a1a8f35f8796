"""The data of a page and its template, as one HTML file."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolkit import __version__
from toolkit.pages.browser import CHARACTERS, TOP, Browsed

FOLDER = Path(__file__).parent


def render(browsed: Browsed, *, title: str, notes: Sequence[str] = ()) -> str:
    """One page that needs nothing beside itself: queries to sort and filter, rankings side by side, texts on click.

    Texts of queries and documents come from outside: they are data, which the page's script shows as text and never as HTML.
    """
    import jinja2

    loader = jinja2.FileSystemLoader(FOLDER)
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.get_template("browser.html").render(
        title=title,
        version=__version__,
        style=_file("browser.css"),
        script=_file("browser.js"),
        data=_json(_data(browsed, notes)),
        # most of a page is texts, which are read on a click: packed, a third of the size
        texts=base64.b64encode(gzip.compress(json.dumps(browsed.texts).encode(), mtime=0)).decode(),
    )


def _file(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _data(browsed: Browsed, notes: Sequence[str]) -> dict[str, Any]:
    place = {column: number for number, column in enumerate(browsed.columns)}
    return {
        "runs": browsed.runs,
        "columns": browsed.columns,
        "docs": browsed.docs,
        "top": TOP,
        "characters": CHARACTERS,
        "notes": list(notes),
        "questions": [
            {
                "id": question.id,
                "group": question.group,
                "text": question.text,
                "values": {place[column]: values for column, values in question.values.items()},
                "modes": question.modes,
            }
            for question in browsed.questions
        ],
    }


def _json(data: Any) -> str:
    """JSON that may stand in a script element: nothing in it can end the element or begin a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    escapes = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
    for sign, escape in escapes.items():
        text = text.replace(sign, escape)
    return text
