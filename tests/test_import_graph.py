"""Imports go one way: from what is asked down to numbers, never back."""

import ast
from pathlib import Path

import pytest

import shuffledp

#: Each folder may import itself, those before it and `errors`.
LAYERS = ["_support", "laws", "engines", "profiles", "composition", "bounds"]
ROOT = Path(shuffledp.__file__).parent
MODULES = [path for layer in LAYERS for path in sorted((ROOT / layer).glob("*.py"))]


def imported(path: Path) -> set[str]:
    """The names below the package that a module imports, however it is written."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 2:
            names = [node.module] if node.module else [alias.name for alias in node.names]
            found |= {name.split(".")[0] for name in names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("shuffledp"):
            found |= {f"{node.module}.".split(".")[1] or alias.name for alias in node.names}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_a_layer_imports_only_what_is_below_it(path: Path) -> None:
    allowed = LAYERS[: LAYERS.index(path.parent.name) + 1]
    assert imported(path) <= {*allowed, "errors"}
