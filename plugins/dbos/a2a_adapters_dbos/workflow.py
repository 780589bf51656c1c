"""Functions for the code of workflows: questions to the caller, and streamed text."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import uuid4

from dbos import DBOS

from a2a_adapters import AgentEvent, InputRequired, TextDelta

if TYPE_CHECKING:
    from a2a_adapters import AgentRequest

STREAM = "a2a"
"""The key of the stream with which a workflow sends its events and questions to its server."""

_EVER = 100 * 365 * 86400.0
"""Seconds after which a question without a timeout is given up: DBOS needs a number."""

_process = ""
"""The id of this process; "" until it is needed, also after a fork."""


class Silence:
    """The time until a workflow writes to its stream for the first time.

    Reading a stream takes several queries, and most workflows write to none. So the server reads
    the stream of a workflow in its own process only when it must.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.broken: asyncio.Future[None] = self._loop.create_future()

    def end(self) -> None:
        """End the silence; any thread may do so."""
        self._loop.call_soon_threadsafe(_settle, self.broken)


silences: dict[str, Silence] = {}
"""The silences of workflows that this process has begun, by their ids."""


@dataclass(frozen=True, slots=True)
class Emitted:
    """An event of a workflow or step.

    Attributes:
        event: The event.
        step: The step that emitted it; None if the workflow itself did, which DBOS never repeats.
        attempt: Distinguishes the attempts of a step, whose events an attempt repeats.
    """

    event: AgentEvent
    step: int | None = None
    attempt: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question; `topic` is that of the reply."""

    question: InputRequired
    topic: str

    def as_event(self, offset: int) -> InputRequired:
        """Return the question for the caller; `offset` is the stream's after it."""
        metadata = {**self.question.metadata, "topic": self.topic, "offset": offset}
        return replace(self.question, metadata=metadata, durable=True)


@dataclass(frozen=True, slots=True)
class Heard:
    """A workflow has received its reply, or given its question up."""


async def emit(event: str | AgentEvent) -> None:
    """Send text, or another event, to the caller while the workflow runs.

    Call it in a workflow or in a step. If a step is repeated, its earlier text is withdrawn.

    Args:
        event: Text, which is appended to the answer, or any event but a question.
    """
    await DBOS.write_stream_async(STREAM, _emitted(event))
    _end_silence()


def emit_blocking(event: str | AgentEvent) -> None:
    """Do the same as `emit`, in a `def` workflow or step."""
    DBOS.write_stream(STREAM, _emitted(event))
    _end_silence()


async def ask(question: str | InputRequired, *, timeout: float | None = None) -> AgentRequest:  # noqa: ASYNC109 - DBOS's, which survives the process
    """Ask the caller of a workflow, and return the reply. Call it in the workflow, not in a step.

    Args:
        question: The question.
        timeout: The time to wait in seconds, also over restarts; None waits for as long as the
            server lets the task wait.

    Raises:
        TimeoutError: There was no reply in time.
    """
    topic = await DBOS.run_step_async({"name": "a2a.question"}, _new_topic)
    await DBOS.write_stream_async(STREAM, _asked(question, topic))
    _end_silence()
    reply = await DBOS.recv_async(topic, timeout_seconds=_seconds(timeout))
    await DBOS.write_stream_async(STREAM, Heard())
    return _reply(reply)


def ask_blocking(question: str | InputRequired, *, timeout: float | None = None) -> AgentRequest:
    """Do the same as `ask`, in a `def` workflow."""
    topic = DBOS.run_step({"name": "a2a.question"}, _new_topic)
    DBOS.write_stream(STREAM, _asked(question, topic))
    _end_silence()
    reply = DBOS.recv(topic, timeout_seconds=_seconds(timeout))
    DBOS.write_stream(STREAM, Heard())
    return _reply(reply)


def _end_silence() -> None:
    if silence := silences.pop(str(DBOS.workflow_id), None):
        silence.end()


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _new_topic() -> str:
    return uuid4().hex


def _asked(question: str | InputRequired, topic: str) -> Asked:
    return Asked(InputRequired(question) if isinstance(question, str) else question, topic)


def _seconds(timeout: float | None) -> float:
    return _EVER if timeout is None else timeout


def _reply(reply: AgentRequest | None) -> AgentRequest:
    if reply is None:
        raise TimeoutError("the caller did not answer in time")
    return reply


def _emitted(event: str | AgentEvent) -> Emitted:
    event = TextDelta(event) if isinstance(event, str) else event
    if isinstance(event, InputRequired):
        raise TypeError("ask(...) asks questions, and returns the reply")
    status = DBOS.step_status
    if status is None:
        return Emitted(event)
    # Another process begins again to count the attempts.
    return Emitted(event, status.step_id, f"{_process_id()}.{status.current_attempt}")


def _process_id() -> str:
    global _process  # noqa: PLW0603
    _process = _process or uuid4().hex
    return _process


def _forget_process() -> None:
    global _process  # noqa: PLW0603
    _process = ""


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget_process)
