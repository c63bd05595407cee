"""From a target to a deployment: choose, simulate, deploy, estimate, account, state.

100,000 users each hold one of 16 values. Their histogram is collected every month of a year, and
the year may cost (1, 1e-8), replace-one. Up to 5 % of them may collude with whoever looks at the
messages, and up to 20 % may send nothing, for reasons other than their own value.
"""

import numpy as np

from shuffledp import Plan, Shuffle, choose, rounded_up, simulate
from shuffledp.accountant import repeated
from shuffledp.tools.plan import PlannedRound
from shuffledp.tools.statement import statement

USERS, VALUES, MONTHS, EPSILON, DELTA = 100_000, 16, 12, 1.0, 1e-8
COLLUDING, DROPOUTS = 0.05, 0.2

# 1. Which randomizer, with which parameters? The best one whose messages have a local guarantee,
# which is weak: 92 % of the messages are still true. With the noisy histograms, which are listed
# above it, every device sends its true value, and the shuffler sees these values.
table = choose(
    users=USERS,
    values=VALUES,
    rounds=MONTHS,
    epsilon=EPSILON,
    delta=DELTA,
    view="shuffle",
    colluding=COLLUDING,
    dropouts=DROPOUTS,
)
print(table, end="\n\n")
choice = next(one for one in table if one.local_eps0 < np.inf)
print(f"deployed: {choice.randomizer!r}, average error of a count {choice.average_error:.3g}")
month = Shuffle(choice.randomizer, USERS, colluding=COLLUDING, dropouts=DROPOUTS)

# 2. What would come out of it, on data like those that are expected?
rng = np.random.default_rng(2026)  # so that everybody sees the same; a device needs no generator
values = rng.choice(VALUES, USERS, p=np.arange(1, VALUES + 1) / sum(range(1, VALUES + 1)))
print(simulate(month, values, rng), end="\n\n")

# 3. The client of every device, in two regions, and the counts of each: they add up.
client, regions = choice.randomizer, np.array_split(values, 2)
sent = [client.randomize(part, rng=rng) for part in regions]  # a device: client.randomize(value)
counts = [
    client.counts_of(messages, len(part), VALUES)  # or of a database
    for messages, part in zip(sent, regions, strict=True)
]
estimate = client.estimate(counts[0] + counts[1])
low, high = estimate.interval(0.95)
truth = np.bincount(values, minlength=VALUES)
inside = int(((low <= truth) & (truth <= high)).sum())
print(f"{inside} of {VALUES} counts are in their 95 % intervals; about 15 are expected", end="\n\n")

# 4. The year against its target.
plan = Plan(EPSILON, DELTA, (PlannedRound("monthly histogram", month, MONTHS),))
print(plan.ledger(), end="\n\n")

# 5. For the privacy review.
bounds = repeated(month, MONTHS).epsilon_bounds(DELTA)
bracket = f"at most {rounded_up(bounds.upper, 6)}, certified"
print(statement(month, MONTHS, [(rounded_up(bounds.upper), f"{DELTA:g}", bracket)]))
