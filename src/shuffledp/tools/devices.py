"""Audit clients in any language, by a specification: a program that answers lines, or recorded
messages. docs/audit.md has the protocol.

The test vectors come first, since no statistics can see a threshold that is off by 2^40 of 2^64.
"""

from __future__ import annotations

import csv
import io
import math
import os
import queue
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support import validate
from .._support.files import read_bytes
from .._support.text import plain
from ..clients.dummies import BernoulliDummies, DummiesClient, PoissonDummies
from ..clients.program import WeightsLaw
from ..clients.specification import Specification
from ..errors import InvalidParameter
from ..randomizers import FiniteRandomizer, Randomizer
from ..randomizers.base import named_randomizers
from ..randomizers.parameter import parameters_of
from .audit import MOST_TRIALS, Audit, count_messages, judged
from .watched import Tried, Watched, spread_pairs, tried

_LONGEST = 1 << 20  # bytes of a line of a program
_CHUNK = 1 << 16
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
_BYTES_SHOWN = 24  # of a test vector, in hexadecimal digits

_MEND = "correct the program and run it again."


class DeviceProcess:
    """A program that answers every line on its stdin by a line on its stdout.

    Parameters
    ----------
    command : str
        As in a shell; no shell is used.
    timeout : float
        Seconds to wait for the next answer.

    Raises
    ------
    InvalidParameter
        If the program cannot be started.
    """

    def __init__(self, command: str, timeout: float = 10.0) -> None:
        self.timeout = validate.between("timeout", timeout, 0.01, 86_400)
        self.called = f"command {validate.show(command)}"
        try:
            words = shlex.split(command)
            pipe = subprocess.PIPE
            # a session of its own, so that what it has started ends with it
            self._process = subprocess.Popen(
                words, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
            )
        except (OSError, ValueError, IndexError) as error:
            reason = getattr(error, "strerror", None) or "it is no command line"
            raise InvalidParameter(
                f"{self.called} cannot be started: {reason}; give a program and its arguments."
            ) from None
        self._chunks: queue.Queue[bytes] = queue.Queue(64)
        self._rest, self._complaint, self._closing = b"", b"", False
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._listen, self._overhear)
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> DeviceProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _listen(self) -> None:
        """Pass on what it writes; an empty chunk is the end."""
        chunk = b"more"
        while chunk and not self._closing:
            chunk = os.read(self._process.stdout.fileno(), _CHUNK)  # type: ignore[union-attr]
            while not self._closing:
                with suppress(queue.Full):
                    self._chunks.put(chunk, timeout=0.1)
                    break

    def _overhear(self) -> None:
        """Keep the end of what it writes to stderr."""
        chunk = b"more"
        while chunk and not self._closing:
            chunk = os.read(self._process.stderr.fileno(), _CHUNK)  # type: ignore[union-attr]
            self._complaint = (self._complaint + chunk)[-2000:]

    def _write(self, data: bytes) -> None:
        with suppress(OSError, ValueError):  # a program that has ended is told of by its answers
            self._process.stdin.write(data)  # type: ignore[union-attr]
            self._process.stdin.flush()  # type: ignore[union-attr]

    def answers(self, lines: Sequence[str]) -> list[str]:
        """Return the answers to some lines.

        Raises
        ------
        InvalidParameter
            If there are too few of them in time, or too many.
        """
        data = "".join(f"{line}\n" for line in lines).encode()
        writer = threading.Thread(target=self._write, args=(data,), daemon=True)
        writer.start()
        self._threads.append(writer)
        found: list[bytes] = []
        deadline = time.monotonic() + self.timeout
        while len(found) < len(lines):
            chunk = self._next(len(found), len(lines), deadline)
            *more, self._rest = (self._rest + chunk).split(b"\n")
            if more:  # a part of a line is no answer
                deadline = time.monotonic() + self.timeout
            found += more
        if len(found) > len(lines) or self._rest:
            extra = (found[len(lines) :] or [self._rest])[0]
            raise InvalidParameter(
                f"{self.called} wrote {validate.show(_text(extra))} beside its answers; let it "
                "write one line for each line that it reads, and all else to stderr."
            )
        writer.join(self.timeout)
        if writer.is_alive():
            raise InvalidParameter(
                f"{self.called} wrote {len(lines)} answers and did not read all {len(lines)} lines "
                f"in {plain(self.timeout)} s; let it read a line before it answers."
            )
        self._threads.remove(writer)
        return [_text(line) for line in found]

    def _next(self, had: int, wanted: int, deadline: float) -> bytes:
        """The next bytes of it, until the deadline of the next answer."""
        try:
            chunk = self._chunks.get(timeout=max(deadline - time.monotonic(), 0.0))
        except queue.Empty:
            raise InvalidParameter(
                f"{self.called} did not answer line {had + 1} of {wanted} in {plain(self.timeout)} "
                "s; let it flush its output after every line, or give a larger timeout."
            ) from None
        if not chunk:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)
            self._threads[1].join(1.0)
            said = _text(self._complaint).strip().splitlines()
            why = f" ({validate.show(said[-1])})" if said else ""
            raise InvalidParameter(
                f"{self.called} ended with exit code {self._process.returncode} after {had} of "
                f"{wanted} answers{why}; {_MEND}"
            )
        if len(self._rest) > _LONGEST:
            raise InvalidParameter(
                f"{self.called} wrote a line of more than {_LONGEST:,} bytes; {_MEND}"
            )
        return chunk

    def close(self) -> None:
        """End the program: its input ends, and if that does not help it is killed."""
        self._closing = True
        process = self._process
        if process.poll() is None and len(self._threads) == 2:  # nobody is writing to it
            with suppress(OSError):
                process.stdin.close()  # type: ignore[union-attr]
            with suppress(subprocess.TimeoutExpired):
                process.wait(1.0)
        if process.poll() is None:  # otherwise its number may be that of another by now
            with suppress(OSError):
                (os.killpg if hasattr(os, "killpg") else os.kill)(process.pid, _KILL)
        process.wait()
        for thread in self._threads:
            thread.join(1.0)
        for pipe in (process.stdin, process.stdout, process.stderr):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r")


def randomizer_of(specification: Specification) -> Randomizer:
    """Return the randomizer that a specification names, if its program is that of its client.

    Raises
    ------
    InvalidParameter
        If the randomizer is unknown, or the program or the claimed eps0 are not its own.
    """
    document = specification.document
    named = document["randomizer"] or {"name": "a client alone", "parameters": {}}
    matrix = _matrix(specification) if _names_matrix(named) else None
    program = specification.program
    made = matrix or _made(named)
    own = made.client.program()
    same = matrix is not None or [law.described() for law in program.laws] == [
        law.described() for law in own.laws
    ]
    same &= (program.code, program.value, program.message) == (own.code, own.value, own.message)
    claimed = math.inf if specification.eps0 is None else specification.eps0
    if not same or claimed < made.local_eps0 * (1 - 1e-9):
        raise InvalidParameter(
            f"the program of the specification is not that of {made!r}, or claims a smaller eps0; "
            "make the specification again."
        )
    return made


def _names_matrix(named: Mapping[str, Any]) -> bool:
    """Does the name leave all to the matrix? One with parameters says which matrix it has."""
    kind = named_randomizers().get(named["name"], FiniteRandomizer)
    return issubclass(kind, FiniteRandomizer) and not named["parameters"]


def _matrix(specification: Specification) -> Randomizer | None:
    """The randomizer whose matrix the program is, up to roundings; None if it is none."""
    if specification.program.code != ["law", "value", "1"]:
        return None
    laws = specification.program.laws
    rows = [law.weights for law in laws if isinstance(law, WeightsLaw)]
    if len(rows) != len(laws):
        return None
    return FiniteRandomizer(
        [[weight / total for weight in row] for row in rows for total in (sum(row),)]
    )


def _made(named: Mapping[str, Any]) -> Randomizer:
    """The randomizer of this name and with these parameters."""
    try:
        kind = named_randomizers()[named["name"]]
        known = parameters_of(kind)
        given = {
            name: int(text) if known[name].whole else float(text)
            for name, text in named["parameters"].items()
        }
        return kind(**given)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InvalidParameter):
            raise
        raise InvalidParameter(
            f"the specification names no randomizer that is known here: {validate.show(named)}; "
            "make it with client_spec."
        ) from None


def _tried(randomizer: Randomizer) -> Tried:
    """What is counted: of noise messages, how many of them are the own value or the next."""
    client = randomizer.client
    if not isinstance(client, DummiesClient):
        return tried(randomizer)
    mean = client.dummies.moments(1)[0]
    most = math.ceil(mean + 6 * math.sqrt(mean)) + 4
    if isinstance(client.dummies, PoissonDummies):
        masses = [math.exp(j * math.log(mean) - mean - math.lgamma(j + 1)) for j in range(most)]
    elif isinstance(client.dummies, BernoulliDummies):
        masses = [1 - mean, mean, *([0.0] * (most - 2))]
    groups = [_copies(pair, masses) for pair in spread_pairs(client.k)]
    return Tried(groups, client.k)


def _copies(values: list[int], masses: Sequence[float]) -> Watched:
    """How many messages are the first of these values; `masses` are those of its dummies."""
    counted, most = values[0], len(masses)
    holds, others = [0.0, *masses[:-1]], [*masses]
    law = np.array([holds if value == counted else others for value in values])
    law = np.column_stack([law, np.maximum(1 - law.sum(axis=1), 0.0)])
    names = [f"{j} messages {counted}" for j in range(most)]

    def sort(messages: NDArray[Any]) -> NDArray[np.int64]:
        return np.array([min(row.count(counted), most) for row in messages], dtype=np.int64)

    return Watched(values, [*names, f"{most} or more messages {counted}"], law, sort)


def _array(specification: Specification, lines: Sequence[str]) -> NDArray[Any]:
    """Messages as the client's `count` takes them; of noise messages, the list of each user."""
    form = specification.document["message"]
    rows = []
    for i, line in enumerate(lines):
        try:
            rows.append(specification.message_of(line))
        except InvalidParameter as error:
            raise InvalidParameter(f"answer {i + 1} cannot be read: {error}") from None
    if form["kind"] == "messages":
        lists = np.empty(len(rows), dtype=object)
        lists[:] = rows
        return lists
    array = np.array(rows, dtype=form["type"]).reshape(len(rows), form["length"])
    return array[:, 0] if form["kind"] == "number" else array


def _wrong_vector(name: str, value: str, bytes: str, message: str, found: str) -> str:
    """The sentence about a test vector that fails."""
    shown = bytes if len(bytes) <= _BYTES_SHOWN else f"{bytes[:_BYTES_SHOWN]}..."
    return (
        f"THE CLIENT FAILS {name}: value {_short(value)} with the random bytes {shown or 'none'} "
        f"gives {_short(found)}, not {_short(message)}."
    )


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def audit_command(
    specification: Specification,
    command: str,
    *,
    trials: float = 10**6,
    confidence: float = 0.999,
    timeout: float = 10.0,
) -> Audit:
    """Hold a program in any language against a specification.

    Parameters
    ----------
    specification : Specification
        The client that the program is to be.
    command : str
        Starts the program, which answers a line with a value, and perhaps random bytes, by a line
        with its message.
    trials : float
        How many messages are asked for, after the test vectors, shared equally among the values
        that are tried.
    confidence : float
        With which all intervals hold at once.
    timeout : float
        Seconds to wait for the next answer.

    Returns
    -------
    Audit
        If a test vector fails, that alone.

    Raises
    ------
    InvalidParameter
        If the program cannot be talked to, or the specification is not that of its randomizer.
    """
    randomizer = randomizer_of(specification)
    looked_at = _tried(randomizer)
    total = validate.count("trials", trials, MOST_TRIALS, least=looked_at.size)
    sure = validate.probability("confidence", confidence)
    vectors = specification.vectors
    with DeviceProcess(command, timeout) as device:
        asked = [f"{vector['value']} : {vector['bytes']}" for vector in vectors]
        for i, (vector, line) in enumerate(zip(vectors, device.answers(asked), strict=True)):
            _array(specification, [line])  # one that is no message is told as such
            if line.split() != vector["message"].split():
                name = f"TEST VECTOR {i + 1} OF {len(vectors)}"
                told = _wrong_vector(name, **vector, found=line)
                return judged(randomizer, looked_at, None, sure, vectors=i, failure=told)

        def ask(values: NDArray[Any]) -> NDArray[Any]:
            text = specification.value_text(values[0])
            return _array(specification, device.answers([text] * len(values)))

        counts = count_messages(looked_at, ask, total // looked_at.size)
    return judged(randomizer, looked_at, counts, sure, vectors=len(vectors))


def read_pairs(path: str) -> Iterator[tuple[str, str, str]]:
    """Values, messages and random bytes, which may be missing, of a CSV file with these names."""
    called = f"pairs {path}"
    data = read_bytes(path, called, "a CSV file with the columns value and message")
    try:
        rows = csv.DictReader(io.StringIO(data.decode("utf-8-sig")))
        names = rows.fieldnames or []
        if not {"value", "message"} <= {*names} <= {"value", "message", "bytes"}:
            raise InvalidParameter(
                f"{called} has the columns {validate.show(list(names))}; give value, message and, "
                "where they were recorded, the random bytes in hexadecimal digits as bytes."
            )
        for row in rows:
            yield row["value"] or "", row["message"] or "", row.get("bytes") or ""
    except (UnicodeDecodeError, csv.Error):
        raise InvalidParameter(f"{called} is no CSV file; give one.") from None


def audit_pairs(specification: Specification, path: str, *, confidence: float = 0.999) -> Audit:
    """Hold messages that some device produced against a specification.

    Parameters
    ----------
    specification : Specification
        The client that the device is to run.
    path : str
        A CSV file with the columns value and message, and perhaps bytes: the random bytes that
        were used, from which the message must follow. Values without messages are not tested.
    confidence : float
        With which all intervals hold at once.

    Returns
    -------
    Audit
        If a message does not follow from its random bytes, that alone.

    Raises
    ------
    InvalidParameter
        If the file cannot be read, or has messages of fewer than two of the values that are tried.
    """
    randomizer = randomizer_of(specification)
    looked_at = _tried(randomizer)
    sure = validate.probability("confidence", confidence)
    wanted = [
        specification.value_text(value) for group in looked_at.groups for value in group.values
    ]
    lines: dict[Any, list[str]] = {_key(specification, text): [] for text in wanted}
    checked = 0
    for row, (value, message, taken) in enumerate(read_pairs(path), start=1):
        try:
            given = specification.value_of(value)
            found = specification.message_of(message)
            right = specification.message(_raw(given), _unhexed(taken)) if taken else found
        except ValueError as error:
            raise InvalidParameter(f"row {row} of pairs {path}: {error}") from None
        if found != right:
            written = " ".join(map(str, right))
            told = _wrong_vector(f"IN ROW {row}", value, taken, written, message)
            return judged(randomizer, looked_at, None, sure, vectors=checked, failure=told)
        checked += bool(taken)
        if (sent := lines.get(_key(specification, value))) is not None:
            sent.append(message)
    if sum(map(bool, lines.values())) < 2:
        raise InvalidParameter(
            f"pairs {path} has messages of fewer than two of the values "
            f"{', '.join(map(_short, wanted))}; give messages of these, on which the statistics "
            "rest."
        )
    groups, counts = [], []
    for group in looked_at.groups:
        keys = [_key(specification, specification.value_text(value)) for value in group.values]
        held = [i for i, key in enumerate(keys) if lines[key]]
        groups.append(replace(group, values=[group.values[i] for i in held], law=group.law[held]))
        sorted_ = [group.sort(_array(specification, lines[keys[i]])) for i in held]
        counts.append(
            np.array([np.bincount(part, minlength=len(group.events)) for part in sorted_])
        )
    return judged(randomizer, replace(looked_at, groups=groups), counts, sure, vectors=checked)


def _unhexed(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise InvalidParameter(
            f"the bytes {validate.show(text)} are no hexadecimal digits; give two for each byte."
        ) from None


def _raw(given: Any) -> Any:
    """A value as `message` takes it."""
    if isinstance(given, float) or len(given) > 1:
        return given
    return given[0] if given else -1


def _key(specification: Specification, text: str) -> Any:
    """Texts of the same value have the same key."""
    found = specification.value_of(text)
    return found if isinstance(found, float) else tuple(found)
