"""Node.js for the tests of the JavaScript client, if it is on this machine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

#: The module that is deployed.
MODULE = Path(__file__).resolve().parents[1] / "clients" / "javascript" / "client.mjs"


def node() -> str:
    """Where Node.js is; NODE in the environment comes first. Tests are skipped without it."""
    path = os.environ.get("NODE") or shutil.which("node")
    if path is None:
        pytest.skip("no Node.js on this machine: install the package nodejs, or set NODE")
    return path
