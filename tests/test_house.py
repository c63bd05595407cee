"""How the house is kept: which way imports go, what lies where, what tests may share."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "shuffledp"
#: Along the pipeline: nothing imports what stands further down.
ORDER = (
    ("_support", "errors", "tuning"),
    ("laws", "clients"),
    ("randomizers", "engines"),
    ("profiles",),
    ("composition",),
    ("bounds",),
    ("guarantee", "calibration"),
    ("rounds",),
    ("central",),
    ("mechanisms", "sample_threshold", "shuffle", "aggregate", "allocation"),
    ("mixed",),
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


@cache
def nodes_of(file: Path) -> list[ast.AST]:
    """Every node of a file: parsed once for all tests."""
    return list(ast.walk(ast.parse(file.read_text())))


def imported(source: str) -> Iterator[str]:
    """Every dotted name that a source imports, or imports from."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module or ''}.{alias.name}" for alias in node.names)


def others_in(source: str) -> set[str]:
    if not MODULES & set(re.findall(r"\w+", source)):  # most files: nothing to parse
        return set()
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
    for node in nodes_of(file):
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
        "import sys, shuffledp.cli.app as app\n"
        "assert len([*app.cli.commands.values()]) == len(app.COMMANDS)\n"
        "print([name for name in sys.modules if 'fastapi' in name or 'uvicorn' in name"
        " or 'shuffledp.web' in name])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert printed.stdout == "[]\n", printed


def test_the_top_level_is_short() -> None:
    assert len(list(SOURCE.glob("*.py"))) <= 18


def test_files_stay_short() -> None:
    lines = {file: len(file.read_text().splitlines()) for file in SOURCE.rglob("*.py")}
    assert [file for file, count in lines.items() if count > 500] == []


def test_every_function_has_a_name() -> None:
    """One called `_`, such as a registered implementation, cannot be told apart in a traceback."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    nameless = [
        f"{file.relative_to(SOURCE)}:{node.lineno}"
        for file in SOURCE.rglob("*.py")
        for node in nodes_of(file)
        if isinstance(node, functions) and not node.name.strip("_")
    ]
    assert nameless == []


#: Modules that implement the same interface in every folder that has them, beside a command of
#: `cli/` and the tool, or the folder, that it runs.
SAME_INTERFACE = {"__init__", "base", "tuning"}
Places = dict[str, set[str]]


def modules_and_classes(source: Path) -> tuple[Places, Places]:
    """Where the modules and folders, and the classes, of each name are.

    A leading underscore does not make another name of it.
    """
    modules: Places = defaultdict(set)
    classes: Places = defaultdict(set)
    for file in source.rglob("*.py"):
        place = file.relative_to(source)
        modules[place.stem if place.stem == "__init__" else place.stem.lstrip("_")].add(str(place))
        for folder in place.parts[:-1]:
            modules[folder.lstrip("_")].add(f"{folder}/")
        for node in nodes_of(file):
            if isinstance(node, ast.ClassDef):
                classes[node.name.lstrip("_")].add(str(place))
    return modules, classes


def shared(places: Places) -> Places:
    return {name: found for name, found in places.items() if len(found) > 1}


def runs_a_tool(name: str, found: set[str]) -> bool:
    """Is it a command beside the tool, or the folder, of the same name?"""
    command = f"cli/{name}.py"
    return found in ({command, f"tools/{name}.py"}, {command, f"{name}/"})


@cache
def places_of_ours() -> tuple[Places, Places]:
    return modules_and_classes(SOURCE)


def test_no_two_modules_share_a_name() -> None:
    found = shared(places_of_ours()[0])
    others = {
        name: places
        for name, places in found.items()
        if name not in SAME_INTERFACE and not runs_a_tool(name, places)
    }
    assert others == {}


def test_no_two_classes_share_a_name() -> None:
    assert shared(places_of_ours()[1]) == {}


def test_shared_names_are_seen(tmp_path: Path) -> None:
    for place, text in {
        "cli/sweep.py": "",
        "tools/sweep.py": "class Row: ...",
        "tools/rounds.py": "def make():\n    class _Row: ...",
        "rounds/__init__.py": "",
        "_rounds.py": "class Round: ...",
    }.items():
        file = tmp_path / place
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    modules, classes = map(shared, modules_and_classes(tmp_path))
    assert modules == {
        "sweep": {"cli/sweep.py", "tools/sweep.py"},
        "rounds": {"tools/rounds.py", "rounds/", "_rounds.py"},
    }
    assert runs_a_tool("sweep", modules["sweep"]) and not runs_a_tool("rounds", modules["rounds"])
    assert classes == {"Row": {"tools/sweep.py", "tools/rounds.py"}}
