"""Constants of the tools that cost time or accuracy only, whatever they are.

tests/soundness/test_tuning.py sets each of them to extreme values; see tuning.py of the core.
"""

# What to deploy (choose.py)

#: How far below the target the epsilon of a choice may be, relatively; while options are tried; and
#: in a picture.
NEAR, ROUGHLY, DRAWN = 5e-3, 0.1, 0.03
#: Widths of brackets while options are tried: they are far narrower, in fact.
ROUGH_RTOL = 0.2
#: Options are tried at no larger epsilon than this.
MOST_EPSILON = 8.0
#: About so many messages of noise, over log(1/delta)/epsilon^2, hide one: where searches start.
HIDING = 3.4

# What an attacker achieves (risk.py)

#: Epsilons at which guarantees are asked for at first: EVEN of them up to FARTHEST deviations of
#: the loss, as if it were normal, and SPARSE ones beyond; then, as often as CLOSER says, six more
#: beside the best one for each rate. The rates are then at most a relative 1e-4 too large.
FARTHEST, EVEN, SPARSE, CLOSER = 6.0, 48, 16, 3
