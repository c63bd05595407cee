"""The command line: all commands, and how each of them ends."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence

import click

from .. import __version__
from .account import account
from .adversaries import adversaries
from .audit import audit
from .calibrate import calibrate
from .choose import choose
from .compare import compare
from .epsilon import delta, epsilon
from .plot import plot
from .report import BAD_INPUT, BUG, complaint, end_with, json_report
from .reproduce import reproduce
from .risk import risk
from .serve import serve
from .simulate import simulate
from .sweep import sweep
from .verify import verify

#: A shell that completes a command line asks through this variable, and gives no arguments.
_COMPLETION = "_SHUFFLEDP_COMPLETE"


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog="Every printed upper value is rounded up: it is safe to publish. The exit code is 0 "
    "only if the question was answered as asked; 1: the answer is no; 2: bad input; 3: not "
    "certified.",
)
@click.version_option(__version__, package_name="shuffledp", message="%(prog)s %(version)s")
def cli() -> None:
    """Certified (epsilon, delta) for the shuffle model of differential privacy.

    \b
    Users randomize their own data, all alike (eps0-LDP), a shuffler strips identities:
      shuffledp epsilon --eps0 4 --users 10000 --delta 1e-6
      shuffledp epsilon --eps0 4 --users 1e6 --rounds 100 --delta 1e-6 --json
      shuffledp delta   --eps0 2 --users 1e5 --rounds 8 --epsilon 0.5,1
      shuffledp epsilon --randomizer rr --k 16 --eps0 2 --users 1e5 --delta 1e-6
      shuffledp risk --eps0 4 --users 10000 --rounds 4
      shuffledp adversaries --k 4 --gamma 0.25 --users 1000 --delta 1e-6 --rounds 16
      shuffledp epsilon --eps0 3 --users 1e5 --sample-rate 0.01 --rounds 1000 --delta 1e-5
      shuffledp compare --eps0 3 --users 1e5 --sample-rate 0.01 --rounds 1000 --delta 1e-5
      shuffledp choose --users 1e6 --values 100 --epsilon 1 --delta 1e-8
      shuffledp verify --matrix R.csv --users 5
      shuffledp audit --randomizer rr --k 4 --eps0 1 --client mymodule:randomize
      shuffledp serve --open
    """


for command in (
    epsilon, delta, risk, adversaries, compare, calibrate, choose, account, sweep, plot, verify,
    audit, simulate, reproduce, serve,
):  # fmt: skip
    cli.add_command(command)


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
            asked = next((word for word in given if word in cli.commands), None)
            click.echo(json_report(asked, {}, error=error))
        end_with(error)
    sys.exit(code)
