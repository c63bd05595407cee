"""Constants of the engines that cost time or width only, whatever they are.

tests/soundness/test_tuning.py sets each of them to extreme values. Constants on which soundness
rests stand beside the code that needs them; docs/theory.md, "Constants", lists those.
Times are of one core, 2026. Where none is named, nothing was measured beyond that the rounds of
tests/data/brackets.json are fast and narrow with it: the comment says what it trades.
"""

#: Numbers of an array that is worked on at once, which should stay in the cache: points of
#: transforms (lattice.py), angles (nodes.py), places of thresholds (two_binomials.py).
AT_ONCE = 1 << 16

# Which engine answers (choice.py)

#: Up to so many ways to share out the scores are enumerated: 0.2 ms a row.
MOST_WAYS = 6000
#: Up to so many scoring users; more of them only if there is a single value, and transforms do.
MOST_LISTED = 200
#: (row, way) pairs evaluated at once, which should stay in the cache.
WAYS_AT_ONCE = 1 << 16
#: Scoring users with a probability below e^-760, under every double, are not listed.
VANISHING = 760.0
#: So few values may have one common and several rare ones: of more there are too many ways.
FEW_VALUES = 6
#: Users with rare scores, on average, up to which these are listed; beyond, smoothing fits.
RARE = 2.0
#: log(1/probability) of what is left out of a list of rare users: first as little as matters at
#: usual deltas, then, where that was not enough, as little as matters at any.
SHALLOW, DEEP = 60.0, 700.0

#: Laws of more values, as densities have, are taken to a lattice if up to so many users have
#: another score than the common one, on average, and there are no more than so many users, with
#: whom rounding grows. With 10 such users the integral's brackets are three to eight times as wide
#: in twice the time; with 50 it is as quick, with 150 twice as quick.
MANY, FEW_OTHERS, FEW_USERS = 64, 60.0, 1 << 22

# Rare scores (rare_scores.py)

#: Ways to have rare scores that are listed at most: each costs a binomial tail.
MOST_RARE_WAYS = 3000
#: Users with rare scores that are listed at most.
MOST_RARE = 60
#: Lists that leave out more than e^-30 are not worth their time.
LEAVES_OUT = 30.0
#: Ways whose bound is below this share of the largest count with that bound.
SMALL = 1e-13
#: Rows worked out at once.
RARE_ROWS = 64

# Lattice (lattice.py)

#: The squared step in units of the variance of the integral's noise over the users with another
#: score than the common one: with 4 the bracket is about as wide as with the noise.
COARSENESS = 2.0
#: Points of a period at most: 16 transforms of so many take 0.1 s.
MOST_POINTS = 1 << 17

# One positive score (one_positive.py)

#: Users with a positive score, on average, below which two of them are unlikely, and below which
#: they are as good as impossible.
ONE_POSITIVE, SURELY_ONE = 1e-3, 1e-5
#: Points of a first lattice, and how many times larger than the smallest of them the scores on one
#: lattice are. Ranges of more scores need longer lattices, ranges of fewer need more lattices.
FIRST_POINTS, SPAN = 1 << 8, 16.0
#: Ranges of scores stay on their first lattice if they count for less than this share of the width.
LEFT_OVER = 0.1
#: Powers of e by which masses at the end of a lattice are damped: twice that for sums that are too
#: long for it, and as much for the rounding of all others.
DAMPING = 9.0

#: Tilts, over the largest score, at which it is looked whether any losses stay below a score.
POSITIVE_TILTS = tuple(2.0**k for k in range(24))

# One jump (one_jump.py)

#: Deviations of the sum without big scores, beside its drift, that a score must exceed to be big:
#: with 9 of them the negative part is below 1e-15 of the rest.
JUMP = 9.0
#: Factors of the tilt for what is as good as impossible, tried upwards and downwards in turn.
JUMP_TILTS = (300.0, 30.0, 6.0, 2.5, 1.5)
#: Exponents up to which values count with that tilt,
JUMP_USUAL = 3.0
#: and what a larger value may be before it counts, over the distance of the level from the mean.
JUMP_SHARE = 0.6

# One large score (one_large.py)

#: Brackets with a larger relative width mean that no tilt fits.
MISFIT = 0.02
#: Users with a large score, on average, in units of the width: two of them are this rare.
TWO_LARGE = 1e-5

# Fourier integral (fourier.py)

#: Nodes at most, and blocks of them that are evaluated at most: rows that would need more get more
#: noise. Only few users near their largest loss do, and their brackets are narrow all the same:
#: attained values of 30 users take 0.3 s; 2.5 s, for the same digits, with 1 << 17 and 1 << 15.
MAX_NODES, MOST_BLOCKS = 1 << 15, 1 << 9
#: The variance of the noise, over the usual one, if the integrand falls off by the scores alone so
#: many times earlier, and by a power of e so many times larger than is needed.
QUIETER, LONG_BEFORE, SURELY_OVER = 1 / 4, 2.0, 1.5
#: The squared deviation of the noise times the tilt, at most, where the width leaves room for more.
MOST_NOISE = 1.0
#: Nodes that are evaluated together if the integrand may matter at one of them.
BLOCK_NODES = 16
#: Nodes of all rows up to which they are evaluated without a look at which of them matter.
FEW_NODES = 1024
#: Blocks that are looked at first, about, of all rows: each pass takes 60 us however few there are.
FIRST_BLOCKS = 512
#: Parts into which a larger block is split if the integrand may matter in it.
SPLIT = 4
#: Users with scores, the largest, that are left out where blocks are looked at, on average.
RARELY = 3.0
#: Blocks looked at at once.
LOOKED = 1 << 18
#: (law, node) pairs evaluated at once: some twenty arrays of so many numbers, which should stay in
#: the cache. 100 rounds of a matrix and 1000 users take 88 ms; 97 with 1 << 14, 105 with 1 << 15.
PAIRS = 1 << 13
#: Multiplications in a product of matrices that is left to one thread: OpenBLAS starts more for
#: larger ones, and on a busy machine waiting for them takes far longer than the work. On an idle
#: one it makes no difference.
UNTHREADED = 1 << 15
#: Numbers that take numpy hardly longer than one.
LITTLE = 1 << 12
#: Places tried at once when the saddle point is looked for, and how often the interval in which its
#: logarithm lies is halved, or as good as that: with 63 places two passes do.
TRIED, HALVINGS = 63, 12
#: Other tilts for Markov's inequality: theta (1 + this). Near ones serve light tails, far ones
#: heavy tails. Must be positive: the bound holds for tilts beyond theta.
BEYOND = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
#: Copies and the nodes left out are e^-CUT of the scale times the width, but no less than e^-37,
#: which rounding is larger than. Time grows with it (10, 15, 25: 0.10, 0.13, 0.22 s for 50 rows of
#: four values at a width of 1e-4); 10 leaves the bracket as narrow there, far tails need more.
CUT, MOST_CUT = 15.0, 37.0

# Many values (gridded.py)

#: Laws of more values have their characteristic function by transforms.
FEW_TURNED = 64
#: Half the size of the blocks in which the last nodes that matter are looked for, in turns of the
#: root mean square of a sum.
HALF_BLOCK = 1.0
#: The same of the blocks by which it is found first beyond which node there is nothing, as a share
#: of what is left if the scores turn independently; and how many times larger they must be.
LARGE_BLOCK, WORTH = 0.5, 4.0
#: Points of a grid over its nodes; deviation of the bells, in points, and points of a bell on
#: either side: rounding, frequencies that are not told apart and points left out are about equal.
OVERSAMPLING, BELL, BELL_REACH = 5.0, 1.64, 14

# Sums of bits of two kinds (tilted_bits.py, two_binomials.py)

#: Fourier nodes and aliases below e^-BITS_CUT of the scale are omitted: more nodes are evaluated
#: with a larger value, and the omitted ones widen the bracket with a smaller one.
BITS_CUT = 45.0
#: Thresholds at which a wide range of counts is evaluated: more of them narrow its upper bound.
PLACES = 10
