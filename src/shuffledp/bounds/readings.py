"""What guarantees mean to an attacker: error rates of tests, and Rényi divergences from above.

*Error rates.* The attacker tests which of two neighbouring datasets it was. Of the innocent (it was
the first) a share a, the false positive rate, is accused; of the guilty (it was the second) a share
t, the true positive rate, and the share 1 - t, the false negative rate, is missed. (epsilon, delta)
of both orders says t <= delta + e^epsilon a and 1 - a <= delta + e^epsilon (1 - t) (Wasserman, Zhou
2010; Kairouz, Oh, Viswanath 2015), for every guarantee that holds.

*Rényi divergences.* With f and g the profiles of (P, Q) and of (Q, P),

    E_Q[(P/Q)^order] = 1 + order (order - 1) I,
    I = integral over epsilon >= 0 of e^((order-1) epsilon) f + e^(-order epsilon) g,

and D = log(1 + order (order - 1) I) / (order - 1); at order 1 D = I.
A profile is convex in alpha = e^epsilon: between two samples it is below their chord. Beyond the
largest loss it is 0, or infinite losses make every D infinite. Those of several rounds add up.

Theory: docs/theory/readings.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .. import tuning
from .._support.numeric import UNDERFLOW, UNIT, Array
from ..profiles.base import Parts, PrivacyProfile, depth_for, merged, sample_width, swapped
from ..profiles.closed_form import GaussianProfile

# proof constants: docs/theory/constants.md
#: Roundings of a sum, a product and an exponential of one guarantee, each relative to 1.
_ROUNDING = 16 * UNIT
#: Error of log I, relative and absolute: sums of thousands of logarithms.
_LOG_ERROR = 2.0**-36


def true_positive_rates(epsilon: Array, delta: Array, accused: Array) -> Array:
    """Return the largest true positive rate at each false positive rate, rounded up.

    Parameters
    ----------
    epsilon, delta : Array
        Guarantees that hold in both orders, shape [guarantees].
    accused : Array
        Shares of the innocent that are accused, shape [rates].

    Returns
    -------
    Array
        Shares of the guilty that are accused, at most, shape [rates]; 1 without any guarantee.
    """
    some, most = accused[:, None], np.ones(len(accused))
    if not len(epsilon):
        return most
    caught, missed = _caught(epsilon, delta, some), _missed(epsilon, delta, some)
    return np.asarray(np.minimum(np.minimum(caught, 1 - missed + _ROUNDING).min(axis=1), most))


def false_negative_rates(epsilon: Array, delta: Array, accused: Array) -> Array:
    """Return the smallest false negative rate at each false positive rate, rounded down.

    This is the trade-off curve, from below; the parameters are those of `true_positive_rates`.
    """
    some, least = accused[:, None], np.zeros(len(accused))
    if not len(epsilon):
        return least
    caught, missed = _caught(epsilon, delta, some), _missed(epsilon, delta, some)
    return np.asarray(np.maximum(np.maximum(1 - caught - _ROUNDING, missed).max(axis=1), least))


def _caught(epsilon: Array, delta: Array, some: Array) -> Array:
    """delta + e^epsilon a, rounded up."""
    with np.errstate(over="ignore", invalid="ignore"):
        grown = np.where(some > 0, np.exp(epsilon) * some, 0.0)
    return np.asarray((delta + grown) * (1 + _ROUNDING))


def _missed(epsilon: Array, delta: Array, some: Array) -> Array:
    """e^-epsilon (1 - delta - a), rounded down."""
    kept = np.maximum(1 - delta - some - _ROUNDING, 0.0)
    with np.errstate(under="ignore"):
        return np.asarray(np.exp(-epsilon) * kept * (1 - _ROUNDING))


def renyi_divergences(parts: Parts, orders: Array, local: float, rtol: float) -> Array:
    """Return upper bounds on the Rényi divergences of rounds with these profiles.

    Parameters
    ----------
    parts : Parts
        Profiles and how many rounds have each.
    orders : Array
        Orders >= 1 of the divergence, shape [orders].
    local : float
        If finite, what one user sends has a normal law in either dataset, whose means are at most
        this many standard deviations apart. Post-processing cannot increase its divergences.
    rtol : float
        Relative width to aim for.

    Returns
    -------
    Array
        Shape [2, orders]: a row for each order of the neighbours.

    Notes
    -----
    docs/theory/readings.md. Divergences of independent rounds add up.
    """
    known: dict[PrivacyProfile, Array] = {}
    totals = []
    for order in (merged(parts), swapped(parts)):
        total = np.zeros(len(orders))
        for profile, count in order:
            if profile not in known:
                known[profile] = _divergences(profile, orders, local, rtol)
            total += count * known[profile]
        totals.append(total * (1 + UNIT * (2 * len(order) + 4)))
    return np.array(totals)


def _divergences(profile: PrivacyProfile, orders: Array, local: float, rtol: float) -> Array:
    """Return upper bounds on the divergences of one round, shape [orders].

    They are the smaller of the integrals over its profiles and of what is known without them: the
    largest loss, or the divergences of the local noise.
    """
    if isinstance(profile, GaussianProfile):  # its shift may be 4 units too small
        return orders * profile.shift**2 / 2 * (1 + 16 * UNIT)
    both = [profile] if profile.reverse is None else [profile, profile.reverse]
    bounded = all(each.bounded for each in both)
    if not bounded and math.isinf(local):
        return np.full(len(orders), math.inf)
    if bounded:
        found, local = np.full(len(orders), max(each.max_loss for each in both)), math.inf
    else:
        found = orders * local**2 / 2 * (1 + 16 * UNIT)
    depth, needed = 0.0, 1.0
    for _ in range(2):  # deep enough for what counted in the first attempt
        deeper = depth_for(needed, profile.depths)
        if deeper <= depth:
            break
        depth = deeper
        pair = _Pair(both, depth, sample_width(rtol, slow=True), local, orders)
        values, needed = pair.divergences(rtol)
        if profile.is_expensive:
            # deeper, the divergences of the noise alone are as good and far cheaper
            needed = min(needed, 135.0)
        found = np.minimum(found, values)
    return found


class _Pair:
    """The profiles of both orders of the neighbours, or one for both, down to a depth."""

    def __init__(
        self,
        profiles: Sequence[PrivacyProfile],
        depth: float,
        width: float,
        local: float,
        orders: Array,
    ) -> None:
        self._profiles, self._depth, self._orders = profiles, depth, orders
        self._samplers = [each.sampler(depth, width) for each in profiles]
        self._end = max(each.max_loss for each in profiles)
        self._local = None if math.isinf(local) else GaussianProfile(local)
        if self._local is not None:
            self._end = self._local.max_loss

    def divergences(self, rtol: float) -> tuple[Array, float]:
        """Return the divergence at each order, [orders], and the depth that it needs.

        Cells of epsilons are cut into four until what their width adds is at most rtol / 10. The
        second result is log(1/delta) of the smallest delta that matters, so that the caller can
        sample deeper profiles.
        """
        first = np.geomspace(1e-6, 1.0, 48)
        epsilon = np.unique(np.concatenate([[0.0, 1.0], first])) * self._end
        values = self._values(epsilon)
        for _ in range(12):  # each cuts cells into four
            _, excess = self._cells(epsilon, values)
            coarse = np.flatnonzero(excess.max(axis=0) > rtol / 10)
            places = np.arange(1, 4) / 4
            left, width = epsilon[coarse, None], np.diff(epsilon)[coarse, None]
            more = np.setdiff1d((left + width * places).ravel(), epsilon)
            if len(more) == 0 or len(epsilon) + len(more) > tuning.MOST_SAMPLES:
                break
            order = np.argsort(np.append(epsilon, more))
            epsilon = np.append(epsilon, more)[order]
            values = np.append(values, self._values(more), axis=1)[:, order]
        logs, _ = self._cells(epsilon, values)
        total = np.logaddexp(np.logaddexp.reduce(logs, axis=1), self._beyond())
        shares = np.exp(np.minimum(logs - total[:, None], 0.0)).max(axis=0)
        counts = values[:, :-1].max(axis=0)[shares > rtol / 10]
        needed = 8.0 - math.log(max(counts.min(initial=1.0), UNDERFLOW))
        return self._from_integrals(total), needed

    def _values(self, epsilon: Array) -> Array:
        """Upper values of both profiles."""
        rows = []
        for profile, sampler in zip(self._profiles, self._samplers, strict=True):
            inside, places = profile.may_be_positive(epsilon), np.minimum(epsilon, profile.max_loss)
            value = sampler(places).upper * inside
            if self._local is not None:
                value = np.minimum(value, self._local.sampler(0.0, 0.0)(epsilon).upper)
            rows.append(value)
        return np.array([rows[0], rows[-1]])

    def _cells(self, epsilon: Array, values: Array) -> tuple[Array, Array]:
        """Return the logarithms of the integral over each cell, from above, [orders, cells].

        Also return estimates of the share of the whole that the width of each cell adds,
        [orders, cells]. `values` are the upper values of both profiles, [2, epsilons].
        """
        width = np.diff(epsilon)
        above, about = [], []
        for rate, value in zip((self._orders - 1, -self._orders), values, strict=True):
            z = rate[:, None] * width  # the weight grows by e^z from one end to the other
            start, left, right = rate[:, None] * epsilon[:-1], value[:-1], value[1:]
            with np.errstate(divide="ignore", invalid="ignore"):
                grown = start + np.maximum(z, 0.0) + np.log(width)
                above.append(grown + np.log(_below_chord(z, width, left, right)))
                # as if all were an exponential
                bend = np.abs(np.log(right / left) + z)
                larger = np.maximum(np.log(left), np.log(right) + z)
                about.append(start + np.log(width) + larger + np.log(_mean(bend)))
        logs = np.logaddexp(*above)
        guess = np.logaddexp(*np.nan_to_num(about, nan=-np.inf, posinf=np.inf, neginf=-np.inf))
        total = np.logaddexp.reduce(logs, axis=1)[:, None]
        with np.errstate(invalid="ignore"):
            excess = np.exp(logs - total) * -np.expm1(np.minimum(guess - logs, 0.0))
        return logs, np.nan_to_num(excess)

    def _beyond(self) -> Array:
        """Logarithm of the integral from the last sample on: that of normal laws of distance s,
        where f <= P[loss > epsilon]. With c = order - 1 the first term is at most
        E_P[(loss - end)_+ e^(c loss)], under P tilted by e^(c loss), whose losses are normal with
        mean s^2/2 + c s^2; the second is at most e^(-order end) g(end)."""
        if self._local is None:
            return np.full(len(self._orders), -np.inf)
        s, orders, end = self._local.shift, self._orders, self._end
        away = (end - s * s / 2 - (orders - 1) * s * s) / s
        first = (orders - 1) * orders * s * s / 2 - away**2 / 2 + math.log(s)
        first = np.where(away > 0, first, np.inf)
        second = -(((end - s * s / 2) / s) ** 2) / 2 - orders * end
        return np.logaddexp(first, second)

    def _from_integrals(self, total: Array) -> Array:
        """D from log I."""
        total = total + _LOG_ERROR * (1 + np.abs(total))
        beyond_one = self._orders - 1
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            several = np.logaddexp(0.0, np.log(self._orders * beyond_one) + total) / beyond_one
            # log(1 + x) <= x
            found = np.fmin(several, self._orders * np.exp(total))
        return np.asarray(found * (1 + _LOG_ERROR))


def _below_chord(z: Array, width: Array, left: Array, right: Array) -> Array:
    """The mean over a cell of e^(z t - max(z, 0)) times the chord in alpha of two values, t growing
    from 0 to 1 as epsilon does; from above.

    The chord is left - (left - right) expm1(t width)/expm1(width), and expm1(t width) >= t width.
    """
    a = np.abs(z)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # the mean of t e^(z t - max(z, 0)); e^-y >= 1 - y + y^2/2 - y^3/6 where a is small
        grows = np.where(a > 0.5, (a + np.expm1(-a)) / a**2, 0.5 - a / 6 + a**2 / 24 - a**3 / 120)
        falls = np.where(
            a > 0.5, (1 - np.exp(-a) * (1 + a)) / a**2, 0.5 - a / 3 + a**2 / 8 - a**3 / 30
        )
        fall = np.maximum(left - right, 0.0) * width / np.expm1(width)
    return left * _mean(a) - fall * np.where(z > 0, grows, falls)


def _mean(a: Array) -> Array:
    """The mean of e^(-a t) over t from 0 to 1."""
    return np.where(a > 0, -np.expm1(-a) / np.where(a > 0, a, 1.0), 1.0)
