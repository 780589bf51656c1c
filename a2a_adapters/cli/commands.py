"""The commands of the core and of plugins, which are imported on use."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from a2a_adapters.cli.help import use_layout
from a2a_adapters.cli.targets import load_targets
from a2a_adapters.contract.plugins import installed_plugins

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_adapters.contract.hooks import CommandSource

_SECTIONS = {
    "Call agents": ("send", "chat", "console", "agents", "history", "discover", "card", "task",
                    "auth", "check", "bench"),
    "Serve agents": ("init", "serve", "config", "tasks", "db", "demo-server"),
    "This program": ("plugins", "completion", "help"),
}  # fmt: skip
"""The sections of `--help`; commands of other plugins form the last one."""

use_layout()

UsageError: Any = typer.BadParameter.__mro__[1]
"""Base class of command line errors, of which typer exports only a subclass."""

COMPLETE = "_A2A_ADAPTERS_COMPLETE"
"""Environment variable with which a shell requests completions."""


class CommandGroup(TyperGroup):
    """The top level of the command line; imports plugins' commands when they are run or listed."""

    def __init__(self, **settings: Any) -> None:
        own = settings.pop("commands")
        super().__init__(commands={}, **settings)
        self.commands = _Commands(own)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - as typer calls it
        """Return the names of the visible commands; typer 0.26 would also list hidden ones."""
        return [name for name, command in self.commands.items() if not command.hidden]

    def invoke(self, ctx: Any) -> Any:
        """Run a command; the error for `--json` names the option that every command has."""
        try:
            return super().invoke(ctx)
        except UsageError as error:
            if getattr(error, "option_name", "") == "--json":
                error.possibilities = ["-o json"]
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands in sections."""
        left = self.list_commands(ctx)
        for title, names in {**_SECTIONS, "Other commands": tuple(left)}.items():
            if here := [name for name in names if name in left]:
                with formatter.section(title):
                    formatter.write_dl(
                        [(name, self.commands[name].get_short_help_str()) for name in here]
                    )
            left = [name for name in left if name not in here]


class _Commands(MutableMapping[str, Any]):
    """Commands by name; the core's own take precedence over those of plugins."""

    def __init__(self, own: dict[str, Any]) -> None:
        self._loaded = own

    @cached_property
    def _added(self) -> Mapping[str, CommandSource]:
        return installed_plugins().commands(load_targets)

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = _command(name, self._added[name])
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        names = {**self._loaded, **self._added}
        return iter(sorted(names))

    def __len__(self) -> int:
        return len({*self._loaded, *self._added})


def _command(name: str, source: CommandSource) -> Any:
    """Return a plugin's command."""
    if isinstance(source, str):
        module, _, attribute = source.partition(":")
        return _command(name, getattr(import_module(module), attribute))
    app = typer.Typer(rich_markup_mode=None)
    app.callback()(lambda: None)
    if not isinstance(source, typer.Typer):
        app.command(name)(source)
    elif source.registered_callback or source.registered_groups or source.registered_commands[1:]:
        app.add_typer(source, name=name)
    else:  # a single command keeps its options, such as its class
        source.registered_commands[0].name = name
        app.add_typer(source)
    return get_group(app).commands[name]


def help_(
    context: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(help="Such as `task get`; by default all are listed.")
    ] = None,
) -> None:
    """Show the usage of a command.

    Examples:
      a2a-adapters help send
      a2a-adapters help task get
    """
    here: Any = context.find_root()
    for word in command or []:
        if not hasattr(here.command, "commands"):
            raise typer.BadParameter(f"there is no command {' '.join(command or [])!r}")
        _, inner, _ = here.command.resolve_command(here, [word])
        here = type(here)(inner, parent=here, info_name=word)
    here.command.parse_args(here, ["--help"])
