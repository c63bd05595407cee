"""Certified (epsilon, delta) for the shuffle model of differential privacy."""

from ._support.numeric import Bounds
from .accountant import Accountant
from .errors import Infeasible, InvalidParameter, NotCertified, OutOfRange, ShuffleDPError
from .mechanisms import ApproximateDP, GivenPLD, GivenProfile
from .randomizers import (
    FiniteRandomizer,
    Gaussian,
    HadamardResponse,
    Laplace,
    LocalHashing,
    PureLDP,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from .shuffle import Shuffle
from .tools.adversaries import adversaries
from .tools.calibrate import (
    Calibration,
    calibrate_eps0,
    calibrate_gamma,
    calibrate_rounds,
    calibrate_sample_rate,
    calibrate_sigma,
    calibrate_users,
)
from .tools.compare import Comparison, compare
from .tools.plan import Ledger, Plan, PlannedRound
from .tools.statement import rounded_up
from .tools.sweep import SweepTable, sweep
from .tools.verify import Verification, verify

__version__ = "0.1.0"

__all__ = [
    "Accountant",
    "ApproximateDP",
    "Bounds",
    "Calibration",
    "Comparison",
    "FiniteRandomizer",
    "Gaussian",
    "GivenPLD",
    "GivenProfile",
    "HadamardResponse",
    "Infeasible",
    "InvalidParameter",
    "Laplace",
    "Ledger",
    "LocalHashing",
    "NotCertified",
    "OutOfRange",
    "Plan",
    "PlannedRound",
    "PureLDP",
    "RandomizedResponse",
    "Shuffle",
    "ShuffleDPError",
    "SubsetSelection",
    "SweepTable",
    "UnaryEncoding",
    "Verification",
    "adversaries",
    "calibrate_eps0",
    "calibrate_gamma",
    "calibrate_rounds",
    "calibrate_sample_rate",
    "calibrate_sigma",
    "calibrate_users",
    "compare",
    "rounded_up",
    "sweep",
    "verify",
]
