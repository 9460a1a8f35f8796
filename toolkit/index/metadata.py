"""Writing down what an index was built from, `tandem.yaml` in its folder, and whether that is still so."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from toolkit.core.documents import Doc
from toolkit.core.files import open_output
from toolkit.formats.indexes import FORMAT, NAME

BLANK = "".join(map(chr, range(33)))  # what Java's trim() takes off


def is_empty(doc: Doc) -> bool:
    """Whether Anserini leaves the document out: nothing could find it."""
    return not (doc.text.strip(BLANK) or doc.title.strip(BLANK))


class ContentDigest:
    """A digest of documents that does not depend on their order: the sum of their SHA-256, modulo 2**256.

    Lucene's files never come out byte-equal and hold documents in any order; this is what a rebuild must meet.
    """

    def __init__(self, docs: Iterable[Doc] = ()):
        self._sum = 0
        for doc in docs:
            if not is_empty(doc):
                self.add(doc)

    def counting(self, docs: Iterable[Doc]) -> Iterator[Doc]:
        """The same documents, each counted in as it passes."""
        for doc in docs:
            if not is_empty(doc):
                self.add(doc)
            yield doc

    def add(self, doc: Doc) -> None:
        """Count one document in; not an empty one."""
        lengths = f"{len(doc.doc_id)} {len(doc.title)} "
        content = f"{lengths}{doc.doc_id}{doc.title}{doc.text}".encode()
        self._sum += int.from_bytes(hashlib.sha256(content).digest())

    def hexdigest(self) -> str:
        """64 hexadecimal digits; all zero without documents."""
        return f"{self._sum % 2**256:064x}"


def write_index_metadata(folder: Path, metadata: dict[str, Any]) -> None:
    """Write them, with the SHA-256 of each file of the index."""
    import yaml

    whole = {"format": FORMAT, **metadata, "files": file_digests(folder)}
    with open_output(folder / NAME) as out:
        out.write(yaml.safe_dump(whole, sort_keys=False, allow_unicode=True, width=1 << 16).encode())


def file_digests(folder: Path) -> dict[str, str]:
    """File name -> SHA-256 of each file of an index but the metadata."""
    digests = {}
    for path in sorted(folder.iterdir()):
        if path.name != NAME:
            with path.open("rb") as file:
                digests[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


def verify_files(folder: Path, metadata: dict[str, Any]) -> list[str]:
    """What is not as it was when the index was written: one line a file; empty where all is well."""
    found, expected = file_digests(folder), metadata["files"]
    problems = [f"{name}: missing" for name in expected if name not in found]
    problems += [f"{name}: not part of the index" for name in found if name not in expected]
    problems += [f"{name}: changed" for name, digest in expected.items() if found.get(name, digest) != digest]
    return problems
