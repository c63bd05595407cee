"""Independent reference values for the tests: slow, simple, and free of the package's own code."""

from .clones import clone_pair_atoms, clone_pair_fractions, clone_profile, clone_profile_large
from .common import GUARD_DIGITS, Atom, FractionPair, Histogram, Matrix, Real, hockey_stick
from .composition import (
    LOSS_BITS,
    atoms_of_pair,
    compose_atoms,
    delta_of_atoms,
    delta_of_product,
    epsilon_of_atoms,
    randomized_response_composition,
    randomized_response_epsilon,
)
from .mechanisms import (
    adaptive_profile,
    as_pair,
    blanket_pair,
    fixed_size_sample,
    neighbours,
    poisson_sample,
    shuffled_mechanism,
    strong_pair,
    true_profile,
    view_with_betas,
)

__all__ = [
    "GUARD_DIGITS",
    "LOSS_BITS",
    "Atom",
    "FractionPair",
    "Histogram",
    "Matrix",
    "Real",
    "adaptive_profile",
    "as_pair",
    "atoms_of_pair",
    "blanket_pair",
    "clone_pair_atoms",
    "clone_pair_fractions",
    "clone_profile",
    "clone_profile_large",
    "compose_atoms",
    "delta_of_atoms",
    "delta_of_product",
    "epsilon_of_atoms",
    "fixed_size_sample",
    "hockey_stick",
    "neighbours",
    "poisson_sample",
    "randomized_response_composition",
    "randomized_response_epsilon",
    "shuffled_mechanism",
    "strong_pair",
    "true_profile",
    "view_with_betas",
]
