"""What `scripts/measure_evidence` computed of measures on the registered runs of a benchmark."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from toolkit.core.system.yaml_json import read_yaml
from toolkit.registry.loader import FOLDER

Rows = Sequence[Mapping[str, Any]]


def recorded() -> list[str]:
    """The benchmarks that something is recorded of."""
    return sorted(path.stem for path in (FOLDER / "evidence").glob("*.yaml"))


@functools.cache
def evidence(benchmark: str) -> Mapping[str, Rows]:
    """What was computed -> its rows, each with `measure`, `mode` and numbers; nothing for a benchmark without a record.

    baselines       the value of each registered run, with its interval
    references      what BM25, its placebo and other orders of its lists score
    detectable      the smallest difference that the core queries show
    discrimination  how many core queries the measure needs to decide between two runs
    agreement       how alike it and another measure order the runs
    sensitivity     what fewer digits, other ties and shorter lists change
    """
    return read_yaml(FOLDER / "evidence" / f"{benchmark}.yaml") if benchmark in recorded() else {}
