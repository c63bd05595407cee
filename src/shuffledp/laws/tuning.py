"""Constants that cost time or width and never soundness: change them freely.

The test of all tuning constants sets each to extremes and holds rounds against exact oracles.
"""

#: Rows of a matrix up to which the laws of all pairs are listed: 132 laws, some 50 ms a question.
FEW_INPUTS = 12
#: Of larger matrices, so many pairs that are far apart and so many with the largest losses may be
#: attained: more of them found nothing larger in random matrices.
LEADING = 16
#: Values that the others may hold, tried for each of these pairs.
OTHERS = 3
#: Rows of which all pairs are compared: 2000^2 distances take 0.1 s.
MOST_COMPARED = 2000
#: Users up to whom datasets of two different values are enumerated: 16 take 20 ms.
FEW_USERS = 16
#: Levels of the ratios of a law above all pairs; 200 cost less than 1e-3 in epsilon.
LEVELS = 200
#: Width and depth with which the two orders of a density's attained law are compared.
ROUGH_WIDTH, ROUGH_DEPTH = 0.02, 40.0
#: Losses at which a density is looked at to choose its cells, of which there are no fewer and no
#: more than these.
FINE, FEWEST_CELLS, MOST_CELLS = 800, 24.0, 4000.0
#: Deviations of a sum that a score may be and not outweigh all others; and how far apart, as
#: losses, sums may be that share the cells of scores that reach them alone.
REACH, ALONE = 4.0, 2.0
#: Share of the width that cells of such scores may cost: their profiles come out narrower than it.
ALONE_SHARE = 1.5
#: Users with such scores, on average, from which on they have a part in that deviation.
SOME = 0.1
#: Users, and users with a score on average, up to whom all scores have fine cells, on both sides,
#: wherever one may be large; and the width from which on these are so few for any number of users
#: that all sums share them.
FEW, FEW_SCORING, ONE_CUT = 600, 60.0, 5e-3
