"""The command line: the table of commands, each imported when it is used, and how they end."""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
from collections import UserDict
from collections.abc import Mapping, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from .. import __version__
from .report import BAD_INPUT, BUG, complaint, end_with, json_report

#: Stands for a command whose module was not imported yet.
_UNLOADED = click.Command(None)
#: Modules of commands that have no module of their own name.
_MODULES = {"delta": "epsilon"}


#: Other names of commands.
ALIASES = {"plan": "account"}
#: What is no command, and where it is printed.
_ELSEWHERE = {
    "statement": "Statements are printed by epsilon, delta and risk, and documents by plan.",
    "document": "Documents are printed by plan, and statements by epsilon, delta and risk.",
    "estimate": "Estimates are made in Python, by randomizer.estimate(counts), as docs/clients.md "
    "says; simulate shows what they look like.",
}


def command_module(name: str) -> str:
    """Return the name of the module of a command.

    >>> command_module("delta")
    'shuffledp.cli.epsilon'
    """
    return f"{__package__}.{_MODULES.get(name, name)}"


class LazyCommands(UserDict[str, click.Command]):
    """The commands by name. Reading a value imports its module; iterating over names does not.

    click itself looks commands up in this mapping and takes the names that it proposes for a
    misspelt command from it.
    """

    def __getitem__(self, name: str) -> click.Command:
        if self.data[name] is _UNLOADED:
            module = importlib.import_module(command_module(name))
            self.data[name] = getattr(module, name)
        return self.data[name]


class LazyGroup(click.Group):
    """A group of commands that are imported when they are used.

    Help and shell completion list the commands with the summaries of the table, so that neither
    imports a command.

    Parameters
    ----------
    summaries : Mapping[str, str]
        Names of commands, and the first sentence of the help text of each.
    """

    def __init__(self, *args: Any, summaries: Mapping[str, str], **more: Any) -> None:
        super().__init__(*args, **more)
        self.commands = LazyCommands(dict.fromkeys(summaries, _UNLOADED))
        self._summaries = click.Group(
            commands=[click.Command(name, help=text) for name, text in summaries.items()]
        )

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, or of which it is another name."""
        return super().get_command(ctx, ALIASES.get(cmd_name, cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that was asked for; for one that is none, say where to find it."""
        if args and args[0] in _ELSEWHERE:
            ctx.fail(f"No such command '{args[0]}'. {_ELSEWHERE[args[0]]}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands into a help text."""
        self._summaries.format_commands(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and the options of the group that begin like this."""
        found = [
            CompletionItem(name, help=self._summaries.commands[name].get_short_help_str())
            for name in self.list_commands(ctx)
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]


#: Every command with its summary in the list of commands: the first sentence of its help text.
_SUMMARIES = """\
epsilon: Which epsilon holds at a given delta; exit code 3 if none is certified.
delta: Which delta holds at a given epsilon; exit code 3 if none below 1 is certified.
risk: How much an attacker can find out: advantage, error rates, Renyi divergences.
adversaries: How epsilon depends on what the adversary knows, and on what the proof uses.
compare: Compare with the published bounds that apply, and say why others do not.
calibrate: Find the largest or smallest value of one parameter that meets a target.
choose: Rank the randomizers that meet a target by the error of their estimate.
account: Check a plan against its target and budgets; exit code 1 if exceeded, 3 if not certified.
sweep: A table of certified values for every combination of parameters.
plot: Pictures of certified values, with their brackets as bands.
verify: Enumerate a small round exactly and check the bounds; exit code 1 if one does not hold.
client: Export a client as data, for devices without Python: a program, its form, test vectors.
audit: Test many messages of a client against its claimed eps0; exit code 1 if it fails.
simulate: Simulate a round on your own data: true and estimated values, with the guarantee.
reproduce: Regenerate the paper "Tight Accounting in the Shuffle Model of Differential Privacy".
serve: Serve a page and an HTTP API with the answers of all commands, on this machine.
"""
COMMANDS = dict(line.split(": ", 1) for line in _SUMMARIES.splitlines())
#: A shell that completes a command line asks through this variable, and gives no arguments.
_COMPLETION = "_SHUFFLEDP_COMPLETE"


@click.group(
    cls=LazyGroup,
    summaries=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog="account is also called plan. Every printed upper value is rounded up, so that it is "
    "never below the computed one. The exit code is 0 only if the question was answered as asked; "
    "1: the answer is no; 2: bad input; 3: not certified.",
)
@click.version_option(__version__, package_name="shuffledp", message="%(prog)s %(version)s")
def cli() -> None:
    """Certified (epsilon, delta) for the shuffle model of differential privacy.

    \b
    Every user applies the same eps0-LDP randomizer; a shuffler then removes sender names and order:
      shuffledp epsilon --eps0 4 --users 10000 --delta 1e-6
      shuffledp epsilon --eps0 4 --users 1e6 --rounds 100 --delta 1e-6 --json
      shuffledp delta   --eps0 2 --users 1e5 --rounds 8 --epsilon 0.5,1
      shuffledp epsilon --randomizer rr --k 16 --eps0 2 --users 1e5 --delta 1e-6
      shuffledp risk --eps0 4 --users 10000 --rounds 4
      shuffledp adversaries --k 4 --gamma 0.25 --users 1000 --delta 1e-6 --rounds 16
      shuffledp epsilon --eps0 3 --users 1e5 --sample-rate 0.01 --rounds 1000 --delta 1e-8
      shuffledp compare --eps0 3 --users 1e5 --sample-rate 0.01 --rounds 1000 --delta 1e-8

    \b
    Training with DP-SGD, by random allocation of the examples to steps, or with Poisson batches:
      shuffledp epsilon --view allocation --noise-multiplier 1 --steps 235 --rounds 20 --delta 1e-6
      shuffledp epsilon --mechanism gaussian --sigma 1 --sample-rate 0.01 --rounds 1000 --delta 1e-6

    \b
    Choose, plan, verify and audit:
      shuffledp choose --users 1e6 --values 100 --epsilon 1 --delta 1e-8
      shuffledp plan plan.toml
      shuffledp verify --matrix R.csv --users 5
      shuffledp audit --randomizer rr --k 4 --eps0 1 --client mymodule:randomize
      shuffledp serve --open
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: exit code 0 only if the question was answered as asked, 1 if the answer is no.

    Otherwise there is one sentence on stderr, and the code is 2 (bad input), 3 (not certified) or
    70 (a bug); under --json the error is printed as JSON, too. SHUFFLEDP_DEBUG=1 shows the
    traceback of a bug.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names may be in any alphabet, terminals not
            stream.reconfigure(errors="backslashreplace")
    if sys.stdout is None:  # closed by the shell
        end_with(OSError(errno.EBADF, os.strerror(errno.EBADF)))
    given = sys.argv[1:] if arguments is None else arguments
    if not given and _COMPLETION not in os.environ:
        # whether this is an error is a matter of click's version; here it is
        context = click.Context(cli, info_name="shuffledp", **cli.context_settings)
        click.echo(cli.get_help(context), err=True)
        sys.exit(BAD_INPUT)
    try:
        code = cli.main(args=arguments, prog_name="shuffledp", standalone_mode=False)
    except (Exception, KeyboardInterrupt) as error:
        if complaint(error)[0] == BUG and os.environ.get("SHUFFLEDP_DEBUG", "0") != "0":
            raise
        if "--json" in given and not isinstance(error, OSError):
            words = (ALIASES.get(word, word) for word in given)
            asked = next((word for word in words if word in cli.commands), None)
            click.echo(json_report(asked, {}, error=error))
        end_with(error)
    sys.exit(code)
