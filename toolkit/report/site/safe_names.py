"""Names as parts of file names and addresses, on every file system and server."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

LONGEST = 60  # characters; file systems take 255 bytes, and addresses are read by people
SAFE = re.compile(r"[a-z0-9][a-z0-9.+_-]{0,119}")
UNSAFE = re.compile(r"[^a-z0-9.+_-]+")
SUFFIXED = re.compile(r".+-[0-9a-f]{8,64}")
# Windows' devices, also with a suffix (`nul.html`)
RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")


def safe_names(names: Iterable[str]) -> dict[str, str]:
    """Name -> what it is in a file name: itself where that is safe, else what is left of it with a part of its digest.

    What it gives is of lower-case ASCII letters, digits and `.+_-`, begins with a letter or digit (servers may leave out what
    begins with `_` or `.`), and is different for different names where upper and lower case are one, too. It depends on the
    name alone (unless digests begin alike), so that addresses stay when names are added.
    """
    names = list(dict.fromkeys(names))
    for length in range(8, 72, 8):
        safe = {name: _safe(name, length) for name in names}
        if len(set(safe.values())) == len(safe):
            break
    return safe


def is_safe(name: str) -> bool:
    """Whether every file system and server takes a name as it is."""
    return bool(SAFE.fullmatch(name)) and not RESERVED.fullmatch(name)


def _safe(name: str, length: int) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    left = UNSAFE.sub("-", plain).strip("-._+")[:LONGEST]
    # a name that looks like one with a digest gets its own, so that it is never another's
    if left == name and is_safe(name) and not SUFFIXED.fullmatch(name):
        return left
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:length]
    return f"{left or 'name'}-{digest}"
