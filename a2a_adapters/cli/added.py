"""Commands that plugins add to the command line."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import typer
from typer.core import TyperGroup
from typer.main import get_group

from a2a_adapters.cli.targets import load_targets
from a2a_adapters.contract.plugins import installed_plugins

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class CommandGroup(TyperGroup):
    """The commands: our own, then those of plugins, which are loaded when they are needed."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; `-v` alone is `--version`, as in a2a-cli 0.2."""
        return super().parse_args(ctx, ["--version"] if args == ["-v"] else args)

    @cached_property
    def _added(self) -> Mapping[str, Any]:
        app = typer.Typer(rich_markup_mode=None)
        app.callback()(lambda: None)
        for name, command in installed_plugins().commands(load_targets).items():
            app.command(name)(command)
        return get_group(app).commands

    def list_commands(self, ctx: Any) -> list[str]:
        """Name all commands."""
        return [*super().list_commands(ctx), *self._added]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, None if there is none of that name."""
        return super().get_command(ctx, cmd_name) or self._added.get(cmd_name)
