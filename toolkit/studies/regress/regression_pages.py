"""What is registered, as a page for people."""

from toolkit.core.scores import Scores
from toolkit.core.specs import RegressionSpec
from toolkit.core.tables.aligned_table import to_text
from toolkit.evaluation.scores.score_table import lay_out
from toolkit.studies.regress.numbers import registered_scores
from toolkit.studies.regress.recorded_method import packaged_systems


def page(spec: RegressionSpec) -> str:
    """The page of an entry, in Markdown."""
    parts = [f"# {spec.name}", f"{spec.description}.", _commands(spec), _facts(spec), _numbers(spec)]
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
    return "\n".join(
        [
            "```sh" if fetched else "```bash",
            *lines,
            "```",
            "",
            f"`tandem regress run {spec.name}` does the same and compares every number.",
        ]
    )


def _facts(spec: RegressionSpec) -> str:
    parameters = ", ".join(f"{name} {_value(value)}" for name, value in spec.system["parameters"].items())
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


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _numbers(spec: RegressionSpec) -> str:
    what = "Published, to compare with; never expected:" if spec.published else "Expected, here to 4 decimals:"
    table = to_text([lay_out(Scores(tuple(registered_scores(spec))))])
    return f"{what}\n\n```text\n{table}```"
