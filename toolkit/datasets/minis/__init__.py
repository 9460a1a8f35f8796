"""The readers of the minis: benchmarks written for this project, in readable files of their own (`toolkit/datasets/corpora/`).

A module has `NEEDED` (keys of a group's entry, texts) and `read(spec, group) -> Part`; an entry's `layout` is its name
with `-mini`. It may have `checks(part, group)`, as a published layout may (see `layouts`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import corpora
from toolkit.core.system.yaml_json import read_yaml

# layout -> module
MINIS = {f"{each.name}-mini": each.name for each in iter_modules(__path__)}


def entries(benchmark: str, key: str) -> Iterator[tuple[Path, Mapping[str, Any], Mapping[str, Any]]]:
    """Every entry under this key of the benchmark's files, in order: the file's path, its whole content, the entry."""
    for path in sorted(corpora(benchmark).glob("*.yaml")):
        source = read_yaml(path)
        with lacking(path):
            yield from ((path, source, entry) for entry in source[key])


@contextmanager
def lacking(path: Path) -> Iterator[None]:
    """Within it, a key that is missing or has another form is a ToolkitError with the file's name."""
    try:
        yield
    except KeyError as error:
        raise ToolkitError(f"{path}: an entry lacks {error.args[0]!r}", "compare it with the other entries") from error
    except (TypeError, AttributeError) as error:
        raise ToolkitError(f"{path}: an entry has not the form of the others", "compare it with the other entries") from error


def passage(entry: Mapping[str, Any]) -> Doc:
    """A passage with its title, without the line break that ends it in the file."""
    return Doc(str(entry["id"]), entry["title"], entry["text"].strip())


def refuse_twice(benchmark: str, what: str, ids: Iterable[str]) -> None:
    """ToolkitError for ids that come twice."""
    if twice := [name for name, times in Counter(ids).items() if times > 1]:
        raise ToolkitError(f"{benchmark}: {what} ids used twice: {', '.join(twice)}", f"every {what} needs its own id")


def check_numbers(place: str, topics: Sequence[Mapping[str, Any]]) -> None:
    """ToolkitError for topics that are not numbered from 1, in order."""
    for number, topic in enumerate(topics, 1):
        if topic["number"] != number:
            raise ToolkitError(f"{place}: topic {topic['number']} stands at place {number}", "number topics from 1, in order")
