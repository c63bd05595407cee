"""Constants of the engines that trade time against width; any value is sound.

tests/soundness/test_tuning.py sets each of them to extreme values. Constants on which soundness
rests stand beside the code that needs them; docs/theory/constants.md lists those.
"""

#: Numbers of an array that is worked on at once: smaller batches have more overhead, larger ones
#: leave the processor's cache.
AT_ONCE = 1 << 16

# Which engine answers (choice.py)

#: Laws of more values, such as densities, are put on a lattice if at most FEW_OTHERS users are
#: expected to have an uncommon score. With 10 such users the integral's bounds are three to eight
#: times as wide in twice the time; with 50 it is as quick, with 150 twice as quick.
MANY_VALUES, FEW_OTHERS = 64, 60.0
#: With fewer expected users with a positive score, two of them are unlikely (the first number) or
#: negligible (the second): the engine for one positive score is tried first, or alone.
ONE_POSITIVE, SURELY_ONE = 1e-3, 1e-5

# Rare scores (rare_scores.py)

#: Ways to have rare scores that are listed at most: each costs a binomial tail, and laws that need
#: more are left to the integral.
MOST_WAYS = 3000

# The Fourier integral (fourier.py, characteristic_function.py)

#: Quadrature nodes at most: more of them narrow the bounds for few users near their largest loss,
#: in proportionally more time.
MAX_NODES = 1 << 15
#: Truncation and aliasing errors are e^-CUT of the scale times the width: a larger value needs
#: more nodes (10, 15, 25: 0.10, 0.13, 0.22 s for 50 rows of four values), a smaller one widens far
#: tails.
CUT = 15.0
#: Nodes in the smallest block that is evaluated or omitted as a whole: larger blocks are cheaper
#: per node, smaller ones omit more nodes.
BLOCK_NODES = 16

# Lattices (tilted_lattice.py, one_positive.py)

#: Points of a period at most: 16 transforms of this size take 0.1 s; more points narrow the bounds.
MOST_POINTS = 1 << 17
#: Masses at the end of a lattice of losses are damped by e^-DAMPING: a larger value suppresses
#: aliases, a smaller one amplifies rounding errors less.
DAMPING = 9.0
#: Ratio of the largest to the smallest score on one lattice: a larger one needs longer lattices, a
#: smaller one more of them.
SCORE_RATIO = 16.0

# Big scores (big_scores.py)

#: Deviations of the sum of all other scores that a score must exceed to be dominant: more of them
#: leave more scores to the integral, fewer widen the upper bound.
JUMP = 9.0
#: Expected users with a large score, over the width: more of them split off smaller scores, at the
#: price of a wider upper bound.
TWO_LARGE = 1e-5

# Sums of bits of two kinds (tilted_bits.py, two_binomials.py)

#: Fourier nodes and aliases below e^-BITS_CUT of the scale are omitted: more nodes are evaluated
#: with a larger value, and the omitted ones widen the bracket with a smaller one.
BITS_CUT = 45.0
#: Thresholds at which a wide range of counts is evaluated: more of them narrow its upper bound.
PLACES = 10
