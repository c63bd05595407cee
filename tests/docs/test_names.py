"""What the pages say of the house is true: files and functions that they name are there."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "shuffledp"
PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / f for f in ("README.md", "CONTRIBUTING.md")),
]
FOLDERS = "|".join(sorted(path.stem for path in SOURCE.iterdir() if path.stem != "__pycache__"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    for name in re.findall(r"`([\w/]+\.py|[\w/]+/)`", page.read_text(encoding="utf-8")):
        if name.endswith("randomizers/circle.py"):
            continue  # one that is to be written
        assert (SOURCE / name).exists() or (ROOT / name).exists(), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_functions_that_are_named_exist(page: Path) -> None:
    for name in re.findall(rf"`((?:{FOLDERS})(?:\.\w+)+)`", page.read_text(encoding="utf-8")):
        parts, found = name.split("."), None
        if parts[-1] in ("py", "toml", "png"):
            continue
        for length in range(len(parts), 0, -1):
            try:
                found = importlib.import_module(".".join(["shuffledp", *parts[:length]]))
            except ModuleNotFoundError:
                continue
            for part in parts[length:]:
                found = getattr(found, part)
            break
        assert found is not None, name


def test_the_map_has_every_module() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", text))
    for file in SOURCE.rglob("*.py"):
        folder = file.relative_to(SOURCE).parts[0]
        if folder in ("cli", "published", "reproduce") or file.stem.startswith("__"):
            continue  # a file for each command, paper and figure
        assert file.stem in named, file


def test_every_constant_of_a_proof_is_listed() -> None:
    """All others stand in `tuning.py`, where a test sets them to extremes."""
    listed = (ROOT / "docs" / "theory" / "constants.md").read_text(encoding="utf-8")
    number = re.compile(r"^(_?[A-Z][A-Z_]+) = (?:[-\d]|.*UNIT)", re.MULTILINE)
    for folder in ("laws", "engines", "profiles", "composition", "bounds"):
        for file in (SOURCE / folder).glob("*.py"):
            for name in number.findall(file.read_text()):
                assert f"`{name}`" in listed, f"{file.name}: {name}"
