"""The worked examples run and say what the accountant says."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from shuffledp import Accountant, PureLDP, Shuffle
from shuffledp.randomizers import NoisyHistogram

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_telemetry(tmp_path: Path) -> None:
    picture = tmp_path / "ledger.png"
    command = [sys.executable, "-W", "error", str(EXAMPLES / "telemetry.py"), str(picture)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert picture.read_bytes().startswith(b"\x89PNG")
    found = re.search(r"whole budget: ([\d.]+) ", result.stdout)
    spare = re.search(r"^(\d+) more rounds", result.stdout, re.MULTILINE)
    assert found and spare and "The plan fits" in result.stdout

    def year(eps0: float) -> Accountant:
        accountant = Accountant()
        accountant.compose(Shuffle(PureLDP(eps0), 10**6, sample_rate=0.1), rounds=52)
        return accountant

    assert year(float(found[1])).fits(1.0, 1e-8)
    assert not year(float(found[1]) + 1e-3).fits(1.0, 1e-8)
    accountant = year(6.0)
    accountant.compose(Shuffle(PureLDP(4.0), 10**6), rounds=4 + int(spare[1]))
    assert accountant.fits(1.0, 1e-8)
    accountant.compose(Shuffle(PureLDP(4.0), 10**6))
    assert not accountant.fits(1.0, 1e-8)


def test_histogram() -> None:
    """From the choice to the statement: one guarantee, and a client that estimates."""
    command = [sys.executable, "-W", "error", str(EXAMPLES / "histogram.py")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    chosen = re.search(r"^deployed: NoisyHistogram\((\w+)=([\d.e-]+), k=16\)", result.stdout, re.M)
    inside = re.search(r"^(\d+) of 16 counts are in their", result.stdout, re.M)
    stated = re.search(r"^The protocol is \(([\d.]+), 1e-08\)", result.stdout, re.M)
    assert chosen and inside and stated and "The plan fits" in result.stdout
    given: dict[str, Any] = {chosen[1]: float(chosen[2]), "k": 16}
    month = Shuffle(NoisyHistogram(**given), 100_000)
    lower = Accountant().compose(month, rounds=12).epsilon_bounds(1e-8).lower
    assert lower <= float(stated[1]) <= 1
    assert int(inside[1]) >= 12  # fewer have a probability below 1 in 1,000
