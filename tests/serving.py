"""A server on this machine for the tests: the whole application on a real socket."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from shuffledp.web.pool import Limits, Pool
from shuffledp.web.routes import application
from shuffledp.web.server import hosts_of, listening, settings

PLAN = Path(__file__).resolve().parents[1] / "examples" / "plan.toml"
#: The example without samples and users who drop out: they take nearly all of its time.
SHORT_PLAN = re.sub(r"^(sample_rate|dropouts) = .*\n", "", PLAN.read_text(), flags=re.MULTILINE)


class Server:
    """Where it is, its workers, and a client."""

    def __init__(self, host: str, pool: Pool) -> None:
        self.host, self.pool = host, pool
        # the server closes what was idle for 5 s: no connection is used again just then
        limits = httpx.Limits(keepalive_expiry=2)
        url = f"http://{host}"
        self.client = httpx.Client(base_url=url, timeout=60, trust_env=False, limits=limits)

    @property
    def port(self) -> int:
        return int(self.host.rpartition(":")[2])

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    def ask(self, question: str, **fields: Any) -> httpx.Response:
        return self.client.post(f"/api/{question}", json=fields)


@contextmanager
def running(limits: Limits | None = None) -> Iterator[Server]:
    """A thread has it; its workers are gone afterwards."""
    limits = limits or Limits(workers=2)
    listener = listening("127.0.0.1", 0)
    hosts = hosts_of("127.0.0.1", listener.getsockname()[1])
    app, pool = application(hosts, limits)
    server = uvicorn.Server(settings(app, limits))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
    thread.start()
    found = Server(hosts[0], pool)
    try:
        yield found
    finally:
        found.client.close()
        server.should_exit = True
        thread.join()
        listener.close()
