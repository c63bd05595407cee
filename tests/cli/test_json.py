"""What --json prints is what the schemas say, for every command and every randomizer."""

import hashlib
import json
import math
import struct
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

import schemas
from shell import run
from shuffledp import Accountant, NotCertified
from shuffledp.bounds import Bounds
from shuffledp.cli.app import cli
from shuffledp.randomizers import REGISTRY

SCHEMAS = {
    file.name.removesuffix(".json"): json.loads(file.read_text(encoding="utf-8"))
    for file in (resources.files("shuffledp") / "schemas").iterdir()
    if file.name.endswith(".json")
}
FILES = Registry().with_resources(
    (schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS.values()
)  # a client's report refers to the schema of its specification
VALIDATORS = {
    name: Draft202012Validator(schema, registry=FILES) for name, schema in SCHEMAS.items()
}
ROUGHLY = ("--rtol", "0.1")
#: Every command that asks about one randomizer, with more than one value where it takes several.
COMMANDS = {
    "epsilon": ("--users", "2", "--delta", "0,0.1", *ROUGHLY),
    "delta": ("--users", "2", "--epsilon", "0.5", *ROUGHLY),
    "risk": ("--users", "2", "--false-positive-rate", "0,0.01", "--order", "1,2", *ROUGHLY),
    "adversaries": ("--users", "2", "--delta", "0.1", *ROUGHLY),
    "compare": ("--users", "2", "--delta", "0.1", *ROUGHLY),
    "verify": ("--users", "2", "--epsilon", "0.5"),
    "audit": ("--trials", "200"),
    "client": (),
    "simulate": ("--delta", "0.1", "--seed", "1", *ROUGHLY),
    "sweep": ("--users", "2,-1", "--delta", "0.1", "--jobs", "1", *ROUGHLY),
}


def checked(query: str, arguments: Sequence[str], code: int = 0) -> Any:
    """One JSON object on stdout that its schema describes."""
    result = run(query, *arguments, "--json")
    assert result.returncode == code, result.stderr
    report = json.loads(result.stdout, parse_constant=pytest.fail)
    VALIDATORS[query].validate(report)
    assert bool(report["error"]) == (code > 1)
    return report


def options(name: str, folder: Path) -> list[str]:
    """The example of a randomizer as on the command line."""
    said = ["--randomizer", name]
    for key, value in REGISTRY[name].example.items():
        if key == "matrix":
            file = folder / "matrix.csv"
            file.write_text("".join(f"{','.join(map(str, row))}\n" for row in value))
            value = file
        said += [f"--{key.replace('_', '-')}", str(value)]
    return said


def test_groups_of_users() -> None:
    given = ["--randomizer=rr", "--k=4", "--group=users=9 eps0=1", "--group=users=5 eps0=2 name=b"]
    for query, at in (("epsilon", "--delta=0.1"), ("delta", "--epsilon=0.5")):
        assert len(checked(query, [*given, at, *ROUGHLY])["groups"]) == 2
    assert checked("risk", [*given, *ROUGHLY])["mechanism"] == "mixed"


def test_every_command_with_json_has_a_schema() -> None:
    able = {
        name
        for name, command in cli.commands.items()
        if any("--json" in parameter.opts for parameter in command.params)
    }
    assert able == SCHEMAS.keys() - schemas.DOCUMENTS.keys() == {*schemas.COMMANDS}
    for schema in SCHEMAS.values():
        Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("name", [*schemas.COMMANDS, *schemas.DOCUMENTS])
def test_the_schemas_are_those_of_the_types(name: str) -> None:
    """`make schemas` renews the files."""
    assert SCHEMAS[name] == schemas.generated(name)


def test_descriptions_and_limits_come_from_the_types() -> None:
    (answer, failure), objects = SCHEMAS["account"]["anyOf"], SCHEMAS["account"]["$defs"]
    assert answer["properties"]["epsilon"] == {
        "description": "of the target", "type": "number", "minimum": 0,
    }  # fmt: skip
    assert failure == {"$ref": "#/$defs/Failure"}
    entry = objects["EntryReport"]
    assert entry["properties"]["view"]["description"] == "what the adversary sees"  # inherited
    assert {"at_most", "assumptions"} <= {*entry["required"]} == entry["properties"].keys()
    group = objects["GroupReport"]
    assert "sample_rate" in group["properties"] and "sample_rate" not in group["required"]
    for schema in SCHEMAS.values():
        for each in schema.get("$defs", {}).values():
            assert each.get("description") != "None"


@pytest.mark.parametrize("name", REGISTRY)
def test_every_randomizer_in_every_command(name: str, tmp_path: Path) -> None:
    """Where a command has no use for a randomizer, that is told as the schema says, too."""
    values = tmp_path / "values.csv"
    vector = ["0.6,0.8,0,0,0\n"] if name == "priv-unit" else ["0\n", "1\n"]
    values.write_text("".join(vector * 2))
    given = options(name, tmp_path)
    for query, more in COMMANDS.items():
        extra = ("--values", str(values)) if query == "simulate" else ()
        result = run(query, *given, *more, *extra, "--json")
        report = json.loads(result.stdout, parse_constant=pytest.fail)
        VALIDATORS[query].validate(report)
        assert bool(report["error"]) == (result.returncode > 1)
        if result.returncode > 1:
            assert report["error"]["message"] in result.stderr
        if result.returncode == 2:
            assert query in ("verify", "audit", "client", "simulate"), result.stderr
        elif query == "sweep":
            answered, failed = report["rows"]
            assert bool(answered["error"]) == (answered["upper"] == "Infinity")
            assert failed["lower"] is None
            assert "users=-1" in failed["error"]["message"]
        else:
            if query in ("epsilon", "delta"):
                nothing = {"epsilon": "Infinity", "delta": 1}[query]
                assert (result.returncode == 3) == (nothing in report["upper"])
            assert report["randomizer"] == name
            assert report["parameters"].keys() >= REGISTRY[name].example.keys()


def test_every_view_says_the_same_names() -> None:
    seen = []
    for view in (
        ("--eps0", "2", "--users", "60"),
        ("--view", "aggregate", "--randomizer", "unary", "--k", "3", "--eps0", "1", "--users", "9"),
        ("--view", "threshold", "--rate", "0.1", "--threshold", "20"),
    ):
        seen.append(checked("epsilon", (*view, "--delta", "1e-3")))
    assert len({tuple(report) for report in seen}) == 1
    assert [report["view"] for report in seen] == ["shuffle", "aggregate", "threshold"]
    assert seen[0]["sampling"] == "fixed" and seen[0]["sample_rate"] == 1
    assert seen[2]["mechanism"] == "sample-threshold" and seen[2]["randomizer"] is None
    assert seen[2]["parameters"] == {"rate": 0.1, "threshold": 20}


def test_choose() -> None:
    asked = ("--users", "1e4", "--task", "mean", "--view", "aggregate", "--epsilon", "1")
    chosen = checked("choose", (*asked, "--delta", "1e-6", "--rtol", "0.3"))
    assert {row["randomizer"] for row in chosen["choices"]} == {
        "gaussian", "noise-shares", "one-bit",
    }  # fmt: skip
    few = ("--users", "100", "--epsilon", "2", "--delta", "0.01", "--rtol", "0.3")
    vector = checked("choose", ("--task", "vector", "--dimension", "3", *few))
    assert {row["randomizer"] for row in vector["choices"]} == {"gaussian", "priv-unit"}
    more = ("--users", "1e4", "--epsilon", "1", "--delta", "1e-6", "--rtol", "0.3")
    counted = checked("choose", ("--values", "3", "--view", "shuffle", *more))
    assert {row["randomizer"] for row in counted["choices"]} > {"rr", "noisy-histogram", "unary"}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that take no time: their form is what is tested here."""

    def linear(account: Accountant, delta: float, rtol: float) -> Bounds[float]:
        return Bounds(account.total_rounds / 8, account.total_rounds / 8)

    monkeypatch.setattr(Accountant, "epsilon_bounds", linear)


@pytest.mark.usefixtures("quick")
def test_calibrate_every_randomizer(tmp_path: Path) -> None:
    target = ("--users", "60", "--epsilon", "0.5", "--delta", "1e-3")
    for name in REGISTRY:
        found = checked("calibrate", ("--find", "rounds", *options(name, tmp_path), *target))
        assert found["rounds"] == found["value"] == 4 and found["beyond_lower"] == 0.625


def test_calibrate_users() -> None:
    target = ("--epsilon", "0.5", "--delta", "1e-6")
    found = checked("calibrate", ("--find", "users", "--eps0", "1", *target, *ROUGHLY))
    assert found["users"] == found["value"] and found["rounds"] == 1


@pytest.mark.usefixtures("quick")
def test_a_plan_of_every_randomizer(tmp_path: Path) -> None:
    lines = ["target = { epsilon = 50.0, delta = 0.5 }"]
    for name, kind in REGISTRY.items():
        lines += ["[[rounds]]", f'randomizer = "{name}"', "users = 60"]
        given = {**kind.example, **({"matrix": "matrix.csv"} if name == "matrix" else {})}
        lines += [f"{key} = {json.dumps(value)}" for key, value in given.items()]
        lines += ['population = "one of two"'] if name == "rr" else []
    options("matrix", tmp_path)
    (tmp_path / "plan.toml").write_text("\n".join(lines))
    report = checked("account", (str(tmp_path / "plan.toml"),))
    assert [each["name"] for each in report["populations"]] == ["one of two"]
    entries = report["entries"]
    assert [entry["randomizer"] for entry in entries] == list(REGISTRY)
    assert all(entry["adversary"] and entry["assumptions"] for entry in entries)


DATED = """target = { epsilon = 0.4, delta = 1e-6 }
people = { stays = "1 year" }
budgets = [{ any = "2 weeks", epsilon = 1 }, { each = "year", epsilon = 1, delta = 0.1 }]
[[rounds]]
mechanism = "gaussian"
sigma = 30
start = 2027-12-20
every = "week"
rounds = 5
at_most = 4
"""


def test_a_plan_with_dates(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(DATED)
    report = checked("account", (str(plan), "--at", "2027-12-31"))
    assert [each["name"] for each in report["periods"]] == ["any 2 weeks", "year 2027", "year 2028"]
    assert report["at"]["rounds"] == 2 and report["at"]["planned"] == 5
    assert [len(line["points"]) for line in report["timeline"]] == [5, 5, 5]
    assert report["exceeded_on"] is None
    # the squared shifts of one, two, ... rounds: the third is the first above the target
    spent = [point["upper"] for point in report["timeline"][0]["points"]]
    plan.write_text(DATED.replace("epsilon = 0.4", f"epsilon = {(spent[1] + spent[2]) / 2}"))
    found = checked("account", (str(plan),), 1)
    assert found["colluding"] is None
    assert found["exceeded_on"] == "2028-01-03" and "from 2028-01-03 on" in found["verdict"]


def test_colluding_users_of_a_plan(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    for epsilon, code, key in ((0.5, 0, "share"), (0.1, 1, None)):
        plan.write_text(
            f"target = {{ epsilon = {epsilon}, delta = 1e-6 }}\n[[rounds]]\n"
            'randomizer = "pure-ldp"\neps0 = 4\nusers = 10_000\n'
        )
        found = checked("account", (str(plan), "--find", "colluding", *ROUGHLY), code)["colluding"]
        assert (found is None) == (key is None)
        assert key is None or 0.25 < found[key] < found["beyond"] < 0.31


def test_infinite_missing_and_failed_are_told_apart() -> None:
    strong = ("--randomizer", "rr", "--k", "4", "--gamma", "0.25", "--users", "10")
    infinite = checked("epsilon", (*strong, "--analysis", "strong", "--delta", "1e-6,0.5"), 3)
    assert infinite["certified"] == [False, True]
    assert infinite["error"]["bounds"] == {"lower": "Infinity", "upper": "Infinity"}
    assert infinite["upper"][0] == "Infinity" and infinite["upper"][1] < 10
    assert float(infinite["upper"][0]) == math.inf
    # what more knowledge would cost may be infinite; the guarantee, by the last analysis, is not
    rows = checked("adversaries", (*strong, "--delta", "1e-6"))["rows"]
    assert rows[0]["upper"] == "Infinity" and rows[-1]["upper"] is None
    nearest = ("--find", "rounds", "--eps0", "4", "--users", "1e4", "--epsilon", "0.1")
    failed = checked("calibrate", (*nearest, "--delta", "1e-6"), 2)["error"]
    assert (failed["kind"], failed["nearest"]) == ("infeasible", 1)
    assert 0.41 < failed["bounds"]["lower"] <= failed["bounds"]["upper"] < 0.42


@pytest.mark.parametrize(
    ("query", "arguments", "kind"),
    [
        ("epsilon", ("--eps0", "-1", "--users", "9", "--delta", "0.1"), "invalid-parameter"),
        ("epsilon", ("--eps0", "300", "--users", "9", "--delta", "0.1"), "out-of-range"),
        ("epsilon", ("--eps0", "x"), "usage"),
        ("account", ("nothing.toml",), "invalid-parameter"),
        ("sweep", ("--eps0", "1"), "invalid-parameter"),
    ],
)
def test_errors_are_json_too(query: str, arguments: tuple[str, ...], kind: str) -> None:
    report = checked(query, arguments, 2)
    assert (report["query"], report["error"]["kind"]) == (query, kind)
    assert report.keys() == {"schema_version", "query", "version", "error"}


def test_an_unknown_command_has_no_query() -> None:
    report = json.loads(run("guess", "--json").stdout)
    assert report["query"] is None
    VALIDATORS["epsilon"].validate(report)


def test_what_is_not_certified_is_answered_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_wide(*_: object, **__: object) -> None:
        raise NotCertified("too wide", Bounds(0.25, math.inf))

    monkeypatch.setattr(Accountant, "epsilon_bounds", too_wide)
    report = checked("epsilon", ("--eps0", "1", "--users", "9", "--delta", "1e-6"), 3)
    assert (report["lower"], report["upper"]) == ([0.25], ["Infinity"])
    assert report["certified"] == [False]
    assert report["error"]["kind"] == "not-certified"
    assert report["error"]["bounds"] == {"lower": 0.25, "upper": "Infinity"}


def test_a_matrix_is_told_by_its_digest(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    file.write_text("0.75,0.25\n0.5,0.5\n0.125,0.875\n")
    matrix = ("--randomizer", "matrix", "--matrix", str(file), "--users", "9", "--delta", "0.1")
    told = checked("epsilon", matrix)["parameters"]["matrix"]
    numbers = struct.pack("<6d", 0.75, 0.25, 0.5, 0.5, 0.125, 0.875)
    assert told == {"shape": [3, 2], "sha256": hashlib.sha256(numbers).hexdigest()}


def test_schemas_refuse_what_is_no_report() -> None:
    """They would be worth nothing if they took anything."""
    good = checked("epsilon", ("--eps0", "1", "--users", "9", "--delta", "0.1"))
    assert VALIDATORS["epsilon"].is_valid(good)
    for change in (
        {"upper": good["upper"][0]},
        {"upper": [None]},
        {"upper": ["inf"]},
        {"randomizer": {"name": "pure-ldp"}},
        {"parameters": 1.0},
        {"users": "9"},
        {"more": 1},
        {"schema_version": 1},
    ):
        assert not VALIDATORS["epsilon"].is_valid({**good, **change}), change
    for name in good:
        lacking = {key: value for key, value in good.items() if key != name}
        assert not VALIDATORS["epsilon"].is_valid(lacking), name
