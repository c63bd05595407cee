"""Options that describe a protocol on the command line; those of randomizers are the registry's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import click

from .._support.text import similar
from .._support.validate import show
from ..errors import InvalidParameter, OutOfRange
from ..guarantee import DEFAULT_RTOL, NEIGHBOURS
from ..randomizers import Randomizer
from ..randomizers.analyses import LADDER
from ..randomizers.base import known_parameters, named_randomizers
from ..randomizers.parameter import Parameter, parameters_of
from ..rounds import KINDS_OF_SAMPLES, PEOPLE_DEFAULTS, Round
from ..tools.protocol import (
    CENTRAL_NOISE,
    CENTRAL_PARAMETERS,
    DEFAULT_RANDOMIZER,
    NOISE_PARAMETERS,
    ROUND_PARAMETERS,
    SHARE_OPTIONS,
    VIEW_PARAMETERS,
    VIEWS,
    files,
    missing_parameters,
    options_of,
    randomizer_of,
    round_of,
    split,
    texts,
)
from .values import Contents, GroupOfUsers, Number, Numbers

Option = Any  # what click.option returns
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Command(click.Command):
    """A command with options in sections that names all missing options at once.

    It refuses an option given twice, and two formats at once: click takes the last value without a
    word. Options with `multiple=True` may be repeated; a flag says the same thing twice. With
    --help, options of randomizers and views other than the one that is named are left out. Errors
    about bad input name parameters as options.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:  # a shell completes half a command line
            return super().parse_args(ctx, args)
        # once more than click does: which options were written is lost with the defaults
        try:
            values, extra, order = self.make_parser(ctx).parse_args(args=list(args))
        except click.NoSuchOption as error:
            hint = self._instead_of(error.option_name)
            raise click.UsageError(f"No such option {error.option_name!r}.{hint}", ctx) from None
        if extra and not ctx.allow_extra_args:
            expected = any(isinstance(each, click.Argument) for each in self.params)
            only = "one argument" if expected else "options only"
            sentence = f"{ctx.info_name} takes {only}; leave {show(extra[0])} out."
            raise click.UsageError(sentence)
        ctx.meta[_GIVEN] = values
        with self._naming_options():
            try:
                rest = super().parse_args(ctx, args)
            except click.MissingParameter as error:
                raise self._missing(values, error) from None
            _refuse_repeated(order)
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        with self._naming_options():
            return super().invoke(ctx)

    @contextmanager
    def _naming_options(self) -> Iterator[None]:
        """Write the parameters that an error about bad input names as options of this command."""
        try:
            yield
        except (InvalidParameter, OutOfRange) as error:
            known = {name for parameter in self.params for name in parameter.opts}
            error.args = (in_options(str(error), known), *error.args[1:])
            raise

    def _instead_of(self, name: str) -> str:
        """The end of the sentence that refuses an option: what may be meant."""
        if name == f"--{self.name}":
            return f" It is what shuffledp {self.name} computes; leave it out."
        if (self.name, name) == ("risk", "--delta"):
            return " risk reads the whole curve and needs no delta; leave it out."
        meant = similar(name, [each for parameter in self.params for each in parameter.opts])
        return f" Did you mean {' or '.join(meant)}?" if meant else ""

    def _missing(
        self, values: Mapping[str, Any], error: click.MissingParameter
    ) -> click.UsageError:
        """What to say of all options that are missing, those of the protocol included."""
        if isinstance(error.param, click.Argument):
            kind, name = error.param.type, error.param.metavar or error.param.human_readable_name
            give = "give the name of a file"
            if isinstance(kind, click.Choice):
                give = f"choose {' or '.join(map(str, kind.choices))}"
            return click.UsageError(f"{name} is missing; {give}.")
        names = [max(p.opts, key=len) for p in self.params if p.required and p.name not in values]
        mine = {p.name for p in self.params if p.default is _NO_DEFAULT and not _described(p)}
        sought = str(values.get("find", "")).replace("-", "_")
        try:
            needed = missing_parameters({**values, sought: "sought"}, "--")
        except InvalidParameter as error:  # a randomizer or view that does not exist
            return click.UsageError(str(error))
        names += [f"--{name.replace('_', '-')}" for name in needed if name in mine]
        *some, last = dict.fromkeys(map(repr, names))
        if not some:
            return click.UsageError(f"Missing option {last}.")
        return click.UsageError(f"Missing options {', '.join(some)} and {last}.")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options into a help text, section by section."""
        given = ctx.meta.get(_GIVEN, {})
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in _titles()}
        left_out = False
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            if _applies(str(parameter.name), given):
                sections[_section(str(parameter.name))].append(record)
            else:
                left_out = True
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        if left_out:
            formatter.write_paragraph()
            formatter.write_text(
                "Options of other randomizers and views are left out; --help alone shows all."
            )


#: What click notes for options without a default; it depends on the version.
_NO_DEFAULT = click.Option(["--any"]).default
#: Where a context keeps the options that were written, before they are read.
_GIVEN = "shuffledp.given"


def _described(parameter: click.Parameter) -> bool:
    """Whether the default of an option is told in words: it may be left out."""
    return isinstance(getattr(parameter, "show_default", None), str)


def in_options(sentence: str, known: Iterable[str]) -> str:
    """The sentence with these options where it names parameters, as in Python.

    Objects in the sentence, which have parameters in parentheses, and what is said after a colon,
    such as of the key of a file, are left as they are.

    >>> in_options("max_eps0=0 is too small for Shuffle(eps0=1).", ["--max-eps0", "--eps0"])
    '--max-eps0=0 is too small for Shuffle(eps0=1).'
    """
    names = "|".join(name[2:].replace("-", "_") for name in known if name.startswith("--"))
    named = re.compile(rf"(?<!: )(?<![\w.(-])({names})\b(?==)|^({names})\b(?= (?:is|does) )")
    parts = re.split(r"(\([^()]*\))", sentence)
    parts[::2] = [named.sub(lambda found: f"--{found[0].replace('_', '-')}", p) for p in parts[::2]]
    return "".join(parts)


def _titles() -> list[str]:
    return ["Question", "Randomizer", "View", "Who takes part", "Output"]


def _section(name: str) -> str:
    """The section of the help text in which an option stands."""
    if name == "randomizer" or name in known_parameters():
        return "Randomizer"
    known = ("view", "neighbours", "analysis", "mechanism", *ROUND_PARAMETERS)
    if name in known or name in CENTRAL_PARAMETERS:
        return "View"
    if name in ("users", "sample_rate", "sampling", *PEOPLE_DEFAULTS):
        return "Who takes part"
    return "Output" if name in _OUTPUT else "Question"


#: Options that say how an answer is computed, printed or saved.
_OUTPUT = ("rtol", "form", "out", "plot", "date", "title", "dpi", "figsize", "help")


def _applies(name: str, given: Mapping[str, Any]) -> bool:
    """Whether an option goes with the randomizer and the view that are named, if any is."""
    view = given.get("view")
    if view in VIEW_PARAMETERS and _section(name) in ("Randomizer", "View", "Who takes part"):
        return name == "view" or name in options_of(view)
    if name in ROUND_PARAMETERS:
        return view is None
    if name in CENTRAL_PARAMETERS:
        noise = CENTRAL_NOISE.get(str(given.get("mechanism")))
        return given.get("randomizer") is None if noise is None else name in parameters_of(noise)
    named = named_randomizers().get(str(given.get("randomizer")))
    uses = known_parameters().get(name)
    return named is None or uses is None or named.name in uses


class CommandGroup(click.Group):
    """A group of such commands."""

    command_class = Command


command = partial(click.command, cls=Command)


def _refuse_repeated(order: Iterable[click.Parameter]) -> None:
    times = Counter(order)
    formats = [max(parameter.opts, key=len) for parameter in times if parameter.name == "form"]
    if len(formats) > 1:
        both = " and ".join(formats)
        raise InvalidParameter(f"{both} are two ways to print one answer; give one.")
    for parameter, count in times.items():
        once = isinstance(parameter, click.Option) and not (parameter.is_flag or parameter.multiple)
        if once and count > 1:
            is_list = isinstance(parameter.type, Numbers)
            listed = ", with commas between its values" if is_list else ""
            name = max(parameter.opts, key=len)
            raise InvalidParameter(f"{name} is given {count} times; give it once{listed}.")


def options(*choices: Option) -> Decorator:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(choices):
            command = option(command)
        return command

    return decorate


def number(
    name: str,
    text: str,
    kind: type[Number] = Number,
    *,
    whole: bool = False,
    share: bool = False,
    **more: Any,
) -> Option:
    """An option that takes a number."""
    more = {"show_default": "default" in more, **more, "help": text, "metavar": kind.metavar}
    return click.option(f"--{name}", type=kind(whole, share), **more)


#: An option that takes a list of numbers.
numbers = partial(number, kind=Numbers)


def completes(*words: str) -> Callable[[Any, Any, str], list[str]]:
    """What a shell proposes: these words, also as the next of several with commas."""

    def proposed(context: Any, option: Any, begun: str) -> list[str]:
        before, comma, _ = begun.rpartition(",")
        return [word for each in words if (word := f"{before}{comma}{each}").startswith(begun)]

    return proposed


def choice(
    name: str, words: Sequence[str], text: str, kind: type[Number] = Number, **more: Any
) -> Option:
    """An option that is one of some words, or a list of them beside lists of numbers."""
    if kind is Numbers:
        listed, proposed = f"{' or '.join(words)}; with commas.", completes(*words)
        return click.option(f"--{name}", metavar="LIST", help=listed, shell_complete=proposed)
    return click.option(f"--{name}", type=click.Choice(words), help=text, **more)


def randomizer_options(
    default: str | None = DEFAULT_RANDOMIZER,
    kind: type[Number] = Number,
    without: Sequence[str] = (),
) -> list[Option]:
    """The randomizer and every parameter of one but those left out, as numbers or as lists."""
    named = named_randomizers()
    text, proposed = f"One of {', '.join(sorted(named))}.", completes(*named)
    shown: dict[str, Any] = {"default": default, "show_default": True, "shell_complete": proposed}
    metavar = "NAME" if kind is Number else Numbers.metavar
    made = [click.option("--randomizer", metavar=metavar, help=text, **shown)]
    for name, uses in known_parameters().items():
        also = {"central": NOISE_PARAMETERS[name]} if name in NOISE_PARAMETERS else {}
        text = _meanings({**uses, **also})
        parameter = next(iter(uses.values()))
        if parameter.read is not None:  # a list of files is read by whoever needs them
            read = Contents(parameter.read) if kind is Number else click.Path(allow_dash=True)
            made.append(click.option(f"--{name}", type=read, metavar="FILE", help=text))
        elif parameter.text:
            made.append(click.option(f"--{name}", metavar="TEXT", help=text))
        elif name not in without:
            made.append(number(name.replace("_", "-"), text, kind, whole=parameter.whole))
    return made


def _meanings(uses: Mapping[str, Parameter]) -> str:
    """What a parameter means in each of the randomizers that have it."""
    named: dict[str, list[str]] = {}
    for kind, parameter in uses.items():
        named.setdefault(parameter.meaning, []).append(kind)
    if len(named) == 1:
        (meaning,) = named
        return f"{meaning[0].upper()}{meaning[1:]} ({', '.join(uses)})."
    return "; ".join(f"{', '.join(kinds)}: {meaning}" for meaning, kinds in named.items()) + "."


_RATE = (
    "Share of the users, at random, that sends in each round, or, with --mechanism, probability of "
    "an example in each step.  [default: 1]"
)
_SAMPLING = "fixed: exactly that share sends; poisson: each user with that probability."
_NEIGHBOURS = (
    "Neighbouring datasets differ in the value of one user (replace), or in whether it is there "
    "(remove).  [default: replace; remove with view allocation or --mechanism and --sample-rate]"
)
_PEOPLE = {
    "colluding": "Users who may tell the adversary all they know, or not follow the protocol: "
    "a count, or a share such as 5%.",
    "dropouts": "Users who may fail to send, for reasons other than their own value: a count, or a "
    "share such as 5%.",
    "messages": "Messages of each user in a round, protected together.  [default: 1]",
}


def view_options(kind: type[Number] = Number) -> list[Option]:
    """What the adversary sees, and which datasets are neighbours."""
    return [
        choice("view", VIEWS, f"What the adversary sees.  [default: {VIEWS[0]}]", kind),
        choice("neighbours", [*NEIGHBOURS], _NEIGHBOURS, kind),
    ]


def people_options(kind: type[Number] = Number) -> list[Option]:
    """Who sends in each round, and who does not follow the protocol."""
    return [
        number("sample-rate", _RATE, kind),
        choice(
            "sampling",
            KINDS_OF_SAMPLES,
            f"{_SAMPLING}  [default: fixed; poisson with --mechanism]",
            kind,
        ),
        *(
            number(name, text, kind, whole=name == "messages", share=name in SHARE_OPTIONS)
            for name, text in _PEOPLE.items()
        ),
    ]


def round_options(
    default: str | None = DEFAULT_RANDOMIZER,
    kind: type[Number] = Number,
    without: Sequence[str] = (),
) -> list[Option]:
    """All that describes a round but its users; lists of it, if the kind is `Numbers`."""
    return [
        *randomizer_options(default, kind, without),
        *view_options(kind),
        choice("mechanism", [*CENTRAL_NOISE], "Central noise instead of a round of users.", kind),
        *(
            number(
                name,
                f"{each.meaning[0].upper()}{each.meaning[1:]} (central).",
                kind,
                whole=each.whole,
            )
            for name, each in CENTRAL_PARAMETERS.items()
        ),
        *(
            number(
                name.replace("_", "-"),
                f"{each.meaning[0].upper()}{each.meaning[1:]} (view {view}).",
                kind,
                whole=each.whole,
            )
            for view, known in VIEW_PARAMETERS.items()
            for name, each in known.items()
        ),
        ANALYSIS if kind is Number else choice("analysis", LADDER[::-1], "", kind),
        *people_options(kind),
    ]


_ANALYSES = f"{' or '.join(reversed(LADDER))}, where it applies.  [default: best]"
ANALYSIS = click.option(
    "--analysis", metavar="NAME", help=_ANALYSES, shell_complete=completes(*LADDER)
)
USERS = number("users", "Users in each round, drawn or not.", whole=True, required=True)
OPTIONAL_USERS = number(
    "users", "Users in each round, drawn or not; with view shuffle or aggregate.", whole=True
)
_ROUNDS = (
    "How many rounds are composed; with --mechanism and --sample-rate, steps; with view "
    "allocation, epochs, or whole runs if --kept-epochs is given."
)
ROUNDS = number("rounds", _ROUNDS, whole=True, default="1")
RTOL = number(
    "rtol", "Largest relative width of the certified bracket in epsilon.", default=DEFAULT_RTOL
)


def form_of_answer(name: str, text: str) -> Option:
    """A flag that asks for another form of the answer."""
    return click.option(f"--{name}", "form", flag_value=name, help=f"Print {text} instead.")


JSON = form_of_answer("json", "one JSON object")
CSV = form_of_answer("csv", "CSV")
#: A table for a document, beside text and CSV.
TYPESET = (
    form_of_answer("markdown", "a table of Markdown"),
    form_of_answer("latex", "a table of LaTeX, for the package booktabs,"),
)
BIBTEX = form_of_answer("bibtex", "BibTeX of the papers behind the values")
DELTA = number("delta", "The delta.", required=True)
TARGET = (
    number("epsilon", "The target: at most this epsilon", required=True),
    number("delta", "at this delta.", required=True),
)


_GROUP = (
    "Users with a randomizer of their own, in place of --users; once for each group: users, "
    "parameters that differ from the others', and if need be name, sample-rate, colluding, "
    "dropouts."
)
GROUPS = (
    click.option(
        *("--group", "groups"), type=GroupOfUsers(), multiple=True, metavar="WORDS", help=_GROUP
    ),
    click.option("--protects", metavar="NAME", help="The one group that the guarantee is about."),
)
PROTOCOL = (*round_options(), OPTIONAL_USERS, ROUNDS, RTOL, JSON)


def lists_and_values(given: Mapping[str, Any]) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Of options that take lists: those with several values, and those with one."""
    over, fixed = {}, {}
    for name, value in given.items():
        is_list = isinstance(value, str) and name not in (*files(), *texts())
        values = value.split(",") if is_list else value
        if isinstance(values, list) and len(values) > 1:
            over[name] = values
        elif value is not None:
            fixed[name] = values[0] if isinstance(values, list) else values
    return over, fixed


def make_randomizer(given: Mapping[str, Any]) -> Randomizer:
    """The randomizer that the options describe."""
    kind, parameters, _ = split(given)
    return randomizer_of(kind, parameters, prefix="--")


def make_round(given: Mapping[str, Any]) -> Round:
    """The round that the options describe."""
    return round_of(given, prefix="--")
