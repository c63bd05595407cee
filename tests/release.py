"""Tries an installed shuffledp: `python tests/release.py` with the core dependencies alone, and
`python tests/release.py plot sweep ...` with these extras."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

#: What an extra makes possible: a module that needs it.
NEEDED_BY = {
    "plot": "matplotlib.figure",
    "sweep": "joblib",
    "interop": "shuffledp.interop",
    "parquet": "pyarrow.parquet",
    "documents": "jinja2",
    "web": "uvicorn",
}
ROUND = ("--eps0", "4", "--users", "10000")


def shell(*arguments: str) -> str:
    command = [str(Path(sysconfig.get_path("scripts")) / "shuffledp"), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check_package() -> str:
    import numpy

    import shuffledp

    where = Path(shuffledp.__file__)
    if "site-packages" not in where.parts or not (where.parent / "py.typed").exists():
        sys.exit(f"{where} is not an installed package with its type marker")
    if not (where.parent / "schemas" / "epsilon.json").exists():
        sys.exit(f"{where.parent} has no JSON schemas")
    if not (where.parent / "web" / "static" / "client.mjs").exists():
        sys.exit(f"{where.parent} has no JavaScript client")
    if shuffledp.__version__ != importlib.metadata.version("shuffledp"):
        sys.exit("the version of the package is not that of its metadata")
    versions = f"numpy {numpy.__version__}, click {importlib.metadata.version('click')}"
    return f"shuffledp {shuffledp.__version__} works with {versions}"


def check_commands() -> list[str]:
    commands = shell("--help").partition("Commands:\n")[2].partition("\n\n")[0]
    names = [line.split()[0] for line in commands.splitlines() if line[2:3].islower()]
    for name in names:
        if "Usage:" not in shell(name, "--help"):
            sys.exit(f"shuffledp {name} --help says nothing")
    answer = json.loads(shell("epsilon", *ROUND, "--delta", "1e-6", "--json"))
    if not 0.4108 < answer["lower"][0] <= answer["upper"][0] < 0.4109:
        sys.exit(f"a wrong answer: {answer}")
    return names


def check_extra(extra: str) -> None:
    importlib.import_module(NEEDED_BY[extra])
    if extra == "plot":
        with tempfile.TemporaryDirectory() as folder:
            picture = Path(folder) / "risk.png"
            shell("risk", *ROUND, "--plot", str(picture))
            if not picture.read_bytes().startswith(b"\x89PNG"):
                sys.exit("risk --plot drew no picture")
    if extra == "documents":
        with tempfile.TemporaryDirectory() as folder:
            plan = Path(folder) / "plan.toml"
            target = "target = { epsilon = 1, delta = 1e-6 }"
            plan.write_text(
                f'{target}\n[[rounds]]\nrandomizer = "pure-ldp"\neps0 = 1\nusers = 10_000\n'
            )
            if "Glossary" not in shell("account", str(plan), "--html"):
                sys.exit("account --html printed no document")
    if extra == "sweep":
        rows = shell("sweep", "--eps0", "1,2", "--users", "1000", "--delta", "1e-6", "--json")
        if len(json.loads(rows)["rows"]) != 2:
            sys.exit(f"a wrong sweep: {rows}")


def main(extras: list[str]) -> None:
    works, names = check_package(), check_commands()
    for extra in extras:
        check_extra(extra)
    more = f"; extras: {', '.join(extras)}" if extras else ""
    print(f"{works}; commands: {', '.join(names)}{more}")


if __name__ == "__main__":
    main(sys.argv[1:])
