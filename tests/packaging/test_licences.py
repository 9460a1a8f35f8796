"""What an installation brings: the licences that packages say, none that `[all]` must not have, and a digest of each file."""

import re
from importlib.metadata import version

import pytest
from command import ROOT, tandem
from packaging.utils import canonicalize_name

from toolkit.core.system.installation import licences

PIN = re.compile(r"^(\S+)==(\S+)$", re.MULTILINE)


def planted(folder, name, *lines):
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    head = ("Metadata-Version: 2.4", f"Name: {name}", "Version: 1.0")
    (info / "METADATA").write_text("\n".join([*head, *lines, ""]))


def test_packages_are_followed_through_their_extras_and_each_says_its_licence(tmp_path, monkeypatch):
    more = ('Requires-Dist: p-text; extra == "more"', 'Requires-Dist: p-other; extra == "other"')
    planted(tmp_path, "p-first", "License-Expression: MIT", "Provides-Extra: more", "Requires-Dist: P_class[deep]", *more)
    deep = 'Requires-Dist: p-absent; extra == "deep"'
    planted(tmp_path, "p-class", "License: a text", "Classifier: License :: OSI Approved :: BSD License", deep)
    planted(tmp_path, "p-text", "License: Copyright", "        of many lines", 'Requires-Dist: p-gone; python_version < "3"')
    planted(tmp_path, "p-other")
    monkeypatch.syspath_prepend(tmp_path)
    expected = [("p-absent", "", "not installed"), ("p-class", "1.0", "BSD License"), ("p-first", "1.0", "MIT")]
    assert licences("p-first") == expected
    assert licences("p-first[more]") == [*expected, ("p-text", "1.0", "Copyright")]
    assert licences("p-other") == [("p-other", "1.0", "its metadata say none")]


def test_nothing_that_all_brings_is_under_gpl_3():
    third = re.compile(r"(?<!L)GPL(-3|v3| ?3)|General Public License v3")
    assert [each for each in licences("tandem-ir[all]") if third.search(each[2]) and "Lesser" not in each[2]] == []
    assert [each[0] for each in licences("html2text") if third.search(each[2])] == ["html2text"]


def test_requirements_have_a_digest_of_all_that_is_brought_at_the_version_of_the_constraints():
    """Else: scripts/lock."""
    text = (ROOT / "requirements.txt").read_text()
    blocks = re.findall(r"^([a-z0-9-]+)==(\S+).*\n((?: +--hash=sha256:[0-9a-f]{64}.*\n)*)", text, re.MULTILINE)
    assert [name for name, _, digests in blocks if not digests] == []
    locked = {name: locks for name, locks, _ in blocks}
    assert len(locked) == len(blocks)
    pinned = {canonicalize_name(name): pin for name, pin in PIN.findall((ROOT / "constraints.txt").read_text())}
    assert {name for name, locks in locked.items() if pinned.get(name, locks) != locks} == set()
    if version("filelock") != pinned["filelock"]:
        pytest.skip("of what is installed at the versions of the constraints")
    found = licences("tandem-ir[all]")
    assert len(found) > 100
    assert {name for name, *_ in found} - locked.keys() == {"tandem-ir"}


def test_they_are_listed():
    lines = tandem("doctor", "--licences").stdout.splitlines()
    assert [line.split()[2] for line in lines if line.startswith("pyyaml ")] == ["MIT"]
    assert not [line for line in lines if line.startswith("html2text ")]
    lines = tandem("doctor", "--licences", "web").stdout.splitlines()
    assert [line for line in lines if line.startswith("html2text ") and "GPL-3.0" in line]
    refused = tandem("doctor", "--licences", "wep")
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: no extra 'wep'\nhint:  known: lucene, ")
