"""The API answers as the shell and Python do: the same digits, the same sentences."""

import asyncio
import io
import json
import re
import shlex
import socket
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib import resources
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from serving import PLAN, SHORT_PLAN, Server, running
from shell import ok, run
from shuffledp import Accountant, Plan, Shuffle
from shuffledp.cli.app import cli
from shuffledp.randomizers import REGISTRY
from shuffledp.randomizers.base import named_randomizers
from shuffledp.web.pool import Limits
from shuffledp.web.questions import questions
from shuffledp.web.server import listening

MATRIX = "0.75,0.25\n0.25,0.75\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(Limits(workers=1)) as found:
        yield found


def described(name: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The example of a randomizer as the fields of a question, and its files."""
    example = dict(REGISTRY[name].example)
    files = {"matrix.csv": MATRIX} if "matrix" in example else {}
    if files:
        example["matrix"] = "matrix.csv"
    return {"randomizer": name, **example}, files


def as_options(fields: dict[str, Any], folder: Path) -> list[str]:
    said = []
    for name, value in fields.items():
        if name == "matrix":
            (folder / "matrix.csv").write_text(MATRIX)
            value = folder / "matrix.csv"
        said += [f"--{name.replace('_', '-')}", str(value)]
    return said


@pytest.mark.parametrize(("name", "rounds"), [*zip(REGISTRY, cycle([1, 3]))])
def test_python_shell_and_api_give_the_same_digits(
    name: str, rounds: int, server: Server, tmp_path: Path
) -> None:
    fields, files = described(name)
    asked = {"users": 40, "rounds": rounds, "delta": 1e-2, "rtol": 0.05}
    answer = server.ask("epsilon", **fields, **asked, files=files)
    assert answer.status_code == 200, answer.text
    shell = run("epsilon", *as_options(fields | asked, tmp_path), "--json")
    assert answer.text == shell.stdout
    round_ = Shuffle(REGISTRY[name](**REGISTRY[name].example), users=40)
    number = Accountant().compose(round_, rounds=rounds).get_epsilon(1e-2, rtol=0.05)
    assert answer.json()["upper"] == [number]


@pytest.mark.parametrize("name", REGISTRY)
def test_the_lines_of_the_page_give_the_same_number(
    name: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields, files = described(name)
    rounds = 2 if name == "pure-ldp" else 1
    asked = {"users": 60, "rounds": rounds, "epsilon": 0.5, "rtol": 0.05, "format": "page"}
    report = server.ask("delta", **fields, **asked, files=files).json()
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(report["python"], {})
    assert float(printed.getvalue()) == report["upper"][0]
    monkeypatch.chdir(tmp_path)
    Path("matrix.csv").write_text(MATRIX)
    command = shlex.split(report["shell"])
    assert command[0] == "shuffledp"
    said = run(*command[1:]).stdout.rstrip("\n")
    assert said == report["statement"]
    assert report["upper_text"][0] in said.splitlines()[0]


def test_a_large_matrix_is_read_from_its_file(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [[0.7 if i == j else 0.3 / 11 for j in range(12)] for i in range(12)]
    text = "\n".join(",".join(map(repr, row)) for row in rows)
    asked = {"randomizer": "matrix", "matrix": "my.csv", "users": 50, "delta": 0.01}
    report = server.ask("epsilon", **asked, files={"my.csv": text}, format="page").json()
    monkeypatch.chdir(tmp_path)
    Path("my.csv").write_text(text)
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(report["python"], {})
    assert float(printed.getvalue()) == report["upper"][0]


def test_every_command_with_json_has_its_route(server: Server) -> None:
    able = {
        name
        for name, command in cli.commands.items()
        if any("--json" in parameter.opts for parameter in command.params)
    }
    assert questions().keys() == able
    document = server.client.get("/openapi.json").json()
    for name in able:
        assert {"get", "post"} <= document["paths"][f"/api/{name}"].keys()
        assert f"/api/{name}" in (page := server.client.get("/docs").text)
        assert "exit code" not in page.lower()  # it is the shell's
        assert server.client.get(f"/api/schemas/{name}.json").status_code == 200


def test_no_field_writes_runs_or_reads_by_itself() -> None:
    """A new option of any text is no field until somebody has looked at it."""
    known = {"randomizer", "mechanism", "analysis", "view", "neighbours", "sampling", "date", "at"}
    known |= {"document_title", "owner", "purpose", "document_version", "signature"}
    known |= {"questions", "weights"}  # texts of which nothing but numbers and names are read
    for question in questions().values():
        fields = question.model.model_json_schema()["properties"]
        fields.pop("files"), fields.pop("format")
        texts = {name for name, each in fields.items() if each["type"][0] == "string"}
        texts -= {name for name, each in fields.items() if "enum" in each}
        assert texts - {*question.files} <= known
        assert {*question.files} <= {"matrix", "plan", "values", "spec", "pairs"}
        for name in ("out", "client", "plot", "jobs", "title", "figsize", "dpi", "json"):
            assert name not in fields


def test_openapi_describes_every_field_once(server: Server) -> None:
    """The document is made of the models of the questions: the help texts of the shell."""
    document = server.client.get("/openapi.json").json()
    paths = document["paths"]
    body = paths["/api/epsilon"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["required"] == ["delta"] and body["additionalProperties"] is False
    assert body["properties"]["users"]["type"] == ["integer", "string"]
    assert body["properties"]["view"]["enum"][0] == "shuffle"
    assert "default" not in body["properties"]["users"]
    query = {each["name"]: each for each in paths["/api/epsilon"]["get"]["parameters"]}
    assert query.keys() - {"x-question-id"} == body["properties"].keys() - {"files"}
    assert query["delta"]["required"] and not query["eps0"]["required"]
    for name, question in questions().items():
        schema = question.model.model_json_schema()
        Draft202012Validator.check_schema(schema)
        for field, each in schema["properties"].items():
            assert "--" not in each["description"], (name, field)  # fields, not options
    asked = {"eps0": 1, "users": "10k", "delta": [1e-6, "1e-9"], "files": {}, "format": "page"}
    assert Draft202012Validator(body).is_valid(asked)
    for wrong in ({"eps0": True}, {"user": 1}, {"view": "all"}, {"files": {"a": 1}}):
        assert not Draft202012Validator(body).is_valid({**asked, **wrong})


@pytest.mark.parametrize(
    ("question", "fields"),
    [
        ("epsilon", {"eps0": -1, "users": 9, "delta": 0.1}),
        ("epsilon", {"eps0": 300, "users": 9, "delta": 0.1}),
        ("epsilon", {"eps0": "x", "users": 9, "delta": 0.1}),
        ("epsilon", {"eps0": 1, "users": 9}),
        ("epsilon", {"randomizer": "rr", "users": 9, "delta": 0.1}),
        ("delta", {"eps0": 1, "users": 9, "epsilon": -1}),
        ("choose", {"users": 100, "epsilon": 1, "delta": 1e-6}),
        ("sweep", {"eps0": 1}),
        (
            "calibrate",
            {"find": "rounds", "eps0": 4, "users": 10_000, "epsilon": 0.1, "delta": 1e-6},
        ),
    ],
)
def test_errors_are_the_shells_with_fields_for_options(
    question: str, fields: dict[str, Any], server: Server
) -> None:
    answer = server.ask(question, **fields)
    options = [f"--{name.replace('_', '-')}={value}" for name, value in fields.items()]
    shell = run(question, *options, "--json")
    assert (answer.status_code, shell.returncode) == (422, 2)
    said = re.sub("--[a-z-]+", lambda option: option[0][2:].replace("-", "_"), shell.stderr)
    said = said.replace("Missing option", "Missing field")
    report = json.loads(shell.stdout)
    report["error"]["message"] = said.removeprefix("shuffledp: ").strip()
    assert answer.json() == report
    text = server.ask(question, **fields, format="text")
    assert (text.status_code, f"shuffledp: {text.text}") == (422, said)


def test_the_examples_of_the_api_page_ask_this_server(server: Server) -> None:
    page = server.client.get("/docs").text
    assert f"curl 'http://{server.client.base_url.netloc.decode()}/api/epsilon" in page


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"eps0": -1, "users": 9, "delta": 0.1}, "eps0"),
        ({"eps0": 1, "users": "many", "delta": 0.1}, "users"),
        ({"eps0": 1, "users": 9}, "delta"),
        ({"eps0": 1, "users": 9, "delta": 2}, "delta"),
        ({"randomizer": "rr", "eps0": 1, "users": 9, "delta": 0.1}, "k"),
        ({"eps0": 1, "k": 3, "users": 9, "delta": 0.1}, "k"),
        ({"eps0": 1, "users": 9, "delta": 0.1, "sample_rate": 2}, "sample_rate"),
    ],
)
def test_the_page_is_told_the_field(fields: dict[str, Any], field: str, server: Server) -> None:
    assert server.ask("epsilon", **fields, format="page").json()["field"] == field


def test_a_question_is_an_address_too(server: Server) -> None:
    asked = {"eps0": "4", "users": "10k", "delta": "1e-6"}
    got = server.client.get("/api/epsilon", params=asked)
    assert got.text == server.ask("epsilon", eps0=4, users=10_000, delta=1e-6).text
    several = server.client.get("/api/epsilon?eps0=4&users=9&delta=0.1&delta=0.2").json()
    assert several["delta"] == [0.1, 0.2]
    assert server.ask("epsilon", eps0=4, users=9, delta=[0.1, "20%"]).json() == several


@pytest.mark.parametrize("field", ["rounds", "colluding"])
def test_counts_have_no_decimal_point(field: str, server: Server) -> None:
    """Neither as numbers and texts of JSON, which are taken as written, nor in an address."""
    protocol = '{"eps0": 1, "users": "1.5k", "delta": 0.1'
    bodies = (f'{protocol}, "{field}": {value}}}' for value in ("10.000", '"10.000"'))
    answers = [server.client.post("/api/epsilon", content=body) for body in bodies]
    asked = {"eps0": "1", "users": "1.5k", "delta": "0.1", field: "10.000"}
    for answer in [*answers, server.client.get("/api/epsilon", params=asked)]:
        assert answer.status_code == 422
        assert "'10.000' is a count with a decimal point" in answer.json()["error"]["message"]
    assert server.ask("epsilon", eps0=1, users="1.5k", delta=0.1).json()["users"] == 1500


def test_no_field_is_given_twice(server: Server) -> None:
    """Not in an address, where 10 and 100 users were taken for 10,100, nor in a body; lists may be
    repeated in an address."""
    for query, name in (
        ("eps0=4&eps0=5&users=9&delta=0.1", "eps0"),
        ("eps0=4&users=10&users=100&delta=0.1", "users"),
        ("eps0=4&users=9&delta=0.1&format=json&format=text", "format"),
    ):
        answer = server.client.get(f"/api/epsilon?{query}")
        assert answer.status_code == 422
        said = f"{name} is given more than once; give it once."
        assert answer.json()["error"]["message"] == said
    for body, name in (
        ('{"eps0": 4, "eps0": 5, "users": 9, "delta": 0.1}', "eps0"),
        ('{"eps0": 4, "users": 9, "delta": 0.1, "files": {"a": "", "a": "1"}}', "a"),
    ):
        answer = server.client.post("/api/epsilon", content=body)
        assert answer.status_code == 422
        said = f"the key '{name}' is given 2 times; give it once."
        assert answer.json()["error"]["message"] == said


def test_answers_are_sent_without_delay() -> None:
    """The system does not hold small packets back until the client acknowledges earlier ones."""

    async def accepted() -> Any:
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Any] = loop.create_future()

        class Connection(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                found.set_result(transport.get_extra_info("socket"))

        with listening("127.0.0.1", 0) as listener:
            server = await loop.create_server(Connection, sock=listener)
            async with server:
                _, writer = await asyncio.open_connection(*listener.getsockname())
                option = (await found).getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                writer.close()
        return option

    assert asyncio.run(accepted())


def test_what_is_not_certified_is_an_answer(server: Server) -> None:
    asked = {"randomizer": "gaussian", "sigma": 1, "users": 1, "delta": 0.1, "rtol": 1e-7}
    answer = server.ask("epsilon", **asked, format="page")
    assert answer.status_code == 200
    report = answer.json()
    assert report["certified"] == [False] and report["error"]["kind"] == "not-certified"
    assert report["lower"][0] < report["upper"][0] and "python" in report


def test_the_document_of_a_plan_is_described_as_in_the_shell(
    server: Server, tmp_path: Path
) -> None:
    """Fields replace what [document] says, which holds without them."""
    file = tmp_path / "plan.toml"
    file.write_text(SHORT_PLAN)
    plan = {"plan": "plan.toml", "files": {"plan.toml": SHORT_PLAN}}
    told = {"document_title": "A year", "owner": "Team, A", "purpose": "Usage"}
    told |= {"date": "2026-01-31", "document_version": "2"}
    signatures = ["Jo Doe, officer", "-- Al Roe"]
    asked = server.ask("account", **plan, **told, signature=signatures)
    said = asked.json()["document"]
    assert (said["title"], said["owner"], said["purpose"]) == ("A year", "Team, A", "Usage")
    assert (said["date"], said["version"], said["signatures"]) == ("2026-01-31", "2", signatures)
    options = [f"--{name.replace('_', '-')}={text}" for name, text in told.items()]
    options += [f"--signature={line}" for line in signatures]
    for form in ("markdown", "html"):
        shown = server.ask("account", **plan, **told, signature=signatures, format=form).text
        assert shown == ok("account", str(file), *options, f"--{form}")
    own = server.ask("account", **plan, signature="One").json()["document"]
    assert own["owner"] == "Measurement team" and own["signatures"] == ["One"]
    refused = server.ask("account", **plan, owner="two\nlines")
    assert refused.status_code == 422 and "owner" in refused.json()["error"]["message"]
    given = questions()["account"].from_query([("signature", "A, B"), ("signature", "C")])
    words = questions()["account"].arguments(given)
    assert words[1:3] == ["--signature=A, B", "--signature=C"]


def test_a_plan_and_the_files_it_names_come_as_texts(server: Server, tmp_path: Path) -> None:
    files = {"plan.toml": SHORT_PLAN}
    report = server.ask("account", plan="plan.toml", files=files).json()
    (tmp_path / "plan.toml").write_text(SHORT_PLAN)
    ledger = Plan.read(tmp_path / "plan.toml").ledger()
    assert [entry["upper"] for entry in report["entries"]] == [
        e.running.upper for e in ledger.entries
    ]
    assert report["verdict"] == ledger.verdict
    assert report["inputs"] == [{"name": name, "sha256": digest} for name, digest in ledger.inputs]
    page = server.ask("account", plan="plan.toml", files=files, format="html").text
    assert page.startswith("<!DOCTYPE html>")
    assert server.client.get("/plan.toml").text == PLAN.read_text()  # the example of the page
    assert "Data protection officer" in page  # as the plan says
    plan = (
        "target = { epsilon = 9.0, delta = 0.1 }\n[[rounds]]\nrandomizer = 'matrix'\n"
        "matrix = 'r.csv'\nusers = 9\n"
    )
    files = {"plan.toml": plan, "r.csv": MATRIX}
    assert server.ask("account", plan="plan.toml", files=files).json()["fits"]


def test_values_of_ones_own_are_simulated(server: Server) -> None:
    asked = {"randomizer": "rr", "k": 3, "eps0": 2, "delta": 0.01, "seed": 1, "values": "v.csv"}
    report = server.ask("simulate", **asked, files={"v.csv": "0\n1\n2\n1\n"}).json()
    assert report["true"] == [1, 2, 1]


def test_formats_are_what_the_shell_prints(server: Server) -> None:
    asked = {"k": 4, "gamma": 0.25, "users": 100, "delta": 1e-3}
    options = [f"--{name}={value}" for name, value in asked.items()]
    for format, option in (("text", []), ("csv", ["--csv"])):
        answer = server.ask("adversaries", **asked, format=format)
        assert answer.text == run("adversaries", *options, *option).stdout
    assert answer.headers["content-type"].startswith("text/csv")


def test_numbers_of_the_page_are_rounded_as_they_are_printed(server: Server) -> None:
    asked = {"k": 4, "gamma": 0.25, "users": 100, "delta": 1e-3}
    report = server.ask("adversaries", **asked, format="page").json()
    printed = server.ask("adversaries", **asked, format="text").text
    for row in report["rows"]:
        shown = row["lower_text"] if row["upper"] is None else row["upper_text"]
        assert any(
            line.startswith(row["analysis"]) and shown in line for line in printed.splitlines()
        )
        if row["upper"] is not None:
            assert float(row["upper_text"]) >= float(row["upper"])
        assert float(row["lower_text"]) <= float(row["lower"])


def test_the_registry_says_what_randomizers_take(server: Server) -> None:
    known = server.client.get("/api/registry").json()
    assert [each["name"] for each in known["randomizers"]] == list(named_randomizers())
    (shares,) = (each for each in known["randomizers"] if each["name"] == "noise-shares")
    assert shares["views"] == ["aggregate"] and shares["analyses"] == []
    answer = server.ask(
        *("epsilon",), randomizer="noise-shares", skellam=0.05, dimension=9, norm=2,
        view="aggregate", users=1000, delta=1e-6,
    ).json()  # fmt: skip
    assert answer["analysis"] == "integer-vectors" and 0 < answer["upper"][0] < 2
    (rr,) = (each for each in known["randomizers"] if each["name"] == "rr")
    k = rr["parameters"][0]
    assert (k["name"], k["least"], k["whole"], k["needed"]) == ("k", 2, True, True)
    assert k["meaning"] == "number of values"


def test_answers_are_what_the_schemas_say(server: Server) -> None:
    files = (resources.files("shuffledp") / "schemas").iterdir()
    schemas = [json.loads(file.read_text()) for file in files if file.name.endswith(".json")]
    known = Registry().with_resources((s["$id"], Resource.from_contents(s)) for s in schemas)
    for question in ("epsilon", "nothing"):
        answer = server.ask(question, eps0=1, users=9, delta=0.1, more=1)
        schema = known.contents("urn:shuffledp:2:epsilon")
        Draft202012Validator(schema, registry=known).validate(answer.json())
        assert answer.status_code == (422 if question == "epsilon" else 404)


def test_no_word_of_the_page_comes_from_elsewhere(server: Server) -> None:
    policy = server.client.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    static = resources.files("shuffledp.web") / "static"
    for file in static.iterdir():
        path = "/" if file.name == "index.html" else f"/{file.name}"
        answer = server.client.get(path)
        assert answer.status_code == 200 and answer.content == file.read_bytes()
        said = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in said and "https:" not in said and "style=" not in said, file.name
    assert "http:" not in server.client.get("/docs").text.replace("http://127.0.0.1", "")
