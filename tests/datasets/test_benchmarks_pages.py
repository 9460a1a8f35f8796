"""The entries and pages of benchmarks: what they say can be looked up, and their commands can be typed."""

import importlib
import runpy
import shlex
from pathlib import Path

import pytest
from command import script

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import BenchmarkSpec
from toolkit.datasets import find, load
from toolkit.registry.published import inconsistencies

ROOT = Path(__file__).resolve().parents[2]
OURS = sorted(path.stem for path in (ROOT / "toolkit" / "registry" / "benchmarks").glob("*.yaml"))
RENDERED = runpy.run_path(str(ROOT / "scripts" / "render_docs"))
PUBLISHED = [name for name in OURS if not registry.benchmark(name).mini]


def test_the_rendered_pages_are_what_the_registry_says():
    done = script("render_docs", "--check")
    stale = [line for line in done.stdout.splitlines() if line.startswith("benchmarks/")]
    assert stale == [], done.stderr


@pytest.mark.parametrize("name", OURS)
def test_every_benchmark_has_a_page_with_its_groups_and_licence(name):
    spec, text = registry.benchmark(name), RENDERED["benchmark_page"](registry.benchmark(name))
    assert spec.source["licence"] in text
    for group in load(name).groups:
        assert f"| `{group}` |" in text
        assert f"| `{name}-{group.replace('/', '-')}` | {group} |" in text


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_benchmark_has_citation_inconsistencies_and_commands(name):
    spec = registry.benchmark(name)
    title, _, place = spec.source["paper"].rpartition(" (")
    assert f"title = {{{title}}}" in spec.source["citation"]
    if place.startswith("arXiv "):
        assert f"eprint = {{{place.removeprefix('arXiv ').rstrip(')')}}}" in spec.source["citation"]
    assert inconsistencies(name)
    assert spec.commands


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_commands_of_an_entry_can_be_typed(name):
    for command in registry.benchmark(name).commands:
        tandem, stage, *arguments = shlex.split(command)
        assert tandem == "tandem"
        args = importlib.import_module(f"toolkit.{stage}").parser().parse_args(arguments)
        for given in ("topics", "benchmark", "id"):
            value = getattr(args, given, None) or []
            for each in [value] if isinstance(value, str) else value:  # --topics may be repeated
                assert find(each, at_hand=False), command
        for system in [*(getattr(args, "system", None) or [] if stage == "search" else [])]:
            registry.system(system)
        for given in ("judge",) if stage == "judge" else ("system",) if stage == "rerank" else ():
            registry.system(getattr(args, given))


def entry(**changes):
    plain = {"name": "mine", "description": "d", "layout": "followir", "modes": {"og": "base"}, "measures": (), "source": {}}
    return BenchmarkSpec(**plain, groups=({"name": "a"}, {"name": "b", "corpus": "a"}), **changes)


def test_a_group_may_share_the_documents_of_another():
    assert (entry().corpus("a"), entry().corpus("b")) == ("a", "a")


def test_a_selection_of_an_unknown_group_is_refused():
    with pytest.raises(ToolkitError) as caught:
        entry(selections={"some": ["a", "c"]})
    assert caught.value.message == "benchmark mine has no group 'c'"
    assert caught.value.hint == "its groups: a, b"
