"""Certified (epsilon, delta) for the shuffle model of differential privacy.

These are the names that most users need. The rest is reached through its modules, as in
`shuffledp.mechanisms.PoissonSampled`: `randomizers` (all of them), `mechanisms` (central mechanisms
and other guarantees, to compose with), `errors`, `bounds`, `published`, `plotting`, `interop`, and
the results of `tools`.
"""

import importlib
from typing import TYPE_CHECKING, Any

from ._support.text import rounded_up
from .accountant import Accountant
from .aggregate import Aggregate
from .allocation import RandomAllocation, ShuffledBatches
from .errors import NotCertified, ShuffleDPError
from .mixed import Group, MixedShuffle
from .randomizers import (
    FiniteRandomizer,
    Gaussian,
    Laplace,
    PureLDP,
    RandomizedResponse,
    UnaryEncoding,
)
from .sample_threshold import SampleThreshold
from .shuffle import Shuffle

if TYPE_CHECKING:
    from . import interop as interop
    from . import mechanisms as mechanisms
    from . import plotting as plotting
    from . import published as published
    from . import tools as tools
    from .tools.adversaries import adversaries
    from .tools.audit import audit
    from .tools.calibrate import calibrate
    from .tools.choose import choose
    from .tools.compare import compare
    from .tools.plan import Plan
    from .tools.risk import risk
    from .tools.simulate import simulate
    from .tools.sweep import sweep
    from .tools.verify import verify

__version__ = "0.3.0"

__all__ = [
    "Accountant",
    "Aggregate",
    "FiniteRandomizer",
    "Gaussian",
    "Group",
    "Laplace",
    "MixedShuffle",
    "NotCertified",
    "Plan",
    "PureLDP",
    "RandomAllocation",
    "RandomizedResponse",
    "SampleThreshold",
    "Shuffle",
    "ShuffleDPError",
    "ShuffledBatches",
    "UnaryEncoding",
    "adversaries",
    "audit",
    "calibrate",
    "choose",
    "compare",
    "risk",
    "rounded_up",
    "simulate",
    "sweep",
    "verify",
]


#: The modules that are loaded when they are first asked for; the others are there.
_MODULES = ("interop", "mechanisms", "plotting", "published", "tools")


def __getattr__(name: str) -> Any:
    """Tools and modules are loaded when they are first asked for: an accountant needs none."""
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name not in __all__:
        raise AttributeError(f"module 'shuffledp' has no attribute {name!r}")
    tool = getattr(importlib.import_module(f".tools.{name.lower()}", __name__), name)
    globals()[name] = tool
    return tool
