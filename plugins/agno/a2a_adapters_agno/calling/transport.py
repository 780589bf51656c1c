"""Calls to Agno's servers, in place of a2a-sdk's transports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from a2a.compat.v0_3.jsonrpc_transport import CompatJsonRpcTransport
from a2a.types import SendMessageResponse, Task
from a2a.utils.errors import UnsupportedOperationError
from pydantic_core import from_json, to_json

from a2a_adapters import RemoteAnswerError, RemoteRefusedError
from a2a_adapters.concurrency import BoundedMap
from a2a_adapters.dialects import event_data, message_parts, quote, struct_to_dict
from a2a_adapters_agno.calling.reading import StreamReader, read_task
from a2a_adapters_agno.parts import encode

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx
    from a2a.client import ClientCallContext
    from a2a.types import (
        AgentCard,
        CancelTaskRequest,
        GetTaskRequest,
        Message,
        SendMessageRequest,
        StreamResponse,
        SubscribeToTaskRequest,
    )

    from a2a_adapters_agno.calling.card import Addresses

_EVENT_STREAM = "text/event-stream"
_UNAUTHORIZED = frozenset({401, 403})
_TASK_NOT_FOUND = -32001
_REMEMBERED = 10_000


class AgnoTransport(CompatJsonRpcTransport):
    """Calls one agent of an Agno server, in Python or Go.

    Args:
        http: What the calls go through.
        card: The agent's card.
        addresses: Where its methods are.
    """

    def __init__(self, http: httpx.AsyncClient, card: AgentCard, addresses: Addresses) -> None:
        super().__init__(http, card, addresses.send, is_shared_httpx=True)
        self._http = http
        self._addresses = addresses
        self._contexts: BoundedMap[str, str] = BoundedMap(_REMEMBERED)

    async def send_message(
        self,
        request: SendMessageRequest,
        *,
        context: ClientCallContext | None = None,  # noqa: ARG002 - Agno has no extensions
    ) -> SendMessageResponse:
        """Send a message and wait for the task that answers it."""
        body = self._call("message/send", {"message": self._message(request.message)})
        task = read_task(await self._result(self._addresses.send, body))
        self._remember(task.id, task.context_id)
        return SendMessageResponse(task=task)

    async def send_message_streaming(
        self,
        request: SendMessageRequest,
        *,
        context: ClientCallContext | None = None,  # noqa: ARG002
    ) -> AsyncGenerator[StreamResponse]:
        """Send a message and yield what happens to its task."""
        body = self._call("message/stream", {"message": self._message(request.message)})
        reader = StreamReader()
        async for event in self._events(body):
            for response in reader.read(event):
                update = response.status_update
                self._remember(update.task_id, update.context_id)
                yield response
        for response in reader.end():
            yield response

    async def get_task(
        self,
        request: GetTaskRequest,
        *,
        context: ClientCallContext | None = None,  # noqa: ARG002
    ) -> Task:
        """Return a task; Agno finds it by its context."""
        return await self._about_task("tasks/get", self._addresses.get, request.id)

    async def cancel_task(
        self,
        request: CancelTaskRequest,
        *,
        context: ClientCallContext | None = None,  # noqa: ARG002
    ) -> Task:
        """Cancel a task; Agno says yes to any id."""
        return await self._about_task("tasks/cancel", self._addresses.cancel, request.id)

    async def subscribe(
        self,
        request: SubscribeToTaskRequest,  # noqa: ARG002
        *,
        context: ClientCallContext | None = None,  # noqa: ARG002
    ) -> AsyncGenerator[StreamResponse]:
        """Refuse: a stream of Agno cannot be taken up again.

        Raises:
            UnsupportedOperationError: Always.
        """
        raise UnsupportedOperationError
        yield  # an async generator, as the interface wants it

    async def _about_task(self, method: str, url: str, task_id: str) -> Task:
        if not url:
            raise UnsupportedOperationError("this Agno server keeps no tasks")
        params: dict[str, Any] = {"id": task_id}
        if context_id := self._contexts.get(task_id):
            params["contextId"] = context_id
        return read_task(await self._result(url, self._call(method, params)))

    def _message(self, message: Message) -> dict[str, Any]:
        agent_id = self._addresses.agent_id
        sent = {
            "kind": "message",
            "messageId": message.message_id,
            "role": "user",
            "agentId": agent_id,
            "contextId": message.context_id,
            "taskId": message.task_id,
            "parts": encode(message_parts(message), wrap_data=bool(agent_id)),
            "metadata": struct_to_dict(message.metadata),
        }
        return {key: value for key, value in sent.items() if value}

    def _call(self, method: str, params: dict[str, Any]) -> bytes:
        return to_json({"jsonrpc": "2.0", "id": uuid4().hex, "method": method, "params": params})

    def _request(self, url: str, body: bytes, accept: str) -> httpx.Request:
        headers = {"Content-Type": "application/json", "Accept": accept}
        return self._http.build_request("POST", url, content=body, headers=headers)

    async def _result(self, url: str, body: bytes) -> dict[str, Any]:
        response = await self._http.send(self._request(url, body, "application/json"))
        return _result(response)

    async def _events(self, body: bytes) -> AsyncGenerator[dict[str, Any]]:
        request = self._request(self._addresses.stream, body, _EVENT_STREAM)
        response = await self._http.send(request, stream=True)
        try:
            if not response.headers.get("content-type", "").startswith(_EVENT_STREAM):
                await response.aread()
                result = _result(response)
                yield {"kind": "task", **result.get("task", result)}
                return
            async for data in event_data(response.aiter_bytes()):
                yield _checked(_parsed(data))
        finally:
            await response.aclose()

    def _remember(self, task_id: str, context_id: str) -> None:
        if task_id:
            self._contexts[task_id] = context_id


def _result(response: httpx.Response) -> dict[str, Any]:
    """Return the result of an answer; FastAPI's errors are `{"detail": ...}`."""
    try:
        body = from_json(response.content)
    except ValueError as error:
        response.raise_for_status()
        raise RemoteAnswerError("the agent's answer is not JSON") from error
    if response.status_code in _UNAUTHORIZED:
        response.raise_for_status()
    if isinstance(body, dict) and "detail" in body and response.is_error:
        detail = str(body["detail"])
        code = _TASK_NOT_FOUND if detail == "Task not found" else 0
        raise RemoteRefusedError(f"the agent refused: {quote(detail)}", code=code)
    return _checked(body)


def _checked(body: object) -> dict[str, Any]:
    """Return the result of a response; an event of Agno-Go is in no envelope."""
    if isinstance(body, dict):
        error = body.get("error")
        if "jsonrpc" not in body:
            return body
        if isinstance(error, dict):
            code, message = error.get("code"), str(error.get("message", "it said no more"))
            code = code if isinstance(code, int) else 0
            raise RemoteRefusedError(f"the agent refused: {quote(message)}", code=code)
        if isinstance(result := body.get("result"), dict):
            return result
    raise RemoteAnswerError("the agent's answer is not one of Agno's")


def _parsed(data: bytes) -> object:
    try:
        return from_json(data)
    except ValueError as error:
        raise RemoteAnswerError("an event of the agent's stream is not JSON") from error
