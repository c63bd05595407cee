"""Clients in any language held against a specification: planted errors, programs that misbehave."""

import csv
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from node import MODULE, node
from shell import run
from shuffledp import RandomizedResponse
from shuffledp.clients import Specification
from shuffledp.errors import InvalidParameter
from shuffledp.randomizers import (
    FiniteRandomizer,
    LocalHashing,
    NoiseShares,
    NoisyHistogram,
    Randomizer,
    SubsetSelection,
    UnaryEncoding,
)
from shuffledp.tools.devices import DeviceProcess, audit_command, audit_pairs, randomizer_of
from specified import SPECIFIED

Write = Callable[[str], str]

#: What is wrong with the JavaScript client: the text that is replaced, by what, and where it shows.
PLANTED: dict[str, tuple[str, str, Randomizer]] = {
    "a threshold off by 2^40": (
        "const top = Number(threshold >> 48n), low = Number(threshold &",
        "const top = Number(threshold >> 48n), low = Number((threshold + 2n ** 40n) &",
        RandomizedResponse(k=100, eps0=9.69),
    ),
    "a threshold off by one": (
        "low = Number(threshold &",
        "low = Number((threshold - 1n) &",
        UnaryEncoding(k=13, eps0=2.0),
    ),
    "a biased choice": (
        "return found[i] >= most;",
        "found[i] %= most; return false;",
        SubsetSelection(k=20, size=3, eps0=1.0),
    ),
    "a choice from the lower bits": (
        "this.view.getUint32(at, true) >>> unused;",
        "this.view.getUint32(at, true) % 2 ** bits;",
        RandomizedResponse(k=100, eps0=9.69),
    ),
    "bits in the wrong order": ("bit << (7 - (i & 7))", "bit << (i & 7)", UnaryEncoding(13, 2.0)),
    "numbers in the wrong order": (
        "(m) => [...a(m), ...b(m)]",
        "(m) => [...a(m), ...b(m)].reverse()",
        LocalHashing(eps0=2.0),
    ),
    "a list that is not sorted": (
        "(m) => [...given(m)].sort((x, y) => (x < y ? -1 : Number(x > y)))",
        "(m) => given(m)",
        SubsetSelection(k=20, size=3, eps0=1.0),
    ),
    "bytes in the wrong order": (
        "getUint16(start + 2 * i, true)",
        "getUint16(start + 2 * i, false)",
        RandomizedResponse(k=100, eps0=9.69),
    ),
    "a law without further digits": (
        "if (low === steps.length || digits < steps[low][0]) return low;",
        "return low;",
        FiniteRandomizer([[0.7, 0.3], [0.3, 0.7]]),
    ),
}


@pytest.fixture
def script(tmp_path: Path) -> Write:
    """A command that runs a program of Python."""

    def write(source: str) -> str:
        file = tmp_path / "program.py"
        file.write_text(source)
        return shlex.join([sys.executable, str(file)])

    return write


def javascript(folder: Path, source: str, randomizer: Randomizer) -> tuple[Specification, str]:
    """The specification of a randomizer, and the command that runs this module with it."""
    module, file = folder / "client.mjs", folder / "client.json"
    module.write_text(source)
    specification = randomizer.client_spec()
    specification.save(file)
    return specification, shlex.join([node(), str(module), str(file)])


@pytest.mark.parametrize("more", [(), ("client.json", "values")])
def test_the_module_says_how_it_is_called(more: tuple[str, ...]) -> None:
    command = [node(), str(MODULE), *more]
    said = subprocess.run(command, input="0\n", capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.startswith("usage: node client.mjs client.json")


@pytest.mark.parametrize("planted", PLANTED)
def test_planted_errors_are_found(planted: str, tmp_path: Path) -> None:
    old, new, randomizer = PLANTED[planted]
    source = MODULE.read_text()
    assert source.count(old) == 1, planted
    specification, command = javascript(tmp_path, source.replace(old, new), randomizer)
    found = audit_command(specification, command, trials=1000)
    assert not found.holds and found.verdict.startswith("THE CLIENT FAILS TEST VECTOR")
    assert found.verdict.endswith(".") and len(found.verdict) < 300
    assert found.vectors is not None and found.vectors < len(specification.vectors)


def test_statistics_find_random_bytes_that_are_none(tmp_path: Path) -> None:
    """With given bytes all is right, so that no test vector tells."""
    old = "crypto_.getRandomValues(this.data.subarray(i, i + 65536))"
    source = MODULE.read_text()
    assert source.count(old) == 1
    randomizer = RandomizedResponse(k=4, eps0=1.0)
    specification, command = javascript(tmp_path, source.replace(old, "0"), randomizer)
    found = audit_command(specification, command, trials=4000)
    assert found.vectors == len(specification.vectors) and found.exceeds
    assert "EXCEEDS ITS CLAIM" in str(found)


@pytest.mark.parametrize("name", ["gamma", "ones", "hashing", "piecewise", "poisson", "bernoulli"])
def test_the_javascript_client_passes(name: str, tmp_path: Path) -> None:
    specification, command = javascript(tmp_path, MODULE.read_text(), SPECIFIED[name])
    found = audit_command(specification, command, trials=4000, confidence=0.999999)
    assert found.holds, found.verdict
    assert found.vectors == len(specification.vectors) and found.trials > 4000 - 64


def test_the_shell_audits_a_program(tmp_path: Path) -> None:
    good = MODULE.read_text()
    specification, command = javascript(tmp_path, good, RandomizedResponse(k=4, eps0=1.0))
    asked = ("audit", "--spec", str(tmp_path / "client.json"), "--command", command)
    done = run(*asked, "--trials", "4000", "--confidence", "0.999999")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{len(specification.vectors)} test vectors are right." in done.stdout
    (tmp_path / "client.mjs").write_text(good.replace(*PLANTED["a threshold off by 2^40"][:2]))
    failed = run(*asked, "--json")
    assert failed.returncode == 1
    report = json.loads(failed.stdout)
    assert (report["holds"], report["rows"], report["trials"]) == (False, [], 0)
    assert report["verdict"].startswith("THE CLIENT FAILS TEST VECTOR")


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("print('hello', flush=True)\nimport time; time.sleep(60)", "did not answer line 2 of"),
        ("import time; time.sleep(60)", "did not answer line 1 of 10 in 0.3 s"),
        ("import sys; sys.exit('no such device')", "exit code 1 after 0 of 10 answers ('no such"),
        ("input(); print(1, flush=True); raise SystemExit(3)", "exit code 3 after 1 of 10"),
        ("import os; os.kill(os.getpid(), 9)", "ended with exit code"),
        ("import sys\nfor line in sys.stdin: print(1, 'x', flush=True)", "'1 x' is no message"),
        ("import sys\nfor line in sys.stdin: print(1, flush=True)", "FAILS TEST VECTOR 1 OF 10"),
        ("while True: print('noise ' * 1000)", "noise noise"),
        ("while True: print('noise ' * 1000, end='')", "a line of more than"),
    ],
)
def test_programs_that_misbehave_are_one_sentence(source: str, told: str, script: Write) -> None:
    specification = RandomizedResponse(k=100, eps0=9.69).client_spec()
    assert len(specification.vectors) == 10
    timeout = 0.3 if "sleep" in source else 10.0
    try:
        found = audit_command(specification, script(source), trials=100, timeout=timeout)
        sentence = found.verdict
    except InvalidParameter as error:
        sentence = str(error)
    assert told in sentence and sentence.endswith(".") and "\n" not in sentence


def test_a_program_that_does_not_read_its_lines(script: Write) -> None:
    """More lines than a pipe holds: whoever writes them would wait forever."""
    count = 100_000
    source = f"import time; print('1\\n' * {count}, end='', flush=True); time.sleep(60)"
    started = time.monotonic()
    with (
        pytest.raises(InvalidParameter, match=r"did not read all 100000 lines in 2 s; let it"),
        DeviceProcess(script(source), timeout=2.0) as device,
    ):
        device.answers(["1"] * count)
    assert time.monotonic() - started < 30


def test_a_program_that_never_ends_its_line(script: Write) -> None:
    """Each byte is in time, and the answer is not."""
    source = "import time\nwhile True: print(1, end='', flush=True); time.sleep(0.1)"
    started = time.monotonic()
    with (
        pytest.raises(InvalidParameter, match=r"did not answer line 1 of 1 in 1 s"),
        DeviceProcess(script(source), timeout=1.0) as device,
    ):
        device.answers(["1"])
    assert time.monotonic() - started < 30


def test_programs_that_write_too_much(script: Write) -> None:
    """All at once, so that it does not depend on when they are read."""
    with (
        DeviceProcess(script("input(); print('1\\n2', flush=True); input()")) as device,
        pytest.raises(InvalidParameter, match="wrote '2' beside its answers; let it write one"),
    ):
        device.answers(["1"])


def test_what_a_program_has_started_ends_with_it(tmp_path: Path) -> None:
    """Otherwise its children would hold the pipes open, and the audit would wait for them."""
    command = f"sh -c 'sleep 60 & echo $! > {tmp_path}/pid; sleep 60'"
    started = time.monotonic()
    with (
        pytest.raises(InvalidParameter, match=r"did not answer line 1 of 1 in 0\.5 s"),
        DeviceProcess(command, timeout=0.5) as device,
    ):
        device.answers(["1"])
    assert time.monotonic() - started < 30
    pid = int((tmp_path / "pid").read_text())
    state = Path(f"/proc/{pid}/stat")
    while state.exists() and state.read_text().split()[2] != "Z":  # it was killed, and ends soon
        assert time.monotonic() - started < 30
        time.sleep(0.01)


def test_commands_that_cannot_be_started() -> None:
    for command in ("/no/such/program", "", "'"):
        with pytest.raises(InvalidParameter, match="cannot be started"):
            DeviceProcess(command)


DEVICE = (Path(__file__).parents[2] / "examples" / "device.py").read_text()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("'1 and more'", "'1 and more' is no message; write one number"),
        ("10**30", "is no message"),
        ("7", "outside 0 .. 3"),
    ],
)
def test_answers_that_are_no_messages_are_one_sentence(
    answer: str, told: str, tmp_path: Path, script: Write
) -> None:
    """The vectors pass, and then the program says something else."""
    specification = RandomizedResponse(k=4, eps0=1.0).client_spec()
    specification.save(tmp_path / "client.json")
    right = "print(message(int(value), take), flush=True)"
    assert DEVICE.count(right) == 1
    wrong = f"print(message(int(value), take) if colon else {answer}, flush=True)"
    with pytest.raises(InvalidParameter) as error:
        audit_command(specification, script(DEVICE.replace(right, wrong)), trials=8)
    assert told in str(error.value) and str(error.value).endswith(".")


def test_a_specification_that_is_not_the_named_randomizers() -> None:
    """Its digest is right, and its claim is not."""
    honest = RandomizedResponse(k=4, eps0=3.0).client_spec()
    said = {**honest.document, "randomizer": {"name": "rr", "parameters": {"k": "4", "eps0": "1"}}}
    said["eps0"] = "1.0"
    with pytest.raises(InvalidParameter, match="not that of RandomizedResponse"):
        randomizer_of(resealed(said))
    for name in ("guess", "pure-ldp", 3):
        said["randomizer"] = {"name": name, "parameters": {"k": "4"}}
        with pytest.raises(InvalidParameter):
            randomizer_of(resealed(said))
    alone = RandomizedResponse(k=4, eps0=3.0).client.spec()
    with pytest.raises(InvalidParameter, match="names no randomizer"):
        randomizer_of(alone)


def test_a_matrix_under_the_name_of_another_randomizer() -> None:
    """The matrix is that of eps0 = 5, and the name claims 0.1."""
    odds = np.ones((4, 4)) + np.eye(4) * np.expm1(5.0)
    honest = FiniteRandomizer(odds / odds.sum(axis=1)).client_spec()
    named = {"name": "rr", "parameters": {"k": "4", "eps0": "0.1"}}
    with pytest.raises(InvalidParameter, match="not that of RandomizedResponse"):
        randomizer_of(resealed({**honest.document, "randomizer": named}))
    unknown = {"name": "guess", "parameters": {"eps0": "0.1"}}
    with pytest.raises(InvalidParameter, match="names no randomizer that is known here"):
        randomizer_of(resealed({**honest.document, "randomizer": unknown}))
    own = {"name": "Circle", "parameters": {}}  # a class that is not registered here
    assert isinstance(
        randomizer_of(resealed({**honest.document, "randomizer": own})), FiniteRandomizer
    )


def resealed(said: dict[str, object]) -> Specification:
    import hashlib

    rest = {key: value for key, value in said.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return Specification({**rest, "digest": hashlib.sha256(text.encode()).hexdigest()})


@pytest.mark.parametrize("name", SPECIFIED)
def test_every_specification_names_its_randomizer(name: str) -> None:
    made = randomizer_of(SPECIFIED[name].client_spec())
    matrix = isinstance(SPECIFIED[name], FiniteRandomizer)
    assert type(made) is type(SPECIFIED[name]) and (matrix or made == SPECIFIED[name])


def write_pairs(file: Path, rows: Sequence[tuple[object, ...]]) -> str:
    with file.open("w", newline="") as out:
        csv.writer(out).writerows(rows)
    return str(file)


def test_recorded_messages(tmp_path: Path) -> None:
    randomizer = RandomizedResponse(k=4, eps0=1.0)
    specification = randomizer.client_spec()
    values = np.repeat(np.arange(4), 1000)
    sent = randomizer.randomize(values, rng=np.random.default_rng(1))
    rows = [("value", "message"), *zip(values.tolist(), sent.tolist(), strict=True)]
    found = audit_pairs(specification, write_pairs(tmp_path / "good.csv", rows))
    assert found.holds and (found.trials, found.vectors) == (4000, 0)
    assert str(found).startswith("No test vectors could be run: there are no random bytes. 4,000")
    honest = [("value", "message"), *((value, value) for value in values.tolist())]
    exceeding = audit_pairs(specification, write_pairs(tmp_path / "bad.csv", honest))
    assert exceeding.exceeds
    assert found.untested == ""
    some = audit_pairs(specification, write_pairs(tmp_path / "some.csv", rows[:1900]))
    assert some.holds and {row.value for row in some.rows} == {0, 1}
    assert some.verdict.endswith("The other 2 values were not tested.")
    few = write_pairs(tmp_path / "few.csv", rows[:900])
    with pytest.raises(InvalidParameter, match="fewer than two of the values 0, 1, 2, 3; give"):
        audit_pairs(specification, few)


def test_recorded_bytes_decide_what_is_sent(tmp_path: Path) -> None:
    specification = RandomizedResponse(k=4, eps0=1.0).client_spec()
    vectors = [(v["value"], v["message"], v["bytes"]) for v in specification.vectors]
    rows = [("value", "message", "bytes"), *vectors, *((x, x, "0000") for x in range(4))]
    spec = tmp_path / "client.json"
    specification.save(spec)
    file = write_pairs(tmp_path / "pairs.csv", rows)
    done = run("audit", "--spec", str(spec), "--pairs", file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(vectors) + 4} test vectors are right." in done.stdout
    rows[-1] = (3, 2, "0000")
    failed = run("audit", "--spec", str(spec), "--pairs", write_pairs(tmp_path / "p.csv", rows))
    assert failed.returncode == 1
    last = f"IN ROW {len(rows) - 1}: value 3 with the random bytes 0000 gives 2, not 3."
    assert last in failed.stdout


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has the columns"),
        ("a,b\n1,2\n", "has the columns"),
        ("value,message\n1,2,3\n", "fewer than two of the values"),
        ("value,message\n9,2\n", "row 1 of pairs"),
        ("value,message\n1,x\n", "row 1 of pairs"),
        ("value,message,bytes\n1,1,zz\n", "row 1 of pairs"),
        ("value,message,bytes\n1,1,00\n", "row 1 of pairs"),
        ("\xff\xfe", "has the columns"),
    ],
)
def test_bad_pairs_are_one_sentence(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidParameter) as error:
        audit_pairs(RandomizedResponse(k=4, eps0=1.0).client_spec(), str(file))
    assert told in str(error.value) and str(error.value).endswith(".")


def test_noise_messages_are_counted(tmp_path: Path) -> None:
    """A client that forgets its dummies is found by how many messages there are."""
    for randomizer in (NoisyHistogram(poisson=0.5, k=3), NoisyHistogram(bernoulli=0.5, k=3)):
        specification = randomizer.client_spec()
        file = write_pairs(
            tmp_path / "pairs.csv", [("value", "message"), *(((0, "0"), (1, "1")) * 500)]
        )
        assert not audit_pairs(specification, file).holds
        rows: list[tuple[object, ...]] = [("value", "message")]
        for i in range(2000):
            sent = specification.message(i % 2)
            rows.append((i % 2, " ".join(map(str, sent))))
        good = audit_pairs(
            specification, write_pairs(tmp_path / "g.csv", rows), confidence=0.999999
        )
        assert good.holds, good.verdict
    shares = NoiseShares(binomial=13, k=2).client_spec()
    rows = [("value", "message")]
    rows += [(i % 2, " ".join(map(str, shares.message(i % 2)))) for i in range(2000)]
    file = write_pairs(tmp_path / "shares.csv", rows)
    assert audit_pairs(shares, file, confidence=0.999999).holds


def test_options_that_do_not_go_together(tmp_path: Path) -> None:
    spec = tmp_path / "client.json"
    RandomizedResponse(k=4, eps0=1.0).client_spec().save(spec)
    for words, told in (
        (["--command", "x"], "--command needs --spec"),
        (["--pairs", "x"], "--pairs needs --spec"),
        (["--spec", str(spec)], "either --command"),
        (["--spec", str(spec), "--command", "x", "--pairs", "y"], "either --command"),
        (["--spec", str(spec), "--k", "4", "--pairs", "y"], "--k does not go with --spec"),
        (["--spec", str(spec), "--randomizer", "rr", "--pairs", "y"], "--randomizer does not go"),
        (["--spec", str(spec), "--client", "a:b", "--pairs", "y"], "--client does not go"),
        (
            ["--spec", str(spec), "--pairs", "y", "--trials", "5"],
            "--trials does not go with --pairs",
        ),
        (["--spec", str(spec), "--pairs", "y", "--timeout", "5"], "--timeout needs --command"),
        (["--k", "4", "--eps0", "1", "--timeout", "5"], "--timeout needs --command"),
        (["--spec", "no.json", "--pairs", "y"], "spec no.json cannot be read"),
        (["--spec", str(spec), "--pairs", "no.csv"], "pairs no.csv cannot be read"),
    ):
        done = run("audit", *words)
        assert done.returncode == 2 and told in done.stderr, (words, done.stderr)


def test_a_program_that_leaves_a_child_behind_does_not_stop_the_audit() -> None:
    """The child has the pipes, and nobody waits for it for long."""
    started = time.monotonic()
    with DeviceProcess("sh -c 'sleep 3 & read line; echo 1'") as device:
        assert device.answers(["1"]) == ["1"]
    assert time.monotonic() - started < 30
