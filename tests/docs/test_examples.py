"""The worked examples run and say what the accountant says."""

import csv
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from optional import needs
from shuffledp import Accountant, PureLDP, RandomizedResponse, Shuffle

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return what an example prints as a program; a warning of it is an error here."""

    def run(name: str, *arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return run


def test_telemetry(tmp_path: Path, printed: Any) -> None:
    picture = tmp_path / "ledger.png"
    said = printed("telemetry.py", str(picture))
    assert picture.read_bytes().startswith(b"\x89PNG")
    found = re.search(r"whole target: ([\d.]+) ", said)
    spare = re.search(r"^(\d+) more rounds", said, re.MULTILINE)
    assert found and spare and "The plan fits" in said

    def asked(eps0: float, share: float = 1.0) -> Shuffle:
        return Shuffle(PureLDP(eps0), 10**6, sample_rate=share, colluding=50_000, dropouts=0.2)

    def year(eps0: float) -> Accountant:
        return Accountant().compose(asked(eps0, 0.1), rounds=52)

    assert year(float(found[1])).fits(1.0, 1e-8, rtol=0.01)
    assert not year(float(found[1]) + 1e-3).fits(1.0, 1e-8, rtol=0.01)
    accountant = year(6.0)
    accountant.compose(asked(4.0), rounds=4 + int(spare[1]))
    assert accountant.fits(1.0, 1e-8)
    accountant.compose(asked(4.0))
    assert not accountant.fits(1.0, 1e-8)


def test_histogram(printed: Any) -> None:
    """From the choice to the statement: one guarantee, and a client that estimates."""
    said = printed("histogram.py")
    chosen = re.search(r"^deployed: RandomizedResponse\(k=16, eps0=([\d.]+)\)", said, re.M)
    inside = re.search(r"^(\d+) of 16 counts are in their", said, re.M)
    stated = re.search(r"^Under .* with epsilon = ([\d.]+) and delta = 1e-08", said, re.M)
    assert chosen and inside and stated and "The plan fits" in said
    known = RandomizedResponse(16, eps0=float(chosen[1]))
    month = Shuffle(known, 100_000, colluding=5_000, dropouts=20_000)
    lower = Accountant().compose(month, rounds=12).epsilon_bounds(1e-8).lower
    assert lower <= float(stated[1]) <= 1
    assert int(inside[1]) >= 12  # fewer have a probability below 1 in 1,000


def test_counting_at_scale(tmp_path: Path, printed: Any) -> None:
    """With fewer messages than it has by itself."""
    needs("pyarrow")
    said = printed("count_at_scale.py", "1e5", str(tmp_path / "counts.csv"))
    shown = re.findall(r"value 0: ([\d.]+) \+- ([\d.]+)", said)
    truth = [1 / sum(1 / x for x in range(1, k + 1)) for k in (100, 100, 100, 1000)]
    assert len(shown) == 4 and "peak memory" in said
    for (found, error), expected in zip(shown, truth, strict=True):
        assert abs(float(found) - expected) < 5 * float(error)
    rows = list(csv.DictReader((tmp_path / "counts.csv").read_text().splitlines()))
    assert len(rows) == 100 and float(rows[0]["frequency"]) == pytest.approx(
        float(shown[2][0]), abs=1e-4
    )
