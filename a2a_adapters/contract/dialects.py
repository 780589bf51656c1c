"""A dialect of A2A on the server's port: what a plugin gets, and the routes that it returns."""

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
    """Makes one answer of the events of a task, as `a2a_adapters.dialects.Answer` does."""

    def fold(self, event: StreamResponse) -> list[T]:
        """Take an event and return what is new by it."""


@dataclass(frozen=True, slots=True)
class DialectAgent:
    """One agent that a dialect's clients can call.

    Attributes:
        about: What its card says.
        handler: Carries out the operations of A2A for it. Tasks it returns must not be changed.
        path: Where it is on this server, with slashes at both ends.
    """

    about: AgentDescription
    handler: RequestHandler
    path: str = "/"

    async def follow(
        self, request: SendMessageRequest, context: ServerCallContext, answer: Fold[T]
    ) -> AsyncGenerator[list[T]]:
        """Send a message, fold each event of its task into `answer`, and yield what is new.

        Leaving does not end the task.

        Raises:
            A2AError: The message was refused.
        """
        async with aclosing(self.handler.on_message_send_stream(request, context)) as events:
            async for event in events:
                yield answer.fold(as_response(event))


@dataclass(frozen=True, slots=True)
class DialectServer:
    """What is served at a port.

    Attributes:
        agents: The agents by their ids, which are fit to stand in addresses; at least one.
        url: Returns the server's public address, without a slash at its end, for a request.
        caller: Returns who is calling, as the handlers want to know it.
    """

    agents: Mapping[str, DialectAgent]
    url: Callable[[Scope], str]
    caller: Callable[[Request], ServerCallContext]


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectRoutes:
    """The routes of a dialect. They go before A2A's own, and must not take those that clients need.

    Attributes:
        cards: Routes for everybody.
        calls: Routes for those who may use the agents. A request has been authenticated when it
            gets there, and its body is no larger than it may be.
        refusal: Returns the HTTP status and the JSON for a call that does not get there, by the
            status and the text that clients of A2A are answered; None answers as they are.
        aclose: Ends what the routes have begun; called once, when the server stops.
    """

    cards: Sequence[Route] = ()
    calls: Sequence[Route] = ()
    refusal: Callable[[int, str], tuple[int, object]] | None = None
    aclose: Callable[[], Awaitable[None]] | None = None


def as_response(event: Event) -> StreamResponse:
    """Return an event of a task as streams have it."""
    match event:
        case Task():
            return StreamResponse(task=event)
        case Message():
            return StreamResponse(message=event)
        case TaskStatusUpdateEvent():
            return StreamResponse(status_update=event)
        case _:
            return StreamResponse(artifact_update=event)
