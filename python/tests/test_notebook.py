"""The notebook runs, and its figures are drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
for needed in ("sklearn", "skl2onnx", "matplotlib", "torch"):
    pytest.importorskip(needed)

NOTEBOOK = Path(__file__).parents[1] / "examples" / "quickstart.ipynb"


def test_quickstart(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [out for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs]
    text = "".join(out.get("text", "") for out in outputs)
    assert "VALID" in text and "refused: " in text
    assert sum("image/png" in out.get("data", {}) for out in outputs) == 2
