"""Renders an answer as Markdown while it arrives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment
from rich.text import Text as RichText

from a2a_adapters.cli.terminal import visible
from a2a_adapters_client.answer import CORRECTED, WITHDRAWN, AnswerPrinter
from a2a_adapters_client.forms import shown_data

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rich.status import Status

    from a2a_adapters import AgentReply

_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)


class MarkdownPrinter(AnswerPrinter):
    """Renders the current paragraph live and freezes it when the next one starts.

    Until the first one, a spinner shows the agent's current step. A correction replaces the
    current paragraph, or follows the frozen ones.

    Args:
        folder: Folder for received files; None discards them.
    """

    def __init__(self, folder: Path | None) -> None:
        super().__init__(folder)
        self._console = Console()
        self._live: Live | None = None
        self._growing = ""
        self._has_frozen = False
        self._status: Status | None = None

    def _shown_data(self, reply: AgentReply) -> Iterable[object]:
        """Leave out the data that the text of a question and its form already show."""
        if not reply.is_question:
            return reply.data
        return [rest for each in reply.data if (rest := shown_data(each)) is not None]

    def _wait(self) -> None:
        self._status = self._console.status("working")
        self._status.start()

    def _step(self, line: str) -> None:
        if self._status is not None:
            self._status.update(RichText(line))
        self._console.print(RichText(f"· {line}", style="dim"))

    def _stop_waiting(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _write(self, text: str) -> None:
        self._stop_waiting()
        if self._live is None:
            self._live = Live(console=self._console, transient=True)
            self._live.start()
        complete, self._growing = _split(self._growing + visible(text))
        if complete.strip():
            self._live.console.print(_formatted(complete))
            self._has_frozen = True
        self._live.update(_End(_formatted(self._growing)))

    def _correct(self, text: str) -> None:
        if not self._has_frozen:
            self._growing = visible(text)
            return
        self.end_line()
        self._console.print(RichText(CORRECTED if text else WITHDRAWN, style="dim"))
        self._write(text)

    def end_line(self) -> None:
        """Print the remaining text."""
        self._stop_waiting()
        self._said.clear()
        self._has_frozen = False
        if self._live is not None:
            self._live.stop()
            self._live = None
            if self._growing.strip():
                self._console.print(_formatted(self._growing))
            self._growing = ""


class _End:
    """The last lines that fit on the screen; lines scrolled away cannot be redrawn."""

    def __init__(self, inner: Markdown) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the last lines (rich's protocol)."""
        lines = console.render_lines(self._inner, options, pad=False)
        for line in lines[-max(1, console.height - 2) :]:
            yield from line
            yield Segment.line()


def _formatted(text: str) -> Markdown:
    return Markdown(text, hyperlinks=False)  # show the targets of links


def _split(text: str) -> tuple[str, str]:
    """Split at the last empty line outside code blocks."""
    end = text.rfind("\n\n")
    while end >= 0 and len(_FENCE.findall(text, 0, end)) % 2:
        end = text.rfind("\n\n", 0, end)
    return (text[: end + 2], text[end + 2 :]) if end >= 0 else ("", text)
