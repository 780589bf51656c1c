"""Transport for Agno's servers, replacing a2a-sdk's."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from a2a.utils.errors import UnsupportedOperationError

from a2a_adapters import RemoteAgentError, RemoteAnswerError, RemoteRefusedError
from a2a_adapters.concurrency import BoundedMap
from a2a_adapters.dialects import (
    DialectTransport,
    JsonHttp,
    message_parts,
    quote,
    rpc_call,
    rpc_refusal,
    struct_to_dict,
)
from a2a_adapters_agno.calling.reading import StreamReader, read_task
from a2a_adapters_agno.parts import encode

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx
    from a2a.types import AgentCard, Message, StreamResponse, Task

    from a2a_adapters_agno.calling.card import Addresses

_TASK_NOT_FOUND = -32001
_REMEMBERED = 10_000


class AgnoTransport(DialectTransport):
    """Calls an agent of an Agno server (Python or Go).

    Args:
        http: The HTTP client.
        card: The agent's card.
        addresses: URLs of its methods.
    """

    def __init__(self, http: httpx.AsyncClient, card: AgentCard, addresses: Addresses) -> None:
        super().__init__(http, card, addresses.send)
        self._json = JsonHttp(http, _refusal)
        self._addresses = addresses
        self._contexts: BoundedMap[str, str] = BoundedMap(_REMEMBERED)

    async def send(self, message: Message) -> Task:
        """Send a message and return its task."""
        params = {"message": self._message(message)}
        request = self._request(self._addresses.send, "message/send", params)
        task = read_task(await self._json.fetch(request, _result))
        self._remember(task.id, task.context_id)
        return task

    async def stream(self, message: Message) -> AsyncGenerator[StreamResponse]:
        """Send a message and yield the events of its task."""
        params = {"message": self._message(message)}
        request = self._request(self._addresses.stream, "message/stream", params)
        reader = StreamReader()
        async with aclosing(self._json.stream(request, _result)) as events:
            async for event in events:
                for response in reader.read(event):
                    update = response.status_update
                    self._remember(update.task_id, update.context_id)
                    yield response
        for response in reader.end():
            yield response

    async def find(self, task_id: str) -> Task:
        """Return a task, which Agno identifies by its context."""
        return await self._about_task("tasks/get", self._addresses.get, task_id)

    async def cancel(self, task_id: str) -> Task:
        """Cancel a task; Agno accepts any id."""
        return await self._about_task("tasks/cancel", self._addresses.cancel, task_id)

    async def _about_task(self, method: str, url: str, task_id: str) -> Task:
        if not url:
            raise UnsupportedOperationError("this Agno server does not store tasks")
        params: dict[str, Any] = {"id": task_id}
        if context_id := self._contexts.get(task_id):
            params["contextId"] = context_id
        return read_task(await self._json.fetch(self._request(url, method, params), _result))

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

    def _request(self, url: str, method: str, params: dict[str, Any]) -> httpx.Request:
        headers = {"Accept": "application/json"}
        return self._json.request("POST", url, headers, rpc_call(method, params))

    def _remember(self, task_id: str, context_id: str) -> None:
        if task_id:
            self._contexts[task_id] = context_id


def _refusal(body: object) -> RemoteAgentError | None:
    """Parse an error of JSON-RPC or FastAPI."""
    match body:
        case {"jsonrpc": _}:
            return rpc_refusal(body)
        case {"detail": detail, **others} if not others:
            code = _TASK_NOT_FOUND if detail == "Task not found" else 0
            return RemoteRefusedError(f"the agent refused: {quote(str(detail))}", code=code)
        case _:
            return None


def _result(body: object) -> dict[str, Any]:
    """Return the result of a response; events of Agno-Go have no envelope."""
    found = body.get("result") if isinstance(body, dict) and "jsonrpc" in body else body
    if not isinstance(found, dict):
        raise RemoteAnswerError("the agent's answer does not have Agno's format")
    return found
