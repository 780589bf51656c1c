"""`a2a-adapters completion`: lets a shell complete commands, options and names of agents."""

from __future__ import annotations

from typing import Literal

from typer.completion import get_completion_script  # type: ignore[attr-defined]

from a2a_adapters.cli.commands import COMPLETE
from a2a_adapters.cli.terminal import echo


def completion(shell: Literal["bash", "zsh", "fish", "powershell"]) -> None:
    """Print the completion script for a shell, which loads it when it starts.

    Examples:
      eval "$(a2a-adapters completion bash)"
      a2a-adapters completion fish > ~/.config/fish/completions/a2a-adapters.fish
    """
    echo(get_completion_script(prog_name="a2a-adapters", complete_var=COMPLETE, shell=shell))
