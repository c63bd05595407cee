"""How narrow and how deep profiles are sampled for a question."""

from __future__ import annotations

import math
from collections.abc import Sequence

from . import tuning


def aim(rtol: float, dear: bool = False, slow: bool = False) -> float:
    """The width that discretisations aim at: 1e-4 by default, closer to rtol away from it, and as
    wide as it may be if samples are `slow`. Many samples that are `dear` have no narrower one than
    can be had in some seconds."""
    usual = math.inf if slow else tuning.DEAR_AIM if dear else tuning.AIM
    least = tuning.LEAST_DEAR if dear else 0.0
    return max(tuning.LEAST_AIM * rtol, min(tuning.MOST_AIM * rtol, usual), least)


def depth_for(log_inverse_delta: float, ladder: Sequence[float] = ()) -> float:
    """The first depth of the ladder, or of the usual one, that is deep enough."""
    ladder = ladder or tuning.DEPTHS
    return next((d for d in ladder if d >= log_inverse_delta), ladder[-1])
