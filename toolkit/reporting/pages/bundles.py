"""The libraries that a page holds: Vega for figures, DataTables for tables, as their wheels ship them."""

import contextlib
import functools
import hashlib
import re
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from toolkit.core.errors import missing_extra
from toolkit.core.system.files import atomic_path, home
from toolkit.core.system.lazy_names import vl_convert
from toolkit.files.store import lock

EXPORTED = re.compile(r"export\s*\{[^{}]*?([\w$]+) as default[^{}]*\};?")


class Bundle(NamedTuple):
    """One library: what stands in a script element, and in a style element."""

    name: str
    script: str
    style: str = ""

    @property
    def licensed(self) -> str:
        """The script under the licences of what is in it, which ask to be in every copy."""
        text = Path(__file__).with_name(f"{self.name}.licences.txt").read_text(encoding="utf-8")
        return f"/*!\n{text}*/\n{self.script}"

    @property
    def files(self) -> dict[str, str]:
        """File name -> text, for pages that share it. A name has a part of its text's digest: what a browser has cached under
        it is never that of another version.
        """
        texts = {"js": self.licensed, "css": self.style}
        digests = {text: hashlib.sha256(text.encode()).hexdigest()[:12] for text in texts.values()}
        return {f"{self.name}.{digests[text]}.{suffix}": text for suffix, text in texts.items() if text}


@functools.cache
def vega() -> Bundle:
    """Vega, Vega-Lite and vega-embed with the interpreter of expressions, so that a page needs no `unsafe-eval`: it defines
    `vegaEmbed`, `vega` and `vegaLite`.

    vl-convert takes two seconds to put it together: the result is cached in TANDEM_HOME, where that can be written, with its
    SHA-256 as its first line; a script that has another one is put together again. One process at a time does that, and the
    others take what it made: pages that are made together hold the same script.
    """
    cached = home() / "pages" / f"vega-{version('vl-convert-python')}.js"
    if not (script := _intact(cached)):
        with lock("pages"):
            if not (script := _intact(cached)):
                script = vl_convert.javascript_bundle()
                with contextlib.suppress(OSError), atomic_path(cached) as part:
                    part.write_bytes(f"{_mark(script)}\n{script}".encode())
    return Bundle("vega", script)


def _intact(cached: Path) -> str:
    """The script of a file that has its SHA-256; empty where there is none."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        mark, _, script = cached.read_bytes().decode().partition("\n")
        if mark == _mark(script):
            return script
    return ""


def _mark(script: str) -> str:
    return f"// {hashlib.sha256(script.encode()).hexdigest()}"


@functools.cache
def datatables() -> Bundle:
    """DataTables with its extensions, from the itables wheel: it defines `DataTable`."""
    # its files alone: to import it takes two seconds
    spec = find_spec("itables")
    if spec is None:
        raise missing_extra("a page", "pages")
    folder = Path(spec.submodule_search_locations[0]) / "html"
    script, style = ((folder / f"dt_bundle.{suffix}").read_text(encoding="utf-8") for suffix in ("js", "css"))
    # an ES module, whose scripts in a page nobody can import: the class is made known instead; its names stay its own
    script = EXPORTED.sub(r"window.DataTable = \1;", script)
    return Bundle("datatables", f"(() => {{{script}\n}})();", style)
