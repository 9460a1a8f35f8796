"""The page on which people review: one HTML file that needs no network, keeps progress in the browser and saves a file.

Neither ids nor labels of items are in it: items and options have keys that tell nothing, and each reviewer sees them in an
order of their own, which the seed and the name decide.
"""

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolkit import __version__
from toolkit.construction.review.review_answers import Export
from toolkit.construction.review.review_forms import Form, Sheet
from toolkit.core.errors import ToolkitError
from toolkit.reporting import pages

FOLDER = Path(__file__).parent


def render(form: Form, sheets: Sequence[Sheet], export: Export) -> str:
    """The page as HTML. Raises ToolkitError where it would be larger than pages are."""
    from markupsafe import Markup

    style = _file(Path(pages.__file__).parent / "page.css") + _file(FOLDER / "review_page.css")
    script = _file(FOLDER / "review_page.js")
    page = pages.template(FOLDER, "review_page.html").render(
        title=form.title,
        introduction=form.introduction,
        form=form.name,
        export=export.digest,
        version=__version__,
        style=Markup(style),
        style_sha256=_source(style),
        script=Markup(script),
        script_sha256=_source(script),
        data=Markup(pages.script_json(_data(form, sheets, export))),
    )
    if len(page.encode()) > pages.LIMIT:
        message = f"the page would have {len(page.encode()) / 1e6:.1f} MB with its {len(sheets):,} items"
        raise ToolkitError(message, "--first N exports a part of them")
    return page


def _data(form: Form, sheets: Sequence[Sheet], export: Export) -> dict[str, Any]:
    return {
        "export": export.digest,
        "form": form.name,
        "seed": export.seed,
        "reviewers": export.reviewers,
        "fields": [field["label"] for field in form.fields],
        "questions": [
            {"id": each.id, "text": each.text, "choices": list(each.choices) or None, "written": each.written}
            for each in form.questions
        ],
        # by key, which is a digest: the order of items tells nothing either
        "items": [_item(form, sheet) for sheet in sorted(sheets)],
    }


def _item(form: Form, sheet: Sheet) -> dict[str, Any]:
    options = [question.id for question in form.questions if question.options]
    choices = {name: [{"id": key, "text": text} for key, _, text in sheet.choices[name]] for name in options}
    return {"key": sheet.key, "texts": sheet.texts, "choices": choices}


def _file(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _source(text: str) -> str:
    """The digest of an element's text by which a Content Security Policy names it: no other script or style counts."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
