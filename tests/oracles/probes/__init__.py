"""What tuning constants may touch, beside the truth: engines, samplers, searches, sums.

A probe is repeated for every constant that it reads: of questions that read different ones, each
is a probe of its own.
"""

from .common import Probe
from .of_bundles import bundles, some_bundles, wide_bundles
from .of_engines import (
    chosen_engines,
    dominant_engine,
    fourier_engine,
    lattice_engine,
    positive_engine,
    rare_engine,
)
from .of_matrices import bundled_matrices, large_matrices, large_matrix_of_data
from .of_profiles import (
    binary_messages,
    heavy_tails,
    integers,
    matrices,
    noise_messages,
    noise_of_one,
    populations,
    replaced_messages,
    samplers,
    senders,
)
from .of_rounds import (
    attained_rounds,
    calibrated,
    chosen,
    densities,
    infinite_losses,
    infinite_losses_twice,
    mixed_rounds,
    narrow_brackets,
    near_the_top,
    one_laplace,
    one_round,
    readings,
    repeated_rounds,
    sums_of_losses,
    too_wide_at_first,
)

__all__ = ["DECIDES", "OF_FOLDER", "PROBES", "Probe"]

ENGINES: list[Probe] = [
    *chosen_engines,
    fourier_engine,
    dominant_engine,
    lattice_engine,
    positive_engine,
    rare_engine,
]
MATRICES = [large_matrices, large_matrix_of_data]
LAWS = [noise_of_one, matrices, bundled_matrices]
ROUNDS = [one_round, attained_rounds, repeated_rounds, too_wide_at_first, mixed_rounds]
PROBES: list[Probe] = [
    noise_messages,
    integers,
    replaced_messages,
    heavy_tails,
    some_bundles,
    wide_bundles,
    *LAWS,
    *MATRICES,
    senders,
    populations,
    *ENGINES,
    samplers,
    binary_messages,
    *ROUNDS,
    near_the_top,
    densities,
    one_laplace,
    narrow_brackets,
    infinite_losses,
    infinite_losses_twice,
    calibrated,
    chosen,
    sums_of_losses,
    bundles,
    readings,
]
#: What the constants of a folder have to do with, the quickest first; of any other folder, all.
OF_FOLDER: dict[str, list[Probe]] = {
    "engines": [*ENGINES, near_the_top, samplers, noise_messages, binary_messages],
    "laws": [*LAWS, heavy_tails, *MATRICES, densities],
    "profiles": [
        one_round, replaced_messages, near_the_top, noise_of_one, samplers, noise_messages,
        attained_rounds, repeated_rounds, senders, matrices, *MATRICES, binary_messages, densities,
        mixed_rounds, integers, populations,
    ],
    "composition": [
        sums_of_losses, repeated_rounds, some_bundles, bundles, attained_rounds, one_round,
        too_wide_at_first, wide_bundles, mixed_rounds,
    ],
    "bounds": [
        one_round, near_the_top, infinite_losses_twice, one_laplace, infinite_losses,
        attained_rounds, repeated_rounds, wide_bundles, too_wide_at_first, calibrated, chosen,
        readings, mixed_rounds, narrow_brackets,
    ],
    "tools": [chosen, readings],
}  # fmt: skip
#: Constants that change an answer of slower probes only: what these ask stays the same in others.
DECIDES: dict[str, list[Probe]] = {
    "LATTICES": [too_wide_at_first],
    "DEEPER": [too_wide_at_first, mixed_rounds],
    "ALIKE": [mixed_rounds],
}
