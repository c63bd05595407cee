"""Whatever a client sends, it gets a 4xx with one sentence, and the others go on."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from covering import covering
from serving import Server, running
from shuffledp.web.pool import Limits

GOOD: dict[str, Any] = {"eps0": 1, "users": 9, "delta": 0.1}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(Limits(workers=1, body_seconds=0.6, head_seconds=0.6)) as found:
        yield found


@pytest.fixture(autouse=True)
def others_go_on(server: Server) -> Iterator[None]:
    yield
    assert server.ask("epsilon", **GOOD).json()["error"] is None


def sentence(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.text
    message = answer.json()["error"]["message"]
    assert len(message.splitlines()) == 1 and len(message) < 2000 and message.endswith(".")
    return str(message)


STRANGE = [
    "nan",
    "inf",
    "-inf",
    "1e400",
    "1e-400",
    "9" * 5000,
    "-1",
    "",
    " ",
    "\0",
    "--help",
    "x" * 10**5,
]


@pytest.mark.parametrize(
    ("field", "value"),
    covering(["eps0", "users", "delta"], STRANGE),
    ids=lambda value: repr(value[:10]),
)
def test_strange_numbers(field: str, value: str, server: Server) -> None:
    assert len(sentence(server.ask("epsilon", **{**GOOD, field: value}), 422)) < 400


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"null", b"NaN", b"{", b'{"eps0": NaN}', b'"text"', b"\xff\xfe", b"[" * 10**5,
        b'{"a":' * 50_000, b'{"eps0": {"a": 1}}', b'{"eps0": [1, 2]}', b'{"eps0": true}',
        b'{"files": 1}', b'{"files": {"a": 1}}', b'{"format": 3}', b'{"format": "exe"}',
        b'{"eps0": 1e400, "users": 9, "delta": 0.1}', b'{"users": ' + b"9" * 10**5 + b"}",
    ],
    ids=lambda body: repr(body[:18]),
)  # fmt: skip
def test_bodies_that_are_no_questions(body: bytes, server: Server) -> None:
    sentence(server.client.post("/api/epsilon", content=body), 422)


def test_fields_that_are_not_there(server: Server) -> None:
    for name in ("json", "out", "client", "plot", "help", "-h", "__class__", "jobs"):
        said = sentence(server.ask("epsilon", **GOOD, **{name: "1"}), 422)
        assert repr(name) in said and "the known ones are" in said
    for name, meant in (("eps0 ", "eps0"), ("user", "users"), ("n", "users"), ("sample-rate", "")):
        said = server.ask("epsilon", **GOOD, **{name: "1"}).json()["error"]["message"]
        assert said == f"epsilon has no field {name!r}; did you mean {meant or 'sample_rate'}?"
    assert "'client'" in sentence(server.ask("audit", client="os:system"), 422)
    assert "'out'" in sentence(server.ask("sweep", **GOOD, out="x.csv"), 422)


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../../etc/passwd", "-", "plan.toml", "pyproject.toml"]
)
def test_no_file_of_the_server_is_read(path: str, server: Server) -> None:
    assert "not among the files" in sentence(server.ask("account", plan=path), 422)
    matrix = {"randomizer": "matrix", "matrix": path, "users": 9, "delta": 0.1}
    assert "not among the files" in sentence(server.ask("epsilon", **matrix), 422)
    assert "not among the files" in sentence(server.ask("sweep", **matrix), 422)
    values = {**GOOD, "values": path}
    assert "not among the files" in sentence(server.ask("simulate", **values), 422)
    start = "target = {epsilon = 1, delta = 0.1}\n[[rounds]]\n"
    plan = f"{start}randomizer = 'matrix'\nmatrix = '{path}'\nusers = 9"
    said = sentence(server.ask("account", plan="p", files={"p": plan}), 422)
    assert "cannot be read: it is not among the files" in said
    plan = f"{start}mechanism = 'pld'\nfile = '{path}'"
    said = sentence(server.ask("account", plan="p", files={"p": plan}), 422)
    assert "cannot be read: it is not among the files" in said
    for mine in (path, "a"):  # a name does not become a file either
        assert server.ask("account", plan="a", files={"a": "", mine: "x"}).status_code == 422
    assert not Path("a").exists()


@pytest.mark.parametrize(
    "path",
    ["/../etc/passwd", "/static/../app.py", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd",
     "//etc/passwd", "/api/../api/epsilon", "/app.py", "/api/reproduce",
     "/api/serve"],
)  # fmt: skip
def test_paths_lead_nowhere(path: str, server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: {server.host}\r\n\r\n".encode())
        assert raw.recv(12) == b"HTTP/1.1 404"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "localhost:1", "", "127.0.0.1.nip.io"]
)
def test_other_hosts_are_refused(host: str, server: Server) -> None:
    for path in ("/", "/api/epsilon", "/api/registry"):
        sentence(server.client.get(path, headers={"host": host}), 421)


def test_other_sites_are_refused(server: Server) -> None:
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"origin": f"http://localhost:{server.port + 1}"},
    ):
        answer = server.client.post("/api/epsilon", json=GOOD, headers=headers)
        assert "only the pages" in sentence(answer, 403)
        assert "access-control-allow-origin" not in answer.headers
    own = {"origin": server.url, "sec-fetch-site": "same-origin"}
    assert server.client.post("/api/epsilon", json=GOOD, headers=own).status_code == 200
    # a link from elsewhere to the page is a link
    assert server.client.get("/", headers={"sec-fetch-site": "cross-site"}).status_code == 200


def test_large_bodies(server: Server) -> None:
    said = sentence(server.client.post("/api/epsilon", content=b" " * 10**7), 413)
    assert "1,000,000 bytes" in said

    def pieces() -> Iterator[bytes]:
        for _ in range(30):
            yield b" " * 10**5

    sentence(server.client.post("/api/epsilon", content=pieces()), 413)


def test_slow_bodies(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        head = f"POST /api/epsilon HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 99\r\n\r\n"
        raw.sendall(head.encode() + b"{")
        assert server.ask("epsilon", **GOOD).status_code == 200  # meanwhile
        assert raw.recv(12) == b"HTTP/1.1 408"


def test_slow_heads(server: Server) -> None:
    """A connection on which no request comes is closed."""
    silent = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(20)]
    for raw in silent[::2]:
        raw.sendall(b"GET / HTTP/1.1\r\nHost:")
    assert server.ask("epsilon", **GOOD).status_code == 200
    for raw in silent:
        assert raw.recv(1) == b""
        raw.close()


def test_other_methods_and_names(server: Server) -> None:
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        sentence(server.client.request(method, "/api/epsilon"), 405)
    sentence(server.client.delete("/api/questions/nothing"), 404)
    sentence(server.client.get("/api/questions/nothing"), 404)
    for name in ("short", "x" * 65, "with space", "a/b/c/d/e"):
        answer = server.client.post("/api/epsilon", json=GOOD, headers={"x-question-id": name})
        assert "x-question-id" in sentence(answer, 422)


def test_answers_that_are_too_large(server: Server) -> None:
    asked = {"eps0": "0.1:9:0.001", "users": "1:9000:1", "delta": 0.1}
    assert "rows are above" in sentence(server.ask("sweep", **asked), 422)


def test_what_the_page_of_an_error_says_is_text(server: Server) -> None:
    """A sentence may repeat what was given: it is never taken for HTML."""
    answer = server.ask("epsilon", **{**GOOD, "eps0": "<script>alert(1)</script>"}, format="page")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    json.loads(answer.text)
