"""Workers that are warm, each a process that can be killed, and who may use how many of them.

Every question starts in the short lane. One that is not answered after `patience` seconds moves to
the long lane, if there is room; if not, it makes way and begins anew when there is. So long
questions never stand in the way of short ones, and neither takes more than its processes.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..cli.report import INTERRUPTED
from .answers import Answer
from .worker import STOP, packed, receive


@dataclass(frozen=True)
class Limits:
    """Whatever is above is refused in one sentence; others are answered meanwhile."""

    seconds: float = 60.0  # that a question may take
    workers: int = max(2, os.cpu_count() or 2)  # processes for short questions, and as many for
    # long ones, so that these never stand in the way of those
    waiting: int = 100  # questions at once, those that are answered included
    patience: float = 1.0  # seconds: what takes longer is a long question
    body: int = 1_000_000  # bytes
    body_seconds: float = 10.0  # that a client has to send them
    head_seconds: float = 10.0  # and what comes before them
    answer: int = 20_000_000  # bytes
    memory: int = 4 * 2**30  # bytes of address space of a worker
    answers: int = 500  # of a worker, before another takes its place


_ONE_CORE = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


_END = 2.0  # seconds that a process has to end, or to hand over what it has computed


class Busy(Exception):
    """More questions at once than the limit."""


class TooLong(Exception):
    """A question took more than its time."""


class TooLarge(Exception):
    """An answer has more than its bytes."""


class Died(Exception):
    """A worker ended by itself."""


@dataclass
class Asked:
    """A question that is being answered, and how far that is."""

    arguments: Sequence[str]
    files: Mapping[str, str]
    page: bool = False
    start: float = field(default_factory=time.monotonic)
    progress: dict[str, Any] = field(default_factory=dict)
    pid: int | None = None

    @property
    def state(self) -> dict[str, Any]:
        usual = {"label": None, "done": None, "total": None}
        seconds = round(time.monotonic() - self.start, 3)
        return {"seconds": seconds, "waiting": self.pid is None, **usual, **self.progress}


class Worker:
    """One process. It is started here and killed here."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process, self.answers = process, 0

    @classmethod
    async def start(cls, limits: Limits) -> Worker:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "shuffledp.web.worker", str(limits.memory)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **_ONE_CORE, "SHUFFLEDP_DEBUG": "0"},
            start_new_session=True,  # Ctrl-C is the server's
        )
        started = cls(process)
        assert process.stdout is not None
        try:
            await receive(process.stdout)  # it is ready
        except EOFError:
            raise Died from None
        except asyncio.CancelledError:
            await started.kill()
            raise
        return started

    async def answer(self, asked: Asked, limits: Limits) -> Answer:
        """What the process answers. When the time is over it is interrupted: what it has computed
        of a sweep comes back, anything else is too long."""
        assert self.process.stdin is not None and self.process.stdout is not None
        question = {"arguments": list(asked.arguments), "files": dict(asked.files)}
        more = {"page": asked.page, "most": limits.answer, "seconds": limits.seconds}
        left = max(0.0, asked.start + limits.seconds - time.monotonic())
        over = asyncio.get_running_loop().call_later(left, self._send, STOP)
        try:
            self._send({**question, **more})
            await self.process.stdin.drain()
            while "answer" not in (message := await receive(self.process.stdout)):
                asked.progress = message
        except (EOFError, ConnectionError):
            raise Died from None
        finally:
            over.cancel()
        self.answers += 1
        if message["answer"] is None:
            raise TooLarge
        found = Answer(*message["answer"])
        if found.code == INTERRUPTED and not found.out:
            raise TooLong
        return found

    def _send(self, message: Any) -> None:
        assert self.process.stdin is not None
        with suppress(ConnectionError):  # whoever reads the answer will see that it is gone
            self.process.stdin.write(packed(message))

    async def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        with suppress(TimeoutError):  # asyncio waits for what nobody reads any more, too
            await asyncio.wait_for(self.process.wait(), _END)


class Pool:
    """All workers of a server."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.idle: list[Worker] = []
        self.busy: set[Worker] = set()
        self.questions = 0
        self._long_ones = 0
        self._short = asyncio.Semaphore(limits.workers)
        self._long = asyncio.Semaphore(limits.workers)
        self._starting: set[asyncio.Task[None]] = set()
        self._closed = False

    async def open(self) -> None:
        await asyncio.gather(*(self._start() for _ in range(self.limits.workers)))

    async def close(self) -> None:
        self._closed = True
        # to end: a process that is cancelled while it starts may be lost, and waited for
        await asyncio.gather(*self._starting, return_exceptions=True)
        await asyncio.gather(*(worker.kill() for worker in [*self.idle, *self.busy]))
        self.idle.clear()

    async def ask(self, asked: Asked) -> Answer:
        """If whoever asks is cancelled, so is the question: at once where it is a long one, and
        after `patience` where it may end before a new process would be ready."""
        if self.questions >= self.limits.waiting:
            raise Busy
        self.questions += 1
        try:
            async with asyncio.timeout(self.limits.seconds + _END):
                return await self._answered(asked)
        except TimeoutError:
            raise TooLong from None
        finally:
            self.questions -= 1
            self._warm()  # it may have been left before its worker was ready

    async def _answered(self, asked: Asked) -> Answer:
        async with self._short:
            run = asyncio.ensure_future(self._run(asked, await self._taken()))
            try:
                await asyncio.wait([run], timeout=self.limits.patience)
            except asyncio.CancelledError:
                await _leave(run, self.limits.patience)
                raise
            if run.done():
                return run.result()
            if wait := self._long.locked():
                await _leave(run)
            else:
                await self._long.acquire()
        if wait:
            asked.pid, asked.progress = None, {}
            await self._long.acquire()
        self._long_ones += 1
        try:
            self._warm()
            if wait:
                run = asyncio.ensure_future(self._run(asked, await self._taken()))
            return await run
        finally:
            await _leave(run)
            self._long_ones -= 1
            self._long.release()

    async def _taken(self) -> Worker:
        """A worker that lives."""
        while self.idle:
            if (worker := self.idle.pop()).process.returncode is None:
                return worker
        return await Worker.start(self.limits)

    async def _run(self, asked: Asked, worker: Worker) -> Answer:
        """The worker is killed if this is cancelled."""
        self.busy.add(worker)
        asked.pid, well = worker.process.pid, False
        try:
            found = await worker.answer(asked, self.limits)
            well = worker.answers < self.limits.answers and found.code != INTERRUPTED
            return found
        finally:
            self.busy.discard(worker)
            if well and len(self.idle) < self.limits.workers:
                self.idle.append(worker)
            else:
                await asyncio.shield(worker.kill())
                self._warm()

    def _warm(self) -> None:
        """Other workers, if there are too few for short questions."""
        ready = len(self.idle) + len(self.busy) - self._long_ones + len(self._starting)
        for _ in range(ready, 0 if self._closed else self.limits.workers):
            task = asyncio.ensure_future(self._start())
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)

    async def _start(self) -> None:
        with suppress(Died):  # whoever needs it will try again, and say so
            worker = await Worker.start(self.limits)
            if len(self.idle) < self.limits.workers:
                self.idle.append(worker)
            else:  # the one that was too busy is back already
                await worker.kill()


async def _leave(run: asyncio.Future[Answer], patience: float = 0.0) -> None:
    """Nobody wants this any more: let it end within some time, or end it."""
    with suppress(BaseException):
        await asyncio.wait([run], timeout=patience)
    run.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await run
