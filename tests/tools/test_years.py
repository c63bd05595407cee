"""Plans with dates: the calendar, periods and stays against brute force and closed forms."""

import json
import math
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction as F
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from shell import run
from shuffledp import Accountant, Plan, PureLDP, RandomizedResponse, Shuffle, plotting
from shuffledp.central import GaussianNoise
from shuffledp.errors import Infeasible, InvalidParameter, OutOfRange
from shuffledp.tools.colluders import colluding_share
from shuffledp.tools.dates import Duration, Schedule
from shuffledp.tools.participation import Participation, maximal_rows
from shuffledp.tools.periods import PeriodBudget
from shuffledp.tools.plan import PlannedRound
from shuffledp.tools.shared_lattices import SharedLattices
from shuffledp.tools.timeline import timeline

DELTA = 1e-6
DAY, WEEK, MONTH, YEAR = (Duration(1, unit) for unit in ("day", "week", "month", "year"))
#: Gaussian mechanisms compose to one whose squared shift is the sum.
GAUSSIAN = """
target = { epsilon = 3.0, delta = 1e-6 }
people = { stays = "20 weeks" }
[[rounds]]
name = "weekly"
mechanism = "gaussian"
sigma = 20
start = 2027-01-04
every = "week"
until = 2028-07-03
[[rounds]]
name = "month's end"
mechanism = "gaussian"
sigma = 10
start = 2027-08-31
every = "month"
rounds = 14
at_most = 3
[[rounds]]
name = "once"
mechanism = "gaussian"
sigma = 8
start = 2028-02-29
rounds = 2
[[budgets]]
any = "2 months"
epsilon = 0.8
[[budgets]]
each = "year"
epsilon = 2.0
delta = 1e-5
"""
SHIFTS = {"weekly": F(1, 400), "month's end": F(1, 100), "once": F(1, 64)}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "years.toml"
    path.write_text(GAUSSIAN)
    return path


def days_of(schedule: Schedule) -> list[date]:
    return [date.fromordinal(day) for day in schedule.days.tolist()]


# --- the calendar ---------------------------------------------------------------------------------


def test_a_month_after_a_day_that_the_next_month_lacks() -> None:
    """Counted from the start: after a short month the day is that of the start again."""
    monthly = Schedule(date(2027, 10, 31), MONTH, rounds=6)
    assert [str(day) for day in days_of(monthly)] == [
        *("2027-10-31", "2027-11-30", "2027-12-31"),
        *("2028-01-31", "2028-02-29", "2028-03-31"),
    ]
    assert "on its last day" in str(monthly)
    yearly = Schedule(date(2028, 2, 29), YEAR, until=date(2032, 12, 31))
    assert [str(day) for day in days_of(yearly)] == [
        *("2028-02-29", "2029-02-28", "2030-02-28", "2031-02-28", "2032-02-29"),
    ]


def test_days_and_weeks_run_through_leap_days() -> None:
    daily = Schedule(date(2028, 2, 27), DAY, rounds=4)
    assert [day.isoformat()[5:] for day in days_of(daily)] == ["02-27", "02-28", "02-29", "03-01"]
    weeks = days_of(Schedule(date(2027, 1, 4), Duration(2, "week"), until=date(2028, 12, 31)))
    assert all(b - a == timedelta(14) for a, b in pairwise(weeks))
    # the last day counts
    assert len(Schedule(date(2027, 1, 4), WEEK, until=date(2027, 1, 11)).days) == 2
    assert len(Schedule(date(2027, 1, 4), WEEK, until=date(2027, 1, 10)).days) == 1


def test_periods_of_a_length_end_later_if_they_begin_later() -> None:
    """What is proven of periods rests on it, and on every day being in its own period."""
    for text in ("1 day", "3 weeks", "1 month", "12 months", YEAR, "13 months"):
        length = Duration.read("any", text)
        days = np.arange(date(2027, 1, 1).toordinal(), date(2033, 1, 1).toordinal())
        ends = length.last_days(days)
        assert (np.diff(ends) >= 0).all() and (ends >= days).all()
        for day, end in zip(days.tolist(), ends.tolist(), strict=True):
            after = length.after(date.fromordinal(day))
            assert after is not None and after.toordinal() == end + 1
    assert str(Duration.read("any", " 12  months ")) == "12 months"
    assert Duration(1, "month").after(date(9999, 12, 1)) is None
    assert Duration(1, "month").last_days(np.array([date.max.toordinal()])) == date.max.toordinal()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "12",
        "0 weeks",
        "1.5 months",
        "month 1",
        "-1 week",
        "fortnight",
        12,
        None,
        "9999999 days",
    ],
)
def test_what_is_no_length_of_time(text: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"stays=.* is not a length of time"):
        Duration.read("stays", text)
    with pytest.raises(InvalidParameter, match="unit='weeks' is unknown"):
        Duration(2, "weeks")
    with pytest.raises(InvalidParameter, match="count=0 is below 1"):
        Duration(0, "week")


def test_schedules_that_do_not_end() -> None:
    with pytest.raises(OutOfRange, match="beyond the year 9999"):
        Schedule(date(9998, 6, 1), YEAR, rounds=3)
    assert len(Schedule(date(9998, 6, 1), YEAR, rounds=2).days) == 2
    with pytest.raises(OutOfRange, match="more than 100,000 dates"):
        Schedule(date(2000, 1, 1), DAY, until=date(9999, 1, 1))


# --- who can be in which rounds -------------------------------------------------------------------


def squared(
    plan: Plan, first: date, last: date, until: date = date.max
) -> F:  # composed, as one shift
    """The sum of the squared shifts of one person's rounds from one day to another."""
    total = F(0)
    for planned in plan.rounds:
        assert planned.schedule is not None
        days = days_of(planned.schedule)
        inside = sum(first <= day <= min(last, until) for day in days)
        inside *= planned.rounds if len(days) == 1 else 1
        total += SHIFTS[planned.name] * min(inside, planned.at_most or inside)
    return total


def months_later(day: date, months: int) -> date:
    """By trying: the same day, or the last one that there is."""
    year, month = divmod(12 * day.year + day.month - 1 + months, 12)
    for number in range(day.day, 0, -1):
        try:
            return date(year, month + 1, number)
        except ValueError:
            continue
    raise AssertionError


def every_day(first: date, last: date) -> list[date]:
    return [first + timedelta(i) for i in range((last - first).days + 1)]


ALL_DAYS = every_day(date(2026, 6, 1), date(2029, 1, 1))


def normal_delta(squared: F, epsilon: float) -> mp.mpf:
    shift = mp.sqrt(mp.mpf(squared.numerator) / squared.denominator)
    tails = [mp.ncdf(sign * shift / 2 - mp.mpf(epsilon) / shift) for sign in (1, -1)]
    return tails[0] - mp.exp(epsilon) * tails[1]


def holds(bounds: Any, shift: F, delta: float = DELTA) -> bool:
    with mp.workdps(30):
        above = normal_delta(shift, bounds.upper) <= delta
        return bool(above and delta <= normal_delta(shift, bounds.lower))


def test_every_period_and_stay_by_brute_force(file: Path) -> None:
    """All windows that begin on any day, and all stays within them, against closed forms."""
    plan = Plan.read(file)
    assert [planned.rounds for planned in plan.rounds] == [79, 14, 2]
    ledger = plan.ledger()
    stay = timedelta(20 * 7 - 1)
    whole = max(squared(plan, day, day + stay) for day in ALL_DAYS)
    assert holds(ledger.total, whole)
    any_two_months, *years = ledger.periods
    windows = [
        squared(plan, max(a, b), min(months_later(a, 2) - timedelta(1), b + stay))
        for a in ALL_DAYS
        for b in (a, a + timedelta(30), a - timedelta(30))
    ]
    assert holds(any_two_months.total, max(windows))
    assert any_two_months.first is not None and any_two_months.last is not None
    assert squared(plan, any_two_months.first, any_two_months.last) == max(windows)
    assert [each.name for each in years] == ["year 2027", "year 2028"]
    for number, year in zip((2027, 2028), years, strict=True):
        ends = [min(day + stay, date(number, 12, 31)) for day in ALL_DAYS]
        inside = (day for day in ALL_DAYS if day.year == number)
        shifts = [squared(plan, day, ends[ALL_DAYS.index(day)]) for day in inside]
        assert holds(year.total, max(shifts), 1e-5)
        assert year.budget.delta == 1e-5


@pytest.mark.parametrize("day", [date(2027, 1, 3), date(2027, 9, 30), date(2028, 2, 29)])
def test_what_is_spent_by_a_day(file: Path, day: date) -> None:
    plan = Plan.read(file)
    spent = plan.ledger(at=day).standing
    assert spent is not None and spent.day == day
    stay = timedelta(20 * 7 - 1)
    whole = max(squared(plan, each, each + stay, day) for each in ALL_DAYS)
    # periods that contain the day, up to it
    around = [each for each in ALL_DAYS if each <= day < months_later(each, 2)]
    recent = max(squared(plan, each, each + stay, day) for each in around)
    of_year = [each for each in ALL_DAYS if each.year == day.year]
    year = max(squared(plan, each, each + stay, day) for each in of_year)
    found = [(spent.total, DELTA), *((each.total, each.budget.delta) for each in spent.periods)]
    for (bounds, delta), shift in zip(found, (whole, recent, year), strict=True):
        assert holds(bounds, shift, delta) if shift else bounds.upper == 0
    assert spent.remaining == 3.0 - spent.total.upper
    assert spent.planned == 95
    counted = {date(2027, 1, 3): 0, date(2027, 9, 30): 39 + 2, date(2028, 2, 29): 61 + 7 + 2}
    assert spent.rounds == counted[day]


def test_only_the_largest_sets_of_rounds_count() -> None:
    rng = np.random.default_rng(5)
    counts = rng.integers(0, 4, (60, 3))
    kept = maximal_rows(counts)
    rows = [tuple(row) for row in counts.tolist()]
    for row in rows:
        assert any(all(a <= b for a, b in zip(row, rows[i], strict=True)) for i in kept)
    for i, j in product(kept, repeat=2):
        assert i == j or any(a > b for a, b in zip(rows[i], rows[j], strict=True))


Laws = tuple[list[F], list[F]]


def bits(others: int, flip: F) -> Laws:
    """The number of ones among the randomized bits of one person, who has 1 or 0, and of others,
    who have 0."""
    law = [F(1)]
    for p in [flip] * others:
        law = added(law, p)
    return added(law, 1 - flip), added(law, flip)


def added(law: list[F], p: F) -> list[F]:
    padded = [F(0), *law, F(0)]
    return [(1 - p) * padded[i + 1] + p * padded[i] for i in range(len(law) + 1)]


def largest_loss(
    rounds: list[Laws],
    most: int,
    stay: int,
    alpha: F,
    left: int | None = None,
    p: F = F(1),
    q: F = F(1),
) -> F:
    """The largest hockey-stick divergence over all ways to take part in at most `most` rounds, all
    among the `stay` rounds from the first one on, if each decision may depend on all that was seen.

    `left` rounds are left to a person who has begun, this one included.
    """
    if not rounds or not most or left == 0:  # what follows has the same law for both neighbours
        return max(p - alpha * q, F(0))
    laws, later = rounds[0], rounds[1:]
    waited = None if left is None else left - 1
    begun = (stay if left is None else left) - 1
    away = [largest_loss(later, most, stay, alpha, waited, p * m, q * m) for m in laws[1]]
    here = [
        largest_loss(later, most - 1, stay, alpha, begun, p * a, q * b)
        for a, b in zip(*laws, strict=True)
    ]
    return max(sum(away, F(0)), sum(here, F(0)))


@pytest.mark.parametrize("others", [1, 2])
def test_no_way_to_take_part_costs_more(others: int) -> None:
    """Three rounds of two or three users, of which a person may be in two, chosen by what was seen:
    all policies, in fractions, against the plan with at_most."""
    delta, laws = 0.02, bits(others, F(1, 4))
    round_ = Shuffle(RandomizedResponse(2, gamma=0.5), others + 1)
    limited = Plan(3.0, delta, (PlannedRound("a", round_, 3, at_most=2),)).ledger().total
    always = Plan(3.0, delta, (PlannedRound("a", round_, 3),)).ledger().total
    assert limited.upper < 0.95 * always.lower
    alpha = F(math.exp(limited.upper))
    for order in (laws, laws[::-1]):
        assert 0 < largest_loss([order] * 3, 2, 9, alpha) <= F(delta * (1 + 1e-12))
    if others == 1:  # and the limit matters
        assert largest_loss([laws] * 3, 3, 9, alpha) > delta


def test_no_way_to_join_and_to_leave_costs_more() -> None:
    """Four days, the first two with one kind of round and the others with another: a person stays
    for two days, and joins and leaves by what was seen."""
    delta = 0.03
    kinds = [(bits(1, F(1, 4)), 0.5, date(2027, 1, 1)), (bits(2, F(1, 3)), 2 / 3, date(2027, 1, 3))]
    planned = [
        PlannedRound(
            f"from {first}",
            Shuffle(RandomizedResponse(2, gamma=gamma), len(laws[0]) - 1),
            schedule=Schedule(first, DAY, rounds=2),
        )
        for laws, gamma, first in kinds
    ]
    total = Plan(3.0, delta, tuple(planned), stays=Duration(2, "day")).ledger().total
    alpha = F(math.exp(total.upper))
    for first, second in ((0, 1), (1, 0)):
        rounds = [(laws[first], laws[second]) for laws, _, _ in kinds for _ in range(2)]
        assert 0 < largest_loss(rounds, 4, 2, alpha) <= F(delta * (1 + 1e-12))
    assert total.upper < 0.9 * Plan(3.0, delta, tuple(planned)).ledger().total.lower


# --- reports --------------------------------------------------------------------------------------


def test_the_timeline_is_certified(file: Path) -> None:
    plan = Plan.read(file)
    lines = timeline(plan.ledger())
    assert [line.name for line in lines] == ["the whole plan", "any 2 months", "each calendar year"]
    stay = timedelta(20 * 7 - 1)
    for day, bounds in lines[0].points[::9]:
        assert holds(bounds, max(squared(plan, each, each + stay, day) for each in ALL_DAYS))
    assert len(lines[0].points) <= 64 and lines[0].points[0][0] == date(2027, 1, 4)
    assert lines[0].points[-1][0] == date(2028, 9, 30)
    assert lines[0].epsilon == 3.0 and lines[1].epsilon == 0.8


def test_lattices_that_are_shared_answer_like_those_of_each() -> None:
    survey, noise = Shuffle(PureLDP(3.0), 5_000), GaussianNoise(5.0)
    shared = SharedLattices(DELTA, 1e-3)
    for count in (30, 12, 4, 1):
        parts = [(profile, count * n) for profile, n in survey.parts]
        parts += [(profile, (count // 3) * n) for profile, n in noise.parts]
        found = shared.epsilon_bounds(parts)
        account = Accountant().compose(survey, count)
        if count // 3:
            account.compose(noise, count // 3)
        known = account.epsilon_bounds(DELTA)
        assert found.lower <= known.upper and known.lower <= found.upper
        assert found.upper <= found.lower * (1 + 1.01e-3)
    only = [(profile, 40 * n) for profile, n in noise.parts]
    assert holds(SharedLattices(DELTA, 1e-3).epsilon_bounds(only), F(40, 25))
    assert SharedLattices(DELTA, 1e-3).epsilon_bounds([]) == (0.0, 0.0)


def test_reports_have_periods_and_days(file: Path) -> None:
    result = run("plan", str(file), "--json", "--at", "2028-02-29", "--rtol", "0.1")
    report = json.loads(result.stdout)
    ledger = Plan.read(file).ledger(rtol=0.1)
    assert report["query"] == "account" and report["stays"] == "20 weeks"
    assert [each["upper"] for each in report["periods"]] == [
        each.total.upper for each in ledger.periods
    ]
    assert result.returncode == (0 if ledger.fits else 1)
    assert report["entries"][1]["start"] == "2027-08-31"
    assert report["entries"][1]["last"] == "2028-09-30"
    assert [each["every"] for each in report["entries"]] == ["1 week", "1 month", None]
    assert [each["at_most"] for each in report["entries"]] == [None, 3, None]
    assert report["at"]["day"] == "2028-02-29" and len(report["at"]["periods"]) == 2
    asked = ("account", str(file), "--at", "2028-02-29", "--rtol", "0.1")
    text = " ".join(run(*asked).stdout.split())
    for words in (
        "for every user whose last round is less than 20 weeks after the first and who is in at "
        "most 3 rounds",
        "for users other than those of the first sentence, no guarantee is stated",
        "all rounds of the user are before the day on which it ends",
        "even if the round draws some of them at random and the user is not drawn",
        "such as a value that stays the same or data that are stored and used again, is protected",
        "every month from 2027-08-31 to 2028-09-30 (in a shorter month, on its last day)",
        "rounds are due up to and including 2028-02-29",
    ):
        assert words in text
    rows = ledger.records()
    assert str(rows[0]["start"]) == "2027-01-04" and str(rows[0]["last"]) == "2028-07-03"


def test_a_budget_that_is_exceeded_makes_the_answer_no(file: Path) -> None:
    for epsilon, code, words in (
        (0.1, 1, "is exceeded in any 2 months"),
        (1.2, 0, "all budgets for periods"),
    ):
        file.write_text(GAUSSIAN.replace("epsilon = 0.8", f"epsilon = {epsilon}"))
        result = run("account", str(file), "--rtol", "0.1")
        assert result.returncode == code
        assert words in " ".join(result.stdout.split())
        ledger = Plan.read(file).ledger(rtol=0.1)
        assert ledger.fits == (code == 0) and ledger.exceeds == (code == 1)
        assert ("exceeds a budget" in ledger.outcome) == (code == 1)
    file.write_text(GAUSSIAN.replace("2 months", "9 years").replace("epsilon = 0.8", "epsilon = 3"))
    whole, *years = (each.verdict() for each in Plan.read(file).ledger().periods)
    assert "In any 9 years (all of the plan) the budget (3, 1e-06) is kept" in whole
    assert not any("all of the plan" in each for each in years)


def test_a_budget_inside_of_its_bracket_is_open(file: Path) -> None:
    file.write_text(GAUSSIAN.replace("epsilon = 0.8", "epsilon = 9.0"))
    lower, upper = Plan.read(file).ledger(rtol=0.05).periods[0].total
    file.write_text(GAUSSIAN.replace("epsilon = 0.8", f"epsilon = {(lower + upper) / 2}"))
    result = run("account", str(file), "--json", "--rtol", "0.05")
    report = json.loads(result.stdout)
    assert result.returncode == 3 and "is not certified to be kept" in report["verdict"]
    assert report["error"]["bounds"] == {
        name: report["periods"][0][name] for name in ("lower", "upper")
    }


def test_lengths_beyond_the_plan_are_explained(file: Path) -> None:
    file.write_text(GAUSSIAN.replace("20 weeks", "10 years").replace("2 months", "2 years"))
    ledger = Plan.read(file).ledger()
    text = " ".join(ledger.to_markdown().split())
    assert "All rounds of the plan take less than 2 years from the first to the last" in text
    assert "10 years" not in ledger.condition  # it limits nothing, but at_most does
    assert ledger.total == Plan.read(file).ledger().periods[0].total
    file.write_text(GAUSSIAN.replace("20 weeks", "10 years").replace("at_most = 3", ""))
    ledger = Plan.read(file).ledger()
    text = " ".join(ledger.to_markdown().split())
    assert "The last round of the plan is less than 10 years after the first, so that" in text
    assert ledger.condition == ""


def test_a_stay_ends_before_the_same_day() -> None:
    """Five Mondays are four weeks apart, and no stay of four weeks has all of them."""
    mondays = Schedule(date(2027, 1, 4), WEEK, rounds=5)
    entry = PlannedRound("weekly", GaussianNoise(20.0), schedule=mondays)
    four, five = (Plan(9.0, DELTA, (entry,), stays=Duration(n, "week")).ledger() for n in (4, 5))
    assert four.total.upper < five.total.lower
    said = " for every user whose last round is less than 4 weeks after the first"
    assert four.condition == said and five.condition == ""


def test_the_delta_of_a_budget_is_shown() -> None:
    entry = PlannedRound("once", GaussianNoise(20.0), schedule=Schedule(date(2027, 1, 4)))
    budget = PeriodBudget(1.0, 2.5e-7, any=WEEK)
    ledger = Plan(9.0, DELTA, (entry,), budgets=(budget,)).ledger(at=date(2027, 1, 5))
    for head, rows in (ledger.table_of_periods(), ledger.table_of_standing()):
        assert rows[-1][list(head).index("delta")] == "2.5e-07"
    for text in (str(ledger), ledger.to_markdown(), ledger.to_html()):
        assert text.count("2.5e-07") >= 2


def test_the_first_day_on_which_any_population_exceeds_the_target() -> None:
    """A is above the target early, and B, which is worst in the end, later."""
    early, late = date(2027, 1, 4), date(2027, 6, 7)
    entries = (
        PlannedRound("a", GaussianNoise(2.0), 1, "A", Schedule(early)),
        PlannedRound("b", GaussianNoise(1.0), 1, "B", Schedule(late)),
    )
    ledger = Plan(1.0, DELTA, entries).ledger()
    assert ledger.exceeded_on == early and ledger.exceeded_in == "A"
    assert ledger.worst is not None and ledger.worst.name == "B"
    assert "from 2027-01-04 (first in the population 'A') on" in ledger.verdict


def test_a_target_is_exceeded_from_the_day_on_which_the_lower_value_is_above() -> None:
    days = Schedule(date(2027, 1, 4), WEEK, rounds=4)
    entry = PlannedRound("weekly", Shuffle(PureLDP(4.0), 1000), schedule=days)
    second = Accountant().compose(entry.round, 2).epsilon_bounds(DELTA, rtol=0.05)
    ledger = Plan(sum(second) / 2, DELTA, (entry,)).ledger(rtol=0.05)
    assert ledger.exceeded_on == date(2027, 1, 11)
    assert "from 2027-01-18 on" in ledger.verdict


def test_a_table_of_entries_has_no_day(file: Path) -> None:
    for more in (("--at", "2028-02-29"), ("--find", "colluding")):
        result = run("plan", str(file), "--csv", *more)
        assert result.returncode == 2 and "does not go with CSV" in result.stderr


def test_budgets_are_for_years_of_the_calendar() -> None:
    with pytest.raises(InvalidParameter, match=r"each='month' is unknown; choose year\.$"):
        PeriodBudget(1.0, DELTA, each="month")


def test_pictures_have_dates_or_rounds(file: Path) -> None:
    from matplotlib.dates import num2date

    ledger = Plan.read(file).ledger()
    axes = plotting.plot_ledger(ledger)
    lines = {line.get_label(): line for line in axes.lines}
    whole = lines["the whole plan"]
    assert num2date(whole.get_xdata()[0]).date() == date(2027, 1, 4)  # type: ignore[no-untyped-call,index]
    assert whole.get_drawstyle() == "steps-post"
    assert {"any 2 months", "each calendar year"} <= lines.keys()
    weekly = Plan(9.0, DELTA, (PlannedRound("weekly", GaussianNoise(20.0), 12),)).ledger()
    (line, *_) = plotting.plot_ledger(weekly).lines
    assert list(np.asarray(line.get_xdata())) == list(range(1, 13))
    with mp.workdps(30):
        for count, upper in enumerate(np.asarray(line.get_ydata()).tolist(), 1):
            assert normal_delta(F(count, 400), upper) <= DELTA


def test_limits_are_not_counted_twice(file: Path) -> None:
    """What is not limiting is not said, and does not change anything."""
    noise = GaussianNoise(20.0)
    plain, limited = (
        Plan(9.0, DELTA, (PlannedRound("a", noise, 5, at_most=most),)).ledger()
        for most in (None, 7)
    )
    assert plain.total == limited.total and not limited.is_limited and limited.condition == ""
    one, other = (
        Participation([PlannedRound("a", noise, 5, at_most=2), each]).attendances()[0]
        for each in (PlannedRound("b", noise, 3), PlannedRound("b", GaussianNoise(1.0), 3))
    )
    assert one.rounds == ((noise, 5),)
    assert other.rounds == ((noise, 2), (GaussianNoise(1.0), 3))


def test_colluding_users_of_a_plan_that_does_not_fit(tmp_path: Path) -> None:
    """It would fit with fewer of them, or does not with none."""
    file = tmp_path / "plan.toml"
    for target, words in (
        (
            0.5,
            "fits if at most 29.69 % of the users of every round collude and all else is as",
        ),
        (0.2, "is not certified to fit the target (0.2, 1e-06) with 0 colluding users either"),
    ):
        file.write_text(
            f"[target]\nepsilon = {target}\ndelta = 1e-6\n[[rounds]]\nrandomizer = 'pure-ldp'\n"
            "eps0 = 4.0\nusers = 10_000\ncolluding = 0.5\n"
        )
        result = run("plan", str(file), "--find", "colluding")
        assert result.returncode == 1 and words in " ".join(result.stdout.split())


def test_how_many_colluding_users_a_plan_survives() -> None:
    """Against the same plan with that many, and with a few more."""

    def plan(share: float, epsilon: float = 0.5) -> Plan:
        survey = Shuffle(PureLDP(3.0), 2000, colluding=int(share * 2000))
        first = date(2027, 1, 4)
        rounds = (
            PlannedRound("a", survey, schedule=Schedule(first)),
            PlannedRound("b", GaussianNoise(20.0), schedule=Schedule(first)),
        )
        return Plan(9.0, DELTA, rounds, budgets=(PeriodBudget(epsilon, DELTA, any=WEEK),))

    none = plan(0.0).ledger(rtol=0.1).periods[0].total.upper
    target = 1.3 * none
    found = colluding_share(plan(0.0, target), rtol=0.1)
    assert found.beyond is not None and found.value < found.beyond < 1.002 * found.value
    assert plan(found.value, target).ledger(rtol=0.1).fits
    assert not plan(found.beyond + 0.02, target).ledger(rtol=0.1).fits
    with pytest.raises(Infeasible, match="all budgets with 0 colluding users either"):
        colluding_share(plan(0.0, 0.9 * none), rtol=0.1)
    document = plan(0.0, target).ledger(rtol=0.1)
    text = replace(document, colluding=found).to_markdown()
    assert f"if at most {100 * found.value:.4g} % of the users of every round collude" in text
    with pytest.raises(InvalidParameter, match="no rounds of users"):
        colluding_share(Plan(9.0, DELTA, (PlannedRound("b", GaussianNoise(20.0)),)))


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("2027-01-04", '"2027-01-04"', "start='2027-01-04' is not a date; write it as"),
        ("2027-01-04", "2027-01-04T10:00:00", "is not a date; write it as 2027-01-31"),
        ("2027-01-04", "2027-02-29", "is not TOML"),
        ("2027-01-04", "2028-07-04", "until=2028-07-03 is before start=2028-07-04"),
        ("start = 2027-01-04", "", r"rounds\[1\]: every needs start; add it"),
        ('every = "week"', "", r"rounds\[1\]: until needs every; add it"),
        ('every = "week"', 'every = "fortnight"', "every='fortnight' is not a length of time"),
        ('every = "week"', "every = 7", r"every=7 is not text; put it in quotes"),
        ("until = 2028-07-03", "", "needs either until or rounds: neither is given"),
        (
            "until = 2028-07-03",
            "until = 2028-07-03\nrounds = 4",
            "needs either until or rounds: both are given; leave one out",
        ),
        ("until = 2028-07-03", "rounds = 0", r"rounds\[1\]: rounds=0 is below 1"),
        ("at_most = 3", "at_most = 0", r"rounds\[2\]: at_most=0 is below 1"),
        ("at_most = 3", "at_most = 2.5", "at_most='2.5' is not whole"),
        ("start = 2028-02-29", "", "the entry 'once' has no start, but others have"),
        ('"20 weeks"', "20", "stays=20 is not a length of time"),
        ("stays =", "stay =", "people has the unknown key 'stay'"),
        ('any = "2 months"', "", "a budget is for either any or each; give one"),
        ('any = "2 months"', 'any = "0 days"', r"budgets\[1\]: any='0 days' is not a length"),
        ('each = "year"', 'each = "month"', r"budgets\[2\]: each='month' is unknown"),
        ('each = "year"', 'each = "year"\nany = "1 day"', "for either any or each"),
        ("epsilon = 0.8", "", r"budgets\[1\] lacks the key 'epsilon'"),
        ("epsilon = 0.8", "epsilon = -1", r"budgets\[1\]: epsilon=-1.0 is negative"),
        ("delta = 1e-5", "delta = 2", r"budgets\[2\]: delta=2.0 is outside"),
        ("[[budgets]]", "[[budget]]", "unknown key 'budget'"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(file: Path, old: str, new: str, words: str) -> None:
    assert old in GAUSSIAN
    count = -1 if old == "[[budgets]]" else 1
    file.write_text(GAUSSIAN.replace(old, new, count))
    with pytest.raises(InvalidParameter, match=words) as caught:
        Plan.read(file)
    assert "years.toml" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("day", ["2027-02-29", "27-01-01", "2027-1-1", "tomorrow", "2027-01-01T00"])
def test_days_that_are_none(file: Path, day: str) -> None:
    result = run("account", str(file), "--at", day)
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert f"at='{day}' is not a date of the calendar" in result.stderr


def test_what_needs_dates() -> None:
    undated = PlannedRound("a", GaussianNoise(1.0), 3)
    with pytest.raises(InvalidParameter, match="stays needs the dates"):
        Plan(1.0, DELTA, (undated,), stays="1 week")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="a budget for a period needs the dates"):
        Plan(1.0, DELTA, (undated,), budgets=(PeriodBudget(1.0, DELTA, each="year"),))
    with pytest.raises(InvalidParameter, match="at=2027-01-01 needs the dates"):
        Plan(1.0, DELTA, (undated,)).ledger(at=date(2027, 1, 1))
    with pytest.raises(InvalidParameter, match="budgets=3 is not a list of budgets"):
        Plan(1.0, DELTA, (undated,), budgets=3)  # type: ignore[arg-type]
    dated = PlannedRound("a", GaussianNoise(1.0), schedule=Schedule(date(2027, 1, 1)))
    with pytest.raises(InvalidParameter, match="is not a date; write it"):
        Plan(1.0, DELTA, (dated,)).ledger(at=datetime(2027, 1, 1))
    with pytest.raises(InvalidParameter, match="rounds=3 does not go with a schedule of 2 dates"):
        weekly = Schedule(date(2027, 1, 1), WEEK, rounds=2)
        PlannedRound("a", GaussianNoise(1.0), 3, schedule=weekly)
    with pytest.raises(InvalidParameter, match="schedule='x' is not a schedule"):
        PlannedRound("a", GaussianNoise(1.0), schedule="x")  # type: ignore[arg-type]
    assert timeline(Plan(1.0, DELTA, (undated,)).ledger()) == []
