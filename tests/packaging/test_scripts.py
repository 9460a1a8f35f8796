"""The set-up scripts: from a path with a space, again and in either order."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest
from mypy_cache import copy_known_types

pytestmark = [pytest.mark.lucene, pytest.mark.slow]

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def checkout(tmp_path, borrowing_venv):
    """A clone in a path with a space, with an environment that counts as installed (installing takes minutes)."""
    clone = tmp_path / "a folder" / "tandem ir"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    borrowing_venv(clone / ".venv")
    pins = b"".join((clone / name).read_bytes() for name in ("setup.cfg", "constraints.txt", "pyproject.toml"))
    for extras in ("all", "all,test"):
        (clone / ".venv" / f"tandem-{extras}").write_text(f"{hashlib.sha256(pins).hexdigest()} {clone}\n")
    return clone


def test_quickstart_prints_the_table_and_names_its_files_twice_over(checkout):
    first = subprocess.run(["./scripts/quickstart"], cwd=checkout, capture_output=True, text=True)
    assert first.returncode == 0, first.stdout + first.stderr
    table = first.stdout.partition("\n\n")[0].splitlines()
    assert "WISE@20" in table[1]
    assert max(map(len, table)) <= 100
    named = [line.split()[1] for line in first.stdout.splitlines() if line.startswith("written: ")]
    assert named == [f"runs/quickstart.infosearch-mini.{system}.trec" for system in ("bm25", "all-minilm-l6-v2")]
    assert all(f"\n{name.split('.')[-2]} " in first.stdout for name in named)
    runs = [checkout / name for name in named]
    assert all(Path(f"{run}.yaml").is_file() for run in runs)
    content = [run.read_bytes() for run in runs]
    second = subprocess.run([checkout / "scripts" / "quickstart"], cwd="/", capture_output=True, text=True)
    assert second.returncode == 0, second.stdout + second.stderr
    assert second.stdout == first.stdout
    assert [run.read_bytes() for run in runs] == content


def test_the_test_script_hands_its_arguments_to_pytest(checkout):
    copy_known_types(checkout / ".mypy_cache")
    done = subprocess.run(
        ["./scripts/test", "tests/core/test_core_runs.py", "-q", "-n", "0"], cwd=checkout, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


def test_a_changed_pin_installs_again(checkout):
    (checkout / "constraints.txt").write_text("numpy==0.0.0\n")
    offline = {**os.environ, "PIP_NO_INDEX": "1"}  # asking for the impossible takes no network
    done = subprocess.run(["./scripts/quickstart"], cwd=checkout, env=offline, capture_output=True, text=True)
    assert done.returncode != 0
    assert "installing tandem-ir[all] into .venv" in done.stderr
