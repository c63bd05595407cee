"""The curves of a sweep: what stands on the axis, and which rows belong together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .._support.numeric import Bounds
from .._support.text import plain
from ..errors import InvalidParameter

_MOST = 24  # curves that can be told apart


class SweepCurves(NamedTuple):
    """Rows as curves, by label; `same` is what all of them have in common."""

    axis: str
    query: str  # epsilon or delta
    curves: dict[str, list[tuple[float, Bounds[float]]]]
    same: str
    log: str  # the axes that are logarithmic


def sweep_curves(rows: Sequence[Mapping[str, Any]]) -> SweepCurves:
    """On the axis is the number that takes most values; every combination of the others is a curve.

    A row that failed is a gap.
    """
    query = "epsilon" if "epsilon_upper" in rows[0] else "delta"
    results = (f"{query}_lower", f"{query}_upper", "error", "rtol")
    asked = [name for name in rows[0] if name not in results]
    values = {name: list(dict.fromkeys(row[name] for row in rows)) for name in asked}
    numeric = [name for name in asked if len(values[name]) > 1 and _numbers(values[name])]
    if not numeric:
        raise InvalidParameter(
            "no number takes two values in this sweep; give one with several for a picture."
        )
    axis = max(numeric, key=lambda name: len(values[name]))
    others = [name for name in asked if name != axis and len(values[name]) > 1]
    curves: dict[str, list[tuple[float, Bounds[float]]]] = {}
    for row in rows:
        label = ", ".join(_said(name, row[name]) for name in others)
        low, up = row[results[0]], row[results[1]]
        bounds = Bounds(0.0, math.inf) if up is None else Bounds(low, up)
        curves.setdefault(label, []).append((row[axis], bounds))
    if len(curves) > _MOST:
        raise InvalidParameter(
            f"{len(curves)} curves are more than {_MOST}, which can be told apart; sweep over less."
        )
    for points in curves.values():
        points.sort(key=lambda point: point[0])
    same = ", ".join(_said(name, values[name][0]) for name in asked if len(values[name]) == 1)
    high = [b.upper for points in curves.values() for _, b in points if 0 < b.upper < math.inf]
    if not high:
        raise InvalidParameter(
            "no row of this sweep is positive and finite; its column error may say why."
        )
    log = ("x" if _wide(values[axis]) else "") + ("y" if _wide(high) else "")
    return SweepCurves(axis, query, curves, same, log)


def _numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, (int, float)) for value in values)


def _wide(values: Sequence[float]) -> bool:
    """Do they span more than a decade?"""
    return bool(values) and 0 < 10 * min(values) < max(values)


def _said(name: str, value: Any) -> str:
    if not isinstance(value, (int, float)):
        return f"{value}" if name == "randomizer" else f"{name} {value}"
    shown = f"{value:,}" if isinstance(value, int) else plain(value)
    if name in ("users", "rounds"):
        return f"{shown} {name if value != 1 else name[:-1]}"
    return f"{name} = {shown}"
