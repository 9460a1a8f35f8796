"""How a run was made, from its metadata: what an entry says of it, and what makes it again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import RegressionSpec
from toolkit.formats import metadata_path

DETERMINISTIC = ("bm25",)  # kinds of systems whose runs are the same bytes on every machine
MAKE_IT = "make the run again with `tandem search`, and register that"


def system_of(metadata: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Name, systems, revision, and the parameters that make the run again: what an entry has as its `system`."""
    method = metadata["method"]
    steps = [*method["retrieval"], *method.get("reranking", ())]
    parameters = {name: value for step in method["retrieval"] for name, value in _own(step).items()}
    parameters |= {"fuse": method["fusion"]} if "fusion" in method else {}
    parameters |= {"instruction": method["instruction"]} if "instruction" in method else {}
    for step in method.get("reranking", ()):
        parameters |= {"rerank": step["name"], "depth": step["depth"]}
    names, name = [step["name"] for step in method["retrieval"]], _name(method)
    facts = {"name": name, **({"systems": names} if names != [name] else {})}
    digests = [step["template digest"] for step in steps if "template digest" in step]
    facts |= {"templates": digests} if digests else {}
    return {**facts, "revision": "; ".join(_revision(step, metadata, path) for step in steps), "parameters": parameters}


def call_of(spec: RegressionSpec) -> dict[str, Any]:
    """What `pipeline.plan_run` takes to make an entry's run again: `system` and the parameters."""
    return {"system": spec.system.get("systems", spec.system["name"]), **spec.system["parameters"]}


def is_deterministic(metadata: Mapping[str, Any]) -> bool:
    """Whether every machine makes the same bytes."""
    method = metadata["method"]
    return all(step["method"] in DETERMINISTIC for step in [*method["retrieval"], *method.get("reranking", ())])


def _name(method: Mapping[str, Any]) -> str:
    """As the run's tag is by default: `bm25`, `bm25+all-minilm-l6-v2.rrf`, `bm25.rerank-NAME`."""
    parts = ["+".join(step["name"] for step in method["retrieval"])]
    parts += [method["fusion"].partition(":")[0]] if "fusion" in method else []
    return ".".join([*parts, *(f"rerank-{step['name']}" for step in method.get("reranking", ()))])


def _own(step: Mapping[str, Any]) -> dict[str, Any]:
    """What was said of a system: everything of BM25; of a model what is not as its entry in the registry has it."""
    if step["method"] == "bm25":
        return {key: value for key, value in step.items() if key not in ("name", "method")}
    known = registry.system(step["name"].removesuffix("+rules"))
    known = known.with_recipe(step["recipe"]) if "recipe" in step else known
    changed = {key: step[key] for key, value in known.parameters.items() if step.get(key, value) != value}
    return {**changed, **({"recipe": step["recipe"]} if "recipe" in step else {}), "hits": step["hits"]}


def _revision(step: Mapping[str, Any], metadata: Mapping[str, Any], path: Path) -> str:
    """The library's version for what no checkpoint is needed for, else the checkpoint's commit."""
    if "revision" in step:
        return f"{step['checkpoint']} {step['revision']}"
    try:
        versions = dict(entry.split("==") for entry in metadata["platform"]["software"]["libraries"]["python"])
        return f"pyserini {versions['pyserini']}"
    except KeyError as error:
        raise ToolkitError(f"{metadata_path(path)} lacks {error}", MAKE_IT) from error
