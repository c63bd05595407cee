"""Tries an installed shuffledp with the core dependencies alone: `python tests/release.py`."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
import sysconfig
from pathlib import Path


def shell(*arguments: str) -> str:
    command = [str(Path(sysconfig.get_path("scripts")) / "shuffledp"), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    import numpy

    import shuffledp

    where = Path(shuffledp.__file__)
    if "site-packages" not in where.parts or not (where.parent / "py.typed").exists():
        sys.exit(f"{where} is not an installed package with its type marker")
    if not (where.parent / "schemas" / "epsilon.json").exists():
        sys.exit(f"{where.parent} has no JSON schemas")
    if shuffledp.__version__ != importlib.metadata.version("shuffledp"):
        sys.exit("the version of the package is not that of its metadata")
    commands = shell("--help").partition("Commands:")[2]
    names = [line.split()[0] for line in commands.splitlines() if line[2:3].islower()]
    for name in names:
        if "Usage:" not in shell(name, "--help"):
            sys.exit(f"shuffledp {name} --help says nothing")
    answer = json.loads(
        shell("epsilon", "--eps0", "4", "--users", "10000", "--delta", "1e-6", "--json")
    )
    if not 0.4108 < answer["lower"][0] <= answer["upper"][0] < 0.4109:
        sys.exit(f"a wrong answer: {answer}")
    versions = f"numpy {numpy.__version__}, click {importlib.metadata.version('click')}"
    print(f"shuffledp {shuffledp.__version__} works with {versions}; commands: {', '.join(names)}")


if __name__ == "__main__":
    main()
