"""Constants of the searches that cost time or width only, whatever they are.

tests/soundness/test_tuning.py sets each of them to extreme values; see engines/tuning.py.
"""

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
#: Samples of a profile for Rényi divergences, at most: tight divergences against time.
MOST_RENYI_CELLS = 1500
