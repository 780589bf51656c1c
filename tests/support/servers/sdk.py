"""Agents on the official server: a2a-sdk's `DefaultRequestHandler`, routes and task store."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import Part
from starlette.applications import Starlette
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from tests.support.servers.cards import CARD_PATH, CardBuilder, agent_card, card_route

Script = Callable[[RequestContext, TaskUpdater], Awaitable[None]]
"""Handles a message after its task has been announced."""


class Scripted(AgentExecutor):
    """Announces the task of a first message and then plays a script."""

    def __init__(self, script: Script) -> None:
        self._script = script

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        await self._script(context, await begin(context, event_queue))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


async def begin(context: RequestContext, event_queue: EventQueue) -> TaskUpdater:
    """Announce the task if it is new, and return its updater."""
    task = context.current_task
    if task is None:
        task = new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
    return TaskUpdater(event_queue, task.id, task.context_id)


def sdk_app(
    executor: AgentExecutor,
    *,
    streaming: bool = True,
    bindings: Sequence[str] = ("JSONRPC",),
    card_path: str = CARD_PATH,
    rpc_path: str = "",
    card: CardBuilder | None = None,
    handler_type: type[DefaultRequestHandler] = DefaultRequestHandler,
) -> ASGIApp:
    """Return an A2A 1.0 agent served by a2a-sdk, with routes for the interfaces in its card."""
    build = card or functools.partial(
        agent_card, streaming=streaming, bindings=bindings, path=rpc_path
    )
    handler = handler_type(executor, InMemoryTaskStore(), build("http://127.0.0.1"))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await handler.aclose()

    routes: list[BaseRoute] = [card_route(build, card_path)]
    if "JSONRPC" in bindings:
        routes += create_jsonrpc_routes(handler, rpc_path or "/")
    if "HTTP+JSON" in bindings:
        routes += create_rest_routes(handler)
    return Starlette(routes=routes, lifespan=lifespan)


def scripted(script: Script) -> Callable[[], ASGIApp]:
    """Turn a script into a function that builds an agent which plays it."""

    @functools.wraps(script)
    def build() -> ASGIApp:
        return sdk_app(Scripted(script))

    return build


def text(*texts: str) -> list[Part]:
    """Return one text part per text."""
    return [Part(text=each) for each in texts]


def pong(context: RequestContext) -> str:
    """Return the common answer of all agents."""
    return f"pong: {context.get_user_input()}"


def pieces(answer: str) -> list[str]:
    """Split the answer like a streaming model."""
    return [answer[start : start + 4] for start in range(0, len(answer), 4)]
