"""What only a build knows of the benchmark that it makes, for its datasheet: funnel, models, prompts, seeds, reviewers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.construction.step_files import StepRecord, StepState
from toolkit.core.system.files import open_output
from toolkit.retrieval.judge.prediction_powered import Estimate

if TYPE_CHECKING:
    from toolkit.construction.build_folder import BuildFolder

FILE = "datasheet.yaml"


def write_facts(build: BuildFolder, folder: Path) -> Path:
    """Write `datasheet.yaml` into a benchmark's folder; its path. The same build gives the same bytes."""
    import yaml

    path = folder / FILE
    with open_output(path) as out:
        out.write(yaml.safe_dump(build_facts(build), sort_keys=False, allow_unicode=True, width=1 << 16).encode())
    return path


def build_facts(build: BuildFolder) -> dict[str, Any]:
    """Kind, seeds, steps with their counts, models as they were asked, prompts with their SHA-256.

    What differs between two runs of one build (seconds, requests that the cache saved) is left out.
    """
    states = build.states()
    records = [state.record for state in states if state.record]
    return {
        "kind": build.config.kind,
        "seeds": dict(_seeds(build.config.seeds.facts())),
        "steps": [_step(state) for state in states if state.record],
        "models": {name: _flat(facts) for record in records for name, facts in record.depends.get("models", {}).items()},
        "prompts": {name: sha256 for record in records for name, sha256 in record.depends.get("prompts", {}).items()},
        "agreement": list(_agreement(build)),
    }


def _agreement(build: BuildFolder) -> Iterator[dict[str, Any]]:
    """How far reviewers agree: a row for each step, question and measure that is a number; pairs of reviewers left out."""
    from toolkit.construction.review.review_status import agreement_rows

    for row in agreement_rows(build):
        if not math.isnan(row["value"]):
            yield row | {name: round(row[name], 6) for name in Estimate._fields}


def _seeds(facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Key -> the name of a benchmark or an index; of files, each with its SHA-256."""
    for key, value in facts.items():
        yield key, str(value["name"]) if "name" in value else dict(value)


def _step(state: StepState) -> dict[str, Any]:
    record = state.record
    counts = {"entered": record.entered, "left": record.left, "waiting": record.waiting}
    return {"step": state.step.name, **counts, "rejected": dict(record.rejected), "tokens": _tokens(record)}


def _tokens(record: StepRecord) -> int | None:
    """Of all answers, cached ones too; None where nothing was asked."""
    asked = record.asked.values()
    return sum(each.prompt_tokens + each.completion_tokens for each in asked) if asked else None


def _flat(facts: Mapping[str, Any]) -> dict[str, str]:
    """A model's facts as texts, without a mapping in them."""
    rows: dict[str, str] = {}
    for key, value in facts.items():
        rows |= _flat(value) if isinstance(value, Mapping) else {str(key): str(value)}
    return rows
