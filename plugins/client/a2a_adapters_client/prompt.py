"""Lines that are typed in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter

if TYPE_CHECKING:
    from collections.abc import Sequence


class Prompt:
    """Reads lines with history and completion.

    Args:
        commands: Words that are completed at the beginning of a line.
    """

    def __init__(self, commands: Sequence[str]) -> None:
        self._commands = commands
        self._session: PromptSession[str] = PromptSession()

    async def read(self, choices: Sequence[str]) -> str | None:
        """Return the next line, None at Ctrl-D; Ctrl-C begins it anew."""
        completer = WordCompleter([*choices, *self._commands], sentence=True)
        while True:
            try:
                return await self._session.prompt_async("> ", completer=completer)
            except KeyboardInterrupt:
                continue
            except EOFError:
                return None
