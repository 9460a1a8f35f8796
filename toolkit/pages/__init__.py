"""Self-contained HTML pages: no network, no library, and texts from outside shown as text alone."""

from toolkit.pages.browser import Browsed, Question, browse
from toolkit.pages.render import render

__all__ = ["Browsed", "Question", "browse", "render"]
