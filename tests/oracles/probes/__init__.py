"""What tuning constants may touch, beside the truth: engines, samplers, searches, sums."""

from .common import Checked
from .of_engines import engines
from .of_matrices import large_matrices
from .of_profiles import binary_messages, laws, noise_messages, samplers, senders
from .of_rounds import (
    bundles,
    calibrated,
    chosen,
    densities,
    hard_questions,
    near_the_top,
    readings,
    rounds,
    sums_of_losses,
)

__all__ = ["OF_FOLDER", "PROBES", "Checked"]

PROBES = [
    noise_messages,
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
    "laws": [laws, large_matrices, densities],
    "profiles": [
        laws, large_matrices, senders, samplers, binary_messages, near_the_top, rounds,
        noise_messages, densities,
    ],
    "composition": [rounds, densities, calibrated, sums_of_losses, bundles],
    "bounds": [rounds, near_the_top, hard_questions, calibrated, chosen, readings],
    "tools": [chosen, readings],
}  # fmt: skip
