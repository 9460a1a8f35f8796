"""Copies of published data under TANDEM_HOME: taken from a folder or from the hub, checked, stored in one plain form.

A stored group is a folder with its tables as JSONL (every column, whatever it was), candidates from elsewhere as TREC runs
under our ids, and `kept.yaml`, which says where all of it came from, with SHA-256 sums. What the tables mean is the
layout's business.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.system.files import sha256_of, write_text
from toolkit.core.system.yaml_json import dump_yaml, read_yaml
from toolkit.datasets.copies.data_files import fetched, has_table, read_table
from toolkit.datasets.group_data import Group, Part, counts, part_name
from toolkit.datasets.layouts import expected, find, layout_of, patterns, tables
from toolkit.files.store import home, lock, new_folder

LOCAL = "local"  # in place of a revision, for what no hub repository holds


def copy_folder(spec: BenchmarkSpec, group: Group) -> Path:
    """Where the copy of a group lies, or would lie. The pinned revision is part of the name."""
    return home() / "benchmarks" / spec.name / f"{part_name(group['name'])}.{group.get('revision', LOCAL)[:12]}"


def is_present(spec: BenchmarkSpec, group: Group) -> bool:
    """Whether there is a copy."""
    return copy_folder(spec, group).is_dir()


def read(spec: BenchmarkSpec, group: Group) -> Part:
    """A group from its copy, fetched from the hub first where there is none."""
    if not is_present(spec, group):
        with _lock(spec, group):
            if not is_present(spec, group):  # another process may have fetched it meanwhile
                _fetch(spec, group)
    folder, layout = copy_folder(spec, group), layout_of(spec.layout)
    with unchanged(folder):
        part = getattr(layout, "read_copy", layout.read)(folder, spec, group)
        from toolkit.files.formats import read_run

        runs = {mode: read_run(path) for mode in part.topics if (path := _candidates(folder, mode)).exists()}
    return replace(part, scoreddocs={**part.scoreddocs, **runs})


def _lock(spec: BenchmarkSpec, group: Group) -> AbstractContextManager[None]:
    return lock(f"benchmark {spec.name} {part_name(group['name'])}")


def _candidates(folder: Path, mode: str) -> Path:
    return folder / (f"candidates.{mode}.trec" if mode else "candidates.trec")


def _fetch(spec: BenchmarkSpec, group: Group) -> None:
    """Store a group from its hub repository at the pinned revision. Raises ToolkitError where that cannot be had."""
    hint = f"take a local copy (tandem benchmarks fetch {spec.name} --from DIR)"
    if (mini := f"{spec.name}-mini") in registry.benchmarks():
        hint += f", or use the mini ({mini})"
    if "repository" not in group:
        raise ToolkitError(f"{part_name(spec.name, group['name'])} is in no repository of the hub", hint)
    with fetched(group["repository"], group["revision"], hint, patterns(layout_of(spec.layout), group)) as folder:
        # what is no commit (BERDS' `main`) is another one tomorrow
        _keep(spec, group, folder, {"repository": group["repository"], "revision": folder.name})


def take(spec: BenchmarkSpec, groups: Sequence[Group], root: Path) -> dict[str, Part]:
    """Store those of the groups that a local folder in the published layout holds (`Audience-v1/`), by name.

    Candidates are taken where the folder has them too; where it has nothing else of any group (the authors' code), they are
    added to the groups' copies, which are fetched first where there are none.
    Raises ToolkitError where it holds none of the groups, and where one is not as published; the ones before stay.
    """
    if not root.is_dir():
        raise ToolkitError(f"no folder {root}", "check the path")
    layout = layout_of(spec.layout)
    folders = [(group, folder) for group in groups if (folder := find(layout, root, group))]
    has_candidates = getattr(layout, "has_candidates", lambda *_: False)
    if not folders and (with_candidates := [group for group in groups if has_candidates(root, spec, group)]):
        return {group["name"]: _add_candidates(spec, group, root) for group in with_candidates}
    if not folders:
        wanted = dict.fromkeys(expected(layout, group) for group in groups)
        raise ToolkitError(f"{root} holds no part of {spec.name}", f"it should hold some of {', '.join(wanted)}")
    return {
        group["name"]: _keep(spec, group, folder, {"folder": str(folder.absolute())}, candidates_in=root)
        for group, folder in _unambiguous(spec, root, folders)
    }


def _add_candidates(spec: BenchmarkSpec, group: Group, root: Path) -> Part:
    read(spec, group)
    copy = copy_folder(spec, group)
    return _keep(spec, group, copy, {**facts(copy)["origin"], "candidates": str(root.absolute())}, candidates_in=root)


def _unambiguous(spec: BenchmarkSpec, root: Path, pairs: Sequence[tuple[Group, Path]]) -> Sequence[tuple[Group, Path]]:
    """The same, where the tables of the local folder itself could be several repositories' only those that the benchmark's
    name means. Raises ToolkitError where its name does not decide it."""
    of_group = {group["name"]: tables(layout_of(spec.layout), group) for group, _ in pairs}
    repositories = defaultdict(set)
    for group, folder in pairs:
        if folder == root:
            repositories[of_group[group["name"]]].add(group.get("repository"))
    unclear = {held for held, names in repositories.items() if len(names) > 1}
    if not unclear:
        return pairs
    meant = spec.selections.get("", ())
    if not meant:
        known = ", ".join(part_name(spec.name, group["name"]) for group, _ in pairs if of_group[group["name"]] in unclear)
        raise ToolkitError(f"{root} could be any of {known}", "name one of them, or the folder as its repository is called")
    return [(group, folder) for group, folder in pairs if of_group[group["name"]] not in unclear or group["name"] in meant]


def _keep(spec: BenchmarkSpec, group: Group, source: Path, origin: dict[str, str], candidates_in: Path | None = None) -> Part:
    """Check a group and write its copy, complete or not at all."""
    layout = layout_of(spec.layout)
    if not hasattr(layout, "unpack") or (source / "kept.yaml").is_file():
        return _keep_tables(spec, group, source, origin, candidates_in)
    with TemporaryDirectory() as folder:  # a release that is no tables is made such first
        try:
            for table, rows in layout.unpack(source, group).items():
                _write_table(table, rows, Path(folder))
        except UnicodeError as error:  # of a text file, or half a surrogate pair in a pickle
            message = f"{source}: {part_name(spec.name, group['name'])} has text that is no UTF-8 ({error.reason})"
            raise ToolkitError(message, "get the files again") from error
        return _keep_tables(spec, group, Path(folder), origin, candidates_in)


def _keep_tables(spec: BenchmarkSpec, group: Group, source: Path, origin: dict[str, str], candidates_in: Path | None) -> Part:
    from toolkit.files.formats import write_run

    layout = layout_of(spec.layout)
    part = layout.read(source, spec, group)
    runs = layout.candidates(candidates_in, spec, group, part) if candidates_in and hasattr(layout, "candidates") else {}
    lacking = {mode: len(part.topics[mode]) - len(run.query_ids) for mode, run in runs.items()}
    notes = (f"{part.name}: {number} queries of {mode} have no candidates" for mode, number in lacking.items() if number)
    part = replace(part, scoreddocs={**part.scoreddocs, **runs}, notes=(*part.notes, *notes))
    with _lock(spec, group), new_folder(copy_folder(spec, group)) as folder:
        for table in tables(layout, group):
            if has_table(source, table):  # `read` has said that it may be missing
                _write_table(table, (record.values for record in read_table(source, table)), folder)
        for mode, run in runs.items():
            write_run(run, _candidates(folder, mode), ties="file")
        facts = {"benchmark": spec.name, "group": group["name"], "origin": origin, "counts": counts(part)}
        facts |= {"notes": list(part.notes), "sha256": checksums(folder)}
        write_text(folder / "kept.yaml", dump_yaml(facts))
    return part


def _write_table(table: str, rows: Iterable[Mapping[str, Any]], folder: Path) -> None:
    path = folder / f"{table}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)


def checksums(folder: Path) -> dict[str, str]:
    """SHA-256 of every file of a copy, by its path in it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "kept.yaml")
    return {str(path.relative_to(folder)): sha256_of(path) for path in files}


def facts(folder: Path) -> dict[str, Any]:
    """What `kept.yaml` says: origin, counts, notes, sha256."""
    return read_yaml(folder / "kept.yaml")


@contextmanager
def unchanged(folder: Path) -> Iterator[None]:
    """Within it, what cannot be read of a copy was sound when it was stored: the ToolkitError says how to get it again."""
    try:
        yield
    except ToolkitError as error:
        hint = f"the copy has changed: tandem cache remove {folder.relative_to(home())}, and fetch it again"
        raise ToolkitError(error.message, hint, problems=error.problems, status=1) from error
