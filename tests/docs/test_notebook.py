"""Each notebook runs from top to bottom, shows tables and a figure, floods no cell, and is committed without outputs."""

import json
import os
import sys

import pytest
from command import ROOT

FOLDER = ROOT / "docs" / "notebooks"
SHOWN = {"tutorial": (7, 1), "own-reranker": (5, 1), "own-benchmark": (5, 0)}  # tables, pages in frames among them, and figures
FLOOD = 60_000  # characters of a cell's outputs, but for figures and pages in frames


def test_every_notebook_is_tried():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == SHOWN.keys()


@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_is_committed_without_outputs(name):
    cells = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    assert [cell["source"] for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_runs_and_shows_tables_and_figures(name, tmp_path, monkeypatch):
    cells = executed(name, tmp_path, monkeypatch)
    shown = [output.get("data", {}) for cell in cells for output in cell.get("outputs", ())]
    tables, figures = SHOWN[name]
    assert sum("text/html" in kinds for kinds in shown) == tables
    assert sum(any(is_figure(kind) for kind in kinds) for kinds in shown) == figures
    if name != "tutorial":  # which explains more
        assert any("text/html" in output.get("data", {}) for cell in cells[:5] for output in cell.get("outputs", ()))
    assert [cell.source for cell in cells if size_of(cell) > FLOOD] == []
    if name == "own-reranker":
        assert (tmp_path / "differences.pdf").read_bytes().startswith(b"%PDF")
        assert "\\begin{tabular}" in (tmp_path / "main.tex").read_text(encoding="utf-8")


def executed(name, folder, monkeypatch) -> list:
    import nbformat
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    monkeypatch.setenv("HOME", str(folder))  # kernels keep files there
    monkeypatch.setenv("TANDEM_HOME", str(folder / "tandem"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]))
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    kernel = AsyncKernelManager()
    kernel.kernel_spec.argv[0] = sys.executable
    NotebookClient(notebook, km=kernel, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook.cells


def is_figure(kind: str) -> bool:
    return kind == "image/png" or kind.startswith("application/vnd.vegalite")


def size_of(cell) -> int:
    outputs = [output for output in cell.get("outputs", ()) if not any(map(is_figure, output.get("data", {})))]
    return sum(len(json.dumps(output)) for output in outputs if "<iframe" not in str(output.get("data", {}).get("text/html")))
