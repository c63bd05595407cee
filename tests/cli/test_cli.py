"""The command line as a user meets it: its output and its exit code."""

import json
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

import shuffledp
from shell import ok, run
from shuffledp import Accountant, FiniteRandomizer, PureLDP, Shuffle
from shuffledp._support.text import rounded_down, rounded_up
from shuffledp.randomizers.analyses import STRONGER_CLONES

#: How every statement begins.
CLAIM = "Under the assumptions below, the protocol is differentially private with "


def test_epsilon_statement() -> None:
    out = ok("epsilon", "--eps0", "4", "--users", "10000", "--rounds", "4", "--delta", "1e-6")
    assert out.startswith(f"{CLAIM}epsilon = 0.8539 and delta = 1e-06.\n")
    flat = " ".join(out.split())
    for phrase in (
        "relation replace-one",
        "4 shuffled rounds of 10,000 users",
        "analysis stronger-clones",
        "Feldman, McMillan, Talwar 2023",
        "adversary sees all shuffled messages",
        "assumed all honest users of a round apply the same eps0-LDP randomizer, chosen before",
        "<= exact epsilon of the analyzed pair <=",
        f"shuffledp {shuffledp.__version__}",
    ):
        assert phrase in flat


def test_one_user_is_one_user() -> None:
    statement = ok("epsilon", "--eps0", "1", "--users", "1", "--delta", "1e-6")
    assert "one shuffled round of 1 user;" in statement


def test_json_is_what_python_says() -> None:
    out = ok(
        "epsilon", "--eps0", "4", "--users", "1e4", "--rounds", "4", "--delta", "1e-6", "--json"
    )
    report = json.loads(out)
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(4.0), users=10_000), rounds=4)
    bounds = accountant.epsilon_bounds(1e-6)
    said = ok("epsilon", "--eps0", "4", "--users", "1e4", "--rounds", "4", "--delta", "1e-6")
    assert report == {
        "statement": said.rstrip("\n"),
        "schema_version": 2,
        "query": "epsilon",
        "version": shuffledp.__version__,
        "error": None,
        "delta": [1e-6],
        "lower": [bounds.lower],
        "upper": [bounds.upper],
        "certified": [True],
        "view": "shuffle",
        "randomizer": "pure-ldp",
        "parameters": {"eps0": 4.0},
        "mechanism": None,
        "users": 10_000,
        "sample_rate": 1.0,
        "sampling": "fixed",
        "colluding": 0,
        "dropouts": 0,
        "messages": 1,
        "neighbours": "replace",
        "relation": "replace-one",
        "analysis": "stronger-clones",
        "theorem": STRONGER_CLONES.theorem,
        "adversary": STRONGER_CLONES.adversary,
        "assumptions": [
            STRONGER_CLONES.assumption,
            "the shuffler is honest: it reveals all messages of a round together, in an order that "
            "is drawn uniformly at random and afresh for every round, and nothing else, so that "
            "nothing links two messages of a user",
            "no user colludes with the adversary, even later, deviates from the protocol or drops "
            "out",
        ],
        "rounds": 4,
        "rtol": 0.001,
    }


def test_several_values_in_one_call() -> None:
    options = ("--eps0", "1", "--users", "1_000", "--analysis", "clones", "--json")
    report = json.loads(ok("delta", *options, "--epsilon", "0.1,0.2", "--epsilon", "0.3"))
    survey = Shuffle(PureLDP(1.0), 1000, "clones")
    assert report["epsilon"] == [0.1, 0.2, 0.3]
    assert report["upper"] == survey.get_delta([0.1, 0.2, 0.3]).tolist()
    assert report["analysis"] == "clones"
    out = ok("delta", *options[:-1], "--epsilon", "0.1,0.2")
    assert out.count("differentially private") == 2


def test_rtol_narrows_the_bracket() -> None:
    options = ("--eps0", "4", "--users", "1000", "--rounds", "10", "--delta", "1e-6", "--json")
    report = json.loads(ok("epsilon", *options, "--rtol", "1e-4"))
    ((low, high),) = zip(report["lower"], report["upper"], strict=True)
    assert high - low <= 1e-4 * high


def test_version_and_help() -> None:
    assert ok("--version") == f"shuffledp {shuffledp.__version__}\n"
    top = ok("--help")
    assert "shuffledp epsilon --eps0 4" in top
    for words in ("Training with DP-SGD", "--view allocation", "--mechanism gaussian", "Poisson"):
        assert words in top
    assert "probability of an example in each step" in " ".join(ok("epsilon", "--help").split())
    for command in ("epsilon", "delta"):
        assert f"shuffledp {command} --eps0" in ok(command, "--help")


GOOD = {"--eps0": "4", "--users": "100", "--delta": "1e-6"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"--eps0": "0"}, "eps0=0.0"),
        ({"--eps0": "-1"}, "eps0=-1.0"),
        ({"--eps0": "nan"}, "'nan'"),
        ({"--eps0": "inf"}, "'inf'"),
        ({"--eps0": "four"}, "'four'"),
        ({"--eps0": "1e999"}, "'1e999'"),
        ({"--users": "0"}, "users=0"),
        ({"--users": "2.5"}, "'2.5'"),
        ({"--users": "-3"}, "users=-3"),
        ({"--users": "1e30"}, "users=1000"),
        ({"--rounds": "0"}, "rounds=0"),
        ({"--rounds": "1.5"}, "'1.5'"),
        ({"--delta": "1.5"}, "delta=1.5"),
        ({"--delta": "-1e-9"}, "delta=-1e-09"),
        ({"--delta": "1e-6,,"}, "''"),
        ({"--analysis": "magic"}, "analysis='magic'"),
        ({"--rtol": "0"}, "rtol=0.0"),
        ({"--epsilon": "1"}, "--epsilon"),
        ({"--colour": "red"}, "--colour"),
        ({"--eps0": None}, "--eps0"),
        ({"--users": None}, "--users"),
        ({"--delta": None}, "--delta"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    change: dict[str, str | None], said: str
) -> None:
    options = {**GOOD, **change}
    arguments = [
        word for name, value in options.items() if value is not None for word in (name, value)
    ]
    result = run("epsilon", *arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("shuffledp: ")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_unknown_command_and_no_command() -> None:
    assert run("guess").returncode == 2
    nothing = run()
    assert nothing.returncode == 2
    assert "Usage: shuffledp" in nothing.stderr


@pytest.mark.parametrize("value", [0.8539013604, 1e-6, 1.5, 123456789.123, 4.0, 3.3e-101, 0.1])
@pytest.mark.parametrize("digits", [1, 4, 7])
def test_printed_values_are_rounded_outwards(value: float, digits: int) -> None:
    up, down = Decimal(rounded_up(value, digits)), Decimal(rounded_down(value, digits))
    assert down <= Decimal(value) <= up
    assert up - down <= Decimal(value) * Decimal(10) ** (1 - digits) * Decimal("1.0001")


@pytest.mark.parametrize(
    ("arguments", "analysis"),
    [
        (("rr", "--k", "16", "--eps0", "2"), "blanket"),
        (("rr", "--k", "4", "--gamma", "0.25", "--analysis", "strong"), "strong"),
        (("subset", "--k", "16", "--size", "3", "--eps0", "2"), "blanket"),
        (("unary", "--k", "16", "--eps0", "2", "--analysis", "clones"), "clones"),
        (("hashing", "--g", "8", "--eps0", "2"), "blanket"),
        (("hadamard", "--k", "16", "--eps0", "2"), "blanket"),
    ],
)
def test_named_randomizers(arguments: tuple[str, ...], analysis: str) -> None:
    query = ("--users", "1e5", "--rounds", "3", "--delta", "1e-6", "--json")
    report = json.loads(ok("epsilon", "--randomizer", *arguments, *query))
    assert report["randomizer"] == arguments[0]
    assert report["analysis"] == analysis
    ((low, high),) = zip(report["lower"], report["upper"], strict=True)
    assert 0 < low <= high <= 1.001 * low


def test_a_matrix_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("0.7,0.2,0.1\n0.1,0.8,0.1\n\n0.2,0.2,0.6\n", encoding="utf-8")
    options = ("--users", "5000", "--epsilon", "0.1", "--json")
    report = json.loads(ok("delta", "--randomizer", "matrix", "--matrix", str(path), *options))
    matrix = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]
    assert report["upper"] == [Shuffle(FiniteRandomizer(matrix), 5000).get_delta(0.1)]
    for text, said in (("0.5,x\n1,0\n", "'x'"), ("0.5,0.6\n1,0\n", "row 1"), ("", "0 rows")):
        path.write_text(text, encoding="utf-8")
        result = run("delta", "--randomizer", "matrix", "--matrix", str(path), *options)
        assert result.returncode == 2
        assert said in result.stderr
    missing = run("delta", "--randomizer", "matrix", "--matrix", str(tmp_path), *options)
    assert missing.returncode == 2
    assert missing.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rr", "--eps0", "1"), "needs --k"),
        (("rr", "--k", "4"), "neither eps0 nor gamma"),
        (("rr", "--k", "4", "--gamma", "0.2", "--eps0", "1"), "in two ways"),
        (("unary", "--k", "4", "--eps0", "1", "--size", "2"), "--size does not go"),
        (("pure-ldp", "--eps0", "1", "--k", "4"), "--k does not go"),
        (("magic", "--eps0", "1"), "magic is unknown"),
        (("rr", "--k", "1", "--eps0", "1"), "k=1"),
    ],
)
def test_contradictory_options(arguments: tuple[str, ...], said: str) -> None:
    result = run("epsilon", "--randomizer", *arguments, "--users", "10", "--delta", "1e-6")
    assert result.returncode == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_adversaries_as_table_and_json() -> None:
    options = ("--k", "4", "--gamma", "0.25", "--users", "1000", "--delta", "1e-7")
    out = ok("adversaries", *options)
    for line in ("strong               0.8774", "attained          >= 0.6284"):
        assert line in out
    assert "clones               0.9991   is told nothing more; the proof uses eps0 alone" in out
    report = json.loads(ok("adversaries", *options, "--json"))
    assert [row["analysis"] for row in report["rows"]][-1] == "attained"


def test_what_is_no_bound_stands_after_all_bounds() -> None:
    """Also if its number is smaller than theirs."""
    options = ("--randomizer", "rr", "--k", "4", "--eps0", "0.5", "--users", "1e3")
    out = ok("compare", *options, "--delta", "1e-6")
    bounds, wrong = out.split("\nNot a bound:\n")
    assert "A_s" not in bounds and "Erlingsson" in bounds and "closed form" in bounds
    line, *_ = wrong.strip().splitlines()
    assert float(line.split()[0]) < max(
        float(row.split()[0]) for row in bounds.splitlines()[3:] if row[:1] == " "
    )
    assert "A_s with independent counts" in line
    rows = json.loads(ok("compare", *options, "--delta", "1e-6", "--json"))["published"]
    applies = [row for row in rows if row["epsilon"] is not None]
    assert [row["name"] for row in applies if row["reason"]] == [applies[-1]["name"]]


def test_risk_prints_the_bracket_of_the_advantage() -> None:
    options = ("--eps0", "4", "--users", "10000")
    out = " ".join(ok("risk", *options).split())
    found = re.search(r"bracket (\S+) <= exact advantage of the analyzed pair <= (\S+)", out)
    advantage = json.loads(ok("risk", *options, "--json"))["advantage"]
    assert found and float(found[1]) <= advantage["lower"] <= advantage["upper"] <= float(found[2])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("risk --eps0 4 --users 100 --delta 1e-6", "risk reads the whole curve and needs no delta"),
        ("estimate counts.csv", "Estimates are made in Python, by randomizer.estimate(counts)"),
        ("risk --k 12 --eps0 1 --users 100", "choose one that has it: --randomizer rr, hadamard"),
        ("simulate --randomizer rr --k 4 --eps0 2", "has 2 columns; rr takes one value per line."),
        ("simulate --randomizer one-bit --eps0 2", "has 2 columns; one-bit takes one value"),
    ],
)
def test_what_is_usually_tried_first_is_answered_with_a_remedy(
    asked: str, said: str, tmp_path: Path
) -> None:
    words = asked.split()
    if words[0] == "simulate":
        (tmp_path / "answers.csv").write_text("1,2\n2,3\n")
        words += ["--values", str(tmp_path / "answers.csv"), "--delta", "0.1"]
    result = run(*words)
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert said in result.stderr


def unmet(*arguments: str) -> str:
    """What is printed where no epsilon is certified, which is no success."""
    result = run(*arguments)
    assert result.returncode == 3 and result.stderr.count("\n") == 1
    assert result.stderr.startswith("shuffledp: no epsilon is certified at delta=")
    return result.stdout


def test_no_epsilon_is_said_in_words_with_the_least_delta() -> None:
    """Under A_s the user answers truthfully, 3/4, and nobody reports the other value at random."""
    options = ("--randomizer", "rr", "--k", "4", "--gamma", "0.25", "--analysis", "strong")
    out = unmet("epsilon", *options, "--users", "10", "--delta", "1e-6,0.5", "--rounds", "1")
    assert "infinity" not in out
    none, some = " ".join(out.split()).split(" relation ")[0].split(f" {CLAIM}")
    said = re.fullmatch(
        r"No epsilon is certified at delta = 1e-06 by this analysis: the probability of "
        r"results that only one of two neighbouring datasets can have is larger\. A finite "
        r"epsilon exists for delta >= (.*)\.",
        none,
    )
    assert said
    least = Fraction(3, 4) * Fraction(15, 16) ** 9
    assert least <= Fraction(said[1]) <= least * Fraction(1002, 1000)
    assert some.startswith("epsilon = ") and some.endswith(" and delta = 0.5.")
    assert out.count("  bracket  ") == 1
    # at the delta that is named there is an epsilon, a little below it there is none
    named = ok("epsilon", *options, "--users", "10", "--delta", said[1])
    assert named.startswith(f"{CLAIM}epsilon = ")
    below = unmet("epsilon", *options, "--users", "10", "--delta", f"{float(least) * 0.999}")
    assert below.startswith("No epsilon is certified")


def test_no_epsilon_at_delta_zero() -> None:
    gaussian = ("--randomizer", "gaussian", "--sigma", "2", "--users", "1")
    assert unmet("epsilon", *gaussian, "--delta", "0").startswith(
        "No epsilon is certified at delta = 0 by this analysis: the privacy loss has no upper "
    )


def test_given_numbers_are_printed_as_given() -> None:
    protocol = ("--eps0", "1", "--users", "1e6")
    none = f"{CLAIM}epsilon = 1 and delta = 0.\n"
    assert ok("epsilon", *protocol, "--delta", "0").startswith(none)
    out = ok("delta", *protocol, "--epsilon", "1,0.123456789012")
    assert out.startswith(none)
    assert "epsilon = 0.123456789012 and delta = " in out
    assert "at epsilon = 1\n" in out


def test_sampled_rounds_and_densities() -> None:
    sampled = ("--eps0", "3", "--users", "1e5", "--sample-rate", "0.01", "--rounds", "10")
    for analysis, low, high in (("stronger-clones", 0.0169, 0.0171), ("best", 0.0150, 0.0151)):
        asked = (*sampled, "--analysis", analysis, "--delta", "1e-5", "--json")
        report = json.loads(ok("epsilon", *asked))
        assert (report["sample_rate"], report["sampling"]) == (0.01, "fixed")
        assert low < report["lower"][0] <= report["upper"][0] < high
    gaussian = ("--randomizer", "gaussian", "--sigma", "2", "--users", "1")
    assert "noise of standard deviation 2" in " ".join(
        ok("delta", *gaussian, "--epsilon", "0.5").split()
    )
    result = run("epsilon", "--eps0", "3", "--users", "5", "--sample-rate", "0.3", "--delta", "0.1")
    assert result.returncode == 2
    assert "not a whole number" in result.stderr


def test_bounds_that_do_not_apply_for_one_reason_share_a_line() -> None:
    asked = "--mechanism gaussian --sigma 1 --sample-rate 0.01 --rounds 9 --delta 1e-5"
    text = " ".join(ok("compare", *asked.split()).split())
    assert text.count("it is for shuffled messages, not for the releases of a curator") == 1
    assert "Does not apply: Erlingsson et al. 2019; Balle et al. 2019, closed form; " in text


def test_compare_as_table_json_and_picture(tmp_path: Path) -> None:
    protocol = ("--eps0", "3", "--users", "1e5", "--sample-rate", "0.01", "--rounds", "10")
    picture = tmp_path / "bars.png"
    out = ok("compare", *protocol, "--delta", "1e-5", "--plot", str(picture))
    assert "Girgis et al. 2021" in out
    assert "Does not apply" in out
    assert picture.stat().st_size > 5000
    report = json.loads(ok("compare", *protocol, "--delta", "1e-5", "--json"))
    ratios = {row["name"]: row["ratio"] for row in report["published"] if row["ratio"] is not None}
    assert min(ratios.values()) > 1.1
    assert ratios["Girgis et al. 2021"] > 40
    assert run("compare", *protocol, "--delta", "1e-5", "--plot", "x.nonsense").returncode == 2


@pytest.mark.parametrize("word", ["statement", "document"])
def test_what_is_no_command_is_said_to_be_printed_by_others(word: str) -> None:
    result = run(word)
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert "by plan" in result.stderr and "by epsilon, delta and risk" in result.stderr
