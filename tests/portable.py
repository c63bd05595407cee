"""Repeats tests and questions with the arithmetic of other machines: `make portable`.

    python tests/portable.py PYTHON_WITH_OLDEST_NUMPY PYTEST_ARGUMENT ...

Processors differ in the last bits of `exp` and of matrix products, and so do releases of numpy.
Each setting below changes these bits on this machine. The tests must pass in every setting, and the
certified brackets of 200 random questions must overlap between all settings, because each bracket
contains the same exact number.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.atlas import evaluate, questions

from shuffledp.errors import NotCertified

QUESTIONS, SEED = 200, 28
#: An OpenBLAS kernel that every processor of the architecture can run.
KERNELS = {"x86_64": "Prescott", "amd64": "Prescott", "aarch64": "ARMV8", "arm64": "ARMV8"}


@dataclass(frozen=True)
class Setting:
    """One way to compute: an interpreter with its numpy, and environment variables."""

    name: str
    changes: str = ""  # which part of `arithmetic` must differ from that of this machine
    python: str = sys.executable
    variables: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
        folder = Path(self.python).absolute().parent
        path = f"{folder}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "OPENBLAS_NUM_THREADS": "1", **self.variables}
        command = [self.python, *arguments]
        return subprocess.run(command, env=environment, text=True, check=False, **more)

    def ask(self, lines: list[str] | None) -> dict[str, Any]:
        """The report of `report`, computed in this setting."""
        with tempfile.TemporaryDirectory() as folder:
            asked, found = Path(folder) / "asked.json", Path(folder) / "found.json"
            asked.write_text(json.dumps(lines))
            self.run(__file__, "--report", str(asked), str(found)).check_returncode()
            answer: dict[str, Any] = json.loads(found.read_text())
        verbose = replace(self, variables={**self.variables, "OPENBLAS_VERBOSE": "2"})
        said = verbose.run("-c", "import numpy", capture_output=True).stderr
        answer["kernel"] = re.findall(r"^Core: (\w+)", said, re.MULTILINE)
        return answer


def random_questions() -> list[str]:
    """Questions about brackets, as Python; a delta is asked at an epsilon where it matters."""
    lines = []
    for one in questions(SEED, 2 * QUESTIONS):
        if one.near:
            epsilon = one.near * evaluate(replace(one, method="get_epsilon").line)
            value = float(f"{epsilon:.3g}") if math.isfinite(epsilon) else one.near
            one = replace(one, value=value)
        if one.method.endswith("_bounds"):
            lines.append(one.line)
    return lines[:QUESTIONS]


def bracket(line: str) -> list[float]:
    """The certified bracket, even if it is wider than asked for."""
    try:
        bounds = evaluate(line)
    except NotCertified as error:
        bounds = error.bounds
    return [float(bounds.lower), float(bounds.upper)]


def report(lines: list[str] | None) -> dict[str, Any]:
    """The brackets of these questions (new ones if there are none), and what computed them."""
    core = np._core if hasattr(np, "_core") else np.core
    built = core._multiarray_umath
    used = [name for name in built.__cpu_dispatch__ if built.__cpu_features__.get(name)]
    asked = random_questions() if lines is None else lines
    brackets = [bracket(line) for line in asked]
    return {"lines": asked, "brackets": brackets, "instructions": used, "numpy": np.__version__}


def settings(here: dict[str, Any], oldest: str) -> list[Setting]:
    """The settings in which something changes on a machine that reported `here`."""
    found = []
    if here["instructions"]:
        variables = {"NPY_DISABLE_CPU_FEATURES": " ".join(here["instructions"])}
        found.append(Setting("baseline of numpy", "instructions", variables=variables))
    kernel = KERNELS.get(platform.machine().lower())
    if kernel and here["kernel"]:  # else numpy was built with another library than OpenBLAS
        variables = {"OPENBLAS_CORETYPE": kernel}
        found.append(Setting(f"OpenBLAS kernel {kernel}", "kernel", variables=variables))
    return [*found, Setting("oldest numpy", "numpy", oldest)]


def disagreements(reports: dict[str, dict[str, Any]]) -> list[str]:
    """Questions whose brackets do not overlap in two settings."""
    found = []
    for (one, first), (other, second) in combinations(reports.items(), 2):
        rows = zip(first["lines"], first["brackets"], second["brackets"], strict=True)
        for line, (lower, upper), (least, most) in rows:
            if not (lower <= most and least <= upper):
                brackets = f"[{lower!r}, {upper!r}] by {one}, [{least!r}, {most!r}] by {other}"
                found.append(f"{line} is in {brackets}")
    return found


def main(oldest: str, *tests: str) -> None:
    here = Setting("this machine").ask(None)
    reports, failures = {"this machine": here}, []
    for setting in settings(here, oldest):
        reports[setting.name] = found = setting.ask(here["lines"])
        changed = f"{setting.changes} {found[setting.changes]} for {here[setting.changes]}"
        print(f"{setting.name}: {changed}", flush=True)
        if found[setting.changes] == here[setting.changes]:
            failures.append(f"{setting.name} changes nothing here")
        if setting.run("-m", "pytest", *tests).returncode:
            failures.append(f"tests fail with the {setting.name}")
    apart = disagreements(reports)
    each = zip(*(found["brackets"] for found in reports.values()), strict=True)
    differ = sum(any(bounds != first for bounds in rest) for first, *rest in each)
    print(
        f"{len(here['lines'])} random questions in {len(reports)} settings: the last digits differ "
        f"for {differ}, the brackets do not overlap in {len(apart)} cases"
    )
    failures += apart
    for failure in failures:
        print(f"make portable: {failure}", file=sys.stderr)
    sys.exit(bool(failures))


if __name__ == "__main__":
    if sys.argv[1] == "--report":
        asked, found = map(Path, sys.argv[2:])
        found.write_text(json.dumps(report(json.loads(asked.read_text()))))
    else:
        main(*sys.argv[1:])
