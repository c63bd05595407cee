"""Sweeps: the same table however it is computed, interrupted or distributed."""

import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shell import ok, run
from shuffledp import Accountant, PureLDP, Shuffle, sweep
from shuffledp.bounds import Bounds
from shuffledp.errors import InvalidParameter
from shuffledp.plotting import plot_sweep
from shuffledp.tools.sweep import SweepStopped, SweepTable

AXES: dict[str, list[Any]] = {"eps0": [1.0, -1.0], "users": [100, 1_000], "rounds": [1, 2]}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what a sweep over the axes writes."""
    out = tmp_path_factory.mktemp("sweep") / "sweep.csv"
    sweep(AXES, delta=1e-6, jobs=1, out=out)
    return out.read_text()


def test_an_interrupted_sweep_has_its_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def bounds(account: Accountant, delta: float, rtol: float) -> Bounds[float]:
        if account.total_rounds == 3:
            raise KeyboardInterrupt
        return Bounds(0.25, 0.5)

    monkeypatch.setattr(Accountant, "epsilon_bounds", bounds)
    asked: dict[str, Any] = {"eps0": 1.0, "users": 100, "delta": 1e-6, "jobs": 1}
    with pytest.raises(KeyboardInterrupt) as stopped:
        sweep({"rounds": [1, 2, 3, 4]}, **asked)
    assert isinstance(stopped.value, SweepStopped)
    assert [row["rounds"] for row in stopped.value.table] == [1, 2]
    with pytest.raises(KeyboardInterrupt) as stopped:
        sweep({"rounds": [3, 4]}, **asked)
    assert not isinstance(stopped.value, SweepStopped)  # there is nothing to keep
    given = ("--eps0", "1", "--users", "100", "--delta", "1e-6", "--jobs", "1")
    result = run("sweep", *given, "--rounds", "1:4:1", "--json")
    report = json.loads(result.stdout)
    assert result.returncode == 130 and [row["rounds"] for row in report["rows"]] == [1, 2]
    assert report["error"]["kind"] == "interrupted"
    assert result.stderr == f"shuffledp: {report['error']['message']}\n"
    assert "stopped after 2 of 4 rows" in result.stderr


def test_rows_against_the_accountant() -> None:
    table = sweep(AXES, delta=1e-6, jobs=1)
    assert len(table) == 8
    for row in table:
        assert list(row) == [*AXES, "delta", "rtol", "epsilon_lower", "epsilon_upper", "error"]
        if row["eps0"] < 0:
            assert row["epsilon_upper"] is None and row["error"].startswith("eps0=-1.0 is not pos")
            continue
        accountant = Accountant()
        accountant.compose(Shuffle(PureLDP(row["eps0"]), row["users"]), rounds=row["rounds"])
        assert (row["epsilon_lower"], row["epsilon_upper"]) == accountant.epsilon_bounds(1e-6)
        assert row["error"] == ""
    assert len(table.failed) == 4
    assert (
        repr(table).splitlines()[-1]
        == "8 rows, 4 of them failed, delta = 1e-06, replace-one neighbours"
    )


def test_delta_of_named_randomizers() -> None:
    over: dict[str, list[Any]] = {"randomizer": ["rr", "unary"], "epsilon": [0.1, 0.2]}
    table = sweep(over, users=1e3, k=4, eps0=1.0, jobs=1)
    assert [row["users"] for row in table] == [1000] * 4
    assert table[0]["delta_upper"] > table[1]["delta_upper"] >= table[1]["delta_lower"] > 0


@pytest.mark.parametrize("name", ["sweep.csv", "sweep.jsonl"])
def test_a_file_cut_anywhere_is_continued(tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    axes: dict[str, list[Any]] = {"eps0": [1.0, -1.0, 2.0], "users": [10, 100]}
    whole = sweep(axes, delta=1e-6, jobs=1, out=out)
    text = out.read_bytes()
    assert sweep(axes, delta=1e-6, jobs=1, out=out)[:] == whole[:]
    for cut in (0, 3, 70, 200, len(text) // 2, len(text) - 1, len(text)):
        out.write_bytes(text[:cut])
        assert sweep(axes, delta=1e-6, jobs=1, out=out)[:] == whole[:]
        assert out.read_bytes() == text


def test_finished_cells_are_not_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "sweep.csv"
    sweep(AXES, delta=1e-6, jobs=1, out=out)
    text = out.read_text().splitlines(keepends=True)
    marked = [line.replace("\n", "") + "kept\n" if i == 1 else line for i, line in enumerate(text)]
    out.write_text("".join(marked[:-2]))
    assert sweep(AXES, delta=1e-6, jobs=1, out=out)[0]["error"] == "kept"
    assert out.read_text() == "".join(marked)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: "a,b\n1,2\n",
        lambda text: text.replace("100,1,", "101,1,", 1),
        lambda text: text + text.splitlines(keepends=True)[-1],
        lambda text: text.replace("eps0", "eps1"),
        lambda text: text.replace("0.001,0.", "0.001,x.", 1),
        lambda text: re.sub(r"0\.001,[0-9.]+,", "0.001,nan,", text, count=1),
        lambda text: re.sub(r"0\.001,[0-9.]+,", f"0.001,{'9' * 200_000},", text, count=1),
    ],
)
def test_another_file_is_refused_and_left_alone(
    tmp_path: Path, spoil: Callable[[str], str], written: str
) -> None:
    out = tmp_path / "sweep.csv"
    out.write_text(spoil(written))
    before = out.read_bytes()
    with pytest.raises(InvalidParameter, match="not the beginning of this sweep"):
        sweep(AXES, delta=1e-6, jobs=1, out=out)
    assert out.read_bytes() == before


@pytest.mark.parametrize("value", ["[1]", "NaN", "[" * 5000])
def test_a_line_of_json_that_is_no_row_is_refused(tmp_path: Path, value: str) -> None:
    out = tmp_path / "sweep.jsonl"
    sweep(AXES, delta=1e-6, jobs=1, out=out)
    spoilt = re.sub(r'(_lower": )[0-9.]+', rf"\g<1>{value}", out.read_text(), count=1)
    out.write_text(spoilt)
    with pytest.raises(InvalidParameter, match="row 1 is not of this sweep"):
        sweep(AXES, delta=1e-6, jobs=1, out=out)
    assert out.read_text() == spoilt


def test_infinite_values_survive_the_file(tmp_path: Path) -> None:
    options: dict[str, Any] = {"randomizer": "rr", "k": 3, "eps0": 4.0, "analysis": "strong"}
    for name in ("sweep.csv", "sweep.jsonl"):
        table = sweep({"users": [2, 3]}, delta=1e-9, jobs=1, out=tmp_path / name, **options)
        assert table[0]["epsilon_upper"] == math.inf
        assert table[0]["error"].startswith("no epsilon is certified at delta=1e-09;")
        again = sweep({"users": [2, 3]}, delta=1e-9, jobs=1, out=tmp_path / name, **options)
        assert again[:] == table[:]
    rows = [json.loads(line) for line in (tmp_path / "sweep.jsonl").read_text().splitlines()]
    assert rows[0]["epsilon_upper"] == "Infinity"


def test_killed_midway_and_continued_in_parallel(tmp_path: Path) -> None:
    out, clean = tmp_path / "killed.csv", tmp_path / "clean.csv"
    command = [sys.executable, "-m", "shuffledp", "sweep", "--eps0", "1:3:0.25"]
    command += ["--users", "1e3,1e4", "--rounds", "1,8", "--delta", "1e-6", "--rtol", "0.1"]
    with subprocess.Popen([*command, "--jobs", "1", "--out", str(out)]) as process:
        while not out.exists() or out.read_text().count("\n") < 4:
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    assert 4 <= out.read_text().count("\n") < 37
    subprocess.run([*command, "--jobs", "2", "--out", str(out)], check=True)
    ok(*command[3:], "--jobs", "1", "--out", str(clean))
    assert clean.read_text().count("\n") == 37
    assert out.read_bytes() == clean.read_bytes()


def test_the_same_on_a_dask_cluster() -> None:
    import joblib
    from distributed import Client, LocalCluster

    local = sweep(AXES, delta=1e-6, jobs=1)
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        assert sweep(AXES, delta=1e-6, jobs=-1)[:] == local[:]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no device without an end here")
def test_a_device_is_refused_before_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "endless.csv").symlink_to("/dev/zero")
    with pytest.raises(InvalidParameter, match="it is not a file"):
        sweep({"users": [10]}, eps0=1.0, delta=0.1, out=tmp_path / "endless.csv")


def test_more_jobs_than_cells() -> None:
    assert len(sweep({"users": [10, 20]}, eps0=1.0, delta=0.1, jobs=10**20)) == 2


def test_bad_sweeps() -> None:
    for over, fixed, words in [
        ({"eps": [1]}, {"users": 10, "delta": 0.1}, "no parameter 'eps'"),
        ({"users": []}, {"eps0": 1, "delta": 0.1}, "is empty"),
        ({"users": 10}, {"eps0": 1, "delta": 0.1}, "is not a list"),
        ({"users": [10]}, {"eps0": 1}, "either delta"),
        ({"users": [10]}, {"eps0": 1, "delta": 0.1, "epsilon": 1}, "either delta"),
        ({"users": [10]}, {"users": 1, "delta": 0.1}, "both swept and fixed"),
        ({"eps0": [1]}, {"delta": 0.1}, "needs users"),
        ({"users": [10, math.nan]}, {"eps0": 1, "delta": 0.1}, "users=nan"),
        ({"users": range(10**8)}, {"eps0": 1, "delta": 0.1}, "fewer values"),
        ({"users": [10]}, {"eps0": 1, "delta": 0.1, "jobs": 0}, "jobs=0"),
        ({"users": [10]}, {"eps0": 1, "delta": 0.1, "out": "x.txt"}, "neither .csv nor"),
        ({"users": [10]}, {"eps0": 1, "delta": 0.1, "out": 3}, "out=3 is not the name"),
        ({"users": [10]}, {"eps0": 1, "delta": 0.1, "out": "a\0.csv"}, "is not the name"),
        ({"users": np.ones((2, 2))}, {"eps0": 1, "delta": 0.1}, "neither a finite number nor"),
        ([10], {"users": 10, "eps0": 1, "delta": 0.1}, r"over=\[10\] is not a dictionary"),
        ({"users": [10]}, {"eps0": 1, "delta": 0.1, "out": "/nowhere/x.csv"}, "cannot be written"),
    ]:
        with pytest.raises(InvalidParameter, match=words):
            sweep(over, **fixed)  # type: ignore[arg-type]


def test_rich_table_and_missing_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    table = sweep({"users": [100, 1_000]}, eps0=1.0, delta=1e-6, jobs=1)
    assert isinstance(table, SweepTable)
    html = table._repr_html_()
    assert "<td>1,000</td>" in html and "<td>0.1487</td>" in html  # rounded up, down: 0.1486
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        table.to_pandas()
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(ImportError, match=r"pip install 'shuffledp\[sweep\]'"):
        sweep({"users": [100, 1_000]}, eps0=1.0, delta=1e-6, jobs=2)
    assert sweep({"users": [100, 1_000]}, eps0=1.0, delta=1e-6)[:] == table[:]


def test_a_picture_of_a_sweep(tmp_path: Path) -> None:
    given: dict[str, Any] = {"k": 4, "delta": 1e-6, "jobs": 1}
    over: dict[str, Any] = {
        "randomizer": ["rr", "unary", "gaussian"],
        "users": [100, 10_000],
        "eps0": [3, 2, 1],
    }
    table = sweep(over, **given)
    axes = plot_sweep(table, target=0.5)
    lines = {str(line.get_label()).lstrip("_"): line for line in axes.lines}
    upper = {
        row["eps0"]: row["epsilon_upper"]
        for row in table
        if (row["randomizer"], row["users"]) == ("rr", 100)
    }
    drawn: Any = lines["rr, 100 users"]
    assert dict(zip(drawn.get_xdata(), drawn.get_ydata(), strict=True)) == upper
    assert list(drawn.get_xdata()) == [1, 2, 3] and axes.get_xlabel() == "eps0"
    gaps: Any = lines["gaussian, 100 users"]  # which needs a sigma
    assert np.isnan(gaps.get_ydata()).all()
    assert axes.get_title() == "k = 4, delta = 1e-06, replace-one"
    assert axes.get_yscale() == "log" and axes.get_xscale() == "linear"
    picture = tmp_path / "sweep.svg"
    line = "sweep --eps0 1 --users 100,200 --rounds 1 --delta 1e-6 --jobs 1 --title Mine --plot"
    assert ok(*line.split(), str(picture)).count("\n") == 3
    assert ">Mine</text>" in picture.read_text(encoding="utf-8")


def test_sweeps_that_cannot_be_drawn() -> None:
    same: dict[str, Any] = {"delta": 1e-6, "jobs": 1}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"analysis": ["clones", "best"], "eps0": [1], "users": [10]}, "no number takes two"),
        ({"eps0": [-1, -2], "users": [10]}, "no row of this sweep is positive"),
        ({"eps0": range(1, 31), "users": range(-25, 0)}, "25 curves are more than 24"),
    ]
    for over, words in cases:
        with pytest.raises(InvalidParameter, match=words):
            plot_sweep(sweep(over, **same))
    with pytest.raises(InvalidParameter, match="3 is not a sweep"):
        plot_sweep(3)  # type: ignore[arg-type]
