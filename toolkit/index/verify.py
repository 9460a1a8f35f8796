"""Whether an index is what its metadata say."""

from __future__ import annotations

from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.formats.documents import ContentDigest
from toolkit.formats.indexes import read_index_metadata
from toolkit.index.build import is_index
from toolkit.index.metadata import verify_files


def verify_index(folder: Path) -> list[str]:
    """What is not as the metadata say, a line each; empty where all is well.

    The files are compared with their SHA-256. Where they are whole, Lucene's statistics are compared with those recorded,
    and the documents, read back, with the content digest where one is recorded.

    Raises ToolkitError where the folder holds no index or the index has no metadata.
    """
    if not is_index(folder):
        raise ToolkitError(f"{folder} holds no Lucene index", "`tandem index CORPUS --output DIR` makes one")
    metadata = read_index_metadata(folder)
    if metadata is None:
        raise ToolkitError(f"{folder} has no metadata to compare it with", "only indexes that Tandem made have them")
    problems = verify_files(folder, metadata)
    if problems:
        return problems
    from toolkit.models.anserini_index import StoredTexts

    texts = StoredTexts(folder)
    content = metadata["corpus"].get("content")
    if content and ContentDigest(texts).hexdigest() != content:
        problems.append("the documents are not those that were indexed")
    for name, value in texts.statistics().items():
        if value != metadata["statistics"][name]:
            problems.append(f"{name}: {value}, recorded {metadata['statistics'][name]}")
    return problems
