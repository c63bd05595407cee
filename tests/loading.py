"""Modules of docs/, which are programs and hooks of the site and belong to no package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).resolve().parents[1] / "docs"


def load(path: str) -> ModuleType:
    """Return the module in a file of docs/."""
    name = Path(path).stem
    spec = importlib.util.spec_from_file_location(name, DOCS / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module
