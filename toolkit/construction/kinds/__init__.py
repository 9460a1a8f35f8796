"""The kinds of benchmarks that can be built: a module and a YAML file each, both called as the kind is.

A module has

    STEPS        the classes of its steps, in their order (`toolkit.construction.steps.Step`)
    benchmark    (build: BuiltSteps, to: Path): writes the benchmark into an empty folder, see
                 `toolkit.construction.documents.built_benchmark`

and may have

    SEED_FILES   further keys of `seeds` in build.yaml that name files
    SEEDS_BY_GROUP  whether each group may have seeds of its own: `seeds: {GROUP: {...}, ...}`
    FUNNEL       step -> how many items the paper prints after it, beside which `build status` puts one's own

`<kind>.yaml` is the build.yaml that `build new` writes, beside the files of `toolkit.construction.examples`.
"""

from importlib import import_module
from pathlib import Path
from types import ModuleType

from toolkit.core.errors import ToolkitError
from toolkit.registry.loader import did_you_mean

# kind -> what it builds, in a line; a kind is added here, with its module and its YAML file
KINDS = {
    "berds": "contested questions, and passages that hold their perspectives (BERDS)",
    "facets": "topics and conditions from documents that people have tagged, without a language model",
    "followir": "topics whose narratives become narrower, in one language or several (FollowIR, mFollowIR)",
    "infosearch": "instructions on what documents are like beside their subject, and their reverse (InfoSearch)",
    "instructir": "queries asked by people with different situations, each with a document of its own (InstructIR)",
}


def kind_module(name: str) -> ModuleType:
    """The module of a kind. ToolkitError for a name that is none."""
    if name not in KINDS:
        raise ToolkitError(f"no kind {name!r}", f"{did_you_mean(name, KINDS)}known: {', '.join(KINDS)}")
    return import_module(f"toolkit.construction.kinds.{name}")


def template(name: str) -> str:
    """The build.yaml that a kind begins with. ToolkitError for a name that is none."""
    kind_module(name)
    return (Path(__file__).parent / f"{name}.yaml").read_text(encoding="utf-8")
