"""Constants of composition that cost time or width only, whatever they are.

tests/soundness/test_tuning.py sets each of them to extreme values; see engines/tuning.py.
"""

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
#: Samples of a profile at most, kinks apart: some hundred are usual.
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
