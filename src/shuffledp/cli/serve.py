"""`shuffledp serve`."""

from __future__ import annotations

from typing import Any

import click

from .._support.extras import load
from .._support.validate import between
from ..errors import InvalidParameter
from .options import command, number, options

_NAME = click.option(
    "--name",
    "names",
    multiple=True,
    metavar="HOST",
    help="Another name under which it is reached, as behind a proxy; may be repeated.",
)


@command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@options(
    number("port", "The port; 0 for any that is free.", whole=True, default="8765"),
    _NAME,
    click.option("--open", "show", is_flag=True, help="Open a browser."),
    number("seconds", "That a question may take.", default="60"),
    number("workers", "Processes that answer.  [default: one a core, at least 2]", whole=True),
)
def serve(
    host: str, port: int, names: tuple[str, ...], show: bool, seconds: float, workers: int | None
) -> None:
    """Serve a page and an HTTP API with the answers of all commands, on this machine.

    No request leaves the machine. Needs the extra web: pip install 'shuffledp[web]'.

    \b
      shuffledp serve --open
      shuffledp serve --port 0 --seconds 20
    """
    for module in ("fastapi", "uvicorn"):
        load(module, "shuffledp serve needs", "'shuffledp[web]'")
    from ..web.pool import Limits
    from ..web.server import hosts_of, listening
    from ..web.server import serve as run

    given: dict[str, Any] = {"seconds": between("seconds", seconds, 1, 86_400)}
    if not 0 <= port < 65_536:
        raise InvalidParameter(f"port={port} is not within 0 and 65535; choose another.")
    if workers is not None:
        given["workers"] = int(between("workers", workers, 1, 1024))
    hosts_of(host, port, names)  # complain before the socket is there
    listener = listening(host, port)
    hosts = hosts_of(host, listener.getsockname()[1], names)
    click.echo(f"shuffledp is at http://{hosts[0]}/ until you press Ctrl-C.")
    run(listener, hosts, Limits(**given), show=show)
