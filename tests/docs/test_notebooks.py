"""The notebooks run in a kernel of their own, and show what they were committed with."""

import re
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
nbformat = pytest.importorskip("nbformat", reason="notebooks need nbformat, nbclient, ipykernel")
nbclient = pytest.importorskip("nbclient", reason="notebooks need nbformat, nbclient, ipykernel")
pytest.importorskip("ipykernel", reason="notebooks need nbformat, nbclient, ipykernel")


def shown(notebook: Any) -> list[list[str]]:
    """What the cells show, without pictures and without the last digits of numbers."""
    cells = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            texts = [out.get("text") or out.data.get("text/html", "") for out in cell.outputs]
            cells.append([re.sub(r"(\d\.\d{4})\d+", r"\1", "".join(text)) for text in texts])
    return cells


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the kernel's libraries, none of which is ours
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_is_said_to_show(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHUFFLEDP_PROGRESS", "0")
    saved = nbformat.read(path, as_version=4)
    fresh = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(EXAMPLES)}}
    nbclient.NotebookClient(fresh, timeout=120, resources=where).execute()
    if path.stem == "histogram":  # an audit draws fresh bits
        saved.cells.pop()
        fresh.cells.pop()
    assert shown(fresh) == shown(saved)


def test_there_are_notebooks_with_results() -> None:
    found = sorted(EXAMPLES.glob("*.ipynb"))
    assert len(found) == 3
    for path in found:
        code = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
        assert all(cell.execution_count for cell in code)
        assert any("image/png" in out.get("data", {}) for cell in code for out in cell.outputs)
