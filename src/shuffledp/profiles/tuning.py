"""Constants of the samplers that cost time or width only, whatever they are.

tests/soundness/test_tuning.py sets each of them to extreme values; see engines/tuning.py.
"""

# What is asked of a sampler (accuracy.py)

#: Discretisations aim at the width AIM, but at no less than LEAST_AIM and no more than MOST_AIM
#: times what was asked for: a finer lattice costs little, a second attempt everything.
AIM, LEAST_AIM, MOST_AIM = 1e-4, 0.1, 0.5

# Laws over classes (class_sampler.py)

#: Width at which laws are compared before the largest are evaluated finely: a Fourier bracket of it
#: takes a sixth of the time of one of 1e-4.
ROUGH = 0.01
#: No wider brackets are asked for: they would take as long.
WIDEST = 0.1
#: (law, epsilon) pairs prepared at once.
ROWS = 1 << 12

# Clone counts (clone_sampler.py)

#: (epsilon, count) pairs evaluated at once.
BLOCK = 1 << 18
#: Buckets of clone counts: this many over the width, but within FEWEST and MOST_BUCKETS.
BUCKETS, FEWEST, MOST_BUCKETS = 0.12, 40.0, 400.0
#: Counts above the mean with a probability below e^-37 share a bucket: one more digit than a
#: double has, and the fewer clones matter more.
ABOVE = 37.0
#: Buckets that halve the counts far below the mean.
HALVINGS = 59
