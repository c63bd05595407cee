"""The public names: documented by an example that runs, typed for a consumer, light to import."""

import doctest
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

import shuffledp
import shuffledp.errors
import shuffledp.interop
import shuffledp.mechanisms
import shuffledp.plotting
from shuffledp import Accountant, PureLDP, RandomizedResponse, Shuffle
from shuffledp.bounds import Bounds
from shuffledp.errors import InvalidParameter
from shuffledp.mechanisms import ApproximateDP, GivenPLD
from shuffledp.randomizers import REGISTRY

DOCUMENTED = [
    *((shuffledp, name) for name in shuffledp.__all__),
    *((shuffledp.randomizers, kind.__name__) for kind in REGISTRY.values()),
    *(
        (module, name)
        for module in (
            shuffledp.plotting,
            shuffledp.mechanisms,
            shuffledp.errors,
            shuffledp.interop,
        )
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
        if callable(value)
    ),
]


@pytest.mark.parametrize(("module", "name"), DOCUMENTED)
def test_every_public_name_has_an_example(module: ModuleType, name: str) -> None:
    """pytest runs the examples themselves (--doctest-modules)."""
    assert doctest.DocTestParser().get_examples(getattr(module, name).__doc__ or "")


def test_public_names_are_listed_once_and_in_order() -> None:
    assert list(shuffledp.__all__) == sorted(set(shuffledp.__all__))


def loaded_by(imports: str) -> list[str]:
    """The modules that a fresh interpreter has after these imports."""
    code = f"import sys, {imports}; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return result.stdout.split()


def test_importing_loads_numpy_and_little_else() -> None:
    loaded = loaded_by("shuffledp")
    assert "numpy" in loaded
    heavy = ("click", "matplotlib", "scipy", "dp_accounting", "joblib", "pandas", "json", "hashlib")
    ours = tuple(
        f"shuffledp.{part}." for part in ("tools", "cli", "clients", "published", "reproduce")
    )
    assert [module for module in loaded if module.startswith(heavy)] == []
    assert [module for module in loaded if f"{module}.".startswith(ours)] == []


def test_modules_that_the_package_names_are_attributes_of_it() -> None:
    """Without an import of their own, as README writes them; another name is none."""
    named = re.search(r"through its modules.*", shuffledp.__doc__ or "", re.DOTALL)
    assert named is not None
    modules = re.findall(r"`([a-z]+)`", named[0])
    assert {"mechanisms", "randomizers", "interop"} <= set(modules)
    code = "import shuffledp; print(*[getattr(shuffledp, name).__name__ for name in {}])"
    printed = subprocess.run(
        [sys.executable, "-c", code.format(modules)], capture_output=True, text=True, check=True
    )
    assert printed.stdout.split() == [f"shuffledp.{name}" for name in modules]
    with pytest.raises(AttributeError, match="no attribute 'mechanism'"):
        shuffledp.mechanism  # noqa: B018


def test_what_answers_is_loaded_with_the_first_question() -> None:
    """The packages themselves are there, empty: see `_support.later`."""
    parts = ("laws", "engines", "profiles", "composition", "bounds")
    answers = tuple(f"shuffledp.{part}." for part in parts)
    round_ = "shuffledp; survey = shuffledp.Shuffle(shuffledp.PureLDP(eps0=1.0), users=100)"
    loaded = [module for module in loaded_by(round_) if module.startswith(answers)]
    assert loaded == ["shuffledp.laws.class_law"]  # what a law is
    loaded = loaded_by(f"{round_}; survey.get_epsilon(1e-6)")
    assert {"shuffledp.bounds.one_round", "shuffledp.profiles.parts"} <= set(loaded)
    assert "shuffledp.composition.compose" not in loaded  # one round is no composition
    assert "shuffledp.composition.compose" in loaded_by(f"{round_}; survey.profile")


def test_importing_takes_little_longer_than_numpy() -> None:
    """As a ratio of processor times, since machines differ and are busy: 0.13 s where numpy takes
    0.09 s."""
    code = "import time; start = time.process_time(); import {}; print(time.process_time() - start)"
    compiled = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def seconds(name: str) -> float:
        command = [sys.executable, "-c", code.format(name)]
        ask = partial(subprocess.run, command, capture_output=True, text=True, env=compiled)
        return float(ask(check=True).stdout)

    # in turn, so that both see the machine as busy as it is
    times = [(seconds("numpy"), seconds("shuffledp")) for _ in range(3)]
    alone, both = map(min, zip(*times, strict=True))
    assert both < 2 * alone


def test_the_command_line_loads_nothing_that_draws_or_shares_work() -> None:
    every_command = "dict(shuffledp.cli.app.cli.commands)"
    loaded = loaded_by(f"shuffledp.cli.app, shuffledp.plotting; {every_command}")
    assert {"shuffledp.cli.epsilon", "shuffledp.cli.plot"} <= set(loaded)
    heavy = ("matplotlib", "joblib", "pandas", "distributed", "shuffledp.reproduce.fig")
    assert [module for module in loaded if module.startswith(heavy)] == []


def test_without_the_extra_interop_says_what_to_install() -> None:
    code = "import sys; sys.modules['dp_accounting'] = None\nimport shuffledp.interop"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert "pip install 'shuffledp[interop]'" in result.stderr.splitlines()[-1]


def test_types_as_a_consumer_sees_them() -> None:
    """For mypy, which is strict: it reads these lines, and tells of what it need not ignore."""
    survey = Shuffle(PureLDP(eps0=4.0), users=10_000)
    accountant = Accountant()
    accountant.compose(survey, rounds=4)
    accountant.compose(Shuffle(RandomizedResponse(k=4, gamma=0.25), users=100))
    accountant.compose(ApproximateDP(0.1, 1e-9))
    accountant.compose(GivenPLD([0.1, -0.1], np.array([0.525, 0.475])))
    one: float = accountant.get_epsilon(1e-6)
    many: NDArray[np.float64] = accountant.get_epsilon([1e-6, 1e-9])
    assert one == many[0]
    bounds: Bounds[float] = survey.delta_bounds(0.1)
    lower, upper = bounds
    width: float = upper - lower
    assert width >= 0
    with pytest.raises(InvalidParameter):
        accountant.compose("a round")  # type: ignore[arg-type]
    text: str = accountant.get_epsilon(1e-6)  # type: ignore[assignment]
    assert text and (Path(shuffledp.__file__).parent / "py.typed").exists()
