"""What a run's record and registry say of a run: which system made it, of which kind, at what cost."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolkit import registry
from toolkit.core.specs import SystemSpec
from toolkit.core.system.yaml_json import read_yaml
from toolkit.files.provenance import last_step, part
from toolkit.registry.system_kinds import parameter_count

HYBRID, OTHER = "hybrid", "other"


@dataclass(frozen=True)
class Cost:
    """What a run took, where its record says so; None where it does not.

    seconds     wall time of the command that made it, loading included; candidates and runs that went into it are not counted
    tokens      prompt and completion tokens of language models asked over an API, as the server counts them
    memory      bytes, the most that the process held
    parameters  of the system's checkpoint, from the registry
    """

    seconds: float | None = None
    tokens: int | None = None
    memory: int | None = None
    parameters: float | None = None


@functools.cache
def headings() -> Mapping[str, list[str]]:
    """Heading -> kinds of the registry, in the order of a report."""
    return read_yaml(Path(__file__).parent / "kinds.yaml")


def find_system(name: str) -> SystemSpec | None:
    """Its entry in the registry; None where it has none. (`bm25+rules` is not what the papers call BM25.)"""
    return registry.systems().get(name)


def heading_of(record: Mapping[str, Any], called: str) -> str:
    """Under which of `headings()` a run of a system stands; without a record, `bm25+rules` is of bm25's kind."""
    method = part(record, "method")
    if not method.get("reranking") and (method.get("fusion") or last_step(record).get("interpolates")):
        return HYBRID
    spec = find_system(called.removesuffix("+rules"))
    kind = last_step(record).get("method") or (spec.kind if spec else "")
    return next((heading for heading, kinds in headings().items() if kind in kinds), OTHER)


def cost_of(record: Sequence[Mapping[str, Any]], spec: SystemSpec | None) -> Cost:
    """What all parts of a run took together, as far as record and registry say.

    record  of each file of the run; a run of several files has a time only where each has one
    """
    executables = [part(each, "implementation", "executable") for each in record]
    seconds = [_number(each.get("wall time")) for each in executables]
    memory = [_number(each.get("peak memory")) for each in executables]
    tokens = 0
    for steps in (part(each, "method").get("reranking") for each in record):
        usages = [part(step, "usage") for step in steps if isinstance(step, Mapping)] if isinstance(steps, list) else []
        tokens += sum(int(_number(each.get(name)) or 0) for each in usages for name in ("prompt_tokens", "completion_tokens"))
    return Cost(
        seconds=sum(seconds) if seconds and None not in seconds else None,
        tokens=tokens or None,
        memory=max(memory) if memory and None not in memory else None,
        parameters=parameter_count(spec) if spec else None,
    )


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
