"""Constants of the searches that cost time or width only, whatever they are.

tests/soundness/test_tuning.py sets each of them to extreme values; see engines/tuning.py.
"""

# Widths

#: Epsilons below this only need the absolute width rtol * SMALL_EPSILON.
SMALL_EPSILON = 1e-3
#: Deltas below this need no relative accuracy.
NEGLIGIBLE_DELTA = 1e-290

# One round

#: Attempts, each at a quarter of the width of the one before.
REFINEMENTS = 6
#: A refinement that leaves more than this share of the width is the last one.
PROGRESS = 0.8
#: A bracket so many times too wide is not resolved at all: refining it would be in vain.
HOPELESS = 30.0
#: So close to the largest loss (relatively) scores are lost in rounding: convexity takes over.
NEAR_TOP = 2.0**-30
#: How much narrower a single round is evaluated than the rounds of a composition, if a narrower
#: bracket is not dear: one of twice LOOSE then is the first one most often. Of 300 users it takes
#: 6 ms; 8 with 0.005.
SINGLE = 0.05
#: Share of the width asked for at which a single round is evaluated, if samples take long.
SLOW = 0.8
#: The same of densities, whose cells grow with the inverse root of it, and of those whose losses
#: have no end: Gaussian(0.44) of 10^7 users takes 0.4 s, 1.5 s with 0.1.
DEAR_SINGLE, ENDLESS_SINGLE = 0.1, 0.5

# Many rounds

#: Attempts on lattices of growing resolution.
LATTICES = 8
#: How much finer a lattice is if it is the only one: single pairs of datasets have few losses,
#: which cells do not fit. Sums of two columns attain 0.9499 of 0.9505 with it, 0.9485 without.
ONLY_ATTEMPT = 2.0

# Root finding

#: Calls after which a search is given up, with what was certified so far.
MOST_CALLS = 100
#: Crossings below this share of the largest place are not told apart from 0.
NOTHING = 1e-12
#: Width at which calibration finds out where to look.
ROUGH_RTOL = 0.1
#: Stands for log(epsilon / target) where epsilon is infinite, and its negative where it is 0.
FAR = 50.0

#: Strides of a parameter, on logarithms, towards a target: the first one, before it is known how
#: fast epsilon changes, and all others; and the slowest change that is believed.
STRIDE, MOST_STRIDE, FLATTEST = 0.7, 1.5, 0.05

#: How near the search for epsilon comes to where each side crosses delta, if the sides are so near.
SEARCH = 2.5e-10
#: If they are not, as many times the distance between them will do, up to LOOSE, or up to a share
#: of the width asked for: a bracket of twice that reads as one number, and is most often the first
#: one that is looked at.
COARSE, LOOSE, LOOSE_SHARE = 4.0, 7e-7, 0.05
#: Where a function of which little is known is looked at, over where it should cross.
AROUND = (0.95, 0.985, 1.0, 1.015, 1.05)
#: Times delta from which on what delta at epsilon = 0 should be is not doubted.
FAR_ABOVE = 4.0
#: The width at which to find out where to look closely, if samples are not slow: the middle of such
#: a bracket is off by less than LOOSE, and of densities by about 1e-4.
OUTLINE, DEAR_OUTLINE = 3e-4, 1e-3

# Rényi divergences (renyi.py)

#: Where samples of a profile start, as a share of the largest loss, and how many come first.
SMALLEST, FIRST = 1e-6, 48
#: Cells that count are cut into PIECES, in so many PASSES, until each is too large by no more than
#: a share of the width that is asked for; with so many samples at most.
CELLS, PIECES, PASSES, MOST_CELLS = 10.0, 4, 12, 1500
#: Attempts, each deep enough for what counted in the one before: every one of them takes as long.
DEPTHS = 2
#: No deeper if deep samples are dear: large orders of Gaussian noise are then bounded by those of
#: the noise alone, which is near; 1 s instead of 20.
DEEP = 135.0
#: Powers of e above what a depth resolves, from which on values are trusted to be sharp.
HIDDEN = 8.0
