"""A group of commands that imports a command when it is first used."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem


class CommandEntry(NamedTuple):
    """One row of the table of commands."""

    target: str  # "module:function", the module relative to this package
    summary: str  # the first sentence of the command's help text

    def load(self) -> click.Command:
        """Import the module and return the command."""
        module, _, function = self.target.partition(":")
        command: click.Command = getattr(
            importlib.import_module(f".{module}", __package__), function
        )
        return command


class LazyCommands(MutableMapping[str, click.Command]):
    """The commands by name. Reading a value imports its module; iterating over names does not.

    click itself looks commands up in this mapping and takes the names that it proposes for a
    misspelt command from it.
    """

    def __init__(self, entries: Mapping[str, CommandEntry]) -> None:
        self._commands: dict[str, click.Command | CommandEntry] = dict(entries)

    def __getitem__(self, name: str) -> click.Command:
        command = self._commands[name]
        if isinstance(command, CommandEntry):
            command = self._commands[name] = command.load()
        return command

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._commands[name] = command

    def __delitem__(self, name: str) -> None:
        del self._commands[name]

    def __contains__(self, name: object) -> bool:
        return name in self._commands

    def __iter__(self) -> Iterator[str]:
        return iter(self._commands)

    def __len__(self) -> int:
        return len(self._commands)


class LazyGroup(click.Group):
    """A group of commands that are imported when they are used.

    Help and shell completion list the commands with the summaries of the table, so that neither
    imports a command.

    Parameters
    ----------
    entries : Mapping[str, CommandEntry]
        Names of commands, where each is found, and its summary.
    """

    def __init__(self, *args: Any, entries: Mapping[str, CommandEntry], **more: Any) -> None:
        super().__init__(*args, **more)
        self.commands = LazyCommands(entries)
        self._summaries = click.Group(
            commands=[click.Command(name, help=entry.summary) for name, entry in entries.items()]
        )

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
