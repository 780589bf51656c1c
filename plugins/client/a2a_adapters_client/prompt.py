"""Reads what the user types in a chat."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any, Protocol

from a2a_adapters.cli.terminal import echo, one_line
from a2a_adapters.contract.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.validation import Validator

    from a2a_adapters_client.forms import Field, Form


class Reader(Protocol):
    """Source of input lines."""

    async def read(self, choices: Sequence[str]) -> str | None:
        """Return the next line, None at the end; `choices` are possible answers."""

    async def fill(self, form: Form) -> Any:
        """Return the data of a form; None if the user prefers to answer with a line."""


def make_reader(commands: Sequence[str], lines: Path | None) -> Reader:
    """Return a line reader, with history and completion on a terminal.

    Args:
        commands: Words to complete at the start of a line.
        lines: The file that keeps lines for later chats; None keeps none.

    Raises:
        MissingExtraError: prompt_toolkit is missing on a terminal.
    """
    if not sys.stdin.isatty():
        return _Lines()
    try:
        return _Prompt(commands, lines)
    except ImportError as error:
        raise MissingExtraError("a conversation in a terminal", "chat") from error


class _Prompt:
    """Reads lines with history and completion; Alt-Enter starts a new line of a message."""

    def __init__(self, commands: Sequence[str], lines: Path | None) -> None:
        from prompt_toolkit import PromptSession  # noqa: PLC0415 - an extra
        from prompt_toolkit.completion import WordCompleter  # noqa: PLC0415

        self._commands = commands
        self._completer = WordCompleter
        self._session: PromptSession[str] = PromptSession(
            history=_history(lines), key_bindings=_bindings(), multiline=True
        )
        self._form: PromptSession[str] = PromptSession()

    async def read(self, choices: Sequence[str]) -> str | None:
        """Return the next line, None at Ctrl-D; Ctrl-C discards the current line."""
        completer = self._completer([*choices, *self._commands], sentence=True)
        while True:
            try:
                return await self._session.prompt_async(
                    "> ", completer=completer, prompt_continuation="  "
                )
            except KeyboardInterrupt:
                continue
            except EOFError:
                return None

    async def fill(self, form: Form) -> Any:
        """Ask for each field; Ctrl-C or Ctrl-D leaves the form."""
        echo("fill in the form, or press Ctrl-C to answer freely", err=True, dim=True)
        try:
            return form.value({field.name: await self._ask(field) for field in form.fields})
        except (KeyboardInterrupt, EOFError):
            return None

    async def _ask(self, field: Field) -> Any:
        if about := field.schema.get("description"):
            echo(one_line(str(about)), err=True, dim=True)
        text = await self._form.prompt_async(
            one_line(field.label),
            default=one_line(field.default),
            completer=self._completer([one_line(each) for each in field.choices], sentence=True),
            validator=_validator(field),
            validate_while_typing=False,
        )
        return field.read(text)


def _history(lines: Path | None) -> History:
    from prompt_toolkit.history import FileHistory, InMemoryHistory  # noqa: PLC0415 - an extra

    if lines is None:
        return InMemoryHistory()
    lines.touch(mode=0o600)
    return FileHistory(lines)


def _bindings() -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings  # noqa: PLC0415 - an extra

    bindings = KeyBindings()
    bindings.add("enter")(lambda event: event.current_buffer.validate_and_handle())
    bindings.add("escape", "enter")(lambda event: event.current_buffer.insert_text("\n"))
    return bindings


def _validator(field: Field) -> Validator:
    from prompt_toolkit.validation import ValidationError, Validator  # noqa: PLC0415 - an extra

    class Typed(Validator):
        def validate(self, document: Any) -> None:
            try:
                field.read(document.text)
            except ValueError as error:
                raise ValidationError(
                    cursor_position=len(document.text), message=one_line(str(error))
                ) from error

    return Typed()


class _Lines:
    """Reads piped lines."""

    async def read(self, choices: Sequence[str]) -> str | None:  # noqa: ARG002 - as `Reader`
        return await asyncio.to_thread(sys.stdin.readline) or None

    async def fill(self, form: Form) -> None:
        """Answer with a line."""
