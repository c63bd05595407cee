"""The notebooks run, each without names of others, and show what they were committed with."""

import re
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PATHS = sorted(EXAMPLES.glob("*.ipynb"))
nbformat = pytest.importorskip("nbformat", reason="notebooks need nbformat, nbclient, ipykernel")
nbclient = pytest.importorskip("nbclient", reason="notebooks need nbformat, nbclient, ipykernel")
pytest.importorskip("ipykernel", reason="notebooks need nbformat, nbclient, ipykernel")


@pytest.fixture(scope="module")
def executed() -> dict[str, Any]:
    """The cells of each notebook, run one notebook after another by one kernel.

    A kernel takes longer to start than most notebooks to run. All names are deleted in between.
    """
    found = {path.stem: nbformat.read(path, as_version=4).cells for path in PATHS}
    whole = nbformat.v4.new_notebook()
    whole.cells.append(nbformat.v4.new_code_cell("%env SHUFFLEDP_PROGRESS=0"))
    for cells in found.values():
        whole.cells += [*cells, nbformat.v4.new_code_cell("%reset -f")]
    where = {"metadata": {"path": str(EXAMPLES)}}
    nbclient.NotebookClient(whole, timeout=120, resources=where).execute()
    return found


def shown(cells: list[Any]) -> list[list[str]]:
    """What the cells show, without pictures and without the last digits of numbers."""
    found = []
    for cell in cells:
        if cell.cell_type == "code":
            texts = [out.get("text") or out.data.get("text/html", "") for out in cell.outputs]
            found.append([re.sub(r"(\d\.\d{4})\d+", r"\1", "".join(text)) for text in texts])
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the kernel's libraries, none of which is ours
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_is_said_to_show(path: Path, executed: dict[str, Any]) -> None:
    saved, fresh = nbformat.read(path, as_version=4).cells, executed[path.stem]
    if path.stem == "histogram":  # an audit draws fresh bits
        saved, fresh = saved[:-1], fresh[:-1]
    assert shown(fresh) == shown(saved)


def test_there_are_notebooks_with_results() -> None:
    assert len(PATHS) == 3
    for path in PATHS:
        code = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
        assert all(cell.execution_count for cell in code)
        assert any("image/png" in out.get("data", {}) for cell in code for out in cell.outputs)
