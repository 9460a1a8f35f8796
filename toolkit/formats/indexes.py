"""What an index was built from, `tandem.yaml` in its folder, for all who open one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import template_digest

NAME = "tandem.yaml"
FORMAT = 1


def read_index_metadata(folder: Path) -> dict[str, Any] | None:
    """The metadata of an index, None where it has none (one made elsewhere). ToolkitError where they cannot be read."""
    import yaml

    path = folder / NAME
    if not path.exists():
        return None
    try:
        metadata = yaml.safe_load(path.read_bytes())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ToolkitError(f"{path} is not readable as YAML", "make the index anew") from error
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        raise ToolkitError(f"{path} is of another version of Tandem", "make the index anew")
    return metadata


def system_facts(spec: SystemSpec) -> dict[str, str]:
    """What an index records of the system that made its vectors, and what a system that searches it must share.

    system, recipe, revision; template: the digest of templates and parameters (similarity among them)
    """
    return {
        "system": spec.name,
        "recipe": spec.recipe,
        "revision": spec.revision,
        "template": template_digest(spec),
        "similarity": str(spec.parameters.get("similarity", "")),
    }


def made_with(metadata: Mapping[str, Any], spec: SystemSpec) -> bool:
    """Whether an index with these metadata holds the vectors of just this system."""
    return all(metadata.get(name, "") == value for name, value in system_facts(spec).items())


def check_made_with(index: str | Path, metadata: Mapping[str, Any], spec: SystemSpec) -> None:
    """Raise ToolkitError where an index holds the vectors of another system, recipe, revision, template or similarity.

    index  what to call it
    """
    for name, asked in system_facts(spec).items():
        found = metadata.get(name, "")
        if found != asked:
            maker = " with recipe ".join(filter(None, (metadata.get("system", "an unknown system"), metadata.get("recipe"))))
            hint = f"search it with {maker}, or index the corpus with {spec.name}"
            raise ToolkitError(f"index {index} was made with {name} {_shown(found)}, not {_shown(asked)}", hint)


def _shown(value: str) -> str:
    """A digest's first digits; what is empty in words."""
    return value[:12] if len(value) == 64 else value or "none"
