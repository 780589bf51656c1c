"""Serving other wire protocols (dialects) on the server's port, from plugins."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from a2a.types import Message, StreamResponse, Task, TaskStatusUpdateEvent

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

    from a2a.server.context import ServerCallContext
    from a2a.server.events import Event
    from a2a.server.request_handlers.request_handler import RequestHandler
    from a2a.types import SendMessageRequest
    from starlette.requests import Request
    from starlette.routing import Route
    from starlette.types import Scope

    from a2a_adapters.contract.adapter import StateStorage
    from a2a_adapters.contract.card import AgentDescription

T = TypeVar("T")


class Fold(Protocol[T]):
    """Accumulates the events of a task, as `a2a_adapters.dialects.Answer` does."""

    def fold(self, event: StreamResponse) -> list[T]:
        """Add an event and return the resulting changes."""

    def append_text(self, artifact_id: str, text: str) -> list[T]:
        """Append text to an artifact and return the resulting changes."""


class TaskUpdate(Protocol):
    """An event of a task. Text chunks become protocol events only on demand."""

    @property
    def event(self) -> Event:
        """The protocol event."""

    @property
    def chunk(self) -> tuple[str, str] | None:
        """The artifact id and the text if the event only appends text, else None."""


@dataclass(frozen=True, slots=True)
class DialectAgent:
    """An agent that clients of a dialect can call.

    Attributes:
        about: The public description of the agent.
        handler: Performs A2A operations. Do not modify the tasks it returns.
        updates: Sends a message and yields the events of its task in batches.
        storage: Stores the dialect's state of conversations. Available once the server has started.
        path: The agent's path on this server, with slashes at both ends.
    """

    about: AgentDescription
    handler: RequestHandler
    updates: Callable[[SendMessageRequest, ServerCallContext], AsyncGenerator[Sequence[TaskUpdate]]]
    storage: StateStorage
    path: str = "/"

    async def follow(
        self, request: SendMessageRequest, context: ServerCallContext, answer: Fold[T]
    ) -> AsyncGenerator[list[T]]:
        """Send a message, fold the events of its task into `answer`, and yield the changes.

        Closing the generator does not cancel the task.

        Raises:
            A2AError: The message was refused.
        """
        async with aclosing(self.updates(request, context)) as batches:
            async for updates in batches:
                news: list[T] = []
                for update in updates:
                    if (chunk := update.chunk) is not None:
                        news += answer.append_text(*chunk)
                    else:
                        news += answer.fold(as_response(update.event))
                yield news


@dataclass(frozen=True, slots=True)
class DialectServer:
    """The agents served on a port.

    Attributes:
        agents: At least one agent, by URL-safe id.
        url: Returns the server's public address for a request, without a trailing slash.
        caller: Returns the call context of a request, for `DialectAgent.handler`.
        is_busy: Returns whether messages are being answered, or wait for that.
    """

    agents: Mapping[str, DialectAgent]
    url: Callable[[Scope], str]
    caller: Callable[[Request], ServerCallContext]
    is_busy: Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectRoutes:
    """The routes of a dialect. They precede A2A's own and must not hide them.

    Attributes:
        cards: Public routes.
        calls: Routes that require authentication. Their requests are authenticated and within the
            size limits.
        refusal: Converts the HTTP status and text of a refused call into the dialect's status and
            JSON body; None keeps A2A's response.
        aclose: Releases the routes' resources; called once, when the server stops.
        endpoints: Paths that users configure in the dialect's clients, by name; `serve` logs them.
    """

    cards: Sequence[Route] = ()
    calls: Sequence[Route] = ()
    refusal: Callable[[int, str], tuple[int, object]] | None = None
    aclose: Callable[[], Awaitable[None]] | None = None
    endpoints: Mapping[str, str] = field(default_factory=dict)


def as_response(event: Event) -> StreamResponse:
    """Wrap an event of a task as a `StreamResponse`."""
    match event:
        case Task():
            return StreamResponse(task=event)
        case Message():
            return StreamResponse(message=event)
        case TaskStatusUpdateEvent():
            return StreamResponse(status_update=event)
        case _:
            return StreamResponse(artifact_update=event)
