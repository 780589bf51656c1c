"""Routes per agent of Agno 2.3.26 and later: `/a2a/agents/{agent_id}/...`."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from a2a.types import CancelTaskRequest, GetTaskRequest, Message
from a2a.utils.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from starlette.responses import JSONResponse, Response, StreamingResponse

from a2a_adapters import Text, TextDelta, ToolCall, ToolResult
from a2a_adapters.dialects import Answer, as_response, is_busy
from a2a_adapters.plugin import PROGRESS_EXTENSION
from a2a_adapters_agno.serving.answers import TaskShapes, event, with_text
from a2a_adapters_agno.serving.requests import (
    Call,
    NotJsonError,
    WrongRequestError,
    read_call,
    read_json,
    to_request,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Sequence

    from a2a.server.context import ServerCallContext
    from a2a.types import SendMessageRequest, Task
    from starlette.requests import Request

    from a2a_adapters import AgentReply
    from a2a_adapters.dialects import DialectAgent, DialectServer

METHODS = ("message/send", "message/stream", "tasks/get", "tasks/cancel")
USER_HEADER = "x-user-id"

_BAD_REQUESTS = (
    InvalidParamsError,
    ContentTypeNotSupportedError,
    TaskNotCancelableError,
    UnsupportedOperationError,
)


class AgentEndpoint:
    """Answers calls of an agent's methods.

    Args:
        server: Provides the agents.
        methods: The supported methods.
    """

    def __init__(self, server: DialectServer, methods: Collection[str] = METHODS) -> None:
        self._server = server
        self._methods = methods

    async def answer(self, request: Request) -> Response:
        """Answer a request, with errors in FastAPI's format."""
        agent = self._server.agents.get(request.path_params["agent_id"])
        if agent is None:
            return _refusal(404, "Agent not found")
        try:
            call = read_call(await read_json(request), self._methods)
            return await self._answer(call, agent, request)
        except (NotJsonError, WrongRequestError) as error:
            return _refusal(400, f"Invalid A2A request: {error}")
        except TaskNotFoundError:
            return _refusal(404, "Task not found")
        except _BAD_REQUESTS as error:
            return _refusal(400, error.message)
        except A2AError as error:
            return _refusal(503 if is_busy(error) else 500, error.message)

    async def _answer(self, call: Call, agent: DialectAgent, request: Request) -> Response:
        context = self._server.caller(request)
        if call.method.startswith("tasks/"):
            return await _about_task(call, agent, context)
        sent = to_request(call, request.headers.get(USER_HEADER, ""))
        if call.method == "message/send":
            return await _send(call, agent, sent, context)
        context.requested_extensions = {*context.requested_extensions, PROGRESS_EXTENSION}
        events = _events(call, agent, sent, context)
        first = await anext(events)  # a refusal is raised here, before the stream begins
        headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        stream = _with_first(first, events)
        return StreamingResponse(stream, headers=headers, media_type="text/event-stream")


async def _send(
    call: Call, agent: DialectAgent, sent: SendMessageRequest, context: ServerCallContext
) -> Response:
    result = await agent.handler.on_message_send(sent, context)
    return _result(call, _task(result), 200 if call.waits else 202)


async def _about_task(call: Call, agent: DialectAgent, context: ServerCallContext) -> Response:
    task_id, context_id = call.params.get("id"), call.params.get("contextId")
    if not isinstance(task_id, str):
        raise WrongRequestError("Task ID (params.id) is required")
    if call.method == "tasks/cancel":
        cancel = CancelTaskRequest(id=task_id)
        task = await agent.handler.on_cancel_task(cancel, context)
    elif isinstance(context_id, str):
        task = await agent.handler.on_get_task(GetTaskRequest(id=task_id), context)
    else:
        raise WrongRequestError("contextId is required to poll a task")
    if task is None or context_id not in (None, task.context_id):
        raise TaskNotFoundError
    return _result(call, _task(task))


async def _events(
    call: Call, agent: DialectAgent, sent: SendMessageRequest, context: ServerCallContext
) -> AsyncGenerator[bytes]:
    """Yield the events of an answer: progress, text, the final status, and the whole task."""
    answer, shapes = Answer(), None
    async with aclosing(agent.follow(sent, context, answer)) as following:
        async for news in following:
            if shapes is None:
                shapes = _shapes(answer, sent)
                yield event(call.id, shapes.status("working"))
            for each in _converted(shapes, news):
                yield event(call.id, each)
    shapes = shapes or _shapes(answer, sent)
    news, reply = answer.finish()
    if reply.state == "completed":
        for each in _converted(shapes, news):
            yield event(call.id, each)
    rest = [part for part in with_text(reply) if not reply.text or not isinstance(part, Text)]
    if rest:
        yield event(call.id, shapes.message(rest))
    yield event(call.id, shapes.status(reply.state, final=True))
    yield event(call.id, shapes.task(reply))


def _converted(shapes: TaskShapes, news: Sequence[object]) -> list[dict[str, Any]]:
    events = []
    for each in news:
        match each:
            case TextDelta(text=text):
                events.append(shapes.message([Text(text)]))
            case ToolCall() | ToolResult():
                events.append(shapes.tool(each))
            case _:
                pass
    return events


async def _with_first(first: bytes, events: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    async with aclosing(events):
        yield first
        async for each in events:
            yield each


def _task(result: Task | Message) -> dict[str, Any]:
    answer = Answer()
    answer.fold(as_response(result))
    reply = answer.finish()[1]
    return _shapes_of(reply).task(reply)


def _shapes_of(reply: AgentReply) -> TaskShapes:
    return TaskShapes(reply.task_id or str(uuid4()), reply.context_id, str(uuid4()))


def _shapes(answer: Answer, sent: SendMessageRequest) -> TaskShapes:
    context_id = answer.context_id or sent.message.context_id
    return TaskShapes(answer.task_id or str(uuid4()), context_id, str(uuid4()))


def _result(call: Call, result: dict[str, Any], status: int = 200) -> Response:
    return JSONResponse({"id": call.id, "jsonrpc": "2.0", "result": result}, status)


def _refusal(status: int, detail: str) -> Response:
    return JSONResponse({"detail": detail}, status)
