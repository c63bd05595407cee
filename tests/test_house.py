"""How the house is kept: which way imports go, what lies where, what tests may share."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "shuffledp"
#: Along the pipeline: nothing imports what stands further down.
ORDER = (
    ("_support", "errors"),
    ("laws", "clients"),
    ("randomizers", "engines"),
    ("profiles",),
    ("composition",),
    ("bounds",),
    ("guarantee",),
    ("rounds",),
    ("central",),
    ("mechanisms", "sample_threshold", "shuffle", "aggregate"),
    ("records",),
    ("accountant",),
    ("published", "interop"),
    ("tools",),
    ("plotting",),
    ("reproduce",),
    ("cli", "__init__"),
    ("web",),
    ("__main__",),
)
LEVEL = {part: level for level, parts in enumerate(ORDER) for part in parts}
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


def test_no_test_file_imports_another() -> None:
    """What two of them need is in tests/oracles or a fixture of a conftest.py."""
    assert [file for file in FILES if others_in(file.read_text())] == []


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


def ours_in(file: Path) -> Iterator[str]:
    """The parts of the house that a file imports, at its top or inside of functions."""
    here = file.relative_to(SOURCE).parts
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = here[: len(here) - node.level]
            path = [*folder, *(node.module or "").split(".")]
            names = [alias.name for alias in node.names] if not any(path) else path
            yield from (name for name in names[: 1 if any(path) else None] if name in LEVEL)


def is_against_the_order(file: Path, other: str) -> bool:
    if (file, other) == (SOURCE / "cli" / "serve.py", "web"):
        return False  # the one that starts it, when asked to: see below
    part = file.relative_to(SOURCE).parts[0].removesuffix(".py")
    is_below = LEVEL[other] < LEVEL[part]
    return not (is_below or other == part or {other, part} <= set(ORDER[0]))


def test_imports_go_one_way_along_the_pipeline() -> None:
    files = sorted(SOURCE.rglob("*.py"))
    wrong = [
        (file, name) for file in files for name in ours_in(file) if is_against_the_order(file, name)
    ]
    assert files and wrong == []


def test_no_command_loads_the_server() -> None:
    """Not even `serve` does, before it is called."""
    code = (
        "import sys, shuffledp.cli.app\n"
        "print([name for name in sys.modules if 'fastapi' in name or 'uvicorn' in name"
        " or 'shuffledp.web' in name])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert printed.stdout == "[]\n", printed


def test_the_top_level_is_short() -> None:
    assert len(list(SOURCE.glob("*.py"))) <= 15


def test_files_stay_short() -> None:
    lines = {file: len(file.read_text().splitlines()) for file in SOURCE.rglob("*.py")}
    assert [file for file, count in lines.items() if count > 500] == []
