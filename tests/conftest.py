"""No test touches the user's own cache, reads the user's keys, or asks the network for anything."""

import builtins
import gc
import importlib
import os
import pickle
import subprocess
import tempfile
from multiprocessing.process import BaseProcess
from unittest.mock import patch

import numpy.testing  # noqa: F401 - of numpy 2.0 it starts a process when it is imported: here, and in no test
import pytest
from chromium import started
from filelock import FileLock
from hypothesis import settings

_home = tempfile.TemporaryDirectory(prefix="tandem-home-", ignore_cleanup_errors=True)


def pytest_addoption(parser):
    parser.addoption("--rehearse", choices=("fifth", "all"), help="the systems that are rehearsed (tests/rehearsal)")


def pytest_configure(config):
    for name in ("TANDEM_INDEX_MIRROR", "OPENAI_BASE_URL", "OPENAI_API_KEY", "HF_TOKEN", "HF_ENDPOINT"):
        os.environ.pop(name, None)
    os.environ["TANDEM_HOME"] = _home.name
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # with several threads tiny models wait more than they compute
    # no deadline: the first example of a test may import pandas, and a machine may do other work
    settings.register_profile("thorough", deadline=None)
    settings.register_profile("quick", deadline=None, max_examples=25)
    settings.load_profile(config.getoption("--hypothesis-profile") or "quick")


TIERS = {"process", "lucene", "model", "regression", "slow", "rehearsal"}
LENGTHS = ({"slow", "rehearsal"}, {"regression", "model", "lucene", "process"}, {"unit"})  # the longest first
HEAVY = {"torch", "transformers", "sentence_transformers", "peft", "jnius", "selenium"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """A test that is marked as nothing else is of the tier `unit`; the rehearsal is run where it is asked for by its name."""
    if not config.getoption("--rehearse") and "rehearsal" not in config.getoption("-m"):
        left_out = [item for item in items if item.get_closest_marker("rehearsal")]
        items[:] = [item for item in items if not item.get_closest_marker("rehearsal")]
        config.hook.pytest_deselected(items=left_out)
    for item in items:
        if TIERS.isdisjoint(mark.name for mark in item.iter_markers()):
            item.add_marker("unit")
    _longest_first(items)


def _longest_first(items):
    """Files in the order of their longest tests, each as a whole: what its tests share is made once.

    Tests with Ray are first. One at a time is run, which takes a worker for much of the run; the other ones have the end of the
    list, and take over what is left from behind (`--dist worksteal`): that are short ones, with which all end together. A slow
    file of few tests has the longest ones.
    """

    def rank(item):
        if "ray_alone" in item.fixturenames:
            return 0
        marks = {mark.name for mark in item.iter_markers()}
        return next(place for place, tiers in enumerate(LENGTHS, 1) if tiers & marks)

    files = {}
    for item in items:
        files.setdefault(item.path, []).append(rank(item))
    places = {path: (min(ranks), len(ranks)) for path, ranks in files.items()}
    items.sort(key=lambda item: (*places[item.path], str(item.path)))


def pytest_collection_finish():
    """Some thousand tests stay until the end: to collect what one of them leaves need not walk over all (10 % of the CPU)."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """A unit test and its fixtures start no process and load no JVM, no torch and no browser, whoever did before."""
    if not item.get_closest_marker("unit"):
        return (yield)
    load = builtins.__import__

    def importing(name, *args, **kwargs):
        if name.partition(".")[0] in HEAVY:
            pytest.fail(f"a unit test imports {name}: mark it lucene, model or slow")
        return load(name, *args, **kwargs)

    def starting(*args, **kwargs):
        pytest.fail("a unit test starts a process: mark it process")

    started = patch.object(subprocess.Popen, "__init__", starting), patch.object(BaseProcess, "start", starting)
    with started[0], started[1], patch.object(builtins, "__import__", importing):
        return (yield)


@pytest.fixture(scope="module")
def chrome():
    """A browser for the tests of one module."""
    with started() as driver:
        yield driver


@pytest.fixture
def ray_alone():
    """One test with Ray at a time: two clusters are slow on two CPUs."""
    with FileLock(os.path.join(tempfile.gettempdir(), "tandem-tests-ray.lock")):
        yield


@pytest.fixture(scope="session")
def all_remade(tmp_path_factory):
    """`all_remade()`: what `tandem regress run --all` did, once for all workers, and the TANDEM_HOME it had."""
    from command import process

    first = tmp_path_factory.getbasetemp()
    shared = (first.parent if "PYTEST_XDIST_WORKER" in os.environ else first) / "regress-all.pickle"

    def result():
        with FileLock(f"{shared}.lock"):
            if not shared.exists():
                own = shared.with_name("regress-all-home")
                done = process("regress", "run", "--all", env={**os.environ, "TANDEM_HOME": str(own)})
                shared.write_bytes(pickle.dumps((done, own)))
        return pickle.loads(shared.read_bytes())

    return result


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty TANDEM_HOME of the test's own, for commands too."""
    monkeypatch.setenv("TANDEM_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def no_pauses(monkeypatch):
    """Downloads are tried again at once."""
    monkeypatch.setattr(importlib.import_module("toolkit.files.store.download"), "PAUSE", 0)
