"""Agents for the official A2A test kit.

    python -m tests.kit.agent KIND PORT [--grpc-url URL]

The kit selects the answer with the `messageId`. Its prefixes for 1.0 are in the kit's
folder `scenarios`; its tests for 0.3 expect any other message to leave the task open.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from typing import TYPE_CHECKING

from a2a_adapters import (
    Data,
    File,
    InputRequired,
    OutboundPolicy,
    Output,
    Progress,
    PushOptions,
    Rejected,
    Reply,
    ServerOptions,
    Text,
    TextDelta,
    serve,
)
from a2a_adapters.plugin import Adapter, AgentDescription

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_adapters import AgentEvent, AgentRequest

_STREAM_SECONDS = float(os.environ.get("TCK_STREAMING_TIMEOUT", "2.0"))
"""The kit's setting; resubscribed tasks must stay open for twice as long."""

_FILE = {"media_type": "text/plain", "filename": "output.txt"}
_TEXT_FILE = File(content=b"tck", **_FILE)

_ANSWERS: dict[str, list[AgentEvent]] = {
    "tck-artifact-text": [Output([Text("Generated text content")])],
    "tck-artifact-file-url": [Output([File(url="https://example.com/output.txt", **_FILE)])],
    "tck-artifact-file": [Output([_TEXT_FILE])],
    "tck-artifact-data": [Output([Data({"key": "value", "count": 42})])],
    "tck-message-response": [Reply([Text("Direct message response")])],
    "tck-reject-task": [Rejected("rejected")],
    "tck-stream-artifact-chunked": [TextDelta("chunk-1 "), TextDelta("chunk-2")],
    "tck-stream-artifact-file": [Output([_TEXT_FILE])],
    "tck-stream-002": [],
    "tck-stream-": [TextDelta("Streamed text content")],
    "tck-input-required": [InputRequired("More input, please")],
    "tck-": [TextDelta("Hello from TCK")],
    "": [InputRequired("More input, please")],
}
"""Answers by prefix of the message id; the first match counts."""

_OPEN = "test-resubscribe-message-id"


def _answer(message_id: str) -> list[AgentEvent]:
    return next(events for prefix, events in _ANSWERS.items() if message_id.startswith(prefix))


class Scenarios(Adapter):
    """Answers as selected by each message id."""

    may_reply = True

    def describe(self) -> AgentDescription:
        """Return the description."""
        return AgentDescription(name="Scenarios", description="Does what a message's id asks for.")

    async def stream(self, request: AgentRequest) -> AsyncIterator[AgentEvent]:
        """Answer a message and its follow-ups while the task is open."""
        is_open = True
        while is_open:
            is_open = False
            if request.message.message_id.startswith(_OPEN):
                yield Progress()
                await asyncio.sleep(2 * _STREAM_SECONDS)
                return
            for event in _answer(request.message.message_id):
                if isinstance(event, InputRequired):
                    request = yield event
                    is_open = True
                else:
                    yield event


class Echo(Adapter):
    """An ordinary agent: works for half a second, and completes every task."""

    def describe(self) -> AgentDescription:
        """Return the description."""
        return AgentDescription(name="Echo", description="Repeats each message.")

    async def stream(self, request: AgentRequest) -> AsyncIterator[AgentEvent]:
        """Repeat a message."""
        await asyncio.sleep(0.5)
        yield TextDelta("echo: ")
        yield TextDelta(request.text)


KINDS = {"tck": Scenarios, "plain": Echo, "bare": Scenarios}
"""The agents by name; `bare` does not support push notifications."""


def main() -> None:
    """Serve an agent at a port, and over gRPC at the next one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("port", type=int)
    parser.add_argument("--grpc-url", help="gRPC URL in the card")
    given = parser.parse_args()
    push = PushOptions(outbound=OutboundPolicy(allow_private=True))
    options = ServerOptions(
        grpc_port=given.port + 1,
        grpc_url=given.grpc_url,
        push=None if given.kind == "bare" else push,
    )
    serve(KINDS[given.kind](), port=given.port, options=options)


if __name__ == "__main__":
    main()
