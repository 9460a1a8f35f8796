"""Where registered runs lie: entries as YAML in a registry, the runs themselves as baselines."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from toolkit.core.specs import RegressionSpec
from toolkit.core.system.home import home
from toolkit.core.system.lazy_names import yaml
from toolkit.core.system.resources import shipped
from toolkit.core.system.yaml_json import read_yaml
from toolkit.registry.loader import FOLDER, to_spec


@dataclass(frozen=True)
class RegressionPaths:
    """Two folders that belong together.

    entries    one YAML file a regression, named by its id
    baselines  run files with their record
    """

    entries: Path
    baselines: Path

    def entry(self, name: str) -> Path:
        """The file of an entry."""
        return self.entries / f"{name}.yaml"

    def load(self) -> list[RegressionSpec]:
        """All entries, checked as the registry's are; for folders that are not the registry's own."""
        return [to_spec(RegressionSpec, read_yaml(path), path) for path in sorted(self.entries.glob("*.yaml"))]


def ours() -> RegressionPaths:
    """What comes with Tandem."""
    return RegressionPaths(FOLDER / "regressions", shipped("runs", "baselines"))


def users() -> RegressionPaths:
    """The user's own, under TANDEM_HOME."""
    return RegressionPaths(home() / "registry" / "regressions", home() / "baselines")


def paths_of(name: str) -> RegressionPaths:
    """Where the registry has an entry from: ours, or else the user's."""
    return ours() if ours().entry(name).exists() else users()


def to_text(spec: RegressionSpec) -> str:
    """The entry as a file has it: no line but by `add`, so that a digit changed by hand shows, whatever it reads as."""
    content = {field.name: _plain(getattr(spec, field.name)) for field in fields(spec)}
    content = {name: value for name, value in content.items() if value not in ({}, [], "")}
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, default_flow_style=None, width=1 << 16)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
