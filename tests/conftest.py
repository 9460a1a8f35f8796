"""No test touches the user's own cache, reads the user's keys, or asks the network for anything."""

import os
import tempfile

import pytest
from chromium import started
from hypothesis import settings

_home = tempfile.TemporaryDirectory(prefix="tandem-home-", ignore_cleanup_errors=True)


def pytest_configure(config):
    for name in ("TANDEM_INDEX_MIRROR", "OPENAI_BASE_URL", "OPENAI_API_KEY", "HF_TOKEN", "HF_ENDPOINT"):
        os.environ.pop(name, None)
    os.environ["TANDEM_HOME"] = _home.name
    os.environ["HF_HUB_OFFLINE"] = "1"
    # the first example of a test may import pandas, and a machine may do other work
    settings.register_profile("any machine", deadline=None)
    settings.load_profile("any machine")


@pytest.fixture(scope="module")
def chrome():
    """A browser for the tests of one module."""
    with started() as driver:
        yield driver


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty TANDEM_HOME of the test's own, for commands too."""
    monkeypatch.setenv("TANDEM_HOME", str(tmp_path / "home"))
    return tmp_path / "home"
