"""An environment of its own that borrows the installed dependencies but not this checkout."""

import sysconfig
import venv

import pytest


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
