"""Laws of sums on a lattice, by fast Fourier transforms with certified errors.

Masses on a lattice are multiplied by an exponential tilt, normalised and folded modulo a period.
The spectrum of a sum is then a product of powers, and the inverse transform returns its tilted
masses. The tilt moves the sums that matter to the centre, so that their relative error is small;
choosing it, undoing it and bounding the periodic copies is left to the callers.

Theory: docs/theory/tilted-lattice.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._support.numeric import Array
from .._support.transforms import Complex, power, transform_error


class TiltedMasses(NamedTuple):
    """The law of a sum modulo a period, with certified errors.

    Attributes
    ----------
    masses : Array
        Shape [rows, points], >= 0.
    error : Array
        Shape [rows]: a bound on the error of every mass of a row.
    norm_error : Array
        Shape [rows]: a bound on the Euclidean norm of the errors of a row.
    """

    masses: Array
    error: Array
    norm_error: Array

    def error_of_sum(self, total: Array, norm: Array) -> Array:
        """Return a bound on the error of a sum of masses times weights >= 0.

        Parameters
        ----------
        total, norm : Array
            Shape [rows]: the sum of the weights and their Euclidean norm.
        """
        return np.minimum(self.error * total, self.norm_error * norm)


def convolve(parts: Sequence[tuple[Array, int]]) -> TiltedMasses:
    """Return the law of a sum of independent variables on a lattice, modulo the period.

    Parameters
    ----------
    parts : Sequence of (Array, int)
        Masses of one variable, [rows, points], with row sums of at most 1, and the number >= 1 of
        its independent copies in the sum. All parts have the same shape; the period is `points`.

    Returns
    -------
    TiltedMasses
        The masses of the sum of all copies. The bounds cover the rounding errors of transforms,
        powers and products. They do not cover errors of the given masses.

    Notes
    -----
    docs/theory/tilted-lattice.md. With r = 16 u log2(2N) every output of a transform errs by at
    most r, and |a^k - b^k| <= k |a - b| max(|a|, |b|)^(k-1). Powers are taken by squaring; their
    roundings, and those of products, are within what r has to spare. A mass is a mean over the
    spectrum, so that its error is at most the mean of the spectrum's error plus r times its mean
    modulus; the norm of the errors follows by Parseval.
    """
    rows, points = parts[0][0].shape
    rounding = transform_error(points)
    spectrum: Complex = np.ones((rows, points // 2 + 1), dtype=complex)
    error: Array = np.zeros(spectrum.shape)
    with np.errstate(under="ignore"):
        for masses, count in parts:
            factor = np.fft.rfft(masses)
            modulus = np.minimum(np.abs(factor) + rounding, 1 + rounding)
            lesser = power(modulus, count - 1) if count > 1 else np.ones(modulus.shape)
            growth = count * rounding * lesser
            error = error * lesser * modulus + (np.abs(spectrum) + error) * growth
            spectrum = spectrum * power(factor, count)
        error = error + rounding * np.abs(spectrum)
        norm_error = np.sqrt(2 * np.einsum("ij,ij->i", error, error) / points)
    return TiltedMasses(
        np.maximum(np.fft.irfft(spectrum, points), 0.0),
        2 * error.sum(axis=1) / points,
        norm_error,
    )
