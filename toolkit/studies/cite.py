"""BibTeX of runs, benchmarks, measures and systems, from their records and the registry; what was not verified stays out."""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolkit import __version__, registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import BenchmarkSpec, RegressionSpec, SystemSpec
from toolkit.core.system.yaml_json import read_yaml
from toolkit.datasets import find, is_benchmark_folder, load
from toolkit.files.provenance import file_digest, part, read_record, steps_of
from toolkit.models import choose_system
from toolkit.registry.loader import FOLDER

DEVELOPERS = "The Tandem developers"
TITLE = "Tandem: reproducible evaluation of instruction-following and perspective-diverse retrieval"
ARXIV = re.compile(r"\d{4}\.\d{5}")
SPECIAL = re.compile(r"([&%$#_])")


@dataclass
class Citations:
    """entries: key -> BibTeX, in the order in which they were asked for; unverified: what has none, a line each."""

    entries: dict[str, str] = field(default_factory=dict)
    unverified: dict[str, None] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The entries, then what has none as comments, which BibTeX ignores."""
        comments = "".join(f"% {line}\n" for line in self.unverified)
        return "\n".join([*self.entries.values(), *filter(None, [comments])])

    def add(self, entry: str) -> None:
        """An entry, unless it or one of the same arXiv number is there."""
        number = re.search(r"eprint\s*=\s*\{([\d.]+)", entry)
        if not (number and any(f"{{{number[1]}}}" in known for known in self.entries.values())):
            self.entries.setdefault(entry.partition("{")[2].partition(",")[0], f"{entry.strip()}\n")


def cite(
    runs: str | Path | Sequence[str | Path] = (),
    *,
    benchmarks: str | Sequence[str] = (),
    measures: str | Sequence[Any] = (),
    systems: str | Sequence[str] = (),
) -> Citations:
    """BibTeX of Tandem itself, which comes first, of each run, then its systems and benchmark, and of what is named.

    runs  files; their records say what made them

    `text` has all of it, `entries` are by key, `unverified` says what has no citation that was verified.

    Raises ToolkitError for an unknown name, and for a run that is not there or has no record.
    """
    runs = [runs] if isinstance(runs, str | Path) else runs
    benchmarks, measures, systems = ([each] if isinstance(each, str) else each for each in (benchmarks, measures, systems))
    found = Citations()
    found.add(entry("software", "tandem-ir", title=TITLE, author=DEVELOPERS, version=__version__))
    for run in runs:
        _add_run(found, Path(run))
    for name in benchmarks:
        selection = find(name)
        _add_benchmark(found, load(selection.benchmark).spec if selection else registry.benchmark(name))
    for measure in measures:
        _add_measure(found, measure)
    for name in systems:
        _add_system(found, choose_system(name.removesuffix("+rules")))
    return found


def cite_registered(spec: RegressionSpec) -> str:
    """BibTeX of a registered run, and one line with id, version and digest. ToolkitError for an entry that holds no run."""
    if not spec.run:
        paper = registry.benchmark(spec.needs).source["paper"]
        raise ToolkitError(f"{spec.name} has no run: its numbers are published ones", f"cite their paper: {paper}")
    digest, version = spec.run["sha256"], spec.registered
    made = entry(
        "misc",
        spec.name,
        title=spec.description.partition(";")[0],
        author=DEVELOPERS,
        howpublished=f"tandem-ir {version}, registered run {spec.name}",
        note=f"SHA-256 of the run: {digest}",
    )
    return f"{made}\n{spec.name}, tandem-ir {version}, sha256:{digest}\n"


def entry(kind: str, key: str, **fields: Any) -> str:
    """One entry of BibTeX: fields that are empty are left out, titles keep their capitals, special characters are escaped."""
    given = {name: str(value) for name, value in fields.items() if value}
    width = max(map(len, given))
    lines = []
    for name, value in given.items():
        escaped = value if name in ("url", "eprint", "doi") else SPECIAL.sub(r"\\\1", value)
        whole = name == "title" or value == DEVELOPERS  # braces keep capitals, and an organisation one name
        lines.append(f"  {name:<{width}} = " + (f"{{{{{escaped}}}}}" if whole else f"{{{escaped}}}"))
    return "\n".join([f"@{kind}{{{key},", ",\n".join(lines), "}"]) + "\n"


def _add_run(found: Citations, path: Path) -> None:
    if not path.is_file():
        raise ToolkitError(f"no run {path}", "name its file; registered ones: tandem regress cite ID")
    record, digest = read_record(path), file_digest(path)
    if record is None or part(record, "data", "run").get("sha256") != digest:
        wrong = "has no record beside it" if record is None else "is not the run of its record"
        raise ToolkitError(f"{path} {wrong}: nothing says what made it", "name what did: --system, --benchmark")
    data, steps = part(record, "data"), steps_of(record, "retrieval", "reranking")
    names = list(dict.fromkeys(str(step.get("name")) for step in steps))
    topics, tool = part(data, "topics").get("name", ""), part(record, "implementation", "source")
    found.add(
        entry(
            "misc",
            f"run-{digest[:12]}",
            title=f"Run {record.get('tag')} on {topics}" if topics else f"Run {record.get('tag')}",
            author=part(record, "actor").get("name"),
            howpublished=f"{tool.get('name')} {tool.get('version')}, {', '.join(names)}",
            note=f"SHA-256 of the run: {digest}",
        )
    )
    for step in steps:
        known = registry.systems().get(str(step.get("name")).removesuffix("+rules"))
        if known:
            _add_system(found, known)
        else:
            found.unverified[f"{step.get('name')}: no system of the registry"] = None
    folder = part(data, "topics").get("folder")
    if folder and is_benchmark_folder(folder):
        _add_benchmark(found, load(folder).spec)
    elif name := part(data, "test collection").get("name"):
        if spec := registry.benchmarks().get(name):
            _add_benchmark(found, spec)
        else:
            found.unverified[f"{name}: no benchmark of the registry, see its own page"] = None


def _add_benchmark(found: Citations, spec: BenchmarkSpec) -> None:
    """Its own citation, else those of the papers that it names: a mini has the form of theirs."""
    if "citation" in spec.source:
        found.add(spec.source["citation"])
    elif papers := _papers_in(spec.source.get("paper", "")):
        for each in papers:
            found.add(each)
        why = "comes with Tandem, in the form of the benchmark above: no scores of it were published"
        found.unverified[f"{spec.name} {why}"] = None
    else:
        found.unverified[f"{spec.name}: its entry names no citation"] = None


def _add_measure(found: Citations, given: Any) -> None:
    from toolkit.metrics import parse

    measure = parse(given)
    source = registry.measure(str(measure)).source
    papers = _papers_in(source)
    for each in papers:
        found.add(each)
    if not papers:
        found.unverified[f"{measure} is from {source or 'ir_measures'}: no citation of it was verified"] = None


def _add_system(found: Citations, spec: SystemSpec) -> None:
    """Its papers; where none was verified, the checkpoint itself, at its revision."""
    papers = {key: paper for key, paper in _papers().items() if spec.name in paper["systems"]}
    for key, paper in papers.items():
        facts = {name: value for name, value in paper.items() if name != "systems"}
        arxiv = {"archivePrefix": "arXiv"} if "eprint" in facts else {}
        found.add(entry("inproceedings" if "booktitle" in facts else "misc", key, **facts, **arxiv))
    if papers:
        return
    if "/" in spec.checkpoint and ":" not in spec.checkpoint and not Path(spec.checkpoint).exists():
        url, revision = f"https://huggingface.co/{spec.checkpoint}", spec.revision and f"revision {spec.revision}"
        found.add(entry("misc", spec.name, title=spec.checkpoint, howpublished="Hugging Face", url=url, note=revision))
    found.unverified[f"{spec.name}: no paper of it was verified"] = None


def _papers_in(text: str) -> list[str]:
    """The citations of the benchmarks whose papers have the arXiv numbers in a text."""
    numbers = ARXIV.findall(text)
    cited = (spec.source.get("citation", "") for spec in registry.benchmarks().values())
    return list(dict.fromkeys(citation for citation in cited if any(number in citation for number in numbers)))


@functools.cache
def _papers() -> dict[str, dict[str, Any]]:
    """Key -> fields of BibTeX, and the systems that a paper is of."""
    return read_yaml(FOLDER / "papers.yaml")
