"""From runs and their reports to a folder that any web server can show, and that opens from the disk as well."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any, Literal

from toolkit.core.system.progress import progress
from toolkit.datasets import Benchmark
from toolkit.datasets.accepted import File, Ids, Judging, Measures, Missing, Modes, RunForm, Unjudged, X
from toolkit.files.provenance import record_path
from toolkit.reporting import pages
from toolkit.reporting.diff.compare_runs import load
from toolkit.reporting.diff.compare_runs import page as diff_page
from toolkit.reporting.report.collect import collect
from toolkit.reporting.report.make_report import report, to_html
from toolkit.reporting.report.model import ReportModel, RunFacts
from toolkit.reporting.site.contents import ASSETS, FILES, INDEX, MINIS, Contents
from toolkit.reporting.site.site_folder import Content, Written, check_folder, write_folder
from toolkit.reporting.site.site_pages import SitePages

OPTIONS = {"measures": "measure"}  # where it is not called as its argument
PATHS = ("qrels", "perspectives", "stances", "index", "docs")


def report_site(
    runs: File | Sequence[File] | Mapping[str, File],
    benchmark: str | Benchmark | Sequence[str | Benchmark] = (),
    *,
    output: File,
    pairs: Sequence[tuple[str, str]] = (),
    index: str | None = None,
    docs: str | None = None,
    missing: Missing = "worst",
    published: bool = False,
    claims: bool = False,
    qrels: Judging | None = None,
    modes: Modes | None = None,
    measures: Measures | None = None,
    depth: int | None = None,
    ids: Ids = "tandem",
    unjudged: Unjudged = "refuse",
    ori_unit: Literal["instruction", "core"] = "instruction",
    x: X = "parameters",
    radar: bool = False,
    baseline: str | None = None,
    perspectives: Sequence[RunForm] = (),
    stances: File | None = None,
) -> Written:
    """A static site of runs in a folder: an index of systems over benchmarks, a page for each of both, runs and records.

    runs    files; runs in memory are refused, as a site has the files themselves
    output  the folder: new, empty, or a site, which is updated: only files that the site made are replaced or removed
    pairs   names of two runs or systems each, that get a page side by side on every benchmark that has both
    index, docs, published, claims, ...   as for `tandem_ir.report`

    What is returned says how many `files` the site has, how many of them are `changed` (new or other than before), how many
    were `removed`. Raises ToolkitError for a folder that is neither, for what cannot be read or judged, and for runs that are
    no files, and writes nothing then.
    """
    options = {name: value for name, value in locals().items() if name not in ("runs", "benchmark", "output", "pairs")}
    how = {name: options[name] for name in signature(collect).parameters if name in options}
    benchmarks = list(map(str, benchmark if isinstance(benchmark, list | tuple) else [benchmark]))
    folder = Path(output)
    check_folder(folder)
    models = collect(runs, benchmarks, **how)
    contents = Contents(tuple(models)).with_pairs(pairs)
    site = SitePages(contents, _command(contents, benchmarks, options, pairs))
    texts = {"index": index, "docs": docs}
    files: dict[str, Content] = {}
    with progress("pages", len(models) + len(contents.pairs), "reports") as advance:
        for model in models:
            frame = site.frame(contents.benchmark_page(model), model.name, model=model)
            made = report([model], missing=missing, published=published, claims=claims)
            files[contents.benchmark_page(model)] = to_html(made, missing=missing, frame=frame, **texts)
            advance()
        for path, (model, a, b) in contents.pair_pages.items():
            frame = site.frame(path, f"{a.name} and {b.name}", model=model)
            files[path] = _pair(model, a, b, frame, **texts, **how)
            advance()
    files |= {INDEX: site.index(), FILES: site.files()}
    files |= {contents.system_page(called): site.system(called) for called in contents.systems}
    files |= {MINIS: site.minis()} if contents.minis else {}
    libraries = (pages.vega(), pages.datatables())
    files |= {f"{ASSETS}/{name}": text for library in libraries for name, text in library.files.items()}
    return write_folder(folder, files | dict(_copies(contents)))


def _copies(contents: Contents) -> Iterator[tuple[str, Path]]:
    """Path -> file, of runs and their records."""
    for entry in contents.entries:
        for each in entry.downloads:
            yield each.path, each.source
            if each.record:
                yield each.record, record_path(each.source)


def _pair(model: ReportModel, a: RunFacts, b: RunFacts, frame: pages.Frame, *, measures: Any = None, **how: Any) -> str:
    """The page of `diff`."""
    judging = {name: how[name] for name in ("qrels", "modes", "depth", "unjudged") if name in how}
    benchmark = model.judgments.reference or None
    given = load({a.name: a.run, b.name: b.run}, benchmark=benchmark, measures=measures, **judging)
    shown = {name: how[name] for name in ("index", "docs", "missing")}
    return diff_page(given, benchmark=benchmark, measures=measures, frame=frame, **shown)


def _command(
    contents: Contents, benchmarks: Sequence[str], options: Mapping[str, Any], pairs: Sequence[tuple[str, str]]
) -> str:
    """The command line that makes the site again, in its folder: it names the site's own copies of the runs."""
    words = ["tandem", "report", *(each.given for entry in contents.entries for each in entry.downloads)]
    words += ["--benchmark", *benchmarks] if benchmarks else []
    for name, value in options.items():
        if value and value != signature(report_site).parameters[name].default:
            words.append(f"--{OPTIONS.get(name, name).replace('_', '-')}")
            if isinstance(value, Mapping):
                words += [f"{key}={each}" for key, each in value.items()]
            elif value is not True:
                values = [value] if isinstance(value, str | int | Path) else list(value)
                words += [Path(str(each)).name if name in PATHS else str(each) for each in values]
    for first, second in pairs:
        words += ["--pair", first, second]
    return shlex.join([*words, "--site", "."])
