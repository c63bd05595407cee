"""Constants of composition that cost time or width only, whatever they are.

tests/soundness/test_tuning.py sets each of them to extreme values; see engines/tuning.py.
"""

# Lattices

#: Lattice points of an outline: a power of two far above the ratio of the largest loss to any
#: other that matters, since only points with mass cost anything.
OUTLINE_STEPS = 1 << 40
#: Losses of an outline, geometrically spaced: enough for the scale of things within some per cent.
OUTLINE_POINTS = 220
#: Losses below this share of the largest are no part of an outline.
OUTLINE_LEAST = 1e-9
#: The width at which outlines are sampled.
OUTLINE_WIDTH = 0.2
#: Divisions of the largest loss: a lattice is sparse, so it may have many.
MAX_DIVISIONS = 1 << 40
LEAST_DIVISIONS = 16.0
#: Lattice points in the width that cells would have if they were all alike: a lattice is cheap, and
#: atoms are moved to it.
FINER = 4.0
#: Deviations of the sum that the longest transform should have room for.
ROOM = 30.0
#: What a round's profile need not resolve is e^-DEEPER of delta; nothing is below e^-DEEPEST.
DEEPER, DEEPEST = 12.0, 680.0
#: Which losses count is found out at deltas whose logarithms differ by this factor,
RUNG = 1.15
#: and at its own alone if their epsilons differ by a larger factor: light tails have 1.07,
HEAVY = 1.3
#: with so much of epsilon on either side, which an outline does not tell better, if the sum of the
#: other losses varies less than that,
UNSURE = 0.03
#: or, for all deltas down to a smallest one, at these powers of it.
GRADED = (0.12, 0.25, 0.45, 0.7, 1.0)
#: How often delta is guessed before it is asked for, each time by the losses that count there.
GUESSES = 10
#: Up to so many rounds, those of each kind are left out of the sum in turn.
FEW_ROUNDS = 8
#: The widest cells, as a share of the loss, over the root of the width in relative epsilon.
WIDEST_CELL = 12.0
#: Parts into which the gaps between the losses of an outline are cut for this.
BETWEEN = 6
#: Lattice points in the root mean square loss of a round, of sums that are only estimated, and
#: points of such a sum at most: each takes a millisecond.
PER_SPREAD, SOME_POINTS = 8.0, 1 << 14
#: Samples of a profile at most, kinks apart: some hundred are usual.
MOST_SAMPLES = 1 << 11
#: So many times the mean bend of the cells around it is a kink, which is sampled more closely.
KINK = 3.0
#: Width at which profiles are sampled, as a share of what the lattice costs; and that of densities,
#: whose time goes into samples.
SHARE, DEAR_SHARE = 0.5, 1.5
#: And at most: wider samples than this are a first look, which may know one side only.
WIDEST_SAMPLES = 0.005
#: How much finer than the first one a lattice of densities may be: its time grows like the cube.
DEAREST = 8.0
#: More different rounds than this are sampled as coarsely as densities.
FEW_KINDS = 8
#: Halvings of the resolution after which no lattice is short enough.
COARSER = 8
#: Lattices kept for the next query: memory for not sampling the profiles again.
KEPT_LATTICES = 8

#: Attempts to make two polygons fit at loss 0; what is left is scaled away.
FLATTER = 16

# Rounds that differ in their users only

#: Rounds whose users differ by no larger a factor share their outline.
ALIKE = 1.1
#: Share of the width asked for, twice, that a round may be moved to other numbers of users. With
#: all of it 365 kinds of Laplace noise just miss the width: 10 s for 1.5.
TOGETHER = 0.8

# Sums

#: Longest transform: a few hundred megabytes at work.
MAX_POINTS = 1 << 22
#: Tilted mass that may fall outside the window, on either side: as much as rounding costs anyway.
OUTSIDE = 1e-13
#: Tilts tried to bound what is outside: each costs a pass over the masses.
WINDOW_TILTS = 16
#: Halvings of the range of the tilt: it need not be exact, and each costs a pass over the masses.
TILT_STEPS = 12
#: Relative error of delta that rounding may cost for the sake of a smaller tilt, and the power of e
#: by which that may be larger anyway.
DIGITS_LOST, HARDLY_WORSE = 3e-6, 0.5
#: How much longer the window of the saddle point may be: it leaves more digits.
LONGER = 1.5
#: Upper and lower values a larger factor apart mean that a tilt does not fit the sum.
SHARP = 1.0001
#: Deviations of the sum between the centres of tilts, for delta at many epsilons, and how many
#: centres at most: two away it still has twelve digits.
CENTRES, MOST_CENTRES = 2.0, 400.0
#: A tail so far, as a power of e, below its log-concave majorant is split.
GAP = 10.0
#: Rounds with a rare large loss, on average, up to which these are counted.
EXPECTED = 0.01
#: Terms of a split sum, each of which is a transform.
MOST_TERMS = 40
#: Share of delta that terms left out may have: far below every width.
NEGLIGIBLE = 1e-8

# Bundles

#: Rounds whose users differ by no larger a power of e are of about the same scale.
LIKE = 0.2
#: Width of compositions in relative epsilon, where buckets of counts are wide anyway; or twice that
#: at most, where they are not: 0.1 s each.
COARSE = 1.5e-4
#: Buckets of counts, if each of them is a composition of its own: some seconds.
FEW_BUCKETS = 40
#: How seldom, as powers of e, so many others hide a user that it is charged. 16 is too much for
#: 100 senders, 7 is too little for 1,000; each of these takes a millisecond.
SELDOM = (9.0, 13.0, 18.0)
#: Slopes of the logarithm of falls that are told apart, over two neighbouring ranges of counts:
#: about 1 is usual, and steps of 0.05 cost less than a hundredth of what a range does.
STEEPEST, SLOPES = 6.0, 241
#: Epsilons of a table of a composition in its standard deviation, times the root of its width: they
#: cost next to nothing, and lines between ten times fewer are ten times as wide as the rest.
TABLED = 8.0
