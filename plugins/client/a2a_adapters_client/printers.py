"""Prints the answer to a message: events, the whole task, or the answer alone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

from a2a.types import SendMessageResponse

from a2a_adapters.cli.terminal import echo, note
from a2a_adapters.contract.events import TextDelta
from a2a_adapters.contract.parts import join_text
from a2a_adapters.contract.text import artifact_text, is_corrected
from a2a_adapters_client.answer import CORRECTED, WITHDRAWN
from a2a_adapters_client.files import keep_files, print_data
from a2a_adapters_client.output import Output, heading

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from a2a.types import StreamResponse

    from a2a_adapters import AgentReply
    from a2a_adapters_client.access import Access
    from a2a_adapters_client.connect import Agent
    from a2a_adapters_client.follow import Following


_FAILED = {"failed", "rejected", "canceled"}


class Printer(Protocol):
    """Prints an answer."""

    def event(self, response: StreamResponse, news: Iterable[object]) -> None:
        """Take an event and the news that it contains."""

    async def end(
        self, agent: Agent, following: Following, late: Iterable[object], reply: AgentReply
    ) -> None:
        """Print the rest, late news included, when the task is settled."""

    def end_line(self) -> None:
        """End the line of an interrupted answer."""


def printer_for(access: Access, folder: Path | None, *, is_async: bool, is_quiet: bool) -> Printer:
    """Return a printer.

    Args:
        access: The options.
        folder: The folder for the answer's files; None saves none.
        is_async: Whether the task is not waited for.
        is_quiet: Whether to print the answer without ids and the state even on a terminal.
    """
    is_labelled = sys.stdout.isatty() and not is_quiet
    has_events = access.stream and is_labelled
    if not (access.is_json or access.verbose or has_events or is_async):
        return _Plain(Output(access), folder, is_labelled=is_labelled, is_streamed=access.stream)
    return _Events(Output(access)) if access.stream else _Whole(Output(access), folder)


class _Events:
    """Prints each event as it arrives."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def event(self, response: StreamResponse, news: Iterable[object]) -> None:  # noqa: ARG002
        self._output.event(response)

    async def end(
        self,
        agent: Agent,  # noqa: ARG002 - as other printers
        following: Following,
        late: Iterable[object],  # noqa: ARG002
        reply: AgentReply,
    ) -> None:
        self._output.advise(following.task(), reply)

    def end_line(self) -> None:
        """Do nothing: events are whole lines."""


class _Whole:
    """Prints the task, or the message of an agent without tasks."""

    def __init__(self, output: Output, folder: Path | None) -> None:
        self._output = output
        self._folder = folder
        self._last: StreamResponse | None = None

    def event(self, response: StreamResponse, news: Iterable[object]) -> None:  # noqa: ARG002
        self._last = response

    async def end(
        self,
        agent: Agent,
        following: Following,
        late: Iterable[object],  # noqa: ARG002 - as other printers
        reply: AgentReply,
    ) -> None:
        assert self._last is not None  # noqa: S101 - a message without an answer raises
        if self._last.HasField("message"):
            found = SendMessageResponse(message=self._last.message)
        elif following.is_settled:
            found = SendMessageResponse(task=await agent.task(following.task_id))
        else:  # the first event of a task that is not waited for
            found = SendMessageResponse(task=self._last.task)
        self._output.sent(found)
        if self._folder is not None:
            keep_files(reply, self._folder)

    def end_line(self) -> None:
        """Do nothing: the task is printed in whole lines."""


class _Plain:
    """Prints text, then data as JSON; files are saved, or named in notes.

    Files and pipes, which cannot take back text that the agent corrects, get it at the end.

    Args:
        output: Prints hints.
        folder: The folder for the answer's files; None saves none.
        is_labelled: Whether to add the ids and the state of the task.
        is_streamed: Whether to print text as it arrives, as on a terminal.
    """

    def __init__(
        self, output: Output, folder: Path | None, *, is_labelled: bool, is_streamed: bool
    ) -> None:
        self._is_labelled = is_labelled
        self._output = output
        self._folder = folder
        self._is_shown = is_streamed or sys.stdout.isatty()
        self._said: list[str] = []

    def event(self, response: StreamResponse, news: Iterable[object]) -> None:  # noqa: ARG002
        self._write(news)

    async def end(
        self,
        agent: Agent,  # noqa: ARG002 - as other printers
        following: Following,
        late: Iterable[object],
        reply: AgentReply,
    ) -> None:
        text = reply.text
        if reply.state in _FAILED:
            text = artifact_text(reply.artifacts)
        else:
            self._write(late)
        if is_corrected("".join(self._said), text):
            self._correct(text)
        self.end_line()
        print_data(reply.data)
        keep_files(reply, self._folder)
        if reply.state in _FAILED and (reason := join_text(reply.status_parts)):
            note(reason)
        for line in heading(following.task()) if self._is_labelled else ():
            echo(line, dim=True)
        self._output.advise(following.task(), reply)

    def _write(self, news: Iterable[object]) -> None:
        for each in news:
            if isinstance(each, TextDelta):
                self._said.append(each.text)
                if self._is_shown:
                    echo(each.text, nl=False)

    def _correct(self, text: str) -> None:
        if self._is_shown:
            self.end_line()
            note(CORRECTED if text else WITHDRAWN)
            echo(text, nl=False)
        self._said = [text]

    def end_line(self) -> None:
        said = "".join(self._said)
        self._said.clear()
        if not self._is_shown:
            echo(said, nl=False)
        if said and not said.endswith("\n"):
            echo()
