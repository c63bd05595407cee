"""Constants of the laws that trade time for width. They never affect soundness.

tests/soundness/test_tuning.py sets each of them to extreme values and compares with exact values.
"""

#: Rows of a matrix up to which the laws of all pairs are listed: more rows tighten attained values
#: of larger matrices and cost time quadratically (12 rows: 132 laws, some 50 ms a question).
FEW_INPUTS = 12
#: Pairs of rows of a larger matrix that may be attained, by distance and by loss: more pairs cost
#: time and may raise attained values.
LEADING_PAIRS = 16
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
