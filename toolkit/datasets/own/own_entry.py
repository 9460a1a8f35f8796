"""A folder under a name: its entry in the user's registry, which says where it lies."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.system.files import open_output
from toolkit.core.system.home import home
from toolkit.core.system.lazy_names import yaml
from toolkit.datasets.own.own_check import check_folder
from toolkit.datasets.own.own_folder import open_folder
from toolkit.datasets.own.remarks import refuse

HEAD = "# written by `tandem benchmarks add`; remove this file, and the name is gone\n"


def register(path: str | Path) -> Path:
    """Write the entry of the benchmark in a folder; its path. An entry that `add` wrote before is replaced.

    The files stay where they are: what changes in them counts, unless groups or modes do.
    Raises ToolkitError with all that is wrong with the folder, and where another benchmark has its name.
    """
    own = open_folder(path)
    refuse(own.path, check_folder(path).problems)
    spec = own.spec
    entry = home() / "registry" / "benchmarks" / f"{spec.name}.yaml"
    known = registry.benchmarks().get(spec.name)
    if (known is not None and not known.folder) or (known is None and entry.exists()):
        raise ToolkitError(
            f"there is another benchmark {spec.name}", f"name yours otherwise: `name:` in {own.path}/benchmark.yaml"
        )
    entry.parent.mkdir(parents=True, exist_ok=True)
    with open_output(entry) as out:
        out.write((HEAD + _text(spec)).encode())
    return entry


def _text(spec: BenchmarkSpec) -> str:
    content = {field.name: _plain(getattr(spec, field.name)) for field in fields(spec)}
    needed = {"modes", "groups", "measures", "source"}
    content = {name: value for name, value in content.items() if value or name in needed}
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return {key: _plain(item) for key, item in value.items()} if hasattr(value, "items") else value
