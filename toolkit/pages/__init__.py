"""Self-contained HTML pages: no network, no library, and texts from outside shown as text alone."""

from toolkit.pages.browser import Browsed, Question, browse, finder
from toolkit.pages.render import browser, page, render, template

__all__ = ["Browsed", "Question", "browse", "browser", "finder", "page", "render", "template"]
