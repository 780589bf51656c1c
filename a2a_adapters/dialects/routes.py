"""Routes for clients of dialects, beside those of A2A itself."""

from __future__ import annotations

import re
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a.types import Message, StreamResponse, Task, TaskStatusUpdateEvent
from starlette.routing import BaseRoute, Route

from a2a_adapters.plugins import installed_plugins
from a2a_adapters.security.protection import protected

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from a2a.server.context import ServerCallContext
    from a2a.server.events import Event
    from a2a.server.request_handlers.request_handler import RequestHandler
    from a2a.types import SendMessageRequest
    from starlette.requests import Request
    from starlette.types import Scope

    from a2a_adapters.adapter import AgentDescription
    from a2a_adapters.options import ServerOptions
    from a2a_adapters.remote.answer import Answer, NewEvent

__all__ = [
    "DialectAgent",
    "DialectRoutes",
    "DialectServer",
    "agent_id",
    "as_response",
    "dialect_routes",
]

_NOT_IN_IDS = re.compile(r"[^a-z0-9._~-]+")


@dataclass(frozen=True, slots=True)
class DialectAgent:
    """One agent that a dialect's clients can call.

    Attributes:
        about: What its card says.
        handler: Carries out the operations of A2A for it. Tasks it returns must not be changed.
    """

    about: AgentDescription
    handler: RequestHandler

    async def follow(
        self, request: SendMessageRequest, context: ServerCallContext, answer: Answer
    ) -> AsyncGenerator[list[NewEvent]]:
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
    """

    cards: Sequence[Route] = ()
    calls: Sequence[Route] = ()


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


def dialect_routes(
    dialects: Sequence[object], server: DialectServer, options: ServerOptions
) -> list[BaseRoute]:
    """Return the routes of every dialect, with the calls protected.

    Raises:
        ConfigurationError: No plugin speaks one of them.
    """
    routes: list[BaseRoute] = []
    for dialect in dialects:
        found = installed_plugins().routes(dialect, server)
        routes += found.cards
        for call in found.calls:
            routes.append(Route(call.path, protected(call.app, options), methods=call.methods))
    return routes


def agent_id(name: str) -> str:
    """Return an id for an agent of that name."""
    return _NOT_IN_IDS.sub("-", name.lower()).strip("-") or "agent"
