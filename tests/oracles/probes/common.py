"""What a probe says, and how it asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import mpmath

from shuffledp._support.numeric import Bounds
from shuffledp.errors import NotCertified

#: What was certified, and the truth or a tight enclosure of it.
Checked = tuple[tuple[float, float], tuple[mpmath.mpf, mpmath.mpf]]
Probe = Callable[[], Iterator[Checked]]


def asked(ask: Callable[..., Bounds[float]], *question: float, rtol: float) -> Bounds[float]:
    try:
        return ask(*question, rtol=rtol)
    except NotCertified as error:
        return error.bounds
