"""Register a run: entries from the record beside it and its evaluation, and the run itself as their baseline."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolkit import __version__, registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import RegressionSpec, SystemSpec
from toolkit.core.system.files import open_output, write_text
from toolkit.core.system.python_names import importing
from toolkit.datasets import Selection, load
from toolkit.evaluation import evaluate
from toolkit.files.provenance import read_record, record_path, steps_of, write_record
from toolkit.files.runs.runs import form_of, parse_run
from toolkit.files.texts.documents import ContentDigest
from toolkit.jobs import search_job
from toolkit.models import choose_system
from toolkit.registry.system_kinds import kinds
from toolkit.retrieval.index import corpus_name
from toolkit.studies.planned_rows import differing_steps, shell_command, shell_words
from toolkit.studies.regress.registered_entry import (
    RegressionPaths,
    asked_for,
    benchmark_facts,
    call_of,
    corpus_digest,
    entry_text,
    nested,
    ours,
    reference_of,
    run_lines,
    selection_of,
    sha256,
)

DETERMINISTIC = ("bm25", "bm25-fields")  # kinds of systems whose runs are the same bytes on every machine
MAKE_IT = "make the run again with `tandem search`, and register that"


@importing(of_data=True)
def add(path: Path, paths: RegressionPaths, *, name: str = "", each_mode: bool = False, replace: bool = False) -> list[Path]:
    """Register a run file that has its record beside it; the paths written.

    name       the id; without, `<benchmark>.<system>.v1`
    each_mode  also an entry for each mode of the run, on the same baseline; the mode follows the benchmark in its id
    replace    write over entries of these ids

    Raises ToolkitError, before anything is written, where the run is not what its record says, where the benchmark or its
    documents have changed since, and where an id is taken.
    """
    record, selection = checked_record(path)
    system, index = system_of(record, path), _index(record, selection)
    if paths == ours():
        _refuse_own(record, selection, system)
    # an entry alone makes no run with a query template or with systems that only its user has, nor once it has changed
    for step, key, then, now in differing_steps(search_job(selection.reference, index or None, **call_of(system)), record):
        message = f"{path} was made by {step} with {key} {then!r}, its entry has {now!r}"
        hint = "others can only repeat what the registry's entry says: change the entry, or leave the option out"
        raise ToolkitError(message, hint)
    name = name or f"{selection.name}.{system['name']}.v1"
    if not name.startswith(f"{selection.name}."):
        raise ToolkitError(f"{name} is no id for a run of {selection.name}", f"{selection.name}.{system['name']}.v1 is one")
    ids = {(): name}
    if each_mode:
        ids |= {(mode,): f"{selection.name}.{mode}{name.removeprefix(selection.name)}" for mode in selection.modes}
    _refuse_taken(list(ids.values()), paths, replace)
    baseline = paths.baselines / f"{name}.trec.gz"
    record["data"]["run"]["file"] = baseline.name
    specs = [_registered(each, path, modes, record, system, selection) for modes, each in ids.items()]
    with open_output(baseline) as out:
        out.write(run_lines(path))
    write_record(baseline, record)
    for spec in specs:
        write_text(paths.entry(spec.name), entry_text(spec))
    return [baseline, record_path(baseline), *(paths.entry(spec.name) for spec in specs)]


def checked_record(path: Path) -> tuple[dict[str, Any], Selection]:
    """The record beside a run, and the part of a benchmark that it says was searched.

    Raises ToolkitError where they are not complete, and where the run, the benchmark or its documents are other ones now.
    """
    record = read_record(path)
    if record is None:
        raise ToolkitError(f"{path} has no record beside it ({record_path(path).name})", MAKE_IT)
    try:
        topics, recorded, indexes = record["data"]["topics"], record["data"]["run"]["sha256"], record["data"]["indexes"]
        digests = {index["name"]: corpus_digest(index["corpus"]) for index in indexes if "corpus" in index}
        selection, queries = selection_of(reference_of(topics)), topics["sha256"]
    except (KeyError, TypeError) as error:
        raise ToolkitError(f"{record_path(path)} lacks {error}", MAKE_IT) from error
    lines = run_lines(path)
    if (form := form_of(lines, str(path))) != "trec":
        raise ToolkitError(f"{path} is a run as {form}: runs are registered as TREC run files, line by line", MAKE_IT)
    if (digest := sha256(lines)) != recorded:
        raise ToolkitError(f"{path} has SHA-256 {digest}, its record says {recorded}", MAKE_IT)
    if benchmark_facts(selection.reference)["topics"] != queries:
        raise ToolkitError(f"{path} was made with other topics than {selection.name} has now", MAKE_IT)
    benchmark = load(selection.benchmark)
    corpora = {corpus_name(benchmark, group): group for group in selection.groups}
    for name in corpora.keys() & digests.keys():
        if ContentDigest(benchmark.docs(corpora[name])).hexdigest() != digests[name]:
            raise ToolkitError(f"{path} was made over other documents than {name} has now", MAKE_IT)
    return record, selection


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
        what = f"{path} was made by {step['name']}, which is no system of the registry and no folder"
        raise ToolkitError(what, hint) from error


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


def _registered(
    name: str, path: Path, modes: Sequence[str], record: Mapping[str, Any], system: dict[str, Any], selection: Selection
) -> RegressionSpec:
    benchmark = "-".join([selection.reference, *modes])
    lines = run_lines(path, modes)
    scores = evaluate(parse_run(lines, str(path)), benchmark=benchmark)
    measures, index = asked_for(scores.rows), _index(record, selection)
    is_mini = load(selection.benchmark).spec.mini
    note = "; written for this project, not comparable with published scores" if is_mini else ""
    fields = {"baseline": record["data"]["run"]["file"], **({"modes": list(modes)} if modes else {})}
    digest = {"sha256": sha256(lines), "lines": lines.count(b"\n"), "tag": record["tag"]}
    deterministic = all(step["method"] in DETERMINISTIC for step in steps_of(record, "retrieval", "reranking"))
    indexes: dict[str, dict[str, Any]] = {}
    for each in record["data"]["indexes"]:
        content = {"documents": each["documents"], "content": corpus_digest(each["corpus"])} if "corpus" in each else {}
        indexes[each["name"]] = {"name": each["name"], **content}
    return RegressionSpec(
        name=name,
        description=f"{system['name']} on {'-'.join([selection.name, *modes])}{note}",
        benchmark=benchmark_facts(benchmark),
        system=system,
        commands=commands(name, benchmark, index, system, measures),
        measures=measures,
        index=index,
        indexes=tuple(indexes.values()),
        run={**digest, "deterministic": deterministic, **fields},
        expected=nested(scores.rows),
        registered=__version__,
    )


def _index(record: Mapping[str, Any], selection: Selection) -> str:
    """The name or folder of the index that was searched; empty for the benchmark's own. ToolkitError where it is not found."""
    names = list(dict.fromkeys(index["name"] for index in record["data"]["indexes"]))
    benchmark = load(selection.benchmark)
    if names == list(dict.fromkeys(corpus_name(benchmark, group) for group in selection.groups)):
        return ""
    if len(names) == 1 and names[0] in registry.indexes():
        return names[0]
    folders = list(dict.fromkeys(index.get("folder", "") for index in record["data"]["indexes"]))
    if len(folders) == 1 and folders[0] and Path(folders[0]).is_dir():
        return folders[0]
    hint = "search the benchmark's own corpora, a prebuilt index or one folder"
    raise ToolkitError(f"the run was made over {', '.join(names)}, which is not found", hint)


def _refuse_own(record: Mapping[str, Any], selection: Selection, system: Mapping[str, Any]) -> None:
    """Raise ToolkitError for a run over what only this machine has: it is for the user's own regressions."""
    indexes = [f"index {index['name']}" for index in record["data"]["indexes"] if "folder" in index]
    own = [f"benchmark {selection.name}"] if load(selection.benchmark).spec.folder else []
    named = [*system.get("systems", ()), str(system["parameters"].get("rerank", ""))]
    systems = [f"system {Path(name).name}" for name in named if Path(name).is_absolute()]
    if found := [*own, *indexes, *systems]:
        raise ToolkitError(f"nobody else has {', '.join(found)}", "leave --ours out")


def _refuse_taken(names: Sequence[str], paths: RegressionPaths, replace: bool) -> None:
    for name in names:
        if paths.entry(name).exists() and not replace:
            hint = "name the next version with --id; --replace is for what nobody has cited"
            raise ToolkitError(f"{name} is registered already", f"registered numbers stay as they are: {hint}")
        if name in registry.regressions() and not paths.entry(name).exists():
            raise ToolkitError(f"{name} is registered already, elsewhere", "name another id with --id")


def commands(name: str, benchmark: str, index: str, system: Mapping[str, Any], measures: Sequence[str]) -> tuple[str, str]:
    """The two command lines that make a run and score it, every parameter said."""
    output = f"{name}.trec"
    how = {"system": system.get("systems", [system["name"]]), **system["parameters"]}
    search = shell_command("search", topics=benchmark, index=index, **how, output=output)
    return search, shell_words(["tandem", "evaluate", output, "--benchmark", benchmark, "-m", *measures])
