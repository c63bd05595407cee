"""`shuffledp serve`: what it says when it cannot, and that it answers when it can."""

import re
import signal
import socket
import subprocess
import sys

import httpx
import pytest

from shell import run
from shuffledp.web.server import hosts_of, listening


def complaint(*arguments: str) -> str:
    result = run("serve", *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1
    return result.stderr


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = complaint("--port", str(port))
        assert f"port {port} of 127.0.0.1 cannot be used: Address already in use; choose" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--port", "70000"), "port=70000 is not within 0 and 65535; choose another."),
        (("--port", "x"), "Invalid value for '--port'"),
        (("--seconds", "0"), "seconds=0.0 is outside"),
        (("--workers", "0"), "workers=0 is outside"),
        (("--host", "0.0.0.0"), "--host 0.0.0.0 is reached under many names; say with --name"),
        (("--host", "192.0.2.1"), "port 8765 of 192.0.2.1 cannot be used"),
    ],
)
def test_what_cannot_be_served(arguments: tuple[str, ...], said: str) -> None:
    assert said in complaint(*arguments)


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastapi", None)
    said = complaint()
    assert "shuffledp serve needs fastapi, which is not installed; run pip install" in said
    assert "'shuffledp[web]'" in said


def test_the_names_of_a_server() -> None:
    assert hosts_of("127.0.0.1", 8000) == ["127.0.0.1:8000", "localhost:8000", "[::1]:8000"]
    assert hosts_of("0.0.0.0", 8000, ["dp.example"]) == ["dp.example:8000", "dp.example"]
    assert "localhost" in hosts_of("127.0.0.1", 80)
    listening("127.0.0.1", 0).close()


def test_it_answers_until_it_is_interrupted() -> None:
    command = [sys.executable, "-u", "-m", "shuffledp", "serve", "--port", "0", "--workers", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:
        assert it.stdout is not None and it.stderr is not None
        found = re.match(r"shuffledp is at (http://127\.0\.0\.1:\d+/) until", it.stdout.readline())
        assert found is not None
        transport = httpx.HTTPTransport(retries=8)  # it listens before it is ready
        with httpx.Client(transport=transport, timeout=60, trust_env=False) as client:
            asked = {"eps0": "4", "users": "10000", "delta": "1e-6"}
            answer = client.get(f"{found[1]}api/epsilon", params=asked)
            assert (
                answer.text
                == run("epsilon", *(f"--{k}={v}" for k, v in asked.items()), "--json").stdout
            )
        it.send_signal(signal.SIGINT)
        assert it.wait(timeout=20) == 0
        assert it.stderr.read() == ""
