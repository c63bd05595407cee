"""How the test suite itself is kept."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

FILES = sorted(Path(__file__).parent.rglob("test_*.py"))
MODULES = {file.stem for file in FILES}


def imported(source: str) -> Iterator[str]:
    """Every dotted name that a source imports, or imports from."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module or ''}.{alias.name}" for alias in node.names)


def others_in(source: str) -> set[str]:
    return {part for name in imported(source) for part in name.split(".")} & MODULES


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_test_file_imports_another(file: Path) -> None:
    """What two of them need is in tests/oracles or a fixture of a conftest.py."""
    assert not others_in(file.read_text())


def test_every_way_to_import_is_seen() -> None:
    for source in (
        "import test_house",
        "import oracles.test_oracles as known",
        "from test_house import FILES",
        "from oracles.test_oracles import close",
        "from oracles import test_oracles",
        "def later():\n    from . import test_house",
    ):
        assert others_in(source), source
    assert not others_in("import oracles\nfrom oracles.sums import tail")
