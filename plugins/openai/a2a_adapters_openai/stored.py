"""Stored responses: fetched, streamed from any point, and cancelled.

A response is an A2A task: its id consists of the task's id and the number of the user's message in
it. Nothing else is stored, so any process of a server can answer, even after a restart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a.types import CancelTaskRequest, Role, Task, TaskState
from a2a.utils.errors import TaskNotCancelableError, UnsupportedOperationError
from starlette.responses import JSONResponse

from a2a_adapters import Text
from a2a_adapters.dialects import Answer, message_parts, new_id
from a2a_adapters.plugin import as_text
from a2a_adapters_openai.dialect_run import DialectRun, ended, find_task, subscribed
from a2a_adapters_openai.errors import ApiError, failure
from a2a_adapters_openai.items import Frame, ResponseShape
from a2a_adapters_openai.output import whole
from a2a_adapters_openai.stream import EventStream, OnLeave
from a2a_adapters_openai.turns import caller

if TYPE_CHECKING:
    from a2a.server.context import ServerCallContext
    from starlette.requests import Request
    from starlette.responses import Response

    from a2a_adapters.dialects import DialectAgent, DialectServer
    from a2a_adapters_openai.output import NewEvent

_RUNNING = {
    TaskState.TASK_STATE_SUBMITTED: "queued",
    TaskState.TASK_STATE_WORKING: "in_progress",
}


_TASKLESS = "_reply"


def response_id(answer: Answer, before: Task | None) -> str:
    """Return the id of the response to a message.

    Args:
        answer: The answer. Without a task, it can be continued but not fetched.
        before: The task before the message, None if the message began it.
    """
    if not answer.task_id:
        return f"resp_{answer.context_id or new_id()}{_TASKLESS}"
    return f"resp_{answer.task_id}_{1 + (_asked(before) if before is not None else 0)}"


def parse_id(response: str) -> tuple[str, int]:
    """Return a response's task id and message number; "" and 0 without a task."""
    task_id, _, number = response.removeprefix("resp_").rpartition("_")
    if not response.startswith("resp_") or not number.isdecimal() or len(number) > 9:
        return "", 0
    return task_id, int(number)


def context_of(response: str) -> str:
    """Return the context id of a response without a task, "" for other responses."""
    if not response.startswith("resp_") or not response.endswith(_TASKLESS):
        return ""
    return response.removeprefix("resp_").removesuffix(_TASKLESS)


def background_status(task: Task) -> str:
    """Return the status of a new response in the background."""
    return _RUNNING.get(task.status.state, "in_progress")


def _asked(task: Task) -> int:
    return sum(message.role == Role.ROLE_USER for message in task.history)


async def text_of_item(agent: DialectAgent, item_id: str, context: ServerCallContext) -> str:
    """Return the text of a response's message.

    Raises:
        ApiError: The caller has no such message from this agent.
    """
    task_id, number = parse_id(item_id.removeprefix("msg_"))
    task = await find_task(agent, task_id, context) if task_id else None
    if task is None or not 1 <= number <= _asked(task):
        raise ApiError(404, f"there is no item {item_id[:100]!r}", param="input")
    response = _response(Frame(id="", model=""), task, number)
    return "".join(part["text"] for item in response["output"] for part in item["content"])


class StoredEndpoint:
    """Answers requests about stored responses.

    Args:
        server: Provides the agents and identifies callers.
    """

    def __init__(self, server: DialectServer) -> None:
        self._server = server

    async def show(self, request: Request) -> Response:
        """Answer `GET /v1/responses/{id}`, with a stream if requested."""
        frame, agent, task, number = await self._find(request)
        if request.query_params.get("stream") == "true":
            return await self._follow(frame, agent, task, request)
        return JSONResponse(_response(frame, task, number))

    async def cancel(self, request: Request) -> Response:
        """Answer `POST /v1/responses/{id}/cancel`."""
        frame, agent, task, number = await self._find(request)
        try:
            params = CancelTaskRequest(id=task.id)
            context = caller(self._server, request)
            task = await agent.handler.on_cancel_task(params, context) or task
        except TaskNotCancelableError as error:
            response = _response(frame, task, number)
            if response["status"] == "cancelled":
                return JSONResponse(response)
            text = f"the response is {response['status']} and cannot be cancelled"
            raise ApiError(400, text, code="not_cancelable") from error
        return JSONResponse(_response(frame, task, number))

    async def delete(self, request: Request) -> Response:
        """Refuse `DELETE /v1/responses/{id}`."""
        await self._find(request)
        text = "responses cannot be deleted; they are tasks, which expire on this server"
        raise ApiError(400, text, code="unsupported_operation")

    async def _find(self, request: Request) -> tuple[Frame, DialectAgent, Task, int]:
        found = request.path_params["id"]
        task_id, number = parse_id(found)
        context = caller(self._server, request)
        for model, agent in self._server.agents.items() if task_id else ():
            task = await find_task(agent, task_id, context)
            if task is not None and 1 <= number <= _asked(task):
                frame = Frame(
                    id=found,
                    model=model,
                    background=True,
                    created=task.status.timestamp.seconds,
                )
                return frame, agent, task, number
        text = f"there is no response {found[:100]!r}; answers without a task are not stored"
        raise ApiError(404, text, code="response_not_found")

    async def _follow(
        self, frame: Frame, agent: DialectAgent, task: Task, request: Request
    ) -> Response:
        after = _after(request)
        context = caller(self._server, request)
        run: DialectRun[NewEvent] = DialectRun(agent, context)
        try:
            await run.begin(subscribed(agent, task, context, run.answer, run.answer.fold))
        except UnsupportedOperationError:  # it has ended in the meantime
            run = DialectRun(agent, context)
            await run.begin(ended(agent, task, context, run.answer.fold))
        return EventStream(run, ResponseShape(frame, run, after=after), {}, on_leave=OnLeave.CLOSE)


def _after(request: Request) -> int | None:
    given = request.query_params.get("starting_after")
    if given is None:
        return None
    if not given.isdecimal() or len(given) > 15:
        raise ApiError(400, "starting_after must be a sequence number", param="starting_after")
    return int(given)


def _response(frame: Frame, task: Task, number: int) -> dict[str, Any]:
    """Return the response to the user's message with this number."""
    if number < _asked(task):  # the agent asked, and was answered
        return frame.response("completed", [frame.message(_question(task, number))])
    if status := _RUNNING.get(task.status.state):
        return frame.response(status)
    answer = Answer()
    answer.fold_task(task)
    reply = answer.finish()[1]
    if error := failure(reply):
        status = "cancelled" if error.code == "cancelled" else "failed"
        return frame.response(status, error=None if status == "cancelled" else error)
    return frame.response("completed", [frame.message(whole(reply, is_json=False))], reply.usage)


def _question(task: Task, number: int) -> str:
    """Return the agent's question after the user's message with this number."""
    asked = 0
    for message in task.history:
        asked += message.role == Role.ROLE_USER
        if asked == number and message.role == Role.ROLE_AGENT:
            texts = (part for part in message_parts(message) if isinstance(part, Text))
            return as_text(texts)
    return ""
