"""The notebook runs from top to bottom, shows tables and a figure, and is committed without outputs."""

import json
import os
import sys

import pytest
from command import ROOT

NOTEBOOK = ROOT / "docs" / "notebooks" / "tutorial.ipynb"


def test_the_notebook_is_committed_without_outputs():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert [cell["source"] for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []


@pytest.mark.slow
def test_the_notebook_runs_and_shows_tables_and_a_figure(tmp_path, monkeypatch):
    import nbformat
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    monkeypatch.setenv("HOME", str(tmp_path))  # kernels keep files there
    monkeypatch.setenv("TANDEM_HOME", str(tmp_path / "tandem"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    kernel = AsyncKernelManager()
    kernel.kernel_spec.argv[0] = sys.executable
    NotebookClient(notebook, km=kernel, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output.get("data", {}).keys() for cell in notebook.cells for output in cell.get("outputs", ())]
    assert sum("text/html" in kinds for kinds in shown) == 7
    assert sum("image/png" in kinds for kinds in shown) == 1
