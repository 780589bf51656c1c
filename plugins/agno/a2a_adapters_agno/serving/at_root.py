"""Agno-Go's routes shared by all agents: `/a2a/message/send` and `/a2a/message/stream`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from a2a.utils.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    InvalidParamsError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from starlette.responses import JSONResponse, Response

from a2a_adapters.dialects import Answer, as_response, is_busy
from a2a_adapters_agno.serving.answers import frame, go_message, go_state, said
from a2a_adapters_agno.serving.per_agent import USER_HEADER
from a2a_adapters_agno.serving.requests import (
    Call,
    NotJsonError,
    WrongRequestError,
    call_id,
    read_call,
    read_json,
    to_request,
)

if TYPE_CHECKING:
    from starlette.requests import Request

    from a2a_adapters import AgentReply
    from a2a_adapters.dialects import DialectServer

_METHODS = ("message/send", "message/stream")
_AGENT_HEADER = "x-agent-id"

_PARSE_ERROR = -32700
_INVALID_REQUEST = -32600
_INVALID_PARAMS = -32602
_FAILED = -32603
_UNKNOWN_AGENT = -32000
_TASK_NOT_FOUND = -32001

_WRONG_PARAMS = (InvalidParamsError, ContentTypeNotSupportedError, UnsupportedOperationError)


class UnknownAgentError(Exception):
    """The agent id is unknown."""


class RootEndpoint:
    """Answers calls that contain an agent id.

    Args:
        server: Provides the agents.
    """

    def __init__(self, server: DialectServer) -> None:
        self._server = server

    async def send(self, request: Request) -> Response:
        """Answer with the task."""
        return await self._answer(request, streams=False)

    async def stream(self, request: Request) -> Response:
        """Answer with a single event after the end of the task."""
        return await self._answer(request, streams=True)

    async def _answer(self, request: Request, *, streams: bool) -> Response:
        body = None
        try:
            body = await read_json(request)
            call = read_call(body, _METHODS)
            agent_id, reply = await self._ask(call, request)
        except NotJsonError as error:
            return _error("", _PARSE_ERROR, str(error), 400)
        except WrongRequestError as error:
            return _error(call_id(body), _INVALID_REQUEST, str(error), 400)
        except UnknownAgentError as error:
            return _error(call_id(body), _UNKNOWN_AGENT, str(error), 404)
        except A2AError as error:
            code, status = _code(error)
            return _error(call_id(body), code, error.message, status)
        return _streamed(reply, agent_id) if streams else _sent(call, reply, agent_id)

    async def _ask(self, call: Call, request: Request) -> tuple[str, AgentReply]:
        agent_id = call.message.get("agentId") or request.headers.get(_AGENT_HEADER)
        if not isinstance(agent_id, str) or not agent_id:
            raise WrongRequestError("invalid message: agentId is required")
        agent = self._server.agents.get(agent_id)
        if agent is None:
            raise UnknownAgentError(f"entity '{agent_id[:100]}' not found")
        sent = to_request(call, request.headers.get(USER_HEADER, ""), wrapped_data=True)
        answer = Answer()
        result = await agent.handler.on_message_send(sent, self._server.caller(request))
        answer.fold(as_response(result))
        return agent_id, answer.finish()[1]


def _code(error: A2AError) -> tuple[int, int]:
    """Return the JSON-RPC code and the HTTP status of an error."""
    if isinstance(error, TaskNotFoundError):
        return _TASK_NOT_FOUND, 404
    if isinstance(error, _WRONG_PARAMS):
        return _INVALID_PARAMS, 400
    return _FAILED, 503 if is_busy(error) else 500


def _sent(call: Call, reply: AgentReply, agent_id: str) -> Response:
    if reply.state in {"failed", "rejected"}:
        return _error(call.id, _FAILED, _reason(reply), 500)
    task = {
        "id": reply.task_id or str(uuid4()),
        "context_id": reply.context_id,
        "status": go_state(reply),
        "history": [
            {**call.message, "contextId": reply.context_id, "agentId": agent_id},
            go_message(reply, agent_id),
        ],
    }
    return JSONResponse({"jsonrpc": "2.0", "id": call.id, "result": {"task": task}})


def _streamed(reply: AgentReply, agent_id: str) -> Response:
    about = {"taskId": reply.task_id or str(uuid4()), "contextId": reply.context_id}
    if reply.state in {"failed", "rejected"}:
        error = {"code": "execution_error", "message": _reason(reply)}
        body = frame("error", {**about, "status": "failed", "error": error})
    else:
        message = go_message(reply, agent_id)
        body = frame("task_completed", {**about, "status": go_state(reply), "message": message})
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return Response(body, headers=headers, media_type="text/event-stream")


def _reason(reply: AgentReply) -> str:
    texts = [getattr(part, "text", "") for part in said(reply)]
    return "\n".join(filter(None, texts)) or f"the task was {reply.state}"


def _error(found_id: str | int, code: int, message: str, status: int) -> Response:
    error: dict[str, Any] = {"code": code, "message": message}
    return JSONResponse({"jsonrpc": "2.0", "id": found_id, "error": error}, status)
