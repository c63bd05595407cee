"""Ten million messages in Parquet files, counted in bounded memory, and what they tell.

A poll of two weeks by randomized response, whose shards are counted by two workers and merged; and
a question with 1,000 answers by local hashing, whose count hashes every value for each message.
Run: python examples/count_at_scale.py [messages [counts.csv]]  (pip install 'shuffledp[parquet]')
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from shuffledp import RandomizedResponse
from shuffledp.clients import Counts, combine
from shuffledp.randomizers import LocalHashing, Randomizer
from shuffledp.tools.counting import count_parquet, write_parquet

MESSAGES, SHARD = 10_000_000, 250_000
VALUES, MANY_VALUES = 100, 1000


def send(randomizer: Randomizer, users: int, values: int, folder: Path) -> None:
    """What devices do, here by simulation: value x is held by a share of users like 1/(x + 1)."""
    folder.mkdir()
    rng, weights = np.random.default_rng(7), 1 / np.arange(1, values + 1)
    steps = np.cumsum(weights / weights.sum())
    for shard, start in enumerate(range(0, users, SHARD)):
        drawn = np.searchsorted(steps, rng.random(min(SHARD, users - start)))
        messages = randomizer.randomize(np.minimum(drawn, values - 1), rng=rng)
        write_parquet(folder / f"{shard:04}.parquet", messages)


def count(one: Callable[[Path], Counts], folder: Path, workers: int) -> tuple[Counts, float]:
    """The counts of all shards, whichever worker is the first, and the seconds that it took."""
    start = time.perf_counter()
    with ThreadPoolExecutor(workers) as pool:
        shards = pool.map(one, sorted(folder.iterdir()))
        merged = sum(shards, start=next(shards))
    return merged, time.perf_counter() - start


def main(size: str = str(MESSAGES), table: str | None = None) -> None:
    messages = int(float(size))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # 1. two weeks of a poll, the second with less noise
        weeks = []
        for eps0, users in ((2.0, messages // 2), (3.0, messages - messages // 2)):
            poll, week = RandomizedResponse(VALUES, eps0=eps0), folder / f"eps0-{eps0}"
            send(poll, users, VALUES, week)
            counts, seconds = count(partial(count_parquet, poll), week, workers=2)
            found = poll.estimate(counts)
            weeks.append(found)
            print(
                f"{poll}: {counts.users:,} messages, {counts.users / seconds:,.0f} a second; "
                f"value 0: {found.frequencies[0]:.4f} +- {found.standard_errors[0] / users:.4f}"
            )

        # 2. both together: weighed by what was known before the first message, so unbiased
        both = combine(weeks, weights="precision")
        print(
            f"both weeks: value 0: {both.frequencies[0]:.4f} +- "
            f"{both.standard_errors[0] / both.users:.4f}"
        )
        if table:
            both.to_csv(table)

        # 3. a thousand values: each message is hashed a thousand times
        hashing, sent = LocalHashing(eps0=2.0), folder / "hashing"
        users = max(messages // 50, 1)
        send(hashing, users, MANY_VALUES, sent)
        one = partial(count_parquet, hashing, k=MANY_VALUES)
        for workers in (1, 2):
            counts, seconds = count(one, sent, workers)
            pairs = users * MANY_VALUES / seconds
            print(f"{hashing}: {users:,} messages, {workers} workers: {pairs:,.0f} hashes a second")
        found = hashing.estimate(counts)
        print(f"value 0: {found.frequencies[0]:.4f} +- {found.standard_errors[0] / users:.4f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory: {peak:.0f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:3])
