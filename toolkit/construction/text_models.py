"""The language models of a build: names in `build.yaml` for systems that write texts, with what is set beside them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.system.python_names import importing
from toolkit.core.templates import template_digest
from toolkit.files.provenance.identity import model_identity
from toolkit.models import choose_system
from toolkit.models.judges import KIND, load_judge
from toolkit.models.judges.judge import Settings
from toolkit.models.llm import LLM, load_llm
from toolkit.registry.choice import known_systems
from toolkit.registry.families import lineage
from toolkit.registry.loader import did_you_mean
from toolkit.registry.system_kinds import ANSWERING, parameters_as

OPTIONS: dict[str, type | tuple[type, ...]] = {
    "max_tokens": int,
    "temperature": (int, float),
    "top_p": (int, float),
    "top_k": int,
    "seed": int,
}
KEYS = ("system", "replay", "family", "prices", *OPTIONS)
PRICES = ("prompt", "completion")
MAX_TOKENS = 1024  # of an answer, where neither the entry nor build.yaml says it
MILLION = 1_000_000
NOT_RECORDED = "recorded answers are to the seeds and steps they came with: name your model under `models`, without `replay`"


@dataclass(frozen=True)
class TextModel:
    """A language model of a build.

    name     in build.yaml
    options  of every request: `max_tokens`, and `temperature`, `top_p`, `top_k`, `seed` where they are given
    prices   of a million tokens, `prompt` and `completion`, in whatever currency; empty where none are given
    family   of models of one origin (`gpt`, `llama`), see `toolkit.registry.families`; empty where it is not known
    replay   whether all its answers are recorded: it is asked nothing
    """

    name: str
    spec: SystemSpec
    options: Mapping[str, Any]
    prices: Mapping[str, float] = field(default_factory=dict)
    family: str = ""
    replay: bool = False

    @property
    def model(self) -> str:
        """As a server calls it; of a checkpoint the name of its entry, or where it lies."""
        listed = self.spec.name in registry.systems()
        return str(self.spec.parameters.get("model") or (self.spec.name if listed else self.spec.checkpoint))

    def facts(self) -> dict[str, Any]:
        """What its answers depend on beside the request; nothing is loaded."""
        return {"system": self.spec.name, **entry_identity(self.spec), "options": dict(self.options)}

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """What so many tokens cost; None without prices."""
        if not self.prices:
            return None
        tokens = {"prompt": prompt_tokens, "completion": completion_tokens}
        return sum(tokens[name] * price for name, price in self.prices.items()) / MILLION

    def load(self, **how: Any) -> LLM:
        """The model behind its cache of answers, see `toolkit.models.llm.load_llm`. Asks nothing and loads no weights yet.

        A judge that is read by its logits writes no text: it is what `toolkit.models.judges` loads.
        """
        if self.replay:
            how["replay"] = True
        if self.spec.kind == KIND and not parameters_as(Settings, self.spec).in_words:
            return load_judge(self.spec, **how).llm
        llm = load_llm(self.spec, tolerant=True, **how)
        if self.replay:
            llm.not_cached = NOT_RECORDED
        return llm


def entry_identity(spec: SystemSpec) -> dict[str, Any]:
    """What tells a system from one of the same name: its weights, and the digest of its templates and parameters."""
    return {**model_identity(spec, template=False), "template digest": template_digest(spec)}


def read_models(given: Any, files: Sequence[Path], problems: list[str]) -> dict[str, TextModel]:
    """The models of build.yaml by name; what is wrong is added to `problems`.

    files  the user's own YAML files with systems
    """
    if not isinstance(given, Mapping):
        problems.append("models: expected names, each with a system, as in {writer: http:gpt-4o}")
        return {}
    models = {}
    for name, entry in given.items():
        row = {"system": entry} if isinstance(entry, str) else entry
        wrong = list(_problems(row)) if isinstance(row, Mapping) else [f"expected a system or keys, found {entry!r}"]
        if not wrong:
            try:
                models[str(name)] = _model(str(name), row, files)
            except ToolkitError as error:
                wrong.append(f"{error.message} ({error.hint})")
        problems += [f"models: {name}: {each}" for each in wrong]
    return models


def _problems(row: Mapping[str, Any]) -> Iterator[str]:
    for key, value in row.items():
        if key not in KEYS:
            yield f"unknown key {key!r} ({did_you_mean(str(key), KEYS)}known: {', '.join(KEYS)})"
        elif key in OPTIONS and (not isinstance(value, OPTIONS[key]) or isinstance(value, bool)):
            yield f"{key} is {value!r}, and no number"
        elif key in ("system", "family") and not (isinstance(value, str) and value):
            yield f"{key} is {value!r}, and no text"
        elif key == "replay" and not isinstance(value, bool):
            yield f"replay is {value!r}: expected true where all answers are recorded, otherwise false"
    prices = row.get("prices", {})
    costs = list(prices.values()) if isinstance(prices, Mapping) and set(prices) <= set(PRICES) else [None]
    if not all(isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0 for cost in costs):
        yield f"prices: expected {{prompt: P, completion: C}}, of a million tokens each, found {prices!r}"
    if isinstance(row.get("max_tokens", 1), int) and row.get("max_tokens", 1) < 1:
        yield f"max_tokens is {row['max_tokens']}"
    if "system" not in row:
        yield "the key 'system' is missing: a system of the registry, http:MODEL on a server, or a folder"


@importing(of_data=True)
def _model(name: str, row: Mapping[str, Any], files: Sequence[Path]) -> TextModel:
    known, *_ = known_systems(files)
    system = row["system"]
    writes = system in known and known[system].kind in ANSWERING
    spec = choose_system(system, files=files, kind=None if writes else "expander")
    given = {key: spec.parameters[key] for key in OPTIONS if spec.parameters.get(key) is not None}
    given |= {key: row[key] for key in OPTIONS if key in row}
    options = {"max_tokens": MAX_TOKENS, **given}
    family = row.get("family") or lineage(spec).family
    return TextModel(name, spec, options, dict(row.get("prices", {})), family, row.get("replay", False))
