"""Times with warm-up, repeats and spread; memory of what a call allocates."""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any


def timed(call: Callable[[], object], repeats: int) -> list[float]:
    """Seconds of each repeat, after one call to warm up."""
    call()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return seconds


def measured(call: Callable[[], Any], repeats: int) -> tuple[Any, dict[str, float]]:
    """The answer; median, least and most milliseconds; peak megabytes allocated by one call."""
    seconds = timed(call, repeats)
    tracemalloc.start()
    answer = call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return answer, {
        "median_ms": 1e3 * statistics.median(seconds),
        "least_ms": 1e3 * min(seconds),
        "most_ms": 1e3 * max(seconds),
        "peak_mb": peak / 2**20,
    }


def spread(row: dict[str, Any]) -> str:
    return f"{row['median_ms']:.1f} ({row['least_ms']:.1f}..{row['most_ms']:.1f})"
