"""The doctor names what is missing and how to get it, and never a secret."""

import os

import pytest
from command import tandem

pytestmark = [pytest.mark.process, pytest.mark.model]  # it asks Java for its version, and torch for its GPUs


def doctor(**environment):
    env = {**os.environ, "HF_ENDPOINT": "http://localhost:9", "HF_HUB_OFFLINE": "0", **environment}
    return tandem("doctor", env=env)


def test_every_part_is_checked(tmp_path):
    done = doctor(TANDEM_HOME=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    names = [line.split()[1] for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert names == ["python", "java", "torch", "faiss", "pages", "ray", "cache", "disk", "network", "proxies", "environment"]
    assert "java-runtime" in done.stdout  # the wheel's own, not the machine's Java


def test_keys_and_passwords_are_not_printed(tmp_path):
    done = doctor(
        TANDEM_HOME=str(tmp_path),
        OPENAI_API_KEY="sk-secret",
        HF_TOKEN="hf-secret",
        OPENAI_BASE_URL="http://me:pw-secret@localhost:9/v1",
        HF_ENDPOINT="http://me:p@ss-secret@localhost:9/?key=secret",
    )
    assert "OPENAI_API_KEY is set" in done.stdout
    assert "OPENAI_BASE_URL=http://***@localhost:9/v1" in done.stdout
    assert "secret" not in done.stdout + done.stderr


def test_what_is_not_reached_gets_a_way_out(tmp_path):
    lines = doctor(TANDEM_HOME=str(tmp_path)).stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("absent  network"))
    assert lines[at].endswith("http://localhost:9 is not reached")
    assert lines[at + 1].strip() == "fix: take local copies with --from, or set HF_ENDPOINT and TANDEM_INDEX_MIRROR"


def test_a_cache_that_cannot_be_written_is_bad(tmp_path):
    blocked = tmp_path / "file"
    blocked.touch()
    done = doctor(TANDEM_HOME=str(blocked / "home"))
    assert done.returncode == 1
    assert "BAD     cache" in done.stdout
    assert "fix: set TANDEM_HOME to a folder of yours" in done.stdout


def test_entries_of_the_users_own_that_are_none_are_listed(home):
    wrong = {
        "systems/broken.yaml": "name: x\ndescription: a: b\n",
        "systems/kind.yaml": "{name: y, description: d, kind: nothing}",
        "benchmarks/layout.yaml": "{name: z, description: d, layout: new, modes: {}, groups: [], measures: [], source: {}}",
        "indexes/good.yaml": "{name: i, description: d, kind: lucene, urls: [http://a/b.tar.gz], md5: m, size: 1}",
    }
    for name, text in wrong.items():
        path = home / "registry" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = doctor(TANDEM_HOME=str(home))
    assert done.returncode == 1
    listed = [line.removeprefix("BAD     registry     ") for line in done.stdout.splitlines() if line.startswith("BAD")]
    assert len(listed) == 3
    assert listed[0].startswith(f"{home}/registry/systems/broken.yaml, line 2: ")
    assert listed[1:] == ["benchmark z: unknown layout 'new'", "system y is of unknown kind 'nothing'"]
