"""Clients as data: the same messages from the same bytes, and documents that are refused."""

import hashlib
import json
import subprocess
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from importlib import resources
from math import comb
from pathlib import Path
from typing import Any, get_type_hints

import mpmath
import numpy as np
import pytest
from jsonschema import Draft202012Validator

from node import MODULE, node
from shell import run
from shuffledp import RandomizedResponse
from shuffledp._support.json_types import conforms
from shuffledp.clients import Source, Specification
from shuffledp.clients.inversion import Inversion, of_fractions
from shuffledp.clients.program import WeightsLaw, binomial_law, poisson_law
from shuffledp.clients.specification import ClientDocument
from shuffledp.clients.vectors import make_vectors, mutants, notices
from shuffledp.errors import InvalidParameter
from shuffledp.randomizers import (
    ApproximateLDP,
    Bundle,
    FiniteRandomizer,
    Gaussian,
    Laplace,
    NoiseShares,
    NoisyHistogram,
    OneOf,
    PrivUnit,
    PureLDP,
    Randomizer,
    UnaryEncoding,
)
from specified import SPECIFIED, random_messages, specification_of

SCHEMA = json.loads(
    (resources.files("shuffledp") / "schemas" / "client-specification.json").read_text()
)
#: Of every randomizer here; all 10,000 of each were compared when the language was made.
MESSAGES = 40


@pytest.mark.parametrize("name", SPECIFIED)
def test_the_interpreter_sends_what_the_client_sends(name: str) -> None:
    specification = specification_of(name)
    Draft202012Validator(SCHEMA).validate(json.loads(specification.to_json()))
    again = Specification(specification.to_json())
    for value, taken, sent in random_messages(name, MESSAGES):
        assert again.message(value, taken) == sent
    for vector in again.vectors:
        value = again.value_of(vector["value"])
        found = again.message(_given(again, value), bytes.fromhex(vector["bytes"]))
        assert found == again.message_of(vector["message"])


def _given(specification: Specification, value: Any) -> Any:
    if isinstance(value, float) or specification.document["value"]["kind"] == "bits":
        return value
    return value[0] if value else -1


def test_javascript_sends_what_the_clients_send(tmp_path: Path) -> None:
    """All specifications in one process each way: the bytes are given, as in an audit."""
    script = tmp_path / "all.mjs"
    given = []
    for name in SPECIFIED:
        specification = specification_of(name)
        lines = [
            f"{specification.value_text(value)} : {taken.hex()}"
            for value, taken, _ in random_messages(name, MESSAGES)
        ]
        given.append({"name": name, "text": specification.to_json(), "lines": lines})
    script.write_text(
        f'import {{ load }} from "{MODULE.as_uri()}";\n'
        f"const found = {{}};\nfor (const {{ name, text, lines }} of {json.dumps(given)}) {{\n"
        "  const client = await load(text);\n  client.selfTest();\n"
        "  found[name] = lines.map((line) => client.answer(line));\n}\n"
        "console.log(JSON.stringify(found));\n"
    )
    done = subprocess.run([node(), str(script)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    for name in SPECIFIED:
        sent = [" ".join(map(str, sent)) for _, _, sent in random_messages(name, MESSAGES)]
        assert found[name] == sent, name


def test_javascript_writes_the_wire_form(tmp_path: Path) -> None:
    """The bytes of numpy's arrays, little-endian."""
    cases = {"unary": [200, 8], "one bit": [1], "piecewise": [2**32 - 2], "skellam": [-3, 0, 2]}
    cases |= {"hashing": [2**61 - 2, 1, 2, 3]}
    script = tmp_path / "wire.mjs"
    texts = [specification_of(name).to_json() for name in cases]
    numbers = [[f"{number}" for number in message] for message in cases.values()]
    script.write_text(
        f'import {{ load }} from "{MODULE.as_uri()}";\n'
        f"const texts = {json.dumps(texts)}, numbers = {json.dumps(numbers)};\n"
        "for (const [i, text] of texts.entries()) {\n  const client = await load(text);\n"
        '  console.log([...client.wire(numbers[i].map(BigInt))].join(" "));\n}\n'
    )
    done = subprocess.run([node(), str(script)], capture_output=True, text=True, check=True)
    for line, (name, message) in zip(done.stdout.splitlines(), cases.items(), strict=True):
        kind = specification_of(name).document["message"]["type"]
        array = np.array(message, dtype=np.dtype(kind).newbyteorder("<"))
        assert bytes(map(int, line.split())) == array.tobytes()


def test_the_bits_are_the_systems_unless_given() -> None:
    specification = RandomizedResponse(k=4, eps0=1e-6).client_spec()
    assert len({specification.message(0)[0] for _ in range(200)}) == 4
    with pytest.raises(InvalidParameter, match="1 random bytes are too few"):
        specification.message(0, b"1")


@pytest.mark.parametrize("name", SPECIFIED)
def test_every_constant_off_by_one_is_noticed(name: str) -> None:
    """So is any that is off by more: the same vector decides otherwise."""
    program = SPECIFIED[name].client.program()
    vectors = make_vectors(program)
    for mutant in mutants(program):
        assert any(notices(mutant, vector) for vector in vectors), mutant.code


def test_vectors_stand_on_both_sides_of_all_steps_of_a_matrix() -> None:
    rows = [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]
    specification = FiniteRandomizer(rows).client_spec()
    scaled = np.array([[weight / np.sum(row) for weight in row] for row in rows])
    for value, row in enumerate(scaled):
        exact = [Fraction(weight) for weight in row]
        for output in range(2):
            step = sum(exact[: output + 1], Fraction(0)) / sum(exact)
            floor, rest = divmod(step.numerator * 2**64, step.denominator)
            for word in (floor - 1, floor + (rest > 0)):
                taken = word.to_bytes(8, "little").hex()
                sent = [
                    vector["message"]
                    for vector in specification.vectors
                    if vector["value"] == str(value) and vector["bytes"] == taken
                ]
                right = output if Fraction(word, 2**64) < step else output + 1
                assert set(sent) == {str(right)}, (value, output)


def test_laws_of_ratios_are_poisson_and_binomial() -> None:
    """Held against many digits and against fractions."""
    mean = Fraction(0.05) * 60
    with mpmath.workdps(60):
        exact = mpmath.mpf(mean.numerator) / mean.denominator
        total = mpmath.mpf(0)
        for j, (low, high) in enumerate(poisson_law(mean).steps(128)[:40]):
            total += mpmath.exp(-exact) * exact**j / mpmath.factorial(j)
            assert low <= total * 2**128 <= high <= low + 2
    chance = Fraction(0.9)
    for j, (low, high) in enumerate(binomial_law(33, chance).steps(128)[:33]):
        sums = sum(comb(33, i) * chance**i * (1 - chance) ** (33 - i) for i in range(j + 1))
        assert low <= sums * 2**128 <= high <= low + 2


def test_outputs_without_probability_are_never_sent() -> None:
    """Also where the distribution function is 1 - 2^-63 twice."""
    weights = [Fraction(1, 2**i) for i in range(1, 64)] + [Fraction(0), Fraction(1, 2**63)]
    sums = [sum(weights[: i + 1], Fraction(0)) for i in range(len(weights) - 1)]
    word = (2**64 - 2).to_bytes(8, "little")
    assert Inversion(of_fractions(sums)).draw(Source.of(word), 1).tolist() == [64]
    law = WeightsLaw(tuple(int(weight * 2**63) for weight in weights))
    assert [j for j, (low, high) in enumerate(law.table) if high > 2**64 - 2] == []


@pytest.mark.parametrize(
    "randomizer",
    [
        Laplace(eps0=1.0),
        Gaussian(sigma=1.0),
        PrivUnit(dimension=5, eps0=1.0),
        NoisyHistogram(dummies=5, k=3),
        NoisyHistogram(negative_binomial=0.1, theta=0.5, k=4),
        NoiseShares(discrete_gaussian=3.0, k=3),
        NoiseShares(discrete_laplace=3.0, complete=5, k=3),
        NoisyHistogram(binomial=10, k=3),
        NoisyHistogram(geometric=0.5, k=3),
        NoisyHistogram(binomial=10, value_rate=0.5, k=3),
        NoisyHistogram(bernoulli=1e-300, k=3),
        ApproximateLDP(eps0=1.0, delta0=1e-6),
        Bundle(RandomizedResponse(k=4, eps0=1.0), UnaryEncoding(k=4, eps0=1.0)),
        OneOf(RandomizedResponse(k=4, eps0=1.0), UnaryEncoding(k=4, eps0=1.0)),
        PureLDP(eps0=1.0),
        UnaryEncoding(k=10**6, eps0=1.0),
        UnaryEncoding(k=50_000, eps0=1.0),
    ],
    ids=lambda randomizer: type(randomizer).__name__,
)
def test_others_say_why_not(randomizer: Randomizer) -> None:
    with pytest.raises(InvalidParameter) as told:
        randomizer.client_spec()
    sentence = str(told.value)
    assert sentence.endswith(".") and sentence.count(". ") == 0 and len(sentence) < 200
    assert sentence.count(";") <= 1 and "for each" not in sentence


def test_a_client_alone_claims_nothing() -> None:
    alone = RandomizedResponse(k=4, eps0=1.0).client.spec()
    assert alone.eps0 is None and alone.document["randomizer"] is None


@cache
def _right() -> str:
    return RandomizedResponse(k=4, eps0=1.0).client_spec().to_json()


def _with(change: Callable[[dict[str, Any]], None], mended: bool = True) -> str:
    """A document that was changed, with a digest that is right unless told otherwise."""
    said = json.loads(_right())
    change(said)
    rest = {key: value for key, value in said.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    if mended and "digest" in said:
        said["digest"] = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps(said)


def _threshold(said: dict[str, Any], text: Any) -> None:
    said["program"][1][2] = text


def _put(said: Any, *path: Any) -> None:
    """Replace the part at this path by the last of these."""
    *parts, last, new = path
    for part in parts:
        said = said[part]
    said[last] = new


def _changed(*path: Any) -> str:
    return _with(lambda said: _put(said, *path))


def _deep(levels: int) -> Any:
    return ["sort", _deep(levels - 1)] if levels else "value"


#: What is wrong with a document, and a part of the sentence that says so.
BAD: dict[str, tuple[str, str]] = {
    "cut off": (_with(lambda said: None)[:300], "not JSON, or was cut off"),
    "empty": ("", "not JSON, or was cut off"),
    "another": ('{"format": "something"}', 'no "format"'),
    "a list": ("[1]", 'no "format"'),
    "version": (_with(lambda said: said.update(version=2)), "has version 2"),
    "no version": (_with(lambda said: said.pop("version")), "has version"),
    "lacking": (_with(lambda said: said.pop("laws")), "lacks"),
    "more": (_with(lambda said: said.update(more=1)), "unknown"),
    "changed": (_with(lambda said: _threshold(said, "12345"), mended=False), "digest is wrong"),
    "no digest": (_with(lambda said: said.pop("digest")), "lacks"),
    "too high": (_with(lambda said: _threshold(said, str(2**64 + 1))), "threshold of a coin"),
    "negative": (_with(lambda said: _threshold(said, "-1")), "threshold of a coin"),
    "a float": (_with(lambda said: _threshold(said, "0.5")), "threshold of a coin"),
    "a number": (_with(lambda said: _threshold(said, 5)), "threshold of a coin"),
    "no choice": (_with(lambda said: said["program"][3][1].__setitem__(2, "0")), "outside 1 .."),
    "operation": (_with(lambda said: said.update(program=["exec", "1"])), "no operation"),
    "arguments": (_with(lambda said: said.update(program=["sort"])), "0 arguments instead of 1"),
    "name": (_with(lambda said: said.update(program="other")), "'other' has no value"),
    "deep": (_with(lambda said: said.update(program=_deep(200))), "more than 50 levels"),
    "law": (_with(lambda said: said.update(program=["law", "0", "1"])), "no law 0 among 0"),
    "subset": (_with(lambda said: said.update(program=["subset", "5", "3"])), "takes 5 of 3"),
    "weights": (_with(lambda said: said.update(laws=[{"weights": ["0"]}])), "no valid weights"),
    "ratio": (_with(lambda said: said.update(laws=[{"ratio": ["1", "1", "1", "1"]}])), "weights"),
    "value": (_with(lambda said: said.update(value={"kind": "text"})), "describes no values"),
    "vectors": (_with(lambda said: said.update(vectors=[])), "describes no values"),
    "list for a name": (
        _with(lambda said: said.update(program=[["coins"], "1", "5"])),
        "no operation",
    ),
    "list for let": (
        _with(lambda said: said.update(program=["let", ["a"], "value", "a"])),
        "is no name",
    ),
    "empty name": (
        _with(lambda said: said.update(value={"kind": "number"}, program="")),
        "has no value",
    ),
    **{
        f"form {i}": (_changed(*change), "describes no values")
        for i, change in enumerate(
            [
                ("value", "least", "-5"),
                ("value", "least", 0),
                ("value", "most", str(2**70)),
                ("value", "more", "1"),
                ("message", "kind", "foo"),
                ("message", "type", ["int64"]),
                ("message", "length", None),
                ("message", "length", -1),
                ("message", "length", 0.5),
                ("eps0", "nan"),
                ("eps0", "1_0.0"),
                ("eps0", 1),
                ("randomizer", 5),
                ("randomizer", "parameters", ["k"]),
                ("randomizer", "parameters", "eps0", 1.5),
                ("randomizer", "parameters", "\u00e9", "1"),
                ("vectors", 0, "value", 3),
                ("vectors", 0, "value", 0.5),
                ("vectors", 0, "message", None),
                ("vectors", 0, "message", "3,4"),
                ("vectors", 0, "bytes", "AB"),
                ("vectors", 0, "bytes", 12),
            ]
        )
    },
}


@pytest.mark.parametrize("name", BAD)
def test_bad_specifications_are_refused(name: str) -> None:
    document, told = BAD[name]
    with pytest.raises(InvalidParameter) as error:
        Specification(document)
    assert told in str(error.value) and str(error.value).endswith(".")
    assert str(error.value).replace(" .. ", "").count(". ") == 0


def test_the_schema_refuses_the_same_parts() -> None:
    """Of documents that are JSON: the schema and the reader have the same types."""
    forms = get_type_hints(ClientDocument, include_extras=True)
    refused = 0
    for document, _ in [*BAD.values(), (_with(lambda said: None), "")]:
        try:
            said = json.loads(document)
        except ValueError:
            continue
        parts = said if isinstance(said, dict) else {}
        for key in parts.keys() & {"value", "message", "randomizer", "eps0", "vectors"}:
            schema = {**SCHEMA["properties"][key], "$defs": SCHEMA["$defs"]}
            right = Draft202012Validator(schema).is_valid(parts[key])
            assert conforms(parts[key], forms[key]) == right, (key, parts[key])
            refused += not right
    assert refused > 20


def test_javascript_refuses_the_same_in_one_sentence(tmp_path: Path) -> None:
    script = tmp_path / "bad.mjs"
    documents = {name: document for name, (document, _) in BAD.items()}
    script.write_text(
        f'import {{ load, SpecificationError }} from "{MODULE.as_uri()}";\nconst told = {{}};\n'
        f"for (const [name, text] of Object.entries({json.dumps(documents)})) {{\n"
        '  try { await load(text); told[name] = "accepted"; }\n'
        "  catch (error) {\n"
        "    if (!(error instanceof SpecificationError)) throw error;\n"
        "    told[name] = error.message;\n  }\n}\nconsole.log(JSON.stringify(told));\n"
    )
    done = subprocess.run([node(), str(script)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    for name, (_, told) in BAD.items():
        part = "lacks" if told == "unknown" else told  # both in one sentence there
        assert part in found[name] and found[name].endswith("."), (name, found[name])


REFUSED: dict[str, list[Any]] = {
    "rr": [100, -1, 2**70],
    "one bit": [1.5, -0.5],
    "ones": [[0] * 8, [1] * 8, [1]],
}


def test_values_that_are_none_are_refused() -> None:
    for name, values in REFUSED.items():
        specification = specification_of(name)
        for value in values:
            with pytest.raises(InvalidParameter, match="is not a"):
                specification.message(value)


@pytest.mark.parametrize("name", REFUSED)
def test_javascript_refuses_values_with_the_same_sentence(name: str, tmp_path: Path) -> None:
    """Which names the values that the client takes."""
    specification, file = specification_of(name), tmp_path / "client.json"
    specification.save(file)
    for value in REFUSED[name]:
        line = " ".join(map(str, value)) if isinstance(value, list) else str(value)
        with pytest.raises(InvalidParameter) as told:
            specification.value_of(line)
        command = [node(), str(MODULE), str(file)]
        done = subprocess.run(command, input=f"{line}\n", capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (1, f"{told.value}\n")


@pytest.mark.parametrize(
    "program",
    [
        ["coins", str(2**40), "5"],
        ["choices", "value", "5", "6"][:3],
        ["hot", "2", "value"],
        ["add", "value", ["join", "value", "value"]],
        ["fold", "value", "0"],
        ["law", "value", "1"],
    ],
)
def test_programs_that_fail_say_so(program: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"numbers at once|fails on this value"):
        Specification(_running(program)).message(3)


def _running(program: Any) -> str:
    return _with(lambda said: said.update(program=program, laws=[{"weights": ["1", "2"]}]))


_PAIR = ["join", "value", "1"]
_MINUS_ONE = ["minus", "value", "4"]
#: Programs of the value 3, and what they send; None if they fail. Messages are single numbers.
PROGRAMS: list[tuple[Any, str | None]] = [
    (["sort", "value"], "3"),
    (["fold", _PAIR, "1"], "4"),
    # the list that was sorted is as it was before
    (["let", "a", _PAIR, ["if", ["sort", "a"], ["if", ["equal", "a", _PAIR], "1", "0"], "7"]], "1"),
    (["let", "a", _PAIR, ["let", "b", ["sort", "a"], ["fold", ["where", ["equal", "a", _PAIR], "a",
      ["join", "0", "5"]], "1"]]], "5"),
    (["fold", ["sort", ["join", str(2**60), str(2**60 + 1)]], "1"], str(2**61 + 1)),
    (["add", str(2**53), "1"], str(2**53 + 1)),
    (["add", str(2**63), "0"], None),
    (_MINUS_ONE, "-1"),
    (_PAIR, None),
    (["fold", "value", "0"], None),
    (["choices", "value", "5"], None),
    (["add", "value", _PAIR], None),
    (["fold", ["add", _PAIR, "value"], "1"], None),
    (["fold", ["where", _PAIR, "value", "value"], "1"], None),
    (["fold", ["where", _PAIR, _PAIR, "value"], "1"], None),
    (["fold", ["hot", "3", "value"], "1"], None),
    (["fold", ["hot", "3", _MINUS_ONE], "1"], None),
    (["law", "value", "1"], None),
    (["law", _MINUS_ONE, "1"], None),
    (["pack", "value"], None),
    (["hash", "value", "value", "5"], None),
    (["column", _PAIR, "value", "value"], None),
    (["if", ["fold", "value", "0"], "1", "2"], None),
]  # fmt: skip


def test_both_interpreters_agree_on_any_program(tmp_path: Path) -> None:
    """What they send, and what they refuse to send."""
    texts, taken = [_running(program) for program, _ in PROGRAMS], bytes(64)
    script = tmp_path / "any.mjs"
    script.write_text(
        f'import {{ load, SpecificationError }} from "{MODULE.as_uri()}";\nconst found = [];\n'
        f"for (const text of {json.dumps(texts)}) {{\n  const client = await load(text);\n"
        '  try { found.push(client.message("3", new Uint8Array(64)).join(" ")); }\n'
        "  catch (error) {\n"
        "    if (!(error instanceof SpecificationError)) throw error;\n"
        "    found.push(null);\n  }\n}\nconsole.log(JSON.stringify(found));\n"
    )
    done = subprocess.run([node(), str(script)], capture_output=True, text=True, check=True)
    for (program, sent), text, found in zip(PROGRAMS, texts, json.loads(done.stdout), strict=True):
        try:
            here = " ".join(map(str, Specification(text).message(3, taken)))
        except InvalidParameter:
            here = None
        assert (here, found) == (sent, sent), program


def test_the_digest_of_a_name_in_any_script(tmp_path: Path) -> None:
    """Both sides write it in ASCII."""
    name = "z\u00fcf\u00e4llig \x7f \U0001f3b2"
    text = _changed("randomizer", "name", name)
    Specification(text)
    script = tmp_path / "name.mjs"
    script.write_text(
        f'import {{ load }} from "{MODULE.as_uri()}";\nawait load({json.dumps(text)});\n'
    )
    subprocess.run([node(), str(script)], capture_output=True, text=True, check=True)


@pytest.mark.parametrize("version", [1.0, True])
def test_a_version_is_a_whole_number(version: Any) -> None:
    with pytest.raises(InvalidParameter, match="has version"):
        Specification(_with(lambda said: said.update(version=version)))


def test_the_shell_writes_it(tmp_path: Path) -> None:
    file = tmp_path / "client.json"
    asked = ("client", "--randomizer", "rr", "--k", "100", "--eps0", "9.69")
    done = run(*asked, "--out", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    written = file.read_text()
    assert written == RandomizedResponse(k=100, eps0=9.69).client_spec().to_json()
    assert run(*asked).stdout == written
    assert Specification(written).document["digest"] in done.stdout
    refused = run("client", "--randomizer", "laplace", "--eps0", "1")
    assert refused.returncode == 2 and len(refused.stderr.splitlines()) == 1
    nowhere = run(*asked, "--out", str(tmp_path / "no" / "where.json"))
    assert nowhere.returncode == 2 and "cannot be written" in nowhere.stderr
