"""Serving other wire protocols (dialects) on the server's port, from plugins."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
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

    from a2a_adapters.contract.adapter import AgentDescription

__all__ = ["DialectAgent", "DialectRoutes", "DialectServer", "as_response"]

T = TypeVar("T")


class Fold(Protocol[T]):
    """Accumulates the events of a task, as `a2a_adapters.dialects.Answer` does."""

    def fold(self, event: StreamResponse) -> list[T]:
        """Add an event and return the resulting changes."""


@dataclass(frozen=True, slots=True)
class DialectAgent:
    """An agent that clients of a dialect can call.

    Attributes:
        about: The public description of the agent.
        handler: Performs A2A operations. Do not modify the tasks it returns.
        path: The agent's path on this server, with slashes at both ends.
    """

    about: AgentDescription
    handler: RequestHandler
    path: str = "/"

    async def follow(
        self, request: SendMessageRequest, context: ServerCallContext, answer: Fold[T]
    ) -> AsyncGenerator[list[T]]:
        """Send a message, fold the events of its task into `answer`, and yield the changes.

        Closing the generator does not cancel the task.

        Raises:
            A2AError: The message was refused.
        """
        async with aclosing(self.handler.on_message_send_stream(request, context)) as events:
            async for event in events:
                yield answer.fold(as_response(event))


@dataclass(frozen=True, slots=True)
class DialectServer:
    """The agents served on a port.

    Attributes:
        agents: At least one agent, by URL-safe id.
        url: Returns the server's public address for a request, without a trailing slash.
        caller: Returns the call context of a request, for `DialectAgent.handler`.
    """

    agents: Mapping[str, DialectAgent]
    url: Callable[[Scope], str]
    caller: Callable[[Request], ServerCallContext]


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectRoutes:
    """The routes of a dialect. They precede A2A's own and must not hide them.

    Attributes:
        cards: Public routes.
        calls: Routes that require authentication. Their requests are authenticated and within the
            size limits.
        refusal: Converts the HTTP status and text of a refused call into the dialect's status and
            JSON body; None keeps A2A's response.
        aclose: Releases what the routes hold; called once, when the server stops.
    """

    cards: Sequence[Route] = ()
    calls: Sequence[Route] = ()
    refusal: Callable[[int, str], tuple[int, object]] | None = None
    aclose: Callable[[], Awaitable[None]] | None = None


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
