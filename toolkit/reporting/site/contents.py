"""What a site is of: systems with their runs over benchmarks, versions of runs, and where each page and file of it lies."""

from __future__ import annotations

import hashlib
import mimetypes
import posixpath
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

from toolkit.core.errors import ToolkitError, three
from toolkit.evaluation.scores.run_inputs import Source
from toolkit.files.provenance import Recorded, record_path
from toolkit.files.provenance.naming import natural, stem
from toolkit.files.store.digests import file_sha256
from toolkit.reporting.report.model import ReportModel, RunFacts
from toolkit.reporting.report.run_facts import headings

INDEX, MINIS, FILES, ASSETS = "index.html", "minis.html", "runs.html", "assets"
VERSION = re.compile(r"(?P<series>.+)[._-]v(?P<number>[0-9]{1,9})")


@dataclass(frozen=True)
class Download:
    """A file of a run: its path in the site, its source, the mode that it was given as and its record's path, or nothing."""

    path: str
    source: Path
    mode: str
    record: str

    @property
    def sha256(self) -> str:
        """Of its bytes as they are."""
        return file_sha256(self.source)

    @property
    def size(self) -> int:
        """Bytes."""
        return self.source.stat().st_size

    @property
    def given(self) -> str:
        """As a command names it, in the folder of the site."""
        return f"{self.mode}={self.path}" if self.mode else self.path


@dataclass(frozen=True, eq=False)
class Entry:
    """A run of a system on a benchmark.

    system   what its record calls the system; its file's name without the version where nobody says
    series   what its file is called without the version: files that differ in that alone are versions of one run
    version  the n of `.vn` at the end of its file's name; None without
    """

    model: ReportModel
    facts: RunFacts
    system: str
    downloads: tuple[Download, ...]
    series: str
    version: int | None

    @property
    def name(self) -> str:
        """What it is called without its version."""
        parts = self.facts.name.split(" \u00b7 ")
        return " \u00b7 ".join(part for part in parts if self.version is None or part != f"v{self.version}")


@dataclass(frozen=True, eq=False)
class Contents:
    """Runs of benchmarks as a site has them; pairs  (benchmark, first run, second run) of each page that shows two."""

    models: tuple[ReportModel, ...]
    pairs: tuple[tuple[ReportModel, RunFacts, RunFacts], ...] = ()

    @cached_property
    def entries(self) -> list[Entry]:
        """Every run, in the order of benchmarks and of their reports."""
        found = []
        for model in self.models:
            files = self._downloads(model)
            for facts in model.runs:
                match = VERSION.fullmatch(stem(files[facts.name][0].path))
                series = match["series"] if match else facts.name
                version = int(match["number"]) if match else None
                found.append(Entry(model, facts, _system(facts), tuple(files[facts.name]), series, version))
        return found

    def _downloads(self, model: ReportModel) -> Mapping[str, list[Download]]:
        """Name of each run -> its files."""
        by_folder: dict[str, list[tuple[RunFacts, Source]]] = defaultdict(list)
        for facts in model.runs:
            if not facts.sources or any(source.name == "-" for source in facts.sources):
                raise ToolkitError(f"{facts.name} is no file, and a site has the files of its runs", "write it to a file first")
            folder = f"runs/{self.benchmark_names[model.name]}/{self._system_names[_system(facts)]}"
            by_folder[folder] += [(facts, source) for source in facts.sources]
        found: dict[str, list[Download]] = defaultdict(list)
        for folder, files in by_folder.items():
            paths = [Path(str(source.given)) for _, source in files]
            for (facts, source), path, name in zip(files, paths, file_names(paths), strict=True):
                place = f"{folder}/{name}"
                record = str(record_path(place)) if Recorded(str(path), facts.run).record else ""
                found[facts.name].append(Download(place, path, source.mode, record))
        return found

    @cached_property
    def systems(self) -> dict[str, list[Entry]]:
        """System -> its runs, by kind and name."""
        order = list(headings())
        found = defaultdict(list)
        for entry in sorted(self.entries, key=lambda each: (order.index(each.facts.heading), natural(each.system))):
            found[entry.system].append(entry)
        return dict(found)

    @cached_property
    def latest(self) -> list[Entry]:
        """Of each run its last version."""
        return [versions[-1] for versions in self.versions.values()]

    @cached_property
    def versions(self) -> dict[tuple[str, str, str], list[Entry]]:
        """(benchmark, system, series) -> the versions of a run, first to last."""
        found = defaultdict(list)
        for entry in self.entries:
            found[entry.model.name, entry.system, entry.series].append(entry)
        return {key: sorted(each, key=lambda entry: entry.version or 0) for key, each in found.items()}

    @cached_property
    def rows(self) -> dict[tuple[str, str], dict[str, Entry]]:
        """(system, name of a row) -> benchmark -> the last version of a run. A system's only run on a benchmark stands in the
        system's own row.
        """
        times = Counter((entry.model.name, entry.system) for entry in self.latest)
        found: dict[tuple[str, str], dict[str, Entry]] = {(called, called): {} for called in self.systems}
        for entry in self.latest:
            called, benchmark = entry.system, entry.model.name
            name = called if times[benchmark, called] == 1 else entry.name
            # two runs that only their versions tell apart have a row each
            name = name if benchmark not in found.get((called, name), {}) else entry.facts.name
            found.setdefault((called, name), {})[benchmark] = entry
        order = list(self.systems)
        rows = {row: runs for row, runs in found.items() if runs}
        return dict(sorted(rows.items(), key=lambda row: (order.index(row[0][0]), natural(row[0][1]))))

    @cached_property
    def benchmark_names(self) -> dict[str, str]:
        """Benchmark -> its name in addresses."""
        return safe_names(model.name for model in self.models)

    @cached_property
    def _system_names(self) -> dict[str, str]:
        return safe_names(_system(facts) for model in self.models for facts in model.runs)

    def benchmark_page(self, model: ReportModel) -> str:
        """The path of a benchmark's page."""
        return f"benchmarks/{self.benchmark_names[model.name]}.html"

    def system_page(self, called: str) -> str:
        """The path of a system's page."""
        return f"systems/{self._system_names[called]}.html"

    @cached_property
    def pair_pages(self) -> dict[str, tuple[ReportModel, RunFacts, RunFacts]]:
        """Path of a page -> the two runs that it shows."""
        names = safe_names(f"{a.name} and {b.name}" for _, a, b in self.pairs)
        return {
            f"pairs/{self.benchmark_names[model.name]}/{names[f'{a.name} and {b.name}']}.html": (model, a, b)
            for model, a, b in self.pairs
        }

    @property
    def minis(self) -> list[ReportModel]:
        """Benchmarks that were written for this project."""
        return [model for model in self.models if model.benchmark and model.benchmark.mini]

    def with_pairs(self, wanted: Sequence[tuple[str, str]]) -> Contents:
        """With a page for each two runs, on every benchmark that has both.

        wanted  names of runs, tags, files, or systems, whose only run or last version on a benchmark is meant

        Raises ToolkitError for a pair that no benchmark has.
        """
        pairs = []
        for first, second in wanted:
            found = [(model, self._run(model, first), self._run(model, second)) for model in self.models]
            complete = [(model, a, b) for model, a, b in found if a and b and a is not b]
            if not complete:
                names = three({facts.name for model in self.models for facts in model.runs})
                raise ToolkitError(f"no benchmark has both a run {first} and another {second}", f"the runs are {names}")
            pairs += [pair for pair in complete if pair not in pairs]
        return Contents(self.models, tuple(pairs))

    def _run(self, model: ReportModel, given: str) -> RunFacts | None:
        if found := next((facts for facts in model.runs if facts.is_called(given)), None):
            return found
        latest = [entry.facts for entry in self.latest if entry.model is model and entry.system == given]
        return latest[0] if len(latest) == 1 else None


def _system(facts: RunFacts) -> str:
    match = VERSION.fullmatch(facts.called)
    by_file = match and facts.sources and facts.called == stem(facts.sources[0].name)
    return match["series"] if by_file else facts.called


def file_names(paths: Sequence[Path]) -> list[str]:
    """A name for each, in order, all different: its own where that is safe; of several alike, with a part of their digest."""
    stems = [stem(str(path)) for path in paths]
    safe = safe_names(stems)
    kept = []
    for each in stems:  # without endings that servers send as what a browser runs; some go by any part of a name
        first, *parts = (each if is_safe(each) else safe[each]).split(".")
        inert = (part not in SCRIPTS and TYPES.guess_type(f"_.{part}")[0] in INERT for part in parts)
        kept.append(first + "".join(f"{'.' if is_one else '-'}{part}" for is_one, part in zip(inert, parts, strict=True)))
    suffixes = [path.name.removeprefix(each) or RUN for path, each in zip(paths, stems, strict=True)]
    times = Counter(zip(kept, suffixes, strict=True))
    return [
        f"{name}{suffix}" if times[name, suffix] == 1 else f"{name}-{file_sha256(path)[:12]}{suffix}"
        for name, suffix, path in zip(kept, suffixes, paths, strict=True)
    ]


def relative(target: str, page: str) -> str:
    """The address of a file of the site on one of its pages."""
    return quote(posixpath.relpath(target, posixpath.dirname(page) or "."))


TYPES = mimetypes.MimeTypes()  # Python's own, not this machine's: addresses are the same everywhere
RUN, INERT = ".trec", (None, "text/plain", "application/json", "application/zstd")
SCRIPTS = ("asp", "aspx", "cgi", "hta", "jsp", "php", "phtml", "pl", "py", "shtml", "xht", "xhtml")  # run, and not in TYPES
LONGEST = 60  # characters; file systems take 255 bytes, and addresses are read by people
SAFE = re.compile(r"[a-z0-9][a-z0-9.+_-]{0,119}")
UNSAFE = re.compile(r"[^a-z0-9.+_-]+")
SUFFIXED = re.compile(r".+-[0-9a-f]{8,64}")
# Windows' devices, also with a suffix (`nul.html`)
RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")


def safe_names(names: Iterable[str]) -> dict[str, str]:
    """Name -> what it is in a file name: itself where that is safe, else what is left of it with a part of its digest.

    What it gives is of lower-case ASCII letters, digits and `.+_-`, begins with a letter or digit (servers may leave out what
    begins with `_` or `.`), and is different for different names where upper and lower case are one, too. It depends on the
    name alone (unless digests begin alike), so that addresses stay when names are added.
    """
    names = list(dict.fromkeys(names))
    for length in range(8, 72, 8):
        safe = {}
        for name in names:
            plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
            left = UNSAFE.sub("-", plain).strip("-._+")[:LONGEST]
            # a name that looks like one with a digest gets its own, so that it is never another's
            is_own = left == name and is_safe(name) and not SUFFIXED.fullmatch(name)
            digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:length]
            safe[name] = name if is_own else f"{left or 'name'}-{digest}"
        if len(set(safe.values())) == len(safe):
            break
    return safe


def is_safe(name: str) -> bool:
    """Whether every file system and server takes a name as it is."""
    return bool(SAFE.fullmatch(name)) and not RESERVED.fullmatch(name)
