"""Pyserini's prebuilt indexes, as `scripts/snapshot_indexes` took them down: no JVM is needed to know their names."""

from __future__ import annotations

import functools
import json

from toolkit.core.specs import IndexSpec
from toolkit.registry.loader import FOLDER, read_yaml


@functools.cache
def prebuilt() -> dict[str, IndexSpec]:
    """Every index of the snapshot by name, in Pyserini's order."""
    columns = _file()["columns"]
    rows = (dict(zip(columns, row, strict=True)) for row in _file()["indexes"])
    return {row["name"]: IndexSpec(**{**row, "urls": tuple(row["urls"])}) for row in rows}


@functools.cache
def index_aliases() -> dict[str, str]:
    """Other names of indexes: Pyserini's own, then ours."""
    return {**_file()["aliases"], **read_yaml(FOLDER / "index-aliases.yaml")}


@functools.cache
def _file() -> dict:
    return json.loads((FOLDER / "indexes" / "pyserini.json").read_text(encoding="utf-8"))
