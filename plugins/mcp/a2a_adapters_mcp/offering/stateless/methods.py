"""Methods of the protocol 2026-07-28: listing and calling tools, following tasks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from a2a.types import CancelTaskRequest, GetTaskRequest, SendMessageConfiguration
from a2a.utils.errors import A2AError, TaskNotCancelableError
from mcp.shared.exceptions import McpError
from mcp.types import INVALID_PARAMS, METHOD_NOT_FOUND

from a2a_adapters import AgentReply, InvalidInputError
from a2a_adapters.dialects import Answer
from a2a_adapters.plugin import PROGRESS_EXTENSION
from a2a_adapters_mcp.offering.arguments import ToolArguments, to_request
from a2a_adapters_mcp.offering.questions import DeclinedError
from a2a_adapters_mcp.offering.resources import Artifacts
from a2a_adapters_mcp.offering.results import error, to_result
from a2a_adapters_mcp.offering.stateless import tasks
from a2a_adapters_mcp.offering.stateless.asking import InputRequest
from a2a_adapters_mcp.offering.stateless.envelope import (
    MISSING_CAPABILITY,
    TASKS,
    VERSION,
    Envelope,
    RpcError,
)
from a2a_adapters_mcp.offering.stateless.tasks import TaskId
from a2a_adapters_mcp.offering.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from a2a.server.context import ServerCallContext
    from a2a.types import Task
    from mcp.types import CallToolResult, Tool
    from starlette.requests import Request

    from a2a_adapters import Part
    from a2a_adapters.dialects import DialectAgent
    from a2a_adapters_mcp.offering.tools import AgentTool
    from a2a_adapters_mcp.offering.work import Tell

_SERVER = {
    "io.modelcontextprotocol/serverInfo": {
        "name": "a2a-adapters",
        "version": version("a2a-adapters"),
    }
}
_CACHED = {"ttlMs": 300_000, "cacheScope": "private"}
_NEEDED: Mapping[str, object] = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
_DECLINED = "the user did not answer the agent's question"


class Methods:
    """Executes requests.

    Args:
        tools: The tools by name.
        agents: The agents by id.
        caller: Returns the caller of a request.
        patience: Seconds to wait for a result before returning a task.
    """

    def __init__(
        self,
        tools: Mapping[str, AgentTool],
        agents: Mapping[str, DialectAgent],
        caller: Callable[[Request], ServerCallContext],
        patience: float,
    ) -> None:
        self._tools = tools
        self._agents = agents
        self._caller = caller
        self._patience = patience

    async def carry_out(self, asked: Envelope, request: Request, tell: Tell) -> Mapping[str, Any]:
        """Return the result of a request.

        Raises:
            RpcError: The request fails.
        """
        context = self._caller(request)
        match asked.method:
            case "server/discover":
                result = self._discover()
            case "tools/list":
                result = self._list()
            case "tools/call":
                result = await self._call(asked, context, tell)
            case "resources/list":  # without sessions there are no artifacts to list
                result = {"resources": [], **_CACHED}
            case "resources/read":
                result = {"contents": [await self._read(asked, context)], **_CACHED}
            case "tasks/get" | "tasks/update" | "tasks/cancel":
                result = await self._task(asked, context)
            case _:
                raise RpcError(METHOD_NOT_FOUND, "Method not found")
        meta = {**result.get("_meta", {}), **_SERVER}
        return {"resultType": "complete", **result, "_meta": meta}

    def _discover(self) -> Mapping[str, Any]:
        capabilities: dict[str, object] = {
            "tools": {},
            "resources": {},
            "extensions": {TASKS: {}},
        }
        return {"supportedVersions": [VERSION], "capabilities": capabilities, **_CACHED}

    def _list(self) -> Mapping[str, Any]:
        return {"tools": [_wire(each.tool) for each in self._tools.values()], **_CACHED}

    async def _read(self, asked: Envelope, context: ServerCallContext) -> Mapping[str, Any]:
        uri = str(asked.params.get("uri"))
        try:
            return await Artifacts(self._agents.values()).read(uri, context)
        except McpError as failure:  # this protocol uses another code (SEP-2164)
            raise RpcError(INVALID_PARAMS, failure.error.message, {"uri": uri}) from failure

    async def _call(
        self, asked: Envelope, context: ServerCallContext, tell: Tell
    ) -> Mapping[str, Any]:
        tool = self._tools.get(str(asked.params.get("name")))
        if tool is None:
            raise RpcError(INVALID_PARAMS, "Unknown tool")
        if asked.progress_token is not None:
            context.requested_extensions = {*context.requested_extensions, PROGRESS_EXTENSION}
        work = Work(tool.agent, context, tool.metadata, tell)
        try:
            if "requestState" in asked.params:
                return await self._answered(asked, tool, context, work)
            given = asked.params.get("arguments") or {}
            if not isinstance(given, Mapping):
                raise RpcError(INVALID_PARAMS, "The arguments must be an object")
            arguments = ToolArguments.read(given)
            parts, ids = arguments.parts, (arguments.context_id, arguments.task_id)
            reply = await work.send(parts, *ids, self._patience_of(asked))
            return await self._result(asked, tool, context, reply)
        except InvalidInputError as failure:
            return _wire(error(str(failure)))
        except A2AError as failure:
            return _wire(error(failure.message))

    async def _result(
        self, asked: Envelope, tool: AgentTool, context: ServerCallContext, reply: AgentReply
    ) -> Mapping[str, Any]:
        if reply.state in {"submitted", "working"}:
            task_id = TaskId.new(tool.agent_id, reply.task_id)
            task = await _get(tool.agent, reply.task_id, context)
            return {"resultType": "task", **tasks.about(task_id, task)}
        if reply.is_question:
            task = await _get(tool.agent, reply.task_id, context)
            question = InputRequest(task, reply, asked.capabilities)
            if wire := question.wire():
                state = f"{TaskId.new(tool.agent_id, task.id)}/{question.key}"
                requests = {question.key: wire}
                return {
                    "resultType": "input_required",
                    "inputRequests": requests,
                    "requestState": state,
                }
        return _wire(to_result(reply, is_typed=tool.is_typed, tells_conversation=True))

    async def _answered(
        self, asked: Envelope, tool: AgentTool, context: ServerCallContext, work: Work
    ) -> Mapping[str, Any]:
        """Continue with the answer to the question of an earlier call."""
        text, _, key = str(asked.params["requestState"]).rpartition("/")
        task_id = TaskId.read(text)
        if task_id.agent != tool.agent_id:
            raise RpcError(INVALID_PARAMS, "Unknown task")
        task, reply = await self._known(task_id, context)
        question = InputRequest(task, reply, asked.capabilities)
        if not reply.is_question or key != question.key:
            raise RpcError(INVALID_PARAMS, "The question is not open")
        work.know(task)
        try:
            parts = question.answer(asked.params.get("inputResponses"))
        except DeclinedError:
            await _cancel(tool.agent, task.id, context)
            return _wire(error(_DECLINED))
        if parts is not None:
            reply = await work.send(parts, task.context_id, task.id, self._patience_of(asked))
        return await self._result(asked, tool, context, reply)

    def _patience_of(self, asked: Envelope) -> float | None:
        return self._patience if asked.has_tasks else None

    async def _task(self, asked: Envelope, context: ServerCallContext) -> Mapping[str, Any]:
        if not asked.has_tasks:
            raise RpcError(MISSING_CAPABILITY, "Missing required client capability", _NEEDED)
        task_id = TaskId.read(asked.params.get("taskId"))
        task, reply = await self._known(task_id, context)
        match asked.method:
            case "tasks/get":
                return tasks.detailed(task_id, task, reply, asked.capabilities)
            case "tasks/update" if reply.is_question:
                await self._update(asked, task_id, task, reply, context)
            case "tasks/cancel":
                await _cancel(self._agents[task_id.agent], task.id, context)
        return {}

    async def _update(
        self,
        asked: Envelope,
        task_id: TaskId,
        task: Task,
        reply: AgentReply,
        context: ServerCallContext,
    ) -> None:
        agent = self._agents[task_id.agent]
        question = InputRequest(task, reply, asked.capabilities)
        try:
            parts = question.answer(asked.params.get("inputResponses"))
        except DeclinedError:
            await _cancel(agent, task.id, context)
            return
        if parts is not None:
            await _send(agent, parts, task, question.key, context)

    async def _known(self, task_id: TaskId, context: ServerCallContext) -> tuple[Task, AgentReply]:
        """Return a task of the caller and its content as a reply."""
        agent = self._agents.get(task_id.agent)
        if agent is None:
            raise RpcError(INVALID_PARAMS, "Unknown task")
        task = await _get(agent, task_id.task, context)
        answer = Answer()
        answer.fold_task(task)
        return task, answer.finish()[1]


async def _get(agent: DialectAgent, task_id: str, context: ServerCallContext) -> Task:
    try:
        task = await agent.handler.on_get_task(GetTaskRequest(id=task_id), context)
    except A2AError as failure:
        raise RpcError(INVALID_PARAMS, "Unknown task") from failure
    if task is None:
        raise RpcError(INVALID_PARAMS, "Unknown task")
    return task


async def _cancel(agent: DialectAgent, task_id: str, context: ServerCallContext) -> None:
    try:
        await agent.handler.on_cancel_task(CancelTaskRequest(id=task_id), context)
    except TaskNotCancelableError:
        return  # it has ended


async def _send(
    agent: DialectAgent,
    parts: Sequence[Part],
    task: Task,
    key: str,
    context: ServerCallContext,
) -> None:
    """Send an answer idempotently, without waiting for the result."""
    request = to_request(parts, task.context_id, task.id, {})
    request.message.message_id = hashlib.sha256(f"{task.id} {key}".encode()).hexdigest()[:32]
    request.configuration.CopyFrom(SendMessageConfiguration(return_immediately=True))
    await agent.handler.on_message_send(request, context)


def _wire(value: CallToolResult | Tool) -> dict[str, Any]:
    return value.model_dump(by_alias=True, mode="json", exclude_none=True)
