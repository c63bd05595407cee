"""Tuning constants at extreme values: answers may get wide or slow, never wrong.

Every number in `tuning` and in `tools.tuning` is set to 1 and to 16 times itself, or to a
thousandth and a thousand times itself. Then each engine, sampler and search is held against exact
values. A constant that breaks one of them is no tuning constant: soundness rests on it.

A probe that never reads a constant gives the same answers whatever that is, so it is repeated for
the constants that it reads only. The quickest few of those that read a constant are repeated, and
the probes whose answers are known to depend on it; of the constants of engines, all.
"""

import inspect
import math
import re
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any, ClassVar

import pytest

from oracles.probes import DECIDES, OF_FOLDER, PROBES, Probe
from shuffledp import tuning
from shuffledp.tools import tuning as of_tools

MODULES = (tuning, of_tools)


def constants() -> Iterator[tuple[Any, str]]:
    for module in MODULES:
        for name, value in vars(module).items():
            if name.isupper() and isinstance(value, int | float | tuple):
                yield module, name


def folder_of(module: ModuleType, name: str) -> str:
    """The folder whose constants a constant stands with: under a comment such as `# laws/`."""
    if module is of_tools:
        return "tools"
    above, _ = re.split(rf"(?m)^{name}\b|^[A-Z_, ]+, {name}\b", inspect.getsource(module))
    return str(re.findall(r"(?m)^# (\w+)/$", above)[-1])


#: Less extreme, because these take too long else.
MODERATE: dict[str, list[Any]] = {
    "AT_ONCE": [64, 1 << 20],
    "COARSE": [1.5e-5, 0.15],
    "DEEPER": [0.012, 250.0],
    "EXPENSIVE_SHARE": [0.05, 1500.0],
    "FINER": [0.05, 20.0],
    "SCORE_RATIO": [0.016, 500.0],
}


def extremes(name: str, value: Any) -> list[Any]:
    if name in MODERATE:
        return MODERATE[name]
    if isinstance(value, int):
        return [1, 16 * value]
    if isinstance(value, tuple):
        return [tuple(factor * part for part in value) for factor in (1e-3, 1e3)]
    return [1e-3 * value, 1e3 * value]


#: Probes for each constant, beside those that it is known to decide.
FEW = 2


class Watched(ModuleType):
    """A module that notes which of its names are read."""

    noted: ClassVar[set[tuple[str, str]]] = set()

    def __getattribute__(self, name: str) -> Any:
        Watched.noted.add((super().__getattribute__("__name__"), name))
        return super().__getattribute__(name)


@cache
def names_read(probe: Probe) -> frozenset[tuple[str, str]]:
    """(module, constant) of all that a probe reads as it is checked. Once tuned differently it may
    go other ways, but the constant that was changed is one that it had read before."""
    Watched.noted.clear()
    try:
        for module in MODULES:
            module.__class__ = Watched
        check(probe)
    finally:
        for module in MODULES:
            module.__class__ = ModuleType
    return frozenset(Watched.noted)


def check(probe: Probe) -> None:
    for (lower, upper), (least, most) in probe():
        assert lower <= most
        assert least <= upper
        assert math.isfinite(lower)


def test_there_are_such_constants() -> None:
    assert len(list(constants())) > 50


@pytest.mark.parametrize("probe", PROBES)
def test_probes_as_tuned(probe: Probe) -> None:
    assert names_read(probe)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("module", "name"), list(constants()), ids=lambda x: x if isinstance(x, str) else x.__name__
)
def test_extreme_values_cost_time_or_width_only(
    module: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(module, name)
    reading = [
        probe
        for probe in OF_FOLDER.get(folder, PROBES)
        if (module.__name__, name) in names_read(probe)
    ]
    probes = reading if folder == "engines" else reading[:FEW]
    probes += [probe for probe in DECIDES.get(name, []) if probe in reading[FEW:]]
    assert probes, f"no probe reads {name}: give it one in tests/oracles/probes, or do without it"
    for value in extremes(name, getattr(module, name)):
        monkeypatch.setattr(module, name, value)
        for probe in probes:
            check(probe)
