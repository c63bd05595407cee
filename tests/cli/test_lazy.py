"""A shell command imports the module of the command that was asked for, and no other."""

import subprocess
import sys

import click
import pytest

import shuffledp
from shell import run
from shuffledp.cli.app import COMMANDS, cli

#: Modules that no quick command needs: plotting, parallel work, data frames, the server.
HEAVY = ("matplotlib", "joblib", "pandas", "distributed", "fastapi", "uvicorn", "shuffledp.web")
#: Modules of this package that belong to some commands only.
TOOLS = ("shuffledp.clients.", "shuffledp.published.", "shuffledp.reproduce.")
HELPERS = {"app", "options", "report", "values"}


def loaded_by(*arguments: str) -> set[str]:
    """Return the modules that a fresh interpreter has imported after running a command."""
    code = (
        "import sys\n"
        "from shuffledp.cli import main\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    print('', *sys.modules, sep='\\n', file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", code, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(result.stderr.split())


def in_folder(loaded: set[str], folder: str) -> set[str]:
    """Return the names of the loaded modules of one folder of the package."""
    start = f"shuffledp.{folder}."
    return {name.removeprefix(start) for name in loaded if name.startswith(start)}


PROTOCOL = ("--eps0", "1", "--users", "100")


@pytest.mark.parametrize(
    ("arguments", "commands", "tools"),
    [
        (("--help",), set(), set()),
        (("--version",), set(), set()),
        (("epsilon", "--help"), {"epsilon"}, {"protocol", "statement"}),
        (("epsilon", *PROTOCOL, "--delta", "1e-6"), {"epsilon"}, {"protocol", "statement"}),
        (("verify", "--help"), {"verify"}, {"protocol", "verify"}),
        (
            ("verify", "--randomizer", "rr", "--k", "2", "--eps0", "1", "--users", "2"),
            {"verify"},
            {"protocol", "verify"},
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_only_the_command_that_is_asked_for_is_imported(
    arguments: tuple[str, ...], commands: set[str], tools: set[str]
) -> None:
    loaded = loaded_by(*arguments)
    assert in_folder(loaded, "cli") - HELPERS == commands
    assert in_folder(loaded, "tools") == tools
    assert [name for name in loaded if name.startswith((*HEAVY, *TOOLS))] == []


def test_help_needs_none_of_the_core() -> None:
    """The engines and the laws are imported with the first question, not with the options."""
    loaded = loaded_by("epsilon", "--help")
    assert in_folder(loaded, "engines") == set()
    assert in_folder(loaded, "laws") == {"class_law"}


def test_completing_the_name_of_a_command_imports_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_SHUFFLEDP_COMPLETE", "fish_complete")
    monkeypatch.setenv("COMP_WORDS", "shuffledp e")
    monkeypatch.setenv("COMP_CWORD", "e")
    assert in_folder(loaded_by(), "cli") <= HELPERS


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_is_the_short_help_of_the_command(name: str) -> None:
    """At every width of a terminal."""
    command, listed = cli.commands[name], click.Command(name, help=COMMANDS[name])
    assert command.name == name
    for limit in range(20, 150):
        assert listed.get_short_help_str(limit) == command.get_short_help_str(limit)


def test_the_list_of_commands_is_that_of_a_group_that_has_all() -> None:
    eager = click.Group("shuffledp", commands=dict(cli.commands))
    for width in (40, 80, 120):
        texts = []
        for group in (eager, cli):
            formatter = click.HelpFormatter(width=width)
            group.format_commands(click.Context(group), formatter)
            texts.append(formatter.getvalue())
        assert texts[0] == texts[1] != ""
    for begun in ("", "s", "--h", "x"):
        proposed = []
        for group in (eager, cli):
            items = group.shell_complete(click.Context(group), begun)
            proposed.append([(item.value, item.help) for item in items if item.value[:2] != "--"])
        assert proposed[0] == proposed[1]


def test_a_misspelt_command_is_refused() -> None:
    result = run("epsilo")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("shuffledp: No such command 'epsilo'.")
    assert run("--version").stdout == f"shuffledp {shuffledp.__version__}\n"
