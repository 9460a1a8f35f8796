"""Under which licences the packages are that an installation brings, as their own metadata say."""

from email.message import Message
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def licences(*requirements: str) -> list[tuple[str, str, str]]:
    """Name, version and licence of each package that the requirements bring to a machine of this kind, and of what those need.

    The version of one that is not installed is empty, and nothing is known of what it needs.
    """
    found: dict[str, tuple[str, str, str]] = {}
    waiting, seen = [(Requirement(each), extra) for each in requirements for extra in _extras(each)], set()
    while waiting:
        requirement, extra = waiting.pop()
        name = canonicalize_name(requirement.name)
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            package = distribution(name)
        except PackageNotFoundError:
            found[name] = (name, "", "not installed")
            continue
        found[name] = (name, package.version, _licence(package.metadata))
        needed = (each for each in package.requires or () if _applies(each, extra))
        waiting += [(Requirement(each), more) for each in needed for more in _extras(each)]
    return sorted(found.values())


def _extras(requirement: str) -> tuple[str, ...]:
    return ("", *Requirement(requirement).extras)


def _applies(requirement: str, extra: str) -> bool:
    marker = Requirement(requirement).marker
    return marker is None or marker.evaluate({"extra": extra})


def _licence(metadata: Message) -> str:
    """The expression, else the classifiers, which name one where the text is a whole licence, else the text's first line."""
    classified = [line.split(" :: ")[-1] for line in metadata.get_all("Classifier", ()) if line.startswith("License :: ")]
    text = (metadata.get("License") or "").strip().split("\n")[0]
    return metadata.get("License-Expression") or ", ".join(classified) or text or "its metadata say none"
