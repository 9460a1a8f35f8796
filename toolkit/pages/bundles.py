"""The libraries that a page holds: Vega for figures, DataTables for tables, as their wheels ship them."""

from __future__ import annotations

import contextlib
import functools
import re
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from toolkit.core.files import atomic_path
from toolkit.core.home import home

EXPORTED = re.compile(r"export\s*\{[^{}]*?([\w$]+) as default[^{}]*\};?")


class Bundle(NamedTuple):
    """One library: what stands in a script element, and in a style element."""

    script: str
    style: str = ""


@functools.cache
def vega() -> Bundle:
    """Vega, Vega-Lite and vega-embed with the interpreter of expressions, so that a page needs no `unsafe-eval`: it defines
    `vegaEmbed`, `vega` and `vegaLite`.

    vl-convert takes two seconds to put it together: the result is cached in TANDEM_HOME, where that can be written.
    """
    cached = home() / "pages" / f"vega-{version('vl-convert-python')}.js"
    if cached.is_file():
        return Bundle(cached.read_text(encoding="utf-8"))
    import vl_convert

    script = vl_convert.javascript_bundle()
    with contextlib.suppress(OSError), atomic_path(cached) as part:
        part.write_text(script, encoding="utf-8")
    return Bundle(script)


@functools.cache
def datatables() -> Bundle:
    """DataTables with its extensions, from the itables wheel: it defines `DataTable`."""
    import itables

    folder = Path(itables.__file__).parent / "html"
    script, style = ((folder / f"dt_bundle.{suffix}").read_text(encoding="utf-8") for suffix in ("js", "css"))
    # an ES module, whose scripts in a page nobody can import: the class is made known instead; its names stay its own
    script = EXPORTED.sub(r"window.DataTable = \1;", script)
    return Bundle(f"(() => {{{script}\n}})();", style)
