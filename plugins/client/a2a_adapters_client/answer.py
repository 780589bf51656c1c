"""Prints an agent's answer in the terminal."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import TYPE_CHECKING

from pydantic_core import to_json

from a2a_adapters import AgentReply, RemoteTaskError
from a2a_adapters.cli.terminal import echo, escaped, one_line
from a2a_adapters.contract.events import Progress, ProgressEvent, TextDelta, ToolCall, ToolResult
from a2a_adapters.contract.text import artifact_text, is_corrected
from a2a_adapters_client.files import keep_files, print_data

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable
    from pathlib import Path

    from a2a_adapters import RemoteEvent


CORRECTED = "the agent corrected its answer:"
WITHDRAWN = "the agent withdrew its answer"


class AnswerPrinter:
    """Prints the answer to standard output and progress to standard error.

    Files and pipes cannot take back text that the agent corrects: they get it at the end.

    Args:
        folder: Folder for received files; None names them only.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._said: list[str] = []

    async def show(self, events: AsyncGenerator[RemoteEvent]) -> AgentReply:
        """Print events as they arrive; return the whole answer.

        Raises:
            RemoteAgentError: The call failed.
        """
        reply = AgentReply(text="")
        self._wait()
        try:
            async with aclosing(events):
                async for event in events:
                    match event:
                        case AgentReply():
                            reply = event
                        case TextDelta():
                            self._said.append(event.text)
                            self._write(event.text)
                        case _:
                            self._step(one_line(_line(event)))
        except RemoteTaskError as error:
            self._end(artifact_text(error.reply.artifacts))
            raise
        self._end(reply.text)
        print_data(self._shown_data(reply))
        keep_files(reply, self._folder)
        names = [each.name for each in reply.artifacts if each.name]
        if len(names) > 1:
            echo(one_line(f"artifacts: {', '.join(names)}"), err=True, dim=True)
        return reply

    def _shown_data(self, reply: AgentReply) -> Iterable[object]:
        return reply.data

    def _wait(self) -> None:
        """Show that the agent works."""

    def _step(self, line: str) -> None:
        """Show a step of the agent."""
        echo(f"· {line}", err=True, dim=True)

    def _write(self, text: str) -> None:
        """Show a piece of the answer."""

    def _end(self, text: str) -> None:
        if is_corrected("".join(self._said), text):
            self._correct(text)
        self.end_line()

    def _correct(self, text: str) -> None:
        """Replace the text of the answer."""
        self._said = [text] if text else []

    def end_line(self) -> None:
        """Print the rest of an answer, which may have been interrupted."""
        if self._said:
            echo("".join(self._said))
            self._said.clear()

    def print_json(self, reply: AgentReply) -> None:
        """Print a whole answer as JSON."""
        echo(escaped(to_json(_as_dict(reply), indent=2).decode()))


def _line(event: ProgressEvent) -> str:
    match event:
        case ToolCall(name=name, arguments=arguments):
            return f"{name} {json.dumps(arguments, ensure_ascii=False)}"
        case ToolResult(name=name, result=result):
            return f"{name} -> {json.dumps(result, ensure_ascii=False)}"
        case Progress(text=text, data=data):
            return text or json.dumps(data, ensure_ascii=False)


def _as_dict(reply: AgentReply) -> dict[str, object]:
    return {
        "state": reply.state,
        "text": reply.text,
        "data": reply.data,
        "files": [
            {"filename": file.filename, "media_type": file.media_type, "url": file.url}
            for file in reply.files
        ],
        "task_id": reply.task_id,
        "context_id": reply.context_id,
        "metadata": reply.metadata,
    }
