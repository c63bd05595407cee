"""Any command line is answered, or refused in one sentence: no traceback, no code of a bug."""

import random
from pathlib import Path

import pytest

from shuffledp.cli.app import main

RANDOMIZERS = {
    "pure-ldp": ["eps0"],
    "rr": ["k", "eps0"],
    "laplace": ["eps0"],
    "gaussian": ["sigma"],
    "subset": ["k", "size", "eps0"],
    "unary": ["k", "eps0"],
    "hashing": ["g", "eps0"],
    "hadamard": ["k", "eps0"],
    "matrix": ["matrix"],
}
MATRICES = [
    "0,0,1\n1,0,0\n",
    "1,0\n.25,.75\n0,1\n",
    "0.5,0.5\n0.5,0.5\n",
    "1,0\n1,0\n",
    "0.2,0.3,0.5\n0.5,0.3,0.2\n",
    "1,0,0\n0,1,0\n0,0,1\n",
    "1e-99,1\n1,0\n",
    "0.5,0.4\n0.5,0.5\n",
    "a,b\n",
    "",
]
SENSIBLE = {
    "eps0": ["0.1", "1", "2", "4.5", "45"],
    "sigma": ["2", "5"],
    "k": ["2", "3", "10"],
    "size": ["1", "2"],
    "g": ["2", "8"],
    "users": ["1", "2", "5", "100", "1e4", "1e9"],
    "delta": ["0", "1e-6", "1e-3", "1", "1e-9,0.1"],
    "epsilon": ["0", "0.5", "1", "2,4"],
    "rounds": ["1", "2"],
    "sample-rate": ["0.5", "0.2", "1"],
    "sampling": ["fixed", "poisson"],
    "analysis": ["best", "blanket", "stronger-clones", "clones", "strong"],
    "colluding": ["0", "1", "0.1"],
    "dropouts": ["0", "1", "0.2"],
    "messages": ["1", "2"],
}
STRANGE = ["nan", "-1", "inf", "1e400", "0", "abc", "", "1.5", "1e13", "5e-324", "Ω"]


def command_line(seed: int, folder: Path) -> list[str]:
    draw = random.Random(seed)
    query, given = draw.choice([("epsilon", "delta"), ("delta", "epsilon"), ("verify", "epsilon")])
    kind = draw.choice(list(RANDOMIZERS))
    names = [*RANDOMIZERS[kind], "users", given]
    if query == "verify":
        names = [name for name in names if name != given or draw.random() < 0.5]
    else:
        extra = ["rounds", "sample-rate", "sampling", "colluding", "dropouts", "messages"]
        names += draw.sample(extra, draw.choice([0, 0, 1, 2]))
    if draw.random() < 0.3:
        names.append("analysis")
    line = [query, "--randomizer", kind]
    for name in names:
        if name == "matrix":
            file = folder / "matrix.csv"
            file.write_text(draw.choice(MATRICES), encoding="utf-8")
            line += ["--matrix", str(file)]
        else:
            choices = STRANGE if draw.random() < 0.06 else SENSIBLE[name]
            if query == "verify" and name in ("users", "k", "g"):  # more would only take longer
                choices = ["1", "2", "3"]
            line += [f"--{name}", draw.choice(choices)]
    if draw.random() < 0.2:
        line.append("--json")
    return line


@pytest.mark.parametrize("seed", range(70))
def test_an_answer_or_one_sentence(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = command_line(seed, tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(line)
    out, err = capsys.readouterr()
    code = ended.value.code or 0
    assert code in (0, 1, 2, 3), (line, err)
    assert "Traceback" not in out + err
    assert "contradict" not in err
    assert "nan" not in out.lower() or "nan" in line
    if code == 0:
        assert out and not err
    elif code > 1:
        assert len(err.strip().splitlines()) == 1, (line, err)
        assert err.startswith("shuffledp: ")
