"""An environment of its own that borrows the installed dependencies but not this checkout."""

import configparser
import sysconfig
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest

from toolkit.core.system.installation import licences

SETUP = Path(__file__).resolve().parents[2] / "setup.cfg"


@pytest.fixture(scope="session")
def borrowing_venv():
    """`make(folder)`: a virtual environment that sees all installed packages but tandem-ir itself."""

    def make(folder):
        venv.create(folder, with_pip=False, symlinks=True)
        site = next(folder.glob("lib/python*/site-packages"))
        # a path named in a .pth file gets no .pth processing of its own: the editable checkout stays unseen
        (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
        return folder / "bin" / "python"

    return make


@pytest.fixture(scope="session")
def core_venv():
    """`make(folder)`: a virtual environment that sees what `pip install tandem-ir` brings, without any extra."""

    def make(folder):
        venv.create(folder, with_pip=False, symlinks=True)
        site = next(folder.glob("lib/python*/site-packages"))
        for dist in _core():
            for top in {file.parts[0] for file in dist.files} - {"..", "__pycache__"}:
                if not (site / top).exists():
                    (site / top).symlink_to(dist.locate_file(top))
        return folder / "bin" / "python"

    return make


def _core():
    """The installed distributions that the package requires, and those that they do."""
    setup = configparser.ConfigParser()
    setup.read(SETUP)
    lines = setup["options"]["install_requires"].splitlines()
    return [distribution(name) for name, *_ in licences(*(line for line in lines if line and not line.startswith("#")))]
