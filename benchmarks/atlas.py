"""Random questions as a privacy engineer might ask them, and how long each answer takes.

The same seed asks the same questions. Times are those of the processor, so that other work on the
machine changes them little. A question that takes longer than LIMIT seconds by the clock is
stopped; it is unanswered, as is one that ends in an error.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

from shuffledp import Accountant, Shuffle
from shuffledp._support.files import write_text_atomically
from shuffledp.errors import ShuffleDPError
from shuffledp.randomizers import REGISTRY
from shuffledp.randomizers.parameter import Parameter, parameters_of

LIMIT = 10.0
SLOWEST = 10


@dataclass(frozen=True)
class Question:
    """A round or rounds, as Python, and what they are asked at which epsilon or delta."""

    randomizer: str
    asked: str
    method: str
    value: float
    #: If a delta is asked for: the factor between its epsilon and the one at delta = value.
    near: float = 0.0

    @property
    def line(self) -> str:
        return f"{self.asked}.{self.method}({self.value!r})"


@dataclass(frozen=True)
class Answer:
    question: Question
    seconds: float
    value: Any = None
    error: str = ""


def log_uniform(rng: random.Random, least: float, most: float, whole: bool = False) -> float:
    """Of three digits, or a whole number of six."""
    drawn = math.exp(rng.uniform(math.log(least), math.log(most)))
    return int(float(f"{drawn:.6g}")) if whole else float(f"{drawn:.3g}")


def matrix(rng: random.Random) -> list[list[float]]:
    """Two to six values, two to eight outputs, in thousandths; now and then a zero."""
    inputs, outputs, spread = rng.randint(2, 6), rng.randint(2, 8), rng.uniform(0.3, 5)
    rows = []
    for _ in range(inputs):
        weights = [rng.gammavariate(spread, 1) for _ in range(outputs)]
        share = [int(1000 * weight / sum(weights)) for weight in weights]
        share[rng.randrange(outputs)] += 1000 - sum(share)
        rows.append([part / 1000 for part in share])
    return rows


def drawn(name: str, parameter: Parameter, rng: random.Random, others: dict[str, Any]) -> Any:
    """A sensible value of a parameter of a randomizer."""
    if name == "matrix":
        return matrix(rng)
    if name == "questions":
        kinds = ("rr k={k} eps0={eps0}", "unary k={k} eps0={eps0}", "hashing g={k} eps0={eps0}")
        some = (rng.choice(kinds) for _ in range(rng.randint(1, 4)))
        eps0 = round(rng.uniform(0.1, 2), 2)
        return "; ".join(kind.format(k=rng.randint(2, 20), eps0=eps0) for kind in some)
    if name == "weights":
        return [rng.randint(1, 9) for _ in others["questions"].split(";")]
    if name == "eps0":
        return round(rng.uniform(0.1, 8), 2)
    if name == "size":
        return rng.randint(1, max(1, others["k"] - 1))
    usual = {
        **{"k": (2, 1000), "g": (2, 100), "sigma": (0.15, 5), "gamma": (0.01, 0.9)},
        **{"ones": (1, 3), "dimension": (2, 1000), "dummies": (10, 1e6)},
        **{"beta": (0.01, 0.9), "delta0": (1e-14, 1e-8), "binomial": (20, 1e6)},
    }
    if name in ("p", "q") and parameter.least >= 1:  # a ratio, not a probability
        return log_uniform(rng, 1.1, 500)
    least, most = usual.get(name, (parameter.least, parameter.most))
    return log_uniform(rng, max(least, most / 1e4), most, parameter.whole)


def randomizer(kind: str, rng: random.Random) -> str:
    """Of that name, as Python: what is needed, and at most one of what is optional."""
    given: dict[str, Any] = {}
    known = parameters_of(REGISTRY[kind])
    optional = [name for name, parameter in known.items() if not parameter.needed]
    chosen = rng.choice(["", *optional])
    for name, parameter in known.items():
        if parameter.needed or name == chosen:
            given[name] = drawn(name, parameter, rng, given)
    arguments = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return f"{REGISTRY[kind].__name__}({arguments})"


def question(kind: str, rng: random.Random) -> Question:
    users, delta = log_uniform(rng, 2, 1e9, whole=True), log_uniform(rng, 1e-12, 1e-4)
    rate = log_uniform(rng, 0.01, 1)
    some = max(1, round(rate * users))
    sampled = rng.choice(
        ("", f", sample_rate={some}/{users}", f", sample_rate={rate}, sampling='poisson'")
    )
    asked = f"Shuffle({randomizer(kind, rng)}, users={users}{sampled})"
    rounds = rng.choice((1, log_uniform(rng, 1, 1000, whole=True)))
    if rounds > 1:
        asked = f"Accountant().compose({asked}, rounds={rounds})"
    methods = ["epsilon_bounds", "delta_bounds", *(["attained_epsilon"] if rounds == 1 else [])]
    method, near = rng.choice(methods), round(rng.uniform(0.5, 1.5), 2)
    return Question(kind, asked, method, delta, near if method == "delta_bounds" else 0.0)


def valid(one: Question) -> bool:
    """Is there such a round? Parameters may exclude each other."""
    try:
        evaluate(one.asked)
    except ShuffleDPError:
        return False
    return True


def questions(seed: int, count: int, kinds: Sequence[str] = ()) -> list[Question]:
    """About the randomizers in turn; what one is asked does not depend on which others are."""

    def about(kind: str) -> Iterator[Question]:
        rng = random.Random(f"{seed} {kind}")
        while True:
            if valid(one := question(kind, rng)):
                yield one

    turns = zip(*map(about, kinds or sorted(REGISTRY)), strict=False)
    return list(islice((one for turn in turns for one in turn), count))


def evaluate(line: str) -> Any:
    known = {"Shuffle": Shuffle, "Accountant": Accountant}
    return eval(line, known | {kind.__name__: kind for kind in REGISTRY.values()})


def work(pipe: Any) -> None:
    """Answers lines, one after another, with seconds, value and error."""
    evaluate("PureLDP(1.0)")
    pipe.send("ready")
    while True:
        line, value, error = pipe.recv(), None, ""
        start = time.process_time()
        try:
            value = evaluate(line)
        except Exception as problem:
            error = f"{type(problem).__name__}: {problem}"
        pipe.send((time.process_time() - start, value, error))


class Worker:
    """A process that answers, replaced by another when it takes too long."""

    def __init__(self, limit: float = LIMIT) -> None:
        self.limit = limit
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=work, args=(other,), daemon=True)
        self._process.start()
        other.close()
        self._pipe.recv()

    def stop(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def answer(self, one: Question) -> Answer:
        if one.near:
            first = self.answer(replace(one, method="get_epsilon", near=0.0))
            if first.error:
                return first
            epsilon = one.near * first.value if math.isfinite(first.value) else one.near
            one = replace(one, value=float(f"{epsilon:.3g}"))
        self._pipe.send(one.line)
        try:
            if self._pipe.poll(self.limit):
                return Answer(one, *self._pipe.recv())
            problem = f"stopped after {self.limit:g} s"
        except EOFError:
            problem = "the process ended"
        self.stop()
        self._start()
        return Answer(one, self.limit, error=problem)


def measure(
    seed: int = 1, count: int = 200, kinds: Sequence[str] = (), limit: float = LIMIT
) -> list[Answer]:
    worker = Worker(limit)
    try:
        return [worker.answer(one) for one in questions(seed, count, kinds)]
    finally:
        worker.stop()


def show(answers: Sequence[Answer], limit: float = LIMIT) -> None:
    by_kind: dict[str, list[Answer]] = {}
    for answer in answers:
        by_kind.setdefault(answer.question.randomizer, []).append(answer)
    print(f"{len(answers)} random questions, each stopped after {limit:g} s\n")
    print(f"{'randomizer':>12}{'questions':>11}{'median s':>10}{'95 % s':>9}{'max s':>9}"
          f"{'over 1 s':>10}{'unanswered':>12}")  # fmt: skip
    for kind, some in {**by_kind, "all": list(answers)}.items():
        seconds = sorted(answer.seconds for answer in some)
        high = seconds[math.ceil(0.95 * len(seconds)) - 1]
        print(f"{kind:>12}{len(some):>11}{statistics.median(seconds):>10.3f}{high:>9.2f}"
              f"{seconds[-1]:>9.2f}{sum(s > 1 for s in seconds):>10}"
              f"{sum(bool(answer.error) for answer in some):>12}")  # fmt: skip
    print("\nunanswered, then the slowest, after: from shuffledp import *\n")
    for answer in sorted(answers, key=lambda one: (not one.error, -one.seconds))[:SLOWEST]:
        print(f"{answer.question.line}  # {answer.seconds:.2f} s {answer.error}".rstrip())
    print()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.atlas", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--randomizer", nargs="+", choices=sorted(REGISTRY), default=[])
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for each question")
    parser.add_argument("--json", metavar="FILE", help="also write every question and its time")
    options = parser.parse_args()
    answers = measure(options.seed, options.questions, options.randomizer, options.limit)
    show(answers, options.limit)
    if options.json:
        report = [asdict(answer) for answer in answers]
        write_text_atomically(options.json, json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
