"""Local randomizers, one a file. Each yields its laws; `REGISTRY` has those with a name.

Every module of this folder is loaded, so that a new file is all that a new randomizer needs.
"""

import importlib
import pkgutil

from .analyses import Analysis
from .approximate_ldp import ApproximateLDP
from .base import REGISTRY, Randomizer, register
from .bundled_questions import Bundle
from .density_randomizer import DensityRandomizer
from .finite import FiniteRandomizer, MatrixRandomizer
from .gaussian import Gaussian
from .hadamard_response import HadamardResponse
from .laplace import Laplace
from .local_hashing import LocalHashing
from .membership import MembershipRandomizer
from .noise_shares import NoiseShares
from .noisy_histogram import NoisyHistogram
from .one_bit import OneBit
from .one_of import OneOf
from .optimized_unary import OptimizedUnaryEncoding
from .parameter import Family, LocalEpsilon, Parameter, Search, Values
from .piecewise import Piecewise
from .priv_unit import PrivUnit
from .pure_ldp import PureLDP
from .randomized_response import RandomizedResponse
from .square_wave import SquareWave
from .subset_selection import SubsetSelection
from .two_levels import TwoLevelRandomizer
from .unary_encoding import UnaryEncoding
from .variation_ratio import VariationRatio

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = [
    "REGISTRY",
    "Analysis",
    "ApproximateLDP",
    "Bundle",
    "DensityRandomizer",
    "Family",
    "FiniteRandomizer",
    "Gaussian",
    "HadamardResponse",
    "Laplace",
    "LocalEpsilon",
    "LocalHashing",
    "MatrixRandomizer",
    "MembershipRandomizer",
    "NoiseShares",
    "NoisyHistogram",
    "OneBit",
    "OneOf",
    "OptimizedUnaryEncoding",
    "Parameter",
    "Piecewise",
    "PrivUnit",
    "PureLDP",
    "RandomizedResponse",
    "Randomizer",
    "Search",
    "SquareWave",
    "SubsetSelection",
    "TwoLevelRandomizer",
    "UnaryEncoding",
    "Values",
    "VariationRatio",
    "register",
]
