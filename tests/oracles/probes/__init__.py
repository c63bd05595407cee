"""What tuning constants may touch, beside the truth: engines, samplers, searches, sums."""

from .common import Checked
from .of_engines import engines
from .of_matrices import large_matrices
from .of_profiles import (
    binary_messages,
    heavy_tails,
    laws,
    noise_messages,
    replaced_messages,
    samplers,
    senders,
)
from .of_rounds import (
    bundles,
    calibrated,
    chosen,
    densities,
    hard_questions,
    near_the_top,
    readings,
    rounds,
    some_bundles,
    sums_of_losses,
)

__all__ = ["OF_FOLDER", "PROBES", "Checked"]

PROBES = [
    noise_messages,
    replaced_messages,
    heavy_tails,
    some_bundles,
    laws,
    large_matrices,
    senders,
    engines,
    samplers,
    binary_messages,
    rounds,
    near_the_top,
    densities,
    hard_questions,
    calibrated,
    chosen,
    sums_of_losses,
    bundles,
    readings,
]
#: What the constants of a folder have to do with; of any other folder, all.
OF_FOLDER = {
    "engines": [engines, samplers, binary_messages, near_the_top, noise_messages],
    "laws": [laws, large_matrices, densities, heavy_tails],
    "profiles": [
        laws, large_matrices, senders, samplers, binary_messages, near_the_top, rounds,
        noise_messages, replaced_messages, densities,
    ],
    "composition": [rounds, densities, calibrated, sums_of_losses, bundles, some_bundles],
    "bounds": [
        rounds, near_the_top, hard_questions, calibrated, chosen, readings, some_bundles,
    ],
    "tools": [chosen, readings],
}  # fmt: skip
