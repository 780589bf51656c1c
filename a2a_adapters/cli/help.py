"""The layout of help texts: the terminal's full width, plain types, and examples."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from collections.abc import Sequence

_Context: Any = typer.Context.__mro__[1]
_Formatter: Any = _Context.formatter_class
_Command: Any = TyperCommand.__mro__[1]
"""Base classes of all commands, their contexts and help texts; typer exports subclasses only."""

_TYPES = {"str": "TEXT", "path": "PATH", "int": "NUMBER", "float": "NUMBER"}
_TYPE = re.compile(r" ?<(?:list\[)?([^<>\]]+?)(?: range)?\]?>")
_EXAMPLES = "Examples:\n"


class Formatter(_Formatter):  # type: ignore[misc]
    """Formats the help of a command; the examples at the end of a docstring keep their lines."""

    def __init__(self, max_width: int | None = None, **settings: Any) -> None:
        super().__init__(max_width=max_width or 10_000, **settings)

    def write_heading(self, heading: str) -> None:
        """Write a section's heading."""
        self.write(" " * self.current_indent + typer.style(f"{heading}:", bold=True) + "\n")

    def write_text(self, text: str) -> None:
        """Write a paragraph."""
        super().write_text(text.replace(_EXAMPLES, f"\b\n{_EXAMPLES}"))

    def write_dl(self, rows: Sequence[tuple[str, str]], **settings: Any) -> None:
        """Write a list of options, arguments or commands."""
        super().write_dl([(_plain(name), text) for name, text in rows], **settings)


def _plain(name: str) -> str:
    """Return a name with `TEXT` for `<list[str]>` and `a|b` for `<a|b>`; arguments have no type."""
    if not name.startswith("-"):
        return _TYPE.sub("", name)
    return _TYPE.sub(lambda found: f" {_TYPES.get(found[1], found[1])}", name)


_short_help_str = _Command.get_short_help_str


def _whole_sentence(command: Any, _limit: int = 0) -> str:
    """Return the first sentence of a command's help, however long: lists wrap it."""
    return str(_short_help_str(command, 10_000))


def use_layout() -> None:
    """Let all commands use the layout."""
    _Context.formatter_class = Formatter
    _Command.get_short_help_str = _whole_sentence
