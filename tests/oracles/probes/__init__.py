"""What tuning constants may touch, beside the truth: engines, samplers, searches, sums.

A probe is repeated for every constant that it reads: of questions that read different ones, each
is a probe of its own.
"""

from .common import Probe
from .of_bundles import bundles, counts_between, some_bundles, wide_bundles
from .of_engines import (
    chosen_engines,
    enumerating_engines,
    fourier_engine,
    jump_engine,
    lattice_engine,
    positive_engine,
)
from .of_matrices import large_matrices, large_matrix_of_data
from .of_profiles import (
    binary_messages,
    heavy_tails,
    matrices,
    noise_messages,
    noise_of_one,
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

__all__ = ["OF_FOLDER", "PROBES", "Probe"]

ENGINES: list[Probe] = [
    *chosen_engines,
    enumerating_engines,
    fourier_engine,
    jump_engine,
    lattice_engine,
    positive_engine,
]
MATRICES = [large_matrices, large_matrix_of_data]
LAWS = [matrices, noise_of_one]
ROUNDS = [repeated_rounds, attained_rounds, mixed_rounds, one_round]
HARD = [too_wide_at_first, one_laplace, narrow_brackets, infinite_losses, infinite_losses_twice]
PROBES: list[Probe] = [
    noise_messages,
    replaced_messages,
    heavy_tails,
    some_bundles,
    wide_bundles,
    *LAWS,
    *MATRICES,
    senders,
    *ENGINES,
    samplers,
    binary_messages,
    *ROUNDS,
    near_the_top,
    densities,
    *HARD,
    calibrated,
    chosen,
    sums_of_losses,
    bundles,
    counts_between,
    readings,
]
#: What the constants of a folder have to do with; of any other folder, all.
OF_FOLDER: dict[str, list[Probe]] = {
    "engines": [*ENGINES, samplers, binary_messages, near_the_top, noise_messages],
    "laws": [*LAWS, *MATRICES, densities, heavy_tails],
    "profiles": [
        *LAWS, *MATRICES, senders, samplers, binary_messages, near_the_top, *ROUNDS,
        noise_messages, replaced_messages, densities,
    ],
    "composition": [
        *ROUNDS, too_wide_at_first, sums_of_losses, bundles, some_bundles, counts_between,
    ],
    "bounds": [
        *ROUNDS, near_the_top, *HARD, calibrated, chosen, readings, wide_bundles,
    ],
    "tools": [chosen, readings],
}  # fmt: skip
