"""Copies of published data under TANDEM_HOME: taken from a folder or from the hub, checked, kept in one plain form.

A kept group is a folder with its tables as JSONL and TSV in the published layout (every column, whatever it was),
candidates as TREC runs under our ids, and `kept.yaml`, which says where all of it came from, with SHA-256 sums.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolkit import registry
from toolkit.benchmarks import hub
from toolkit.benchmarks.infosearch import TABLES, read_dimension
from toolkit.benchmarks.parts import Part, counts
from toolkit.benchmarks.tables import read_table
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.specs import BenchmarkSpec
from toolkit.formats import read_requests, read_run, write_run
from toolkit.registry.loader import read_yaml
from toolkit.store import home, lock, new_folder

NEEDED = ("name", "repository", "revision")  # what a group's registry entry must say
CANDIDATES = {"ori": "og", "ins": "ch", "rev": "re"}  # our mode -> the name in the authors' files of candidates
Group = Mapping[str, Any]


def kept_folder(spec: BenchmarkSpec, group: Group) -> Path:
    """Where the copy of a group lies, or would lie. The pinned revision is part of the name."""
    return home() / "benchmarks" / spec.name / f"{group['name']}.{group['revision'][:12]}"


def is_present(spec: BenchmarkSpec, group: Group) -> bool:
    """Whether a copy is kept."""
    return kept_folder(spec, group).is_dir()


def read(spec: BenchmarkSpec, group: Group) -> Part:
    """A group from the kept copy, fetched from the hub first where there is none."""
    if not is_present(spec, group):
        with _lock(spec, group):
            if not is_present(spec, group):  # another process may have fetched it meanwhile
                _fetch(spec, group)
    folder = kept_folder(spec, group)
    paths = {mode: folder / f"candidates.{mode}.trec" for mode in CANDIDATES}
    try:
        part = read_dimension(folder, group["name"])
        return replace(part, scoreddocs={mode: read_run(path) for mode, path in paths.items() if path.exists()})
    except ToolkitError as error:  # it was sound when it was kept
        hint = f"the copy has changed: tandem cache remove {folder.relative_to(home())}, and fetch it again"
        raise ToolkitError(error.message, hint, problems=error.problems, status=1) from error


def _lock(spec: BenchmarkSpec, group: Group) -> AbstractContextManager[None]:
    return lock(f"benchmark {spec.name} {group['name']}")


def _fetch(spec: BenchmarkSpec, group: Group) -> None:
    """Keep a group from its hub repository at the pinned revision. Raises ToolkitError where that cannot be had."""
    hint = f"take a local copy (tandem benchmarks fetch {spec.name} --from DIR)"
    if (mini := f"{spec.name}-mini") in registry.benchmarks():
        hint += f", or use the mini ({mini})"
    origin = {"repository": group["repository"], "revision": group["revision"]}
    with hub.fetched(group["repository"], group["revision"], hint) as folder:
        _keep(spec, group, folder, {}, origin)


def take(spec: BenchmarkSpec, groups: Sequence[Group], root: Path) -> dict[str, Part]:
    """Keep those of the groups that a local folder holds (`Audience-v1/` or `<owner>/Audience-v1/`), by name.

    The authors' candidates are taken where the folder has them too, at any depth.
    Raises ToolkitError where it holds none of the groups, and where one is not as published; the ones before are kept.
    """
    if not root.is_dir():
        raise ToolkitError(f"no folder {root}", "check the path")
    found = [(group, folder) for group in groups if (folder := _local(root, group))]
    if not found:
        wanted = ", ".join(f"{_repository(group)}/" for group in groups)
        raise ToolkitError(f"{root} holds no part of {spec.name}", f"it should hold some of {wanted}")
    return {
        group["name"]: _keep(spec, group, folder, _local_candidates(root, group), {"folder": str(folder.absolute())})
        for group, folder in found
    }


def _repository(group: Group) -> str:
    return group["repository"].rpartition("/")[2]


def _local(root: Path, group: Group) -> Path | None:
    places = (root / _repository(group), root / group["repository"])
    return next((place for place in places if place.is_dir()), None)


def _local_candidates(root: Path, group: Group) -> dict[str, Path]:
    found = {}
    for mode, word in CANDIDATES.items():
        paths = sorted(root.rglob(f"{_repository(group)}_{word}_retrieval_results.json"))
        if len(paths) > 1:
            raise ToolkitError(f"candidates twice: {paths[0]} and {paths[1]}", "leave one of them in the folder")
        if paths:
            found[mode] = paths[0]
    return found


def _keep(spec: BenchmarkSpec, group: Group, source: Path, candidates: Mapping[str, Path], origin: dict[str, str]) -> Part:
    """Check a group and write its copy, complete or not at all."""
    part = read_dimension(source, group["name"])
    runs = {mode: _candidates(path, mode, part) for mode, path in candidates.items()}
    lacking = {mode: len(part.topics[mode]) - len(run.query_ids) for mode, run in runs.items()}
    notes = (f"{part.name}: {number} queries of {mode} have no candidates" for mode, number in lacking.items() if number)
    part = replace(part, scoreddocs=runs, notes=(*part.notes, *notes))
    with _lock(spec, group), new_folder(kept_folder(spec, group)) as folder:
        for table in TABLES:
            _write_table(source, table, folder)
        for mode, run in runs.items():
            write_run(run, folder / f"candidates.{mode}.trec", tag="e5-mistral-7b-instruct", ties="file")
        facts = {
            "benchmark": spec.name,
            "group": group["name"],
            "origin": origin,
            "counts": counts(part),
            "notes": list(part.notes),
        }
        _write_yaml({**facts, "sha256": checksums(folder)}, folder / "kept.yaml")
    return part


def _write_table(source: Path, table: str, folder: Path) -> None:
    """The rows as they are; qrels as TSV, as in a published local copy."""
    records = (record.values for record in read_table(source, table))
    if table.startswith("qrels"):
        header = ("query-id", "corpus-id", "score")
        lines: Iterable[str] = ("\t".join(str(row[name]) for name in header) for row in records)
        (folder / table).mkdir()
        text = "\n".join(["\t".join(header), *lines]) + "\n"
        (folder / table / "test.tsv").write_text(text, encoding="utf-8")
    else:
        with (folder / f"{table}.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in records)


def _candidates(path: Path, mode: str, part: Part) -> Run:
    """The authors' candidates under our ids; ToolkitError where they name a query or document that the group has not."""
    run, _ = read_requests(path)
    ours = {topic.original_id: topic.query_id for topic in part.topics[mode]}
    known = {doc.doc_id for doc in part.docs}
    problems = [f"unknown query {query_id}" for query_id in run.query_ids if query_id not in ours]
    problems += [f"unknown document {doc_id}" for doc_id in run.doc_ids.to_pylist() if doc_id not in known]
    if problems:
        raise ToolkitError(
            f"{path} does not fit {part.name}: {len(problems)} unknown ids", "compare revisions", problems=problems
        )
    return run.with_query_ids(ours[query_id] for query_id in run.query_ids)


def checksums(folder: Path) -> dict[str, str]:
    """SHA-256 of every file of a copy, by its path in it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "kept.yaml")
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def facts(folder: Path) -> dict[str, Any]:
    """What `kept.yaml` says: origin, counts, notes, sha256."""
    return read_yaml(folder / "kept.yaml")


def _write_yaml(values: Mapping[str, Any], path: Path) -> None:
    import yaml

    path.write_text(yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True), encoding="utf-8")
