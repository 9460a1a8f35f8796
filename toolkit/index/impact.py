"""From documents to a Lucene index of learned weights, complete or not there."""

from __future__ import annotations

import time
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit import __version__
from toolkit.core.errors import ToolkitError
from toolkit.core.progress import progress
from toolkit.core.templates import doc_input
from toolkit.formats.documents import Corpus
from toolkit.formats.indexes import system_facts
from toolkit.index.build import Counts, check_output
from toolkit.index.index_record import write_index_record
from toolkit.index.index_types import IMPACT
from toolkit.index.late import note_truncated, shards
from toolkit.store import new_folder

if TYPE_CHECKING:
    from toolkit.models.encoders.sparse import SparseEncoder


def build_impact_index(corpus: Corpus, encoder: SparseEncoder, output: Path, *, threads: int = 1, command: str = "") -> Counts:
    """Encode a corpus into an impact index in the folder `output`, which is there when it is complete and not before.

    threads  of Lucene
    command  what rebuilds it, for the record

    Documents without text or without any term are left out and counted as empty. Raises ToolkitError for a document that is
    broken, for an id that comes twice, for a corpus without text, and where `output` is something else than an index or an
    empty folder.
    """
    from toolkit.models import jvm
    from toolkit.models.anserini_index import StoredTexts, indexing
    from toolkit.models.impact import LEVELS, json_line, quantise

    check_output(output)
    started, counts, before = time.time(), Counts(), encoder.truncated["passage"]
    levels = encoder.spec.parameters.get("quantization", LEVELS)
    with new_folder(output) as part:
        with (
            progress(f"encoding {corpus.name}", unit="documents") as advance,
            indexing(part, threads=threads, impact=True) as indexer,
        ):
            for shard in shards(corpus, counts):
                encoded = encoder.encode([doc_input(encoder.spec.templates, doc) for doc in shard], "passage")
                rows = [(doc, quantise(weights, levels)) for doc, weights in zip(shard, encoded, strict=True)]
                lines = [json_line(doc, weights) for doc, weights in rows if weights]
                indexer.add_lines(b"".join(lines), len(lines))
                advance(len(shard))
            counts.empty += counts.documents - indexer.documents
            counts.documents = indexer.documents
        if not counts.documents:
            raise ToolkitError(f"{corpus.name} has no documents to index", "see `tandem index --help` for the forms it reads")
        about = {"kind": IMPACT, **system_facts(encoder.spec), "checkpoint": encoder.spec.checkpoint}
        about |= {"commits": encoder.commits} if encoder.commits else {}
        about |= {"corpus": corpus.facts(), **asdict(counts), "cut": encoder.truncated["passage"] - before}
        about["statistics"] = StoredTexts(part).statistics()
        about["implementation"] = {
            "command": command,
            "tandem-ir": __version__,
            "pyserini": version("pyserini"),
            "anserini": jvm.anserini_jar().name,
            "java": jvm.java_version(jvm.java_home()),
            "wall time": round(time.time() - started, 1),
        }
        write_index_record(part, about)
    note_truncated(about["cut"], counts)
    return counts
