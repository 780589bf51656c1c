"""The caller of a workflow: questions, and streamed text. This module runs in workflows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.contrib.workflow_streams import WorkflowStream

UNREAD = r"\[TMPRL1102\].*__temporal_workflow_stream_poll"
warnings.filterwarnings("ignore", UNREAD)  # a server that reads the stream notices its end itself

TOPIC = "a2a"
"""The topic of the stream with which a workflow sends its events and questions to its server."""

REPLY = "a2a_reply"
"""The signal with the reply to a question."""


@dataclass
class A2AFile:
    """A file of a message, as JSON.

    Attributes:
        content: Its bytes in base64; "" if it is given by URL.
        url: Its address, such as that of a `FileStore`, whose links activities can read.
        media_type: Its media type.
        filename: Its name.
    """

    content: str = ""
    url: str = ""
    media_type: str = ""
    filename: str = ""


@dataclass
class A2ARequest:
    """A message to an agent, as JSON: the workflow's argument, or the reply to a question.

    Attributes:
        text: The text parts, one per line.
        data: The values of the data parts.
        files: The files, with at most 1 MiB of content together.
        owner: The authenticated user; empty for anonymous callers.
        context_id: The conversation.
        metadata: The metadata of the request.
        message_id: The id of the message.
    """

    text: str = ""
    data: list[Any] = field(default_factory=list)
    files: list[A2AFile] = field(default_factory=list)
    owner: str = ""
    context_id: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    message_id: str = ""


class A2ACaller:
    """The caller of a workflow. Create it in the method with `@workflow.init`."""

    def __init__(self) -> None:
        self._topic = WorkflowStream().topic(TOPIC)
        self._replies: dict[int, A2ARequest] = {}
        self._asked = 0
        workflow.set_signal_handler(REPLY, self._take)

    def emit(self, text: str) -> None:
        """Send text to the caller while the workflow runs."""
        self._topic.publish({"text": text})

    async def ask(self, question: str, *, timeout: timedelta | None = None) -> A2ARequest:  # noqa: ASYNC109 - Temporal's, which survives the process
        """Ask the caller, and return the reply.

        Args:
            question: The question.
            timeout: The time to wait; None waits for as long as the server lets the task wait.

        Raises:
            TimeoutError: There was no reply in time.
        """
        self._asked += 1
        number = self._asked
        self._topic.publish({"ask": question, "number": number})
        await workflow.wait_condition(lambda: number in self._replies, timeout=timeout)
        return self._replies[number]

    def _take(self, number: int, reply: A2ARequest) -> None:
        self._replies.setdefault(number, reply)  # a server may send it again
