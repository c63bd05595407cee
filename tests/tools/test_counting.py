"""Counting at scale: every kind of message, on every engine, against counts by hand."""

import json
import math
import pickle
import sqlite3
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from optional import needs
from shuffledp import FiniteRandomizer, Gaussian, Laplace, RandomizedResponse, UnaryEncoding
from shuffledp.clients import Counts
from shuffledp.clients.hashing import PRIME
from shuffledp.errors import InvalidParameter
from shuffledp.randomizers import (
    HadamardResponse,
    LocalHashing,
    NoiseShares,
    NoisyHistogram,
    OneBit,
    Piecewise,
    PrivUnit,
    Randomizer,
    SubsetSelection,
)
from shuffledp.tools.count_sql import DIALECTS, count_query
from shuffledp.tools.counting import (
    count_parquet,
    counts_from_rows,
    messages_in,
    partial_counts,
    write_parquet,
)

#: Of every kind of message, and what counting has to be told.
KINDS: list[tuple[Randomizer, dict[str, Any]]] = [
    (RandomizedResponse(8, eps0=1.5), {}),
    (SubsetSelection(8, 3, 1.5), {}),
    (UnaryEncoding(19, 1.5), {}),
    (HadamardResponse(8, 1.5), {}),
    (LocalHashing(12, 1.5), {"k": 9}),
    (LocalHashing(5, 1.5), {"k": 3}),
    (FiniteRandomizer(np.full((3, 3), 0.2) + 0.4 * np.eye(3)), {}),  # type: ignore[arg-type]
    (OneBit(1.5), {}),
    (Piecewise(1.5), {}),
    (Laplace(1.5), {}),
    (Gaussian(1.5), {}),
    (NoiseShares(skellam=0.5, k=4), {}),
    (NoiseShares(binomial=3, largest=5), {}),
    (PrivUnit(4, 2.0), {}),
    (NoisyHistogram(poisson=0.05, k=8), {"users": 60}),
]
each_kind = pytest.mark.parametrize(("randomizer", "told"), KINDS, ids=lambda x: repr(x))


def messages_of(randomizer: Randomizer, users: int = 60) -> NDArray[Any]:
    values: Any = np.arange(users) % 2
    if isinstance(randomizer, PrivUnit):
        values = np.eye(4)[values]
    return randomizer.randomize(values, rng=np.random.default_rng(5))


def by_hand(randomizer: Randomizer, messages: NDArray[Any], told: dict[str, Any]) -> Counts:
    """By the words of the table in docs/clients.md, with Python's whole numbers."""
    rows = messages.tolist()
    users = told.get("users", len(rows))
    match randomizer:
        case LocalHashing(g=g):
            return Counts(
                users,
                [
                    sum(
                        ((a * x + b) * x + c) % (2**61 - 1) % g == answer
                        for a, b, c, answer in rows
                    )
                    for x in range(told["k"])
                ],
            )
        case UnaryEncoding(k=k):
            texts = ["".join(f"{byte:08b}" for byte in row) for row in rows]
            return Counts(users, [sum(text[x] == "1" for text in texts) for x in range(k)])
        case SubsetSelection(k=k):
            return Counts(users, [sum(x in row for row in rows) for x in range(k)])
        case RandomizedResponse(k=k) | NoisyHistogram(k=k):
            return Counts(users, [rows.count(x) for x in range(k)])
        case HadamardResponse():
            return Counts(users, [rows.count(x) for x in range(16)])
        case FiniteRandomizer():
            return Counts(users, [rows.count(x) for x in range(3)])
    return Counts(
        users,
        [sum(column) for column in zip(*np.reshape(rows, (len(rows), -1)).tolist(), strict=True)],
    )


class Base:
    """A database with a table of messages, and how it wants them."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        if dialect == "duckdb":
            self.connection: Any = needs("duckdb").connect()
        else:
            self.connection = sqlite3.connect(":memory:")

    def fill(self, messages: list[Any], like: Any = 0) -> None:
        """Bytes, lists or numbers, or what else a test gives; none, but of this kind."""
        first = next((m for m in messages if m is not None), like)
        lists = isinstance(first, list)
        kind = "BLOB" if isinstance(first, bytes) else "BIGINT[]" if lists else "BIGINT"
        if self.dialect == "sqlite":
            kind = ""
            messages = [json.dumps(m) if isinstance(m, list) else m for m in messages]
        self.connection.execute("DROP TABLE IF EXISTS messages")
        self.connection.execute(f"CREATE TABLE messages (message {kind})")
        if messages:
            self.connection.executemany("INSERT INTO messages VALUES (?)", [(m,) for m in messages])

    def rows(self, randomizer: Randomizer, k: int | None = None) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self.connection.execute(
            count_query(randomizer, self.dialect, k=k)
        ).fetchall()
        return found


@pytest.fixture(params=list(DIALECTS))
def base(request: pytest.FixtureRequest) -> Iterator[Base]:
    made = Base(request.param)
    yield made
    made.connection.close()


def stored(messages: NDArray[Any]) -> list[Any]:
    """As a database keeps them."""
    if messages.dtype == np.uint8 and messages.ndim == 2:
        return [row.tobytes() for row in messages]
    rows: list[Any] = messages.tolist()
    return rows


@each_kind
def test_queries_count_every_kind_of_message(
    base: Base, randomizer: Randomizer, told: dict[str, Any]
) -> None:
    messages = messages_of(randomizer)
    expected = by_hand(randomizer, messages, told)
    assert randomizer.counts_of(messages, 60, told.get("k", 0)) == expected
    shards = []
    for part in (messages[:20], messages[20:]):
        base.fill(stored(part))
        shards += base.rows(randomizer, told.get("k"))
    assert counts_from_rows(randomizer, shards[::-1], **told) == expected
    base.fill([], like=stored(messages)[0])
    if "users" not in told:
        empty = counts_from_rows(randomizer, base.rows(randomizer, told.get("k")), **told)
        assert empty == Counts(0, np.zeros_like(expected.tally))


def test_queries_sum_exactly_beyond_64_bits(base: Base) -> None:
    messages = [2**62, 2**62 + 12345, 2**62 - 7, -(2**61), 3, -1]
    base.fill(messages)
    assert counts_from_rows(Laplace(1.0), base.rows(Laplace(1.0))).tally.tolist() == [sum(messages)]


WRONG: list[tuple[Randomizer, dict[str, Any], list[Any]]] = [
    (RandomizedResponse(4, eps0=1.0), {}, [-1, -2, 4, None]),
    (HadamardResponse(4, 1.0), {}, [8]),
    (SubsetSelection(4, 2, 1.0), {}, [[0], [0, 4], [-1, 2], [0, None], [0, 1, 2], [], None]),
    (UnaryEncoding(9, 1.0), {}, [b"\0", b"\0\0\0", None]),
    (LocalHashing(4, 1.0), {"k": 3}, [[0, 0, 0, 4], [0, PRIME, 0, 1], [-1, 0, 0, 1], [0], None]),
    (LocalHashing(4, 1.0), {"k": 3}, [[2**63 - 1] * 4]),
    (OneBit(1.0), {}, [2, -1, None]),
    (Piecewise(1.0), {}, [2**32, -1]),
    (Laplace(1.0), {}, [None]),
    (NoiseShares(skellam=0.5, k=2), {}, [[1], [1, 2, 3], [1, None], None]),
    (PrivUnit(2, 1.0), {}, [[2**30 + 1, 0], [0, -(2**30) - 1], [0]]),
]  # fmt: skip


@pytest.mark.parametrize(("randomizer", "told", "wrong"), WRONG, ids=lambda x: repr(x)[:30])
def test_messages_of_no_randomizer_are_refused(
    base: Base, randomizer: Randomizer, told: dict[str, Any], wrong: list[Any]
) -> None:
    users = np.eye(2)[[0, 1]] if isinstance(randomizer, PrivUnit) else [0, 1]
    right = stored(randomizer.randomize(users))
    for message in wrong:
        base.fill([*right, message])
        with pytest.raises(InvalidParameter, match=r"messages are none of|outside 0"):
            counts_from_rows(randomizer, base.rows(randomizer, told.get("k")), **told)
        if message is not None and not isinstance(message, bytes) and None not in np.ravel(message):
            with pytest.raises(InvalidParameter, match=r"outside|shape|different lengths"):
                randomizer.counts_of(messages_in([message]), 1, 3)


def test_what_sqlite_alone_may_hold_is_refused() -> None:
    base, poll, mean = Base("sqlite"), RandomizedResponse(4, eps0=1.0), OneBit(1.0)
    for message in ("1", 1.5, b"\1", "no number"):
        base.fill([0, message])
        for randomizer in (poll, mean):
            with pytest.raises(InvalidParameter, match=r"none of|not whole"):
                counts_from_rows(randomizer, base.rows(randomizer))
    for text in ("no list", '{"a": 1}', "[0, 1.5]", '["0", 1]', "[0"):
        base.fill([text])
        sets = SubsetSelection(4, 2, 1.0)
        with pytest.raises(InvalidParameter, match="none of"):
            counts_from_rows(sets, base.rows(sets))
    for text in ("[0, 1.5, 0, 1]", '["0", 0, 0, 1]', "[0, 0, 0, null]", "[0, 0, 0, 1e30]"):
        base.fill([text])
        hashing = LocalHashing(4, 1.0)
        with pytest.raises(InvalidParameter, match="none of"):
            counts_from_rows(hashing, base.rows(hashing, 3), k=3)


def test_what_duckdb_alone_may_hold_is_refused_or_counted() -> None:
    """Columns of other types: floats that are whole are counted, and others refused."""
    base = needs("duckdb").connect()
    poll, mean = RandomizedResponse(4, eps0=1.0), OneBit(1.0)
    sets, hashing = SubsetSelection(4, 2, 1.0), LocalHashing(4, 1.0)
    for kind in ("DOUBLE", "UTINYINT", "UBIGINT", "HUGEINT"):
        base.execute(f"CREATE OR REPLACE TABLE messages AS SELECT 1::{kind} AS message")
        rows = base.execute(count_query(poll, "duckdb")).fetchall()
        assert counts_from_rows(poll, rows) == Counts(1, [0, 1, 0, 0])
        rows = base.execute(count_query(mean, "duckdb")).fetchall()
        assert counts_from_rows(mean, rows) == Counts(1, [1])
    wrong: list[tuple[Randomizer, str, dict[str, Any]]] = [
        (poll, "1.5::DOUBLE", {}),
        (mean, "0.5::DOUBLE", {}),
        (sets, "[0.5, 1.0]", {}),
        (hashing, "[0.5, 1.0, 1.0, 1.0]", {"k": 3}),
    ]
    for randomizer, message, told in wrong:
        base.execute(f"CREATE OR REPLACE TABLE messages AS SELECT {message} AS message")
        rows = base.execute(count_query(randomizer, "duckdb", **told)).fetchall()
        with pytest.raises(InvalidParameter, match=r"none of|not whole"):
            counts_from_rows(randomizer, rows, **told)
    base.close()


def test_bad_queries() -> None:
    poll = RandomizedResponse(4, eps0=1.0)
    for ask in (
        lambda: count_query(LocalHashing(4, 1.0), "duckdb", k=10**9),
        lambda: counts_from_rows(RandomizedResponse(10**9, eps0=1.0), [(-1, 1, 1)]),
    ):
        with pytest.raises(InvalidParameter, match="that can be counted"):
            ask()
    with pytest.raises(InvalidParameter, match="dialect='oracle'"):
        count_query(poll, "oracle")
    with pytest.raises(InvalidParameter, match="is not the name of a column"):
        count_query(poll, "sqlite", column='message"; DROP TABLE messages; --')
    with pytest.raises(InvalidParameter, match="k is missing"):
        count_query(LocalHashing(4, 1.0), "sqlite")
    with pytest.raises(InvalidParameter, match="leave it out"):
        count_query(poll, "sqlite", k=4)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(0, 1)], "are not whole numbers"),
        ([(0, 1, 1.5)], "are not whole numbers"),
        ([(0, 1, None)], "are not whole numbers"),
        ([], "are not whole numbers"),
        (7, "are not whole numbers"),
        ([(4, 1, 1)], "has the item 4, outside 0 .. 3"),
        ([(-3, 1, 1)], "has the item -3"),
        ([(-1, 1, 3), (-2, 1, 3)], "3 messages are none of RandomizedResponse"),
    ],
)
def test_bad_rows(rows: Any, said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        counts_from_rows(RandomizedResponse(4, eps0=1.0), rows)


@each_kind
def test_workers_are_sent_what_they_need(randomizer: Randomizer, told: dict[str, Any]) -> None:
    again = pickle.loads(pickle.dumps(randomizer))
    messages = messages_of(randomizer, 10)
    counts = again.counts_of(messages, 60, told.get("k", 0))
    assert pickle.loads(pickle.dumps(counts)) == by_hand(randomizer, messages, told)
    assert (counts + randomizer.counts_of(messages, 60, told.get("k", 0))).protocol == repr(again)


@each_kind
def test_parquet_and_frames_count_every_kind_of_message(
    randomizer: Randomizer, told: dict[str, Any], tmp_path: Path
) -> None:
    needs("pyarrow")
    pandas = needs("pandas")
    messages = messages_of(randomizer)
    expected = by_hand(randomizer, messages, told)
    for i, part in enumerate((messages[:7], messages[7:7], messages[7:])):
        write_parquet(tmp_path / f"{i}.parquet", part)
    for files in (tmp_path, str(tmp_path / "*.parquet"), sorted(tmp_path.iterdir(), reverse=True)):
        assert count_parquet(randomizer, files, **told) == expected
    frame = pandas.read_parquet(tmp_path)
    only_k = {name: number for name, number in told.items() if name == "k"}
    parts = [partial_counts(part, randomizer, **only_k) for part in (frame[:9], frame[9:])]
    rows = pandas.concat(parts[::-1])
    assert (rows.dtypes == np.int64).all()
    assert counts_from_rows(randomizer, rows, **told) == expected
    summed = rows.groupby(["item", "weight"], as_index=False)["total"].sum()
    assert counts_from_rows(randomizer, summed, **told) == expected


def test_frames_keep_sums_beyond_64_bits() -> None:
    pandas = needs("pandas")
    messages = [2**62, 2**62, 2**62 + 5, -3]
    for sign in (1, -1):
        frame = pandas.DataFrame({"message": [sign * m for m in messages]})
        rows = partial_counts(frame, Laplace(1.0))
        assert counts_from_rows(Laplace(1.0), rows).tally.tolist() == [sign * sum(messages)]


def test_bad_parquet(tmp_path: Path) -> None:
    arrow = needs("pyarrow")
    parquet = needs("pyarrow.parquet")
    poll, sets, file = (
        RandomizedResponse(4, eps0=1.0),
        SubsetSelection(4, 2, 1.0),
        tmp_path / "m.parquet",
    )

    def said(randomizer: Randomizer, path: Any = file, **more: Any) -> str:
        with pytest.raises(InvalidParameter) as caught:
            count_parquet(randomizer, path, **more)
        text = str(caught.value)
        assert "\n" not in text and text.endswith(".")
        return text

    write_parquet(file, np.arange(4000) % 4)
    whole = file.read_bytes()
    for kept in (0, 3, 100, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:kept])
        assert "give a complete Parquet file" in said(poll)
    file.write_bytes(whole[:4] + bytes(200) + whole[204:])
    assert "give a complete Parquet file" in said(poll)
    write_parquet(file, [0, 4])
    assert "messages has 4, outside 0 .. 3" in said(poll)
    assert "has no column 'sent', but ['message']" in said(poll, column="sent")
    assert "shape" in said(sets)
    for column, words in (
        (arrow.array([0, None, None]), "2 messages are missing"),
        (arrow.array([0.5, 1.0]), "not an array of whole numbers"),
        (arrow.array(["0", "1"]), "not an array of whole numbers"),
        (arrow.array([[0, 1], [2]]), "different lengths"),
        (arrow.array([[0, 1], [None, 2]]), "1 messages are missing"),
        (arrow.array([b"ab", b"c"]), "different lengths"),
    ):
        parquet.write_table(arrow.table({"message": column}), file)
        assert words in said(sets if "list" in str(column.type) else poll)
    assert "no Parquet file and no folder" in said(poll, tmp_path / "none.parquet")
    (tmp_path / "empty").mkdir()
    assert "no Parquet file and no folder" in said(poll, tmp_path / "empty")
    write_parquet(file, [0, 3])
    assert "users=3 have sent 2 messages" in said(poll, users=3)
    assert "give users" in said(NoisyHistogram(poisson=0.1, k=4))


def test_the_memory_of_a_large_file_is_bounded(tmp_path: Path) -> None:
    """It does not grow with the file, even if that is a single row group."""
    arrow, parquet = needs("pyarrow"), needs("pyarrow.parquet")
    peaks, previous = [], arrow.default_memory_pool()
    for size in (700_000, 2_800_000):
        messages = np.random.default_rng(1).integers(0, 1 << 32, size)
        file = tmp_path / f"{size}.parquet"
        table = arrow.table({"message": messages})
        parquet.write_table(table, file, row_group_size=size, use_dictionary=False)
        pool = arrow.proxy_memory_pool(previous)
        arrow.set_memory_pool(pool)
        try:
            counts = count_parquet(Piecewise(1.0), file)
        finally:
            arrow.set_memory_pool(previous)
        assert counts.tally.tolist() == [int(messages.sum())]
        peaks.append(pool.max_memory())
    assert peaks[1] < 1.5 * peaks[0] and peaks[1] < 8 * 2_800_000 / 2


def test_without_pyarrow_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "m.parquet").write_bytes(b"")
    with pytest.raises(ImportError, match=r"Parquet needs pyarrow.*'shuffledp\[parquet\]'"):
        count_parquet(RandomizedResponse(4, eps0=1.0), tmp_path)


def test_the_same_on_a_dask_cluster(tmp_path: Path) -> None:
    """Two workers; the function is a body for Spark's mapInPandas, too."""
    needs("pyarrow")
    pandas = needs("pandas")
    frames = needs("dask.dataframe")
    distributed = needs("distributed")
    meta = {"item": "int64", "weight": "int64", "total": "int64"}
    cases = [KINDS[i] for i in (0, 9)]  # numbers and lists
    dask = needs("dask")
    with (
        dask.config.set({"dataframe.convert-string": False}),  # lists and bytes are no texts
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        for i, (randomizer, told) in enumerate(cases):
            messages, folder = messages_of(randomizer), tmp_path / str(i)
            folder.mkdir()
            for j in range(3):
                write_parquet(folder / f"{j}.parquet", messages[j::3])
            expected = by_hand(randomizer, messages, told)
            table = frames.from_map(pandas.read_parquet, sorted(folder.iterdir()))
            rows = table.map_partitions(partial_counts, randomizer, **told, meta=meta).compute()
            assert counts_from_rows(randomizer, rows, **told) == expected
            files = sorted(folder.iterdir())
            parts = client.gather(
                [client.submit(count_parquet, randomizer, file, **told) for file in files]
            )
            assert sum(parts) == expected


@pytest.mark.parametrize("g", [2, 3, 4, 7, 12, 96, 1000, 2**20 * 3, 10**12])
@pytest.mark.parametrize(("users", "k"), [(1, 700), (3, 20), (40, 1), (33, 5)])
def test_hashes_are_followed_from_value_to_value(g: int, users: int, k: int) -> None:
    """Few messages and many values, or many and few; with answers that match."""
    rng = np.random.default_rng(g)
    seeds = rng.integers(0, PRIME, (users, 3))
    seeds[0] = [PRIME - 1, PRIME - 1, PRIME - 1]
    rows = []
    for i, (a, b, c) in enumerate(seeds.tolist()):
        x = i % k
        rows.append([a, b, c, ((a * x + b) * x + c) % PRIME % g])
    messages = np.array(rows, dtype=np.uint64)
    randomizer = LocalHashing(g, 1.0)
    assert randomizer.count(messages, k=k) == by_hand(randomizer, messages, {"k": k})


def test_hashes_of_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shuffledp.clients.hashing._TOGETHER", 16)
    randomizer = LocalHashing(6, 1.0)
    messages = messages_of(randomizer, 41)
    assert randomizer.count(messages, k=7) == by_hand(randomizer, messages, {"k": 7})


def test_counts_of_any_size_merge_in_any_order() -> None:
    """Also sums that leave 64 bits on the way, and come back."""
    parts = [
        Counts(1, [2**62, -5]),
        Counts(2, [2**62, 2**63 - 1]),
        Counts(3, [-(2**63), 1]),
        Counts(4, [2**80, -(2**80)]),
    ]
    total = Counts(10, [2**80, 2**63 - 5 - 2**80])
    for order in permutations(parts):
        a, b, c, d = order
        assert ((a + b) + c) + d == (a + b) + (c + d) == a + ((b + c) + d) == sum(order) == total
    for labels in permutations(("A", None, "A")):
        labelled = [Counts(1, [1], protocol=label) for label in labels]
        assert sum(labelled, Counts(0, [0])).protocol == "A"
    residues = [Counts(1, [x], modulus=7) for x in (3, 6, -1, 2**70)]
    assert {sum(order) for order in permutations(residues)} == {
        Counts(4, [(3 + 6 - 1 + 2**70) % 7], modulus=7)
    }


def test_counts_that_do_not_merge() -> None:
    poll, other = RandomizedResponse(4, eps0=1.0), RandomizedResponse(4, eps0=2.0)
    one, two = poll.count([0, 1]), other.count([0, 1])
    with pytest.raises(
        InvalidParameter, match=r"eps0=1.0\) and of .*eps0=2.0\) do not add up; estimate"
    ):
        one + two
    with pytest.raises(InvalidParameter, match=r"counts of .*eps0=1.0\), not of .*eps0=2.0\)"):
        other.estimate(one)
    with pytest.raises(InvalidParameter, match="counts modulo 8 and modulo 16 do not add up"):
        Counts(1, [1], modulus=8) + Counts(1, [1], modulus=16)
    with pytest.raises(InvalidParameter, match="counts modulo None and modulo 16"):
        Counts(1, [1]) + Counts(1, [1], modulus=16)
    with pytest.raises(InvalidParameter, match="known modulo 16 only"):
        poll.estimate(Counts(4, [1, 1, 1, 1], modulus=16))
    with pytest.raises(InvalidParameter, match="modulus=1 is below 2"):
        Counts(1, [1], modulus=1)
    for tally in ([math.inf], [2.0**60], [math.nan], [0.5]):
        with pytest.raises(InvalidParameter, match="not a list of whole numbers"):
            Counts(1, tally)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="which is 2\\^63 or more"):
        Laplace(1.0).count(np.array([2**63], dtype=np.uint64))


@pytest.mark.parametrize(
    "shares",
    [
        NoiseShares(skellam=0.5, k=3),
        NoiseShares(binomial=5, k=3),
        NoiseShares(discrete_gaussian=0.7, largest=9),
        NoiseShares(discrete_laplace=2.0, complete=50, k=3),
    ],
    ids=repr,
)
def test_sums_modulo_the_size_of_a_group(shares: NoiseShares) -> None:
    values = np.arange(200) % 3
    messages = shares.randomize(values, rng=np.random.default_rng(4))
    plain = shares.estimate(messages)
    modulus = 4096
    parts = [
        shares.count(part % modulus, modulus=modulus) for part in (messages[:90], messages[90:])
    ]
    assert all(((p.tally >= 0) & (p.tally < modulus)).all() for p in parts)
    found = shares.estimate(sum(parts))
    for name in ("counts", "mean"):
        if hasattr(plain, name):
            assert np.array_equal(getattr(found, name), getattr(plain, name))
    with pytest.raises(InvalidParameter, match=r"modulus=16 leaves .* use a larger group"):
        shares.estimate(shares.count(messages, modulus=16))
