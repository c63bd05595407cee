"""Workers: long questions are cancelled, bounded in time, and never in the way of short ones."""

import contextlib
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from serving import Server, running
from shell import run
from shuffledp import PureLDP, Shuffle
from shuffledp.web.pool import Limits

#: Answered at once, and not for a long time. A client has a connection for each that is open.
SHORT: dict[str, Any] = {"eps0": 1, "users": 50, "delta": 0.01}
LONG: dict[str, Any] = {"eps0": "1:4:0.001", "users": 1000, "rounds": 8, "delta": 1e-6}
LIMITS = Limits(workers=2, patience=0.8, waiting=30)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(LIMITS) as found:
        yield found


@pytest.fixture(scope="module")
def hurried() -> Iterator[Server]:
    """A server that stops every question soon."""
    with running(Limits(workers=1, seconds=1, patience=0.3)) as found:
        yield found


def until(true: Callable[[], Any], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def in_background(server: Server, name: str) -> tuple[threading.Thread, list[httpx.Response]]:
    """A long question with a name; the response comes into the list."""
    found: list[httpx.Response] = []

    def ask() -> None:
        asked = server.client.post("/api/sweep", json=LONG, headers={"x-question-id": name})
        found.append(asked)

    thread = threading.Thread(target=ask)
    thread.start()
    return thread, found


def pid_of(server: Server) -> int:
    until(lambda: server.pool.busy)
    return next(iter(server.pool.busy)).process.pid


def stop(server: Server) -> None:
    """Stop what is busy: it is long for its question, and takes no processor time from others."""
    for worker in list(server.pool.busy):
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker.process.pid, signal.SIGSTOP)


def state(server: Server, name: str) -> dict[str, Any]:
    """How far it is; empty while nobody answers it."""
    answer = server.client.get(f"/api/questions/{name}")
    return answer.json() if answer.status_code == 200 else {}


def test_a_long_question_tells_how_far_it_is_and_is_cancelled(server: Server) -> None:
    thread, found = in_background(server, "question-1")
    pid = pid_of(server)
    until(lambda: state(server, "question-1").get("done"))
    told = state(server, "question-1")
    assert told["label"] == "rows" and told["total"] == 3001 and 0 < told["done"] < 3001
    assert told["seconds"] > 0.9 and not told["waiting"]
    assert server.ask("epsilon", **SHORT).status_code == 200  # others are answered meanwhile
    assert server.client.delete("/api/questions/question-1").json() == {"cancelled": "question-1"}
    thread.join()
    assert found[0].status_code == 409
    assert found[0].json()["error"]["message"] == "the question was cancelled."
    until(lambda: not alive(pid))
    assert not state(server, "question-1")


def test_a_client_that_leaves_takes_its_worker_with_it(server: Server) -> None:
    until(lambda: len(server.pool.idle) == LIMITS.workers and not server.pool.busy)
    left: list[httpx.TimeoutException] = []

    def leave() -> None:
        patient = 3 * LIMITS.patience  # the question is a long one by then
        try:
            server.client.post("/api/sweep", json=LONG, timeout=patient)
        except httpx.TimeoutException as error:
            left.append(error)

    client = threading.Thread(target=leave)
    client.start()
    pid = pid_of(server)
    stop(server)
    client.join()
    assert left
    until(lambda: not alive(pid) and not server.pool.busy)
    until(lambda: len(server.pool.idle) == LIMITS.workers)  # another is warm


def test_a_client_that_leaves_before_its_worker_is_ready(server: Server) -> None:
    until(lambda: len(server.pool.idle) == LIMITS.workers and not server.pool.busy)
    for worker in list(server.pool.idle):
        os.kill(worker.process.pid, signal.SIGKILL)
    until(lambda: all(worker.process.returncode is not None for worker in server.pool.idle))
    with pytest.raises(httpx.TimeoutException):
        server.client.post("/api/epsilon", json=SHORT, timeout=0.1)
    until(lambda: [w.process.returncode for w in server.pool.idle] == [None] * LIMITS.workers)


def test_a_short_question_that_is_left_does_not_cost_a_worker(server: Server) -> None:
    until(lambda: len(server.pool.idle) == LIMITS.workers and not server.pool.busy)
    before = {worker.process.pid for worker in server.pool.idle}
    for _ in range(5):
        # whether the answer comes first depends on the machine
        with contextlib.suppress(httpx.TimeoutException):
            server.client.post("/api/epsilon", json={**SHORT, "rounds": 30}, timeout=0.01)
    until(lambda: not server.pool.busy and server.pool.questions == 0)
    assert {worker.process.pid for worker in server.pool.idle} == before


def test_short_questions_never_wait_for_long_ones(server: Server) -> None:
    """Twice as many long ones as there are workers for them."""
    names = [f"question-{i}" for i in range(10, 14)]
    long = [in_background(server, name) for name in names]

    def are_long() -> bool:
        stop(server)
        return all(state(server, name).get("seconds", 0) > LIMITS.patience for name in names)

    until(are_long)
    for _ in range(5):
        assert server.ask("epsilon", **SHORT).status_code == 200
    assert all(thread.is_alive() for thread, _ in long)  # the long ones are still there
    assert len(server.pool.busy) <= 2 * LIMITS.workers
    for name, (thread, found) in zip(names, long, strict=True):
        assert server.client.delete(f"/api/questions/{name}").status_code == 200
        thread.join()
        assert found[0].status_code == 409
    until(lambda: not server.pool.busy)


def test_a_question_has_so_much_time_and_no_more(hurried: Server) -> None:
    thread, found = in_background(hurried, "question-2")
    pid_of(hurried)
    stop(hurried)
    thread.join()
    assert found[0].status_code == 504
    assert "takes longer than 1 s" in found[0].json()["error"]["message"]
    until(lambda: hurried.pool.idle and not hurried.pool.busy)
    assert hurried.ask("epsilon", **SHORT).status_code == 200


def test_a_sweep_that_is_stopped_answers_with_the_rows_it_has(hurried: Server) -> None:
    rows = {**SHORT, "eps0": "1:4:0.001"}  # each takes a few thousandths of a second
    first = Shuffle(PureLDP(eps0=1), users=50).get_epsilon(0.01)

    def asked(format: str) -> httpx.Response:
        until(lambda: hurried.pool.idle and not hurried.pool.busy)  # no time to start a worker
        return hurried.ask("sweep", **rows, format=format)

    for format in ("json", "page"):
        answer = asked(format)
        report = answer.json()
        assert answer.status_code == 504
        assert 0 < len(report["rows"]) < 3001
        assert report["rows"][0]["upper"] == first
        said = (
            f"the answer takes longer than 1 s: the sweep was stopped after "
            f"{len(report['rows']):,} of 3,001 rows; ask for the other rows separately."
        )
        assert report["error"]["kind"] == "interrupted" and report["error"]["message"] == said
    assert "upper_text" in report["rows"][-1]
    *shown, last = asked("text").text.splitlines()
    assert shown[0].startswith("eps0,") and len(shown) > 1 and "of 3,001 rows" in last


def test_too_many_at_once_are_told_so(server: Server) -> None:
    found: Counter[int] = Counter()

    def ask() -> None:
        found[server.ask("epsilon", **SHORT).status_code] += 1

    threads = [threading.Thread(target=ask) for _ in range(45)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.keys() <= {200, 503} and found[200] >= 30
    until(lambda: server.pool.questions == 0)
    assert server.ask("epsilon", **SHORT).status_code == 200


def test_a_worker_that_dies_is_replaced(server: Server) -> None:
    until(lambda: len(server.pool.idle) == LIMITS.workers)
    for worker in list(server.pool.idle):
        os.kill(worker.process.pid, 9)
    until(lambda: all(worker.process.returncode is not None for worker in server.pool.idle))
    assert server.ask("epsilon", **SHORT).status_code == 200


def test_a_worker_has_so_much_memory_and_no_more() -> None:
    """A bound on the address space, and what asks for more is told so."""
    with running(Limits(workers=1, memory=250 * 2**20)) as small:
        answer = small.ask("sweep", eps0="0.001:9:0.001", users="1:1000:1", delta=0.1)
        assert answer.status_code == 422
        assert "not enough memory" in answer.json()["error"]["message"]
        assert small.ask("epsilon", **SHORT).status_code == 200


def test_workers_retire() -> None:
    with running(Limits(workers=1, answers=2)) as server:
        seen = set()
        for _ in range(3):
            until(lambda: len(server.pool.idle) == 1)
            seen.add(server.pool.idle[0].process.pid)
            assert server.ask("epsilon", **SHORT).status_code == 200
        assert len(seen) == 2


def test_no_more_workers_wait_than_there_may_be() -> None:
    """What seems to take long is over before the worker is ready that was started instead."""
    with running(Limits(workers=1, patience=0.0)) as server:
        for _ in range(2):
            assert server.ask("epsilon", **SHORT).status_code == 200
            until(lambda: not server.pool._starting)
            assert len(server.pool.idle) == 1


def resident(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_ten_clients_at_once_get_their_own_answers(server: Server) -> None:
    """Part of a second here; a minute was run by hand."""
    expected = {
        users: run("epsilon", "--eps0=1", f"--users={users}", "--delta=0.01", "--json").stdout
        for users in range(50, 60)
    }
    end, wrong, count = time.monotonic() + 0.2, [], Counter[int]()

    def ask(users: int) -> None:
        while time.monotonic() < end:
            answer = server.ask("epsilon", **{**SHORT, "users": users})
            count[users] += 1
            if answer.status_code != 200 or answer.text != expected[users]:
                wrong.append((users, answer.text))

    threads = [threading.Thread(target=ask, args=(users,)) for users in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and len(count) == 10
    until(lambda: not server.pool.busy)
    assert len(server.pool.idle) <= LIMITS.workers
    if os.path.exists("/proc/self/statm"):
        assert all(resident(w.process.pid) < 400 * 2**20 for w in server.pool.idle)
