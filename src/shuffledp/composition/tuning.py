"""Constants of composition that cost time or width only, whatever they are.

tests/soundness/test_tuning.py sets each of them to extreme values; see engines/tuning.py.
"""

# Lattices

#: Lattice points in the width that cells would have if they were all alike: a lattice is cheap, and
#: atoms are moved to it.
FINER = 4.0
#: What a round's profile need not resolve is e^-DEEPER of delta.
DEEPER = 12.0
#: Which losses count is found out at deltas whose logarithms differ by this factor,
RUNG = 1.15
#: or, for all deltas down to a smallest one, at these powers of it.
GRADED = (0.12, 0.25, 0.45, 0.7, 1.0)
#: Samples of a profile at most, kinks apart: some hundred are usual.
MOST_SAMPLES = 1 << 11
#: Width at which profiles are sampled at first, as a share of what cells may cost, and that of
#: expensive ones: narrower samples of these cost time where losses do not count, wider ones have to
#: be taken again where they do.
SHARE, EXPENSIVE_SHARE = 0.5, 1.5
#: Samples that may be taken again at narrower widths, as a multiple of the first ones: with 2, 100
#: rounds of Gaussian(0.2) and 10^4 users take 15 s instead of 5, and are just certified.
NARROWING = 0.8
#: The finest lattice of expensive rounds: its time grows with the square.
FINEST_EXPENSIVE = 5.0
#: Lattices kept for the next query: memory for not sampling the profiles again.
KEPT_LATTICES = 8

# Rounds that differ in their users only

#: Rounds whose users differ by no larger a factor share their outline.
ALIKE = 1.1
#: Share of the width asked for, twice, that a round may be moved to other numbers of users. With
#: all of it 365 kinds of Laplace noise just miss the width: 10 s for 1.5.
TOGETHER = 0.8

# Sums

#: Longest transform: a few hundred megabytes at work.
MAX_POINTS = 1 << 22

# Bundles

#: Width of compositions in relative epsilon, where buckets of counts are wide anyway; or twice that
#: at most, where they are not: 0.1 s each.
COARSE = 1.5e-4
#: Buckets of counts, if each of them is a composition of its own: some seconds.
FEW_BUCKETS = 40
