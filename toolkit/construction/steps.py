"""A step of a build: what it is called, what it takes from `build.yaml`, and what it makes of the items before it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from toolkit.core.errors import check_counts

if TYPE_CHECKING:
    from toolkit.construction.items import Item
    from toolkit.construction.queries.seeds import Seeds
    from toolkit.construction.text_models import TextModel
    from toolkit.construction.tools import Tools

UNREADABLE = "no answer in the form asked for"  # why an item is rejected whose answer cannot be read


class Step(ABC):
    """A step of a kind: a frozen dataclass whose fields are its parameters in `build.yaml`, each with a default.

    What a field's value may be beside its type is checked when the step is made (`__post_init__`): ToolkitError.

    name      in build.yaml, of its file and in tables
    about     what it does, in a line
    after     the earlier step whose passed items it is given; without it the step before
    reads     further steps whose passed items it needs, beside those that it is given
    counted   parameters that are whole numbers from 1 on
    slots     parameter that names a prompt -> the slots that the step fills: a prompt with others, or without one, is refused
    published parameter that names a prompt -> the paper's own, which is sent where the build has its file (`--prompts`)
    fixed     parameter -> its value where the paper's own `prompt` is sent, which asks for that and has no slot for another
    optional  whether it is left out unless build.yaml names it, or, `by_default`, where it says `NAME: false`
    version   is raised where the step makes something else of the same items
    """

    name: ClassVar[str]
    about: ClassVar[str] = ""
    after: ClassVar[str] = ""
    reads: ClassVar[tuple[str, ...]] = ()
    counted: ClassVar[tuple[str, ...]] = ()
    slots: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    published: ClassVar[Mapping[str, str]] = {}
    fixed: ClassVar[Mapping[str, Any]] = {}
    optional: ClassVar[bool] = False
    by_default: ClassVar[bool] = False
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_counts(**{name: getattr(self, name) for name in self.counted})

    def is_usual(self, parameter: str) -> bool:
        """Whether a parameter has its default, which build.yaml may well name."""
        return bool(getattr(self, parameter) == getattr(type(self)(), parameter))

    def prompts(self) -> tuple[str, ...]:
        """The prompts that it sends, by name: those of its parameters that `slots` names, and `prompt`."""
        return self._named("prompt", *self.slots)

    def models(self) -> tuple[str, ...]:
        """The language models that it asks, by name: its parameter `model`, and those that end in `_model`."""
        return self._named(*(name for name in self.parameters() if name == "model" or name.endswith("_model")))

    def judge_prompts(self, models: Mapping[str, TextModel]) -> tuple[str, ...]:
        """The prompts of kind `judge` that it sends, by name; `models` are those of build.yaml."""
        return ()

    def systems_searched(self) -> tuple[str, ...]:
        """The systems that it searches with: its parameter `systems`."""
        return tuple(self.parameters().get("systems", ()))

    def problems(self, seeds: Seeds, steps: Sequence[Step]) -> Iterable[str]:
        """What cannot come out with these seeds and these steps, so far as that is known before anything is asked."""
        return ()

    def files(self, folder: Path) -> Sequence[Path]:
        """Further files that what it makes depends on, in the build's folder or elsewhere; one may not be there yet."""
        return ()

    @abstractmethod
    def run(self, items: Sequence[Item], tools: Tools) -> Iterable[Item]:
        """The items that it passes on and those that it rejects, in an order that `items` alone decides.

        items  what the step before (or `after`) passed on, in order; none for the first, which makes its own of `tools.seeds`
        """

    def figures(self, items: Iterable[Item]) -> Mapping[str, Mapping[str, int]]:
        """Further counts over all that it gave, for `build status`: name -> value -> how many (`score` -> `4` -> 17)."""
        return {}

    def parameters(self) -> dict[str, Any]:
        """Name -> value of its fields."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def _named(self, *names: str) -> tuple[str, ...]:
        known = self.parameters()
        return tuple(dict.fromkeys(known[name] for name in names if known.get(name)))
