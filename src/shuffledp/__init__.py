"""Certified (epsilon, delta) for the shuffle model of differential privacy."""

from .accountant import Accountant
from .adversaries import adversaries
from .bounds import Bounds
from .calibrate import (
    Calibration,
    calibrate_eps0,
    calibrate_gamma,
    calibrate_rounds,
    calibrate_sample_rate,
    calibrate_sigma,
    calibrate_users,
)
from .compare import Comparison, compare
from .errors import Infeasible, InvalidParameter, NotCertified, OutOfRange, ShuffleDPError
from .given import ApproximateDP, GivenPLD, GivenProfile
from .plan import Ledger, Plan, PlannedRound
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
from .statement import rounded_up
from .sweep import SweepTable, sweep
from .verify import Verification, verify

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
