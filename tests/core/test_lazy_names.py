"""Heavy libraries that stand at the head of modules and are loaded when something of them is used."""

import subprocess
import sys

import pytest

CODE = """
import sys
from toolkit.core.system import lazy_names
from toolkit.core.system.lazy_names import alt, pandas, pyarrow, requests, vl_convert, yaml

NAMES = ("altair", "pandas", "pyarrow", "requests", "vl_convert", "yaml")
assert not [name for name in NAMES if name in sys.modules]
assert yaml.safe_load("a: 1") == {"a": 1}
assert [name for name in NAMES if name in sys.modules] == ["yaml"]
assert isinstance(pyarrow.array(["a"]), pyarrow.StringArray)
lazy_names._Lazy("no_such_library").anything
"""


@pytest.mark.process
def test_a_library_is_loaded_by_its_first_use_and_a_missing_one_is_named_then():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'no_such_library'"
