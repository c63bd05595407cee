"""Options that describe a protocol on the command line; those of randomizers are the registry's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import click

from ..errors import InvalidParameter
from ..guarantee import DEFAULT_RTOL, NEIGHBOURS
from ..randomizers import REGISTRY, Randomizer
from ..randomizers.analyses import LADDER
from ..randomizers.base import known_parameters
from ..rounds import KINDS_OF_SAMPLES, Round
from ..tools.protocol import ANY, OF_REPORTS, SHARES, VIEWS, randomizer_of, round_of, split
from .numbers import Number, Numbers

Option = Any  # what click.option returns
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Command(click.Command):
    """A command that refuses an option given twice: click takes the last value without a word.

    Options with `multiple=True` may be repeated; a flag says the same thing twice.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:  # a shell completes half a command line
            _, _, order = self.make_parser(ctx).parse_args(args=given)
            _refuse_repeated(order)
        return rest


class Group(click.Group):
    """A group of such commands."""

    command_class = Command


command = partial(click.command, cls=Command)


def _refuse_repeated(order: Iterable[click.Parameter]) -> None:
    for parameter, times in Counter(order).items():
        once = isinstance(parameter, click.Option) and not (parameter.is_flag or parameter.multiple)
        if once and times > 1:
            is_list = isinstance(parameter.type, Numbers)
            listed = ", with commas between its values" if is_list else ""
            name = max(parameter.opts, key=len)
            raise InvalidParameter(f"{name} is given {times} times; give it once{listed}.")


def options(*choices: Option) -> Decorator:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(choices):
            command = option(command)
        return command

    return decorate


def number(
    name: str, text: str, *, whole: bool = False, share: bool = False, **more: Any
) -> Option:
    more |= {"help": text, "show_default": "default" in more}
    return click.option(f"--{name}", type=Number(whole, share), **more)


def numbers(
    name: str, text: str, *, whole: bool = False, share: bool = False, **more: Any
) -> Option:
    """An option that takes a list of numbers."""
    more |= {"metavar": "LIST", "help": text, "show_default": "default" in more}
    return click.option(f"--{name}", type=Numbers(whole, share), **more)


def completes(*words: str) -> Callable[[Any, Any, str], list[str]]:
    """What a shell proposes: these words, also as the next of several with commas."""

    def proposed(context: Any, option: Any, begun: str) -> list[str]:
        before, comma, _ = begun.rpartition(",")
        return [word for each in words if (word := f"{before}{comma}{each}").startswith(begun)]

    return proposed


def choice(name: str, words: Iterable[str], text: str, **more: Any) -> Option:
    """An option that is one of some words."""
    return click.option(f"--{name}", type=click.Choice(list(words)), help=text, **more)


class Contents(click.Path):
    """A file, or - for stdin: what it says."""

    def __init__(self, read: Callable[[str], Any]) -> None:
        super().__init__(allow_dash=True)
        self._read = read

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        return self._read(value) if isinstance(value, str) else value


def randomizer_options(
    default: str | None = ANY, *, but: Iterable[str] = (), kind: Callable[..., Option] = number
) -> list[Option]:
    """The randomizer and every parameter of one; of the kind `numbers`, for lists of values."""
    text = f"One of {', '.join(sorted(REGISTRY))}."
    made = [
        click.option(
            "--randomizer",
            metavar="NAME",
            default=default,
            show_default=True,
            help=text,
            shell_complete=completes(*REGISTRY),
        )
    ]
    for name, uses in known_parameters().items():
        said = "; ".join(dict.fromkeys(parameter.meaning for parameter in uses.values()))
        text = f"{said[0].upper()}{said[1:]} ({', '.join(uses)})."
        parameter = next(iter(uses.values()))
        if parameter.read is not None:  # a list of files is read by whoever needs them
            read = Contents(parameter.read) if kind is number else click.Path(allow_dash=True)
            made.append(click.option(f"--{name}", type=read, metavar="FILE", help=text))
        elif name not in but:
            made.append(kind(name.replace("_", "-"), text, whole=parameter.whole))
    return made


_ANALYSES = f"{' or '.join(reversed(LADDER))}, where it applies."
ANALYSIS = click.option(
    "--analysis",
    metavar="NAME",
    help=f"{_ANALYSES}  [default: best]",
    shell_complete=completes(*LADDER),
)
RELATION = choice("neighbours", NEIGHBOURS, "What one user may change.  [default: replace]")
SEEN = (
    choice("view", VIEWS, f"What the adversary sees.  [default: {VIEWS[0]}]"),
    RELATION,
    *(
        number(name, f"{parameter.meaning.capitalize()} (view threshold).", whole=parameter.whole)
        for name, parameter in OF_REPORTS.items()
    ),
)
USERS = number("users", "Users in each round.", whole=True, required=True)
PERHAPS_USERS = number("users", "Users in each round; not with view threshold.", whole=True)
SAMPLING = (
    number("sample-rate", "Share of the users, at random, that sends in each round.  [default: 1]"),
    choice(
        *("sampling", KINDS_OF_SAMPLES),
        "fixed: exactly that share sends; poisson: each user with that probability.  "
        "[default: fixed]",
    ),
)
_PEOPLE = {
    "colluding": "Users who tell the adversary all they know: up to so many, or a share below 1.",
    "dropouts": "Users who do not send although they should: up to so many, or a share below 1.",
    "messages": "Messages of each user in a round, protected together.  [default: 1]",
}
PEOPLE = [
    number(name, text, whole=name == "messages", share=name in SHARES)
    for name, text in _PEOPLE.items()
]
ROUNDS = number("rounds", "How many rounds are composed.", whole=True, default="1")
RTOL = number(
    "rtol", "Largest relative width of the certified bracket in epsilon.", default=DEFAULT_RTOL
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
CSV = click.option("--csv", "as_csv", is_flag=True, help="Print CSV instead.")
DELTA = number("delta", "The delta.", required=True)


def round_options(but: Iterable[str] = ()) -> list[Option]:
    """All that describes a round but its users."""
    return [*randomizer_options(but=but), *SEEN, ANALYSIS, *SAMPLING, *PEOPLE]


PROTOCOL = (*round_options(), PERHAPS_USERS, ROUNDS, RTOL, JSON)


def take_randomizer(given: dict[str, Any]) -> Randomizer:
    """The randomizer that the options describe."""
    kind, own, _ = split(given)
    return randomizer_of(kind, own, dash="--")


def take_round(given: dict[str, Any]) -> Round:
    """The round that the options describe."""
    return round_of(given, dash="--")
