"""Constants of the samplers that cost time or width only, whatever they are.

tests/soundness/test_tuning.py sets each of them to extreme values; see engines/tuning.py.
"""

# What is asked of a sampler (accuracy.py)

#: Discretisations aim at the width AIM, but at no less than LEAST_AIM and no more than MOST_AIM
#: times what was asked for: a finer lattice costs little, a second attempt everything.
AIM, LEAST_AIM, MOST_AIM = 6e-5, 0.06, 0.31
#: The same for many samples of densities, whose time grows like the inverse of it: ten rounds of
#: Laplace noise take 0.7 s; 3.5 s with 1e-4.
DEAR_AIM = 3.1e-4
#: And their narrowest one: two rounds of Laplace noise of two users take 6 s with it, 30 s with a
#: tenth of it.
LEAST_DEAR = 1.2e-6

# How deep and how wide (base.py, accuracy.py)

#: log(1/delta) down to which a sampler is asked to resolve a profile: steps of a fixed ladder, so
#: that queries at neighbouring deltas share the same discretisation.
DEPTHS = (40.0, 60.0, 90.0, 135.0, 200.0, 300.0, 450.0, 680.0)
#: The relative width in epsilon at which to find out where to look closely: of rounds and epsilons.
#: A Fourier bracket of it takes a sixth of the time of one of 1e-4, and the bounds of most pairs of
#: rows of a matrix are good enough.
FIRST_LOOK = 0.01

# Laws over classes (class_sampler.py)

#: No wider brackets are asked for: they would take as long.
WIDEST = 0.1
#: Widths at which several laws are looked at first, to evaluate only those well that may lead: 20
#: laws of 26 users take 35 us each at 0.1, 60 us at 0.01 and 1 ms at 3e-5. The first width is for
#: more laws than FEW_LAWS, and then the leading one is evaluated before all others that may lead:
#: of few laws each step takes as long as they do. Widths that are not so many times wider than what
#: is asked for are not worth a look either.
ROUGH, FEW_LAWS, WORTH_A_LOOK = (0.1, 0.01), 8, 50.0
#: (law, epsilon) pairs prepared at once.
ROWS = 1 << 12

# Profiles of rounds (rounds.py)

#: What delta at epsilon = 0 may be for sums to be taken for normal ones, for a guess where to look.
NORMAL = 0.1
#: Share of the width that is left to cells, and of that the engines' share. 40 random compositions
#: of Gaussian noise take 24 s with 0.4, 31 with 0.27; with 0.6 more miss the width at first.
CELL_SHARE, ENGINE_SHARE = 0.4, 1 / 8
#: Depth and width of an outline of a density: what is far out in the tail must not spoil the rest.
OUTLINE_DEPTH, OUTLINE_WIDTH = 60.0, 0.037

# Pairs of rows of a matrix (matrix.py, pair_bounds.py)

#: Pairs with the largest bounds, evaluated first.
LEADERS = 4
#: Epsilons at once.
TOGETHER = 64
#: How much larger than the evaluated pairs the law above all pairs must be to look at more pairs.
CLOSE = 1.0001
#: Where pairs that are not evaluated raise delta by more than this factor, no less than AIM is
#: asked for: a smaller width would be in vain.
LIMITED = 1.05
#: Outputs of pairs that are evaluated at an epsilon, at most: half a second,
MOST_WORK = 400_000
#: and so many pairs where that is not enough for all that may lead.
SOME = 32
#: Up to so many terms are added up for outputs that no blanket covers: 0.1 s.
DIRECT_WORK = 1 << 26
#: Tilts tried to bound all pairs.
TILTS = 6
#: Epsilons so near, in deviations of the loss, share their bounds,
NEAR = 0.02
#: of which so many are kept.
KEPT = 4

# Honest senders (sender_count.py, mixture.py)

#: Points of a law of counts in each standard deviation; between them it is log-concave.
PER_DEVIATION = 200
#: Counts further out than this beyond the depth (as powers of e) are not told apart.
MARGIN = 12.0
#: Of the width asked for: what the rounds' own brackets and what buckets of counts may cost.
ROUND_SHARE, BUCKET_SHARE = 0.3, 0.5
#: Counts with a smaller standard deviation are so few that narrow brackets cost little.
FEW_COUNTS = 8.0
#: About so many of many epsilons are looked at first to find out where buckets are to be cut.
LOOKED_AT = 8
#: Buckets that cost more than this share of all, times their number, are cut, and no more of them:
#: with 0.5 compositions of 1,000 senders take a third longer.
CUT_ABOVE, MOST_BUCKETS = 0.9, 2000

# Binary messages (binary.py)

#: Up to so many other users every number m of those with the one value is evaluated.
ALL_SINGLE = 24
#: Where ranges of m end at first, as shares of the others, from both ends.
SHARES = (0.002, 0.03, 0.5)
#: Times that ranges are cut, and how many at each epsilon, or in all: near epsilon = 0 every
#: number m is about as bad.
CUTS, MOST_RANGES, SOME_RANGES = 12, 16, 256
#: Where a range is cut, as shares of it from the nearer end.
CUT_AT = (0.33, 0.67)

# Negative binomial noise with a shape below 1 (few_dummies.py)

#: Counts whose losses are told apart; the others have nearly the same: 2e-4 in epsilon. 1 ms.
FEW_DUMMIES = 4096

# One message more or less among noise (one_more.py)

#: Shares of the largest loss, from the least, and how many, where delta may vanish. 1 ms.
SMALLEST_LOSS, LOSSES_TRIED = 1e-10, 150

# One message replaced among noise (two_counts.py)

#: Standard deviation of the noise up to which counts are added up one by one: 2 ms.
COUNTED = 1000.0
#: Counts put together, in standard deviations: the root of this times the width asked for, and of
#: this, at most.
GROUPS, WIDEST_GROUP = 16.0, 0.01
#: Pairs of an epsilon and a count looked up at once: as many as stay near the processor.
LOOKED_UP = 1 << 13
