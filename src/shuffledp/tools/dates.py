"""Dates of rounds: lengths of time, and schedules in steps of days, weeks, months or years.

A month, or a year, after a day is the same day of the later month, or the last day of that month
if it is shorter: one month after 31 January is 28 or 29 February. The dates of a schedule are
counted from its start and not from each other, so that the month after that is 31 March.
"""

from __future__ import annotations

import calendar
import datetime
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support import validate
from ..errors import InvalidParameter, OutOfRange

#: What an entry of a plan may say of its days, beside the number of its rounds.
DATE_KEYS = ("start", "every", "until")
#: Days as numbers, as in `datetime.date.toordinal`.
Days = NDArray[np.int64]
_UNITS = {"day": 0, "week": 0, "month": 1, "year": 12}  # in months, if in these
#: When a period of months or years is over, in words.
MONTHS_LATER = "the same day of a later month, or the last day of a month that is shorter"
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_LAST_DAY = datetime.date.max.toordinal()
#: The most dates of one schedule: every day for more than two centuries.
_MOST_DATES = 100_000


@dataclass(frozen=True)
class Duration:
    """A length of time: so many days, weeks, months or years.

    Parameters
    ----------
    count : int
        1 to 1e6.
    unit : str
        "day", "week", "month" or "year".

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> import datetime
    >>> from shuffledp.tools.dates import Duration
    >>> month = Duration.read("every", "month")
    >>> str(month.after(datetime.date(2028, 1, 31))), str(month.after(datetime.date(2027, 1, 31)))
    ('2028-02-29', '2027-02-28')
    >>> str(Duration.read("any", "12 months"))
    '12 months'
    """

    count: int
    unit: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", validate.count("count", self.count, 10**6))
        validate.choice("unit", self.unit, _UNITS)

    @classmethod
    def read(cls, name: str, text: Any) -> Duration:
        """Duration that a text describes.

        Parameters
        ----------
        name : str
            Key of which it is the value, for the error.
        text : str
            Such as "week", "2 weeks", "12 months" or "1 year".

        Returns
        -------
        Duration
            The length of time.

        Raises
        ------
        InvalidParameter
            If the text is something else.
        """
        if isinstance(text, Duration):
            return text
        found = isinstance(text, str) and re.fullmatch(
            r"\s*(?:([0-9]{1,6})\s+)?(day|week|month|year)s?\s*", text
        )
        if not found or int(found[1] or 1) == 0:
            raise InvalidParameter(
                f"{name}={validate.show(text)} is not a length of time; write one such as 'week', "
                "'2 weeks', '12 months' or '1 year'."
            )
        return cls(int(found[1] or 1), found[2])

    def after(self, day: datetime.date, times: int = 1) -> datetime.date | None:
        """The day so many times later; None if it is beyond the year 9999.

        Parameters
        ----------
        day : datetime.date
            The first day.
        times : int
            How often the duration is added.

        Returns
        -------
        datetime.date or None
            A day that a shorter month lacks is its last day.
        """
        months = _UNITS[self.unit] * self.count * times
        if not months:
            number = day.toordinal() + self.count * times * (7 if self.unit == "week" else 1)
            return None if number > _LAST_DAY else datetime.date.fromordinal(number)
        year, month = divmod(12 * day.year + day.month - 1 + months, 12)
        if year > datetime.MAXYEAR:
            return None
        length = calendar.monthrange(year, month + 1)[1]
        return datetime.date(year, month + 1, min(day.day, length))

    def last_days(self, first: Days) -> Days:
        """Last days of the periods of this length that begin on some days.

        Each period ends before the day that `after` tells; at the end of the year 9999 at last.

        Parameters
        ----------
        first : ndarray
            Days as `datetime.date.toordinal` counts them.

        Returns
        -------
        ndarray
            Days, counted in the same way.
        """
        months = _UNITS[self.unit] * self.count
        if not months:
            ends = first + self.count * (7 if self.unit == "week" else 1)
        else:
            days = (first - _EPOCH).astype("datetime64[D]")
            begun = days.astype("datetime64[M]")
            later = begun + months
            length = (later + 1).astype("datetime64[D]") - later.astype("datetime64[D]")
            place = np.minimum(days - begun.astype("datetime64[D]"), length - 1)
            ends = (later.astype("datetime64[D]") + place).astype(np.int64) + _EPOCH
        return np.minimum(ends - 1, _LAST_DAY)

    def __str__(self) -> str:
        return f"{self.count} {self.unit}{'' if self.count == 1 else 's'}"


@dataclass(frozen=True)
class Schedule:
    """Days on which rounds take place.

    Parameters
    ----------
    start : datetime.date
        The day of the first round.
    every : Duration or str, optional
        The time from one round to the next, such as "week". All rounds are on one day without it.
    until : datetime.date, optional
        With `every`: no round is later than that.
    rounds : int, optional
        With `every`, instead of `until`: number of rounds. There are at most 100,000 dates.

    Raises
    ------
    InvalidParameter, OutOfRange
        If the arguments contradict each other, or there are too many dates.

    Examples
    --------
    >>> from datetime import date
    >>> from shuffledp.tools.dates import Schedule
    >>> weekly = Schedule(date(2027, 1, 4), "week", until=date(2027, 12, 31))
    >>> len(weekly.days), str(weekly)
    (52, 'every week from 2027-01-04 to 2027-12-27')
    """

    start: datetime.date
    every: Duration | None = None
    until: datetime.date | None = None
    rounds: int | None = None

    def __post_init__(self) -> None:
        check_day("start", self.start)
        if self.every is None:
            for name in ("until", "rounds"):
                if getattr(self, name) is not None:
                    raise InvalidParameter(f"{name} needs every; add it, such as every='week'.")
            return
        object.__setattr__(self, "every", Duration.read("every", self.every))
        if (self.until is None) == (self.rounds is None):
            given = "neither is given" if self.until is None else "both are given; leave one out"
            raise InvalidParameter(f"every='{self.every}' needs either until or rounds: {given}.")
        if self.until is not None:
            check_day("until", self.until)
            if self.until < self.start:
                raise InvalidParameter(
                    f"until={self.until} is before start={self.start}; give a later day."
                )
        else:
            rounds = validate.count("rounds", self.rounds, validate.MAX_ROUNDS)
            object.__setattr__(self, "rounds", rounds)
        _ = self.days  # is any of them out of range?

    @cached_property
    def days(self) -> Days:
        """Days of the rounds as `datetime.date.toordinal` counts them, ascending.

        It is one day if all rounds are on it.
        """
        if self.every is None:
            return np.array([self.start.toordinal()])
        most = min(_MOST_DATES, self.rounds or _MOST_DATES)
        found: list[int] = []
        for number in range(most + 1):
            day = self.every.after(self.start, number)
            if day is None or number == self.rounds or (self.until and day > self.until):
                break
            found.append(day.toordinal())
        if len(found) > _MOST_DATES or len(found) < (self.rounds or 0):
            raise OutOfRange(
                f"every='{self.every}' from {self.start} on has more than {_MOST_DATES:,} dates or "
                "goes beyond the year 9999; plan fewer rounds."
            )
        return np.array(found)

    @property
    def last(self) -> datetime.date:
        """Day of the last round."""
        return datetime.date.fromordinal(int(self.days[-1]))

    def __str__(self) -> str:
        if self.every is None or len(self.days) == 1:
            return f"on {self.start}"
        each = self.every.unit if self.every.count == 1 else str(self.every)
        short = self.start.day > 28 and _UNITS[self.every.unit]
        clipped = " (in a shorter month, on its last day)" if short else ""
        return f"every {each} from {self.start} to {self.last}{clipped}"


def check_day(name: str, day: Any) -> datetime.date:
    """A date without a time; `name` says of which key it is the value."""
    if not isinstance(day, datetime.date) or isinstance(day, datetime.datetime):
        how = "write it as 2027-01-31, without quotes and without a time"
        raise InvalidParameter(f"{name}={validate.show(day)} is not a date; {how}.")
    return day


def read_day(name: str, text: str) -> datetime.date:
    """A date that is written as a text, as in a shell.

    >>> from shuffledp.tools.dates import read_day
    >>> read_day("at", "2028-02-29").day
    29
    """
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
            return datetime.date.fromisoformat(text)
    except ValueError:
        pass
    raise InvalidParameter(
        f"{name}={text!r} is not a date of the calendar; write YYYY-MM-DD, as in 2027-01-31."
    )


def take_days(fields: dict[str, Any]) -> dict[str, Any]:
    """The schedule and the number of rounds of an entry of a plan, taken out of its fields.

    >>> from datetime import date
    >>> from shuffledp.tools.dates import take_days
    >>> fields = {"users": 9, "start": date(2027, 1, 4), "every": "week", "rounds": 52}
    >>> str(take_days(fields)["schedule"]), fields
    ('every week from 2027-01-04 to 2027-12-27', {'users': 9})
    """
    found = {"rounds": fields.pop("rounds")} if "rounds" in fields else {}
    dated = {name: fields.pop(name) for name in DATE_KEYS if name in fields}
    if not dated:
        return found
    if "start" not in dated:
        raise InvalidParameter(f"{next(iter(dated))} needs start; add it, such as 2027-01-31.")
    if "every" in dated:  # all rounds are on the first day otherwise
        dated |= found
        found = {}
    return found | {"schedule": Schedule(**dated)}
