"""Queries that count messages where they are: in a database.

A query returns the rows (item, weight, total) of `tools.counting`, on whole numbers of 64 bits
alone. Messages of `Bundle` and `OneOf`, with answers to several questions, are refused. Of sets
the query does not check that their values differ.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .._support import validate
from ..clients import MessageForm
from ..clients.hashing import PRIME, HashClient
from ..errors import InvalidParameter
from ..randomizers import Randomizer
from .counting import COLUMN, MESSAGES, REFUSED, counter_of

#: Sums of messages are taken in two parts, lest they exceed 64 bits.
_PART = 1 << 24


class Dialect(NamedTuple):
    """What databases write differently, of the column `message` of the table `sent`."""

    length: str  # of a list; NULL if it is none
    element: str  # number {i} of a list, from 0
    elements: str  # a table of `place` and `element`, of all lists
    first: str  # a table of `x`, the whole numbers below {k}
    whole: str  # {n} if it is a whole number, else NULL


DIALECTS = {
    "duckdb": Dialect(
        length="len(message)",
        element="message[{i} + 1]",
        elements=(
            "SELECT UNNEST(range(len(message))) AS place, UNNEST(message) AS element FROM sent"
        ),
        first="SELECT range AS x FROM range({k})",
        whole="CASE WHEN TRY_CAST({n} AS BIGINT) = {n} THEN TRY_CAST({n} AS BIGINT) END",
    ),
    "sqlite": Dialect(
        length="CASE WHEN json_valid(message) THEN json_array_length(message) END",
        element="json_extract(message, '$[{i}]')",
        elements=(
            "SELECT key AS place, value AS element FROM sent, "
            "json_each(CASE WHEN json_valid(message) THEN message ELSE '[]' END)"
        ),
        first=(
            "WITH RECURSIVE numbers(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM numbers "
            "WHERE x + 1 < {k}) SELECT x FROM numbers"
        ),
        whole="CASE WHEN typeof({n}) = 'integer' THEN {n} END",
    ),
}


def count_query(
    randomizer: Randomizer,
    dialect: str,
    *,
    table: str = "messages",
    column: str = COLUMN,
    k: int | None = None,
) -> str:
    """SQL query that counts the messages in a table.

    Parameters
    ----------
    randomizer : Randomizer
        The randomizer of the messages.
    dialect : str
        "duckdb" or "sqlite". The arithmetic is that of whole numbers of 64 bits, so that only lists
        are written differently.
    table : str
        What stands after FROM, as it is: a name, or "read_parquet('day-*.parquet')" of DuckDB.
    column : str
        Name of the column of messages: whole numbers; where a message has several, a LIST of them
        (DuckDB) or a JSON array (SQLite); a BLOB for unary encoding.
    k : int, optional
        Number of values, for local hashing.

    Returns
    -------
    str
        A SELECT without parameters, whose rows are for `counts_from_rows`.

    Raises
    ------
    InvalidParameter
        For another dialect, a column that is no name, or messages of `Bundle` or `OneOf`.

    Examples
    --------
    >>> import sqlite3
    >>> from shuffledp import RandomizedResponse
    >>> from shuffledp.tools.count_sql import count_query
    >>> from shuffledp.tools.counting import counts_from_rows
    >>> base = sqlite3.connect(":memory:")
    >>> _ = base.execute("CREATE TABLE messages (message INTEGER)")
    >>> _ = base.executemany("INSERT INTO messages VALUES (?)", [(0,), (2,), (2,)])
    >>> poll = RandomizedResponse(k=3, eps0=1.0)
    >>> counts_from_rows(poll, base.execute(count_query(poll, "sqlite")))
    Counts(users=3, tally=[1, 0, 2])
    """
    said = DIALECTS[validate.choice("dialect", dialect, DIALECTS)]
    if not isinstance(column, str) or not re.fullmatch(r"\w+", column):
        raise InvalidParameter(
            f"column={validate.show(column)} is not the name of a column; give letters, digits and "
            "underscores."
        )
    client = counter_of(randomizer, k)
    g = client.g if isinstance(client, HashClient) else 0
    if client.form.kind not in _KINDS:
        raise InvalidParameter(
            f"{randomizer!r} has messages with answers to several questions, which SQL does not "
            "take apart; count them in Python."
        )
    ctes, rows = _KINDS[client.form.kind](client.form, said, g)
    steps = [f'sent AS (SELECT "{column}" AS message FROM {table})', *ctes]
    return f"WITH {', '.join(steps)} {' UNION ALL '.join(rows)}"


Parts = tuple[list[str], list[str]]


def _item(number: str, form: MessageForm) -> str:
    """A number of a message as an item, if it is one."""
    return f"CASE WHEN {number} BETWEEN 0 AND {form.size - 1} THEN {number} ELSE {REFUSED} END"


def _messages() -> str:
    return f"SELECT {MESSAGES} AS item, 1 AS weight, COUNT(*) AS total FROM sent"


def _refused(condition: str, table: str = "sent") -> str:
    """How many messages are not as they should be; a condition that is NULL is not met."""
    return f"SELECT {REFUSED}, 1, COUNT(*) FROM {table} WHERE NOT COALESCE({condition}, FALSE)"


def _values(form: MessageForm, said: Dialect, g: int) -> Parts:
    items = f"SELECT {_item('number', form)} AS item, COUNT(*) AS total FROM numbers GROUP BY 1"
    everybody = f"SELECT {MESSAGES}, 1, COALESCE(SUM(total), 0) FROM tally"
    tables = [*_numbers(form, said), f"tally AS ({items})"]
    return tables, ["SELECT item, 1 AS weight, total FROM tally", everybody]


def _numbers(form: MessageForm, said: Dialect) -> list[str]:
    """A table of all `numbers` of messages and their places; what is not whole is NULL."""
    lists = said.elements if form.shape else "SELECT 0 AS place, message AS element FROM sent"
    whole = f"SELECT place, {said.whole.format(n='element')} AS number FROM elements"
    return [f"elements AS ({lists})", f"numbers AS ({whole})"]


def _sets(form: MessageForm, said: Dialect, g: int) -> Parts:
    held = f"SELECT {_item('number', form)}, 1, COUNT(*) FROM numbers GROUP BY 1"
    wrong = _refused(f"{said.length} = {form.shape[0]}")
    return _numbers(form, said), [_messages(), held, wrong]


def _bits(form: MessageForm, said: Dialect, g: int) -> Parts:
    """Every byte of a message by its two hexadecimal digits; then the bits of those that occur."""
    width = form.shape[0]
    digits = "'0123456789ABCDEF'"
    parts = [
        f"places AS ({said.first.format(k=width)})",
        "octets AS (SELECT x, substr(hex(message), 2 * x + 1, 2) AS digits, COUNT(*) AS total "
        "FROM sent, places GROUP BY 1, 2)",
        f"decoded AS (SELECT x, total, 16 * (instr({digits}, substr(digits, 1, 1)) - 1) "
        f"+ instr({digits}, substr(digits, 2, 1)) - 1 AS octet FROM octets)",
    ]
    rows = [_messages(), _refused(f"length(hex(message)) = {2 * width}")]
    for bit in range(8):
        rows.append(
            f"SELECT 8 * x + {bit}, 1, SUM(total) FROM decoded WHERE (octet >> {7 - bit}) & 1 = 1 "
            f"AND 8 * x + {bit} < {form.size} GROUP BY 1"
        )
    return parts, rows


def _hashes(form: MessageForm, said: Dialect, g: int) -> Parts:
    """Every value with every message. A product of numbers below 2^61 and 2^27 is reduced modulo
    2^61 - 1 as in `clients.hashing.times`: no step exceeds 63 bits."""
    names = ("a", "b", "c", "answer")
    elements = [said.whole.format(n=said.element.format(i=i)) for i in range(4)]
    numbers = ", ".join(f"{each} AS {name}" for each, name in zip(elements, names, strict=True))
    fits = " AND ".join(f"{name} BETWEEN 0 AND {PRIME - 1}" for name in names[:3])
    fits += f" AND answer BETWEEN 0 AND {g - 1}"
    inner = f"({_product('a')} + b) % {PRIME}"
    outer = f"({_product('once')} + c) % {PRIME} % {g}"
    is_list = f"{said.length} = 4"
    parts = [
        f"places AS ({said.first.format(k=form.size)})",
        f"lists AS (SELECT message FROM sent WHERE {is_list})",
        f"functions AS (SELECT {numbers} FROM lists)",
        f"halfway AS (SELECT x, c, answer, {inner} AS once FROM functions, places WHERE {fits})",
    ]
    wrong = _refused(fits, "functions")
    matches = f"SELECT x, 1, COUNT(*) FROM halfway WHERE {outer} = answer GROUP BY 1"
    return parts, [_messages(), _refused(is_list), wrong, matches]


def _product(name: str) -> str:
    """A number of 61 bits times x, below 2^62, with the same remainder modulo 2^61 - 1."""
    high = f"({name} >> 31) * x"
    return f"(({high}) >> 30) + ((({high}) & {2**30 - 1}) << 31) + ({name} & {2**31 - 1}) * x"


def _sums(form: MessageForm, said: Dialect, g: int) -> Parts:
    within = "" if form.limit is None else f" AND number BETWEEN {form.least} AND {form.limit - 1}"
    wrong = [_refused(f"number IS NOT NULL{within}", "numbers")]
    if form.shape:
        wrong.append(_refused(f"{said.length} = {form.shape[0]}"))
    sums = [
        f"SELECT place, {weight}, COALESCE(SUM({part}), 0) FROM numbers GROUP BY 1"
        for weight, part in ((_PART, "number >> 24"), (1, f"number & {_PART - 1}"))
    ]
    return _numbers(form, said), [_messages(), *wrong, *sums]


_KINDS = {"value": _values, "set": _sets, "bits": _bits, "hash": _hashes, "sum": _sums}
