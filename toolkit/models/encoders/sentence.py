"""Models that sentence-transformers loads."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from toolkit.core.errors import missing_extra
from toolkit.core.specs import SystemSpec
from toolkit.models.checkpoints import import_transformers, pick_device, pick_dtype


def load_model(
    kind: str, spec: SystemSpec, folder: Path, *, device: str | None, precision: str | None, trust_remote_code: bool
) -> Any:
    """The checkpoint in a folder as one of its classes, `MultiVectorEncoder` or `SparseEncoder`; it asks no network.

    Raises ToolkitError where the extra is not installed.
    """
    device = pick_device(device)
    dtype = pick_dtype(spec, precision, device)
    import_transformers()
    try:
        import sentence_transformers
    except ImportError as missing:
        raise missing_extra(spec.name, "dense") from missing
    # what it warns of (truncated queries, layouts it converts) is counted and checked here
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    told = {"use_safetensors": True, "dtype": dtype}
    model = getattr(sentence_transformers, kind)(
        str(folder), device=device, trust_remote_code=trust_remote_code, local_files_only=True, model_kwargs=told
    )
    return model.to(dtype)
