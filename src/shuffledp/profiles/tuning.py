"""Constants of the profiles that trade time for width. They never affect soundness.

tests/soundness/test_tuning.py sets each of them to extreme values and compares with exact values.
"""

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

# Random numbers of senders (mixture.py)

#: The most buckets of counts: more narrow the bounds and cost time.
MOST_BUCKETS = 2000

# Users with different randomizers (population.py)

#: The expected number of users who provide cover from which on it is compared with binomial
#: numbers: more of them are counted one by one, which is narrower and takes longer.
MANY_COVER = 200.0

# Binary messages (binary_profile.py)

#: Ranges of the others' values that are cut at each epsilon: more narrow the bounds and cost time.
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
