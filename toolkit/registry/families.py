"""What a model was made from, and which models are of one family: `families.yaml`."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from toolkit.core.specs import SystemSpec
from toolkit.core.system.yaml_json import read_yaml
from toolkit.registry.loader import FOLDER


@dataclass(frozen=True)
class Lineage:
    """Where a model comes from.

    names   what it is called: the entry, its checkpoint, the model of a server
    bases   the checkpoints that it was made from, the nearest first
    family  of the last of them, or of the model itself; empty where it is not known
    """

    names: tuple[str, ...]
    bases: tuple[str, ...] = ()
    family: str = ""

    @property
    def is_model(self) -> bool:
        """Whether it is one, as far as is known: an entry without a checkpoint or a model of a server is none."""
        return bool(len(self.names) > 1 or self.bases or self.family or _entry(self.names[0]) is None)


def lineage(system: SystemSpec | str) -> Lineage:
    """Where a system comes from; a name that is no entry is taken as a checkpoint or the model of a server.

    What is no model (`bm25`) has neither bases nor a family.
    """
    spec = _entry(system) if isinstance(system, str) else system
    if spec is None:
        return _lineage((str(system),), str(system), "")
    # a server may hold a model under any name: then the entry's says which it is
    model = spec.checkpoint or str(spec.parameters.get("model") or (spec.name if spec.loader == "endpoint" else ""))
    names = (spec.name, *filter(None, (spec.checkpoint, spec.passage_checkpoint, spec.parameters.get("model"))))
    return _lineage(tuple(dict.fromkeys(map(str, names))), model, spec.base)


def _entry(name: str) -> SystemSpec | None:
    from toolkit import registry

    return registry.systems().get(name)


def _lineage(names: tuple[str, ...], model: str, base: str) -> Lineage:
    chain = [model]
    while following := (base if len(chain) == 1 and base else _data()["bases"].get(chain[-1], "")):
        if following in chain:
            break
        chain.append(following)
    return Lineage(names, tuple(chain[1:]), next(filter(None, map(_family, reversed(chain))), ""))


def _family(model: str) -> str:
    """The family that a model's own name says; empty where it says none."""
    last = model.rpartition("/")[2].partition(":")[0].lower()  # openai/gpt-4o:free -> gpt-4o
    patterns = ((family, pattern) for family, known in _data()["families"].items() for pattern in known)
    return next((family for family, pattern in patterns if fnmatchcase(last, pattern)), "")


@functools.cache
def _data() -> Mapping[str, Mapping[str, Any]]:
    return read_yaml(FOLDER / "families.yaml", dict)
