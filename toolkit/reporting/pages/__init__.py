"""Self-contained HTML pages: no network, no library, and texts from outside shown as text alone."""

from toolkit.reporting.pages.browser import TOP, Browsed, Question, browse, finder, languages_of
from toolkit.reporting.pages.bundles import datatables, vega
from toolkit.reporting.pages.render import LIMIT, Frame, browsers, gzipped, page, render, script_json, shortened, template

__all__ = [
    "LIMIT",
    "TOP",
    "Browsed",
    "Frame",
    "Question",
    "browse",
    "browsers",
    "datatables",
    "finder",
    "gzipped",
    "languages_of",
    "page",
    "render",
    "script_json",
    "shortened",
    "template",
    "vega",
]
