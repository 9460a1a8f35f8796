"""The world that a rehearsal fetches from, and the uninterrupted pass of each paper, both made once for all workers."""

import os

import pytest
from filelock import FileLock
from passes import FIFTH, PAPERS, TOKEN, Place, world_served
from tiny_datasets import write_datasets

from toolkit import registry


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """A folder of all workers."""
    first = tmp_path_factory.getbasetemp()
    return first.parent if "PYTEST_XDIST_WORKER" in os.environ else first


@pytest.fixture(scope="session")
def systems(request):
    """Paper -> the systems that are rehearsed; none for all of them."""
    return dict.fromkeys(PAPERS, ()) if request.config.getoption("--rehearse") == "all" else FIFTH


@pytest.fixture(scope="session")
def world(shared, systems):
    """Data and checkpoints as the hub has them."""
    from checkpoints import write_checkpoints

    folder = shared / "world"
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            write_datasets(write_checkpoints(shared / "world.part")).rename(folder)
    return folder


@pytest.fixture(scope="session")
def served(world):
    """The environment of commands that are served."""
    with world_served(world) as environment:
        yield environment


@pytest.fixture(scope="session")
def passed(shared, world, served, systems):
    """`passed(paper)`: where the paper was reproduced from nothing, and what the command did."""

    def once(paper):
        place = Place(shared / paper, world, served)
        with FileLock(f"{place.folder}.lock"):
            return place, place.once(paper, systems[paper])

    return once


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A folder for `write_checkpoints`, served: in the environment it is the hub, with a token and empty caches."""
    from hub_server import serve

    folder = tmp_path_factory.mktemp("hub")
    gated = {spec.base or spec.checkpoint for spec in registry.systems().values() if spec.gated}
    with serve(folder, gated=gated) as address, pytest.MonkeyPatch.context() as environment:
        environment.setenv("HF_ENDPOINT", address)
        environment.setenv("HF_HUB_OFFLINE", "0")
        environment.setenv("HF_TOKEN", TOKEN)
        environment.setenv("HF_HOME", str(tmp_path_factory.mktemp("hf")))
        environment.setenv("TANDEM_HOME", str(tmp_path_factory.mktemp("home")))
        yield folder


def pytest_terminal_summary(terminalreporter):
    """What each run took, in the order of the papers."""
    reports = [report for report in terminalreporter.getreports("passed") if report.when == "call"]
    for paper, times in (pair for report in reports for pair in report.user_properties):
        terminalreporter.write_line(f"{paper}: {sum(seconds for seconds, _ in times):.0f} s")
        for seconds, what in times:
            terminalreporter.write_line(f"{seconds:8.1f} s  {what}")
