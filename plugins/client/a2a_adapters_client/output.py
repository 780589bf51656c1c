"""Prints results: text, or the protocol's own JSON (a2a-cli 0.2, section 11)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from a2a_adapters.cli.terminal import echo, escaped, note
from a2a_adapters.protocol import states
from a2a_adapters.protocol.wire import to_dict
from a2a_adapters_client.shown import Shown, state_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from a2a.types import SendMessageResponse, StreamResponse, Task
    from google.protobuf.message import Message as ProtocolMessage

    from a2a_adapters_client.access import Access

_ADVICE = {
    states.INPUT_REQUIRED: "waits for an answer",
    states.AUTH_REQUIRED: "waits for credentials, which its message tells how to give",
    states.FAILED: "has failed",
    states.REJECTED: "was rejected",
    states.CANCELED: "was cancelled",
}


class Output:
    """Where results go, in the form that was asked for.

    Args:
        access: The options.
        history: Whether the history of a task is printed as text, too.
    """

    def __init__(self, access: Access, *, history: bool = False) -> None:
        self._access = access
        self._shown = Shown(verbose=access.verbose, history=history)

    def event(self, response: StreamResponse) -> None:
        """Print an event of a stream."""
        if self._access.is_json:
            self._json(to_dict(response))
        else:
            _lines(self._shown.response(response))

    def sent(self, response: SendMessageResponse) -> None:
        """Print what a message has come to."""
        if self._access.is_json:
            self._json(to_dict(response))
        elif response.HasField("task"):
            _lines(self._shown.task(response.task))
        else:
            _lines(self._shown.message(response.message))
        self.advise(response.task)

    def task(self, task: Task) -> None:
        """Print a task."""
        self.fields(task, self._shown.task(task))
        self.advise(task)

    def fields(self, message: ProtocolMessage, lines: Iterable[str]) -> None:
        """Print any message of the protocol: as JSON, or as these lines."""
        self.document(to_dict(message), lines)

    def document(self, content: object, lines: Iterable[str]) -> None:
        """Print JSON, or lines in its place."""
        if self._access.is_json:
            self._json(content)
        else:
            _lines(lines)

    def advise(self, task: Task) -> None:
        """Say on standard error what a task has come to that has no answer, and what to do."""
        state = task.status.state
        if state not in _ADVICE:
            return
        note(f"the task {_ADVICE[state]} ({state_name(state)})")
        if state in states.INTERRUPTED:
            version = self._access.a2a_version
            options = ["--a2a-version", version] if version else []
            note(f'answer: {self._access.again("send", "--task-id", task.id, *options)} "..."')

    def _json(self, content: object) -> None:
        indent = None if self._access.stream else 2
        echo(escaped(json.dumps(content, indent=indent, ensure_ascii=False)))


def _lines(lines: Iterable[str]) -> None:
    for line in lines:
        echo(line)
