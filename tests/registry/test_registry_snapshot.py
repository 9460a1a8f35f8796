"""The committed snapshot is what the installed Pyserini says."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.lucene

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "snapshot_indexes"


def test_the_snapshot_of_prebuilt_indexes_is_current():
    done = subprocess.run([sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
