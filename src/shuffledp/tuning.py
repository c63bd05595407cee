"""Constants of the core that trade time against width; any value is sound.

They are grouped by the folder that reads them. tests/soundness/test_tuning.py sets each of them to
extreme values. Constants on which soundness rests stand beside the code that needs them;
docs/theory/constants.md lists those.
"""

# laws/

#: Rows of a matrix up to which the laws of all pairs are listed; of a larger one, attained values
#: are those of as many pairs with the largest distances and losses. More rows tighten attained
#: values and cost time quadratically (12 rows: 132 laws, some 50 ms a question).
FEW_INPUTS = 12
#: Levels of the ratios of the law above all pairs of rows: more levels narrow it and cost time; 200
#: cost less than 1e-3 in epsilon.
LEVELS = 200
#: Users up to whom datasets with two different other values are enumerated: more users raise
#: attained values and cost time (16 users: 20 ms).
FEW_USERS = 16
#: The most cells of a density: more cells narrow brackets and cost time.
MOST_CELLS = 4000.0
#: Ways in which the answers to several questions may differ up to which all of their laws are
#: listed, of attained values a quarter of that: more of them tighten bounds of questions that are
#: matrices, and attained values, and cost time (256 laws of 48 classes: up to a second a question).
COMBINED_LAWS = 256

# engines/

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
#: Ratio of the largest to the smallest positive score on one lattice: a larger one widens the
#: bounds, a smaller one needs more lattices (16 takes twice the time of 64).
SCORE_RATIO = 64.0

# Big scores (big_scores.py)

#: Deviations of the sum of all other scores that a score must exceed to be dominant: more of them
#: leave more scores to the integral, fewer widen the upper bound.
DOMINANCE = 9.0
#: Expected users with a large score, over the width: more of them split off smaller scores, at the
#: price of a wider upper bound.
TWO_LARGE = 1e-5

# Sums of bits of two kinds (tilted_bits.py, two_binomials.py)

#: Fourier nodes and aliases below e^-BITS_CUT of the scale are omitted: more nodes are evaluated
#: with a larger value, and the omitted ones widen the bracket with a smaller one.
BITS_CUT = 45.0
#: Thresholds at which a wide range of counts is evaluated: more of them narrow its upper bound.
PLACES = 10

# profiles/

# How accurately a profile is sampled (base.py)

#: The width that discretisations aim for: narrower samples cost time, wider ones a second attempt.
AIM = 6e-5
#: The least share of the width asked for that they aim for: narrower samples would cost time only.
LEAST_AIM = 0.06
#: AIM for many expensive samples, whose time grows with its inverse: ten rounds of Laplace noise
#: take 0.7 s, and 3.5 s with 1e-4.
EXPENSIVE_AIM = 3.1e-4
#: The narrowest aim for expensive samples: two rounds of Laplace noise of two users take 6 s with
#: it, and 30 s with a tenth of it.
LEAST_EXPENSIVE = 1.2e-6
#: log(1/delta) down to which samplers resolve a profile: with finer steps more questions need a
#: discretisation of their own, with coarser ones it is deeper than needed.
DEPTHS = (40.0, 60.0, 90.0, 135.0, 200.0, 300.0, 450.0, 680.0)
#: The relative width in epsilon of a first, rough evaluation: a Fourier bracket of it takes a sixth
#: of the time of one of 1e-4, and a wider one excludes fewer epsilons and laws.
FIRST_LOOK = 0.01

# Laws over densities (class_profile.py)

#: The width of an outline of a density: a narrower one costs time, a wider one later steps.
OUTLINE_WIDTH = 0.037

# Pairs of rows of a matrix (pairs_profile.py)

#: Pairs with the largest bounds that are evaluated first: more cost time, fewer a second step.
LEADERS = 4
#: Outputs of pairs that are evaluated at an epsilon, at most (half a second): more narrow the upper
#: bound of matrices with many similar rows.
MOST_WORK = 400_000

# Random numbers of users (mixture.py)

#: The most buckets of counts: more narrow the bounds and cost time.
MOST_BUCKETS = 2000

#: The expected number of users who provide cover from which on it is compared with binomial
#: numbers: more of them are counted one by one, which is narrower and takes longer.
MANY_COVER = 200.0

# Binary messages (binary_profile.py)

#: Ranges of the others' values at each epsilon, on average, up to which they are cut: more narrow
#: the bounds and cost time.
MOST_RANGES = 16

# Noise messages (one_more.py, two_counts.py)

#: Counts of log-convex noise whose losses are distinguished: more narrow epsilon (2e-4) and cost
#: time (1 ms).
FEW_DUMMIES = 4096
#: Standard deviation of noise up to which counts are added up one by one (2 ms): beyond, a replaced
#: message is a composition of two counts, which is wider.
COUNTED = 1000.0

# Integer noise (shifted_noise.py)

#: Outcomes up to which each loss is a place to sample: more cost time, fewer move atoms.
FEW_OUTCOMES = 300
#: Shifts up to which the masses that are passed are added up: fewer lose digits (of sigma/shift),
#: more cost time.
FEW_BETWEEN = 64

# composition/

# Lattices

#: Lattice points in a cell of average width: more points cost little time, and atoms are moved
#: less far to them.
FINER = 4.0
#: Profiles of rounds are resolved down to e^-DEEPER of the delta of the composition: deeper ones
#: cost time, shallower ones widen the upper side.
DEEPER = 12.0
#: Ratio of the log(1/delta) for which lattices are made: with a larger one, more questions share a
#: lattice that fits them less well.
RUNG = 1.15
#: A lattice for all deltas down to a smallest one is made for these powers of it: more of them fit
#: more deltas and cost time.
GRADED = (0.12, 0.25, 0.45, 0.7, 1.0)
#: Samples of a profile at most, kinks apart: some hundred are usual, and more for tight Rényi
#: divergences.
MOST_SAMPLES = 1 << 11
#: Width of the first samples of a profile, and of an expensive one, as a share of the width that
#: cells may cost: narrower samples cost time, wider ones are repeated where their losses matter.
SHARE, EXPENSIVE_SHARE = 0.5, 1.5
#: Samples that may be repeated at narrower widths, as a multiple of the first ones: with 2, 100
#: rounds of Gaussian(0.2) and 10^4 users take 15 s instead of 5, and are just certified.
NARROWING = 0.8
#: The finest lattice of expensive rounds: its time grows with the square.
FINEST_EXPENSIVE = 5.0
#: Lattices kept for the next query: memory for not sampling the profiles again.
KEPT_LATTICES = 8

# Rounds that differ in their users only

#: Rounds whose users differ by no larger a factor share their outline.
ALIKE = 1.1
#: Share of half the width asked for that replacing the users of a round by similar numbers of users
#: may cost. With all of it, 365 kinds of Laplace noise just miss the width: 10 s instead of 1.5.
TOGETHER = 0.8

# Sums

#: Longest transform: a few hundred megabytes at work.
MAX_POINTS = 1 << 22

# Bundles

#: Relative width in epsilon of the compositions in a bundle, and half of the widest one if every
#: count has bounds of its own: narrower ones take longer than 0.1 s each.
COARSE = 1.5e-4
#: Buckets of counts, if each of them is a composition of its own: some seconds.
FEW_BUCKETS = 40

# bounds/

#: Epsilons below this only need the absolute width rtol * SMALL_EPSILON.
SMALL_EPSILON = 1e-3
#: Deltas below this, next to the smallest double, need no relative accuracy.
NEGLIGIBLE_DELTA = 1e-290
#: Attempts at one round, each at a quarter of the width of the one before: narrow brackets of
#: difficult rounds against time.
REFINEMENTS = 6
#: A refinement that leaves more than this share of the width is the last one.
PROGRESS = 0.8
#: How much narrower a single round is evaluated than the rounds of a composition: a bracket that
#: reads as one number against time.
SINGLE = 0.05
#: Relative width in epsilon below which the search for the crossing of a single round stops.
LOOSE = 7e-7
#: Lattices that are tried for a composition.
LATTICES = 8
#: Width of the brackets by which calibration finds out where to search closely.
ROUGH_RTOL = 0.1
