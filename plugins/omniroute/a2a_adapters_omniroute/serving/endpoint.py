"""The endpoint `/a2a`: JSON-RPC of the dialect."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from a2a.utils.errors import ContentTypeNotSupportedError, JSONParseError
from pydantic_core import to_json
from starlette.responses import Response, StreamingResponse

from a2a_adapters.dialects import one_line, read_json
from a2a_adapters_omniroute.serving.calls import (
    Call,
    call_id,
    read_call,
    read_messages,
    read_skill,
    read_task_id,
    to_request,
)
from a2a_adapters_omniroute.serving.refusals import (
    FAILED,
    INVALID_REQUEST,
    NOT_FOUND,
    PARSE_ERROR,
    TASK_FINISHED,
    RefusedError,
)
from a2a_adapters_omniroute.serving.task import DialectTask, timestamp
from a2a_adapters_omniroute.serving.tasks import DialectTasks
from a2a_adapters_omniroute.serving.work import Work

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from starlette.requests import Request

    from a2a_adapters.dialects import DialectAgent, DialectServer
    from a2a_adapters_omniroute.serving.dialect import OmniRouteDialect

_JSON = "application/json"
_NOTHING = {"type": "text", "content": ""}


class OmniRouteEndpoint:
    """Answers the four methods.

    Args:
        dialect: Limits of tasks.
        server: Identifies callers.
        skills: The agents by skill.
    """

    def __init__(
        self,
        dialect: OmniRouteDialect,
        server: DialectServer,
        skills: Mapping[str, DialectAgent],
    ) -> None:
        self._dialect = dialect
        self._server = server
        self._skills = skills
        self._tasks = DialectTasks(dialect)
        self._working: dict[str, tuple[Work, asyncio.Task[None]]] = {}

    async def answer(self, request: Request) -> Response:
        """Answer a request."""
        body = None
        try:
            body = await _read(request)
            return await self._answer(read_call(body), request)
        except RefusedError as error:
            return _json(error.body(call_id(body)), error.status)

    async def _answer(self, call: Call, request: Request) -> Response:
        match call.method:
            case "message/send":
                task = self._begin(call, request)
                await task.finished()
                return _result(call, _sent(task, self._dialect))
            case "message/stream":
                task = self._begin(call, request, is_read=True)
                headers = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
                events = self._events(task)
                return StreamingResponse(events, headers=headers, media_type="text/event-stream")
            case "tasks/get":
                return _result(call, {"task": self._find(call, request).record()})
            case "tasks/cancel":
                task = self._find(call, request)
                await self._cancel(task)
                return _result(call, {"task": task.brief()})
            case _:
                raise RefusedError(NOT_FOUND, f"Method not found: {call.method[:100]}")

    def _begin(self, call: Call, request: Request, *, is_read: bool = False) -> DialectTask:
        """Start the skill's agent, independently of the caller's connection."""
        skill = read_skill(call.params)
        agent = self._skills.get(skill)
        if agent is None:
            raise RefusedError(NOT_FOUND, f"Unknown skill: {skill[:100]}")
        own = any(each.id == skill for each in agent.about.skills)
        messages, metadata = read_messages(call.params), call.params.get("metadata")
        sent = to_request(messages, metadata, skill if own else "")
        context = self._server.caller(request)
        task = DialectTask(
            owner=context.user.user_name,
            skill=skill,
            input=to_json(call.params),
            is_read=is_read,
            run_seconds=self._dialect.run_seconds,
        )
        self._tasks.add(task)
        work = Work(agent, task, context)
        running = asyncio.create_task(work.run(sent))
        self._working[task.id] = work, running
        running.add_done_callback(lambda _: self._ended(task))
        return task

    def _ended(self, task: DialectTask) -> None:
        del self._working[task.id]
        self._tasks.has_ended(task)

    def _find(self, call: Call, request: Request) -> DialectTask:
        owner = self._server.caller(request).user.user_name
        return self._tasks.find(read_task_id(call.params), owner)

    async def _cancel(self, task: DialectTask) -> None:
        if task.is_finished:
            raise RefusedError(TASK_FINISHED, f"Invalid transition: {task.state} → cancelled")
        task.move("cancelled")
        if task.id in self._working:
            await self._working[task.id][0].stop()

    async def _events(self, task: DialectTask) -> AsyncGenerator[bytes]:
        # Clients need the task id for cancelling before the agent's first output.
        yield _event({"task": {"id": task.id, "state": "working"}, "chunk": _NOTHING})
        async for chunk in task.chunks(self._dialect.heartbeat_seconds):
            if chunk is None:
                yield f": heartbeat {timestamp()}\n\n".encode()
            else:
                yield _event({"task": {"id": task.id, "state": "working"}, "chunk": chunk})
        failure = {"error": task.error} if task.state != "completed" else {}
        metadata = {**task.metadata, **failure}
        yield _event({"task": task.brief(), "metadata": metadata})


async def _read(request: Request) -> object:
    try:
        return await read_json(request)
    except ContentTypeNotSupportedError as error:
        raise RefusedError(INVALID_REQUEST, f"Invalid request: {error.message}") from error
    except JSONParseError as error:
        raise RefusedError(PARSE_ERROR, "Parse error: invalid JSON") from error


def _sent(task: DialectTask, dialect: OmniRouteDialect) -> dict[str, Any]:
    """Return the result of a finished task.

    Raises:
        RefusedError: The task failed.
    """
    if task.state == "failed":
        ended = {"task": task.brief(), "metadata": {**task.metadata, "error": task.error}}
        verdict = task.metadata.get("policy_verdict")
        is_refused = isinstance(verdict, dict) and verdict.get("allowed") is False
        if is_refused and dialect.verdict_as_result:
            return {**ended, "artifacts": []}
        beginning = "Skill execution failed: " if task.code == FAILED else ""
        raise RefusedError(task.code, beginning + task.error, ended if task.metadata else None)
    return {"task": task.brief(), "artifacts": task.artifacts, "metadata": task.metadata}


def _result(call: Call, result: dict[str, Any]) -> Response:
    return _json({"jsonrpc": "2.0", "id": call.id, "result": result})


def _json(body: dict[str, Any], status: int = 200) -> Response:
    return Response(to_json(body), status, media_type=_JSON)


def _event(params: dict[str, Any]) -> bytes:
    event = {"jsonrpc": "2.0", "method": "message/stream", "params": params}
    return b"data: " + one_line(event) + b"\n\n"
