"""HTTP+JSON to an agent of A2A 1.0, for what `a2a_adapters.calling.jsonrpc` says of a2a-sdk's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote as quote_path

from a2a.client.transports.rest import RestTransport as SdkTransport
from a2a.types import SendMessageResponse, StreamResponse, Task
from a2a.utils.errors import A2A_REASON_TO_ERROR, JSON_RPC_ERROR_CODE_MAP

from a2a_adapters.calling import nearly
from a2a_adapters.calling.errors import RemoteRefusedError
from a2a_adapters.calling.json_http import JsonHttp, headers_of, parsed
from a2a_adapters.protocol.shown import quote
from a2a_adapters.protocol.wire import send_to_dict, to_dict

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    import httpx
    from a2a.client import ClientCallContext
    from a2a.types import (
        AgentCard,
        CancelTaskRequest,
        GetTaskRequest,
        SendMessageRequest,
        SubscribeToTaskRequest,
    )

T = TypeVar("T")

_CODES = {
    "NOT_FOUND": -32001,
    "UNIMPLEMENTED": -32601,
    "INVALID_ARGUMENT": -32602,
    "INTERNAL": -32603,
}
"""The codes of JSON-RPC for errors that tell no reason of A2A's."""

_CODES_OF_NAMES = {kind.__name__: code for kind, code in JSON_RPC_ERROR_CODE_MAP.items()}


class Rest:
    """Calls the operations of one HTTP+JSON interface.

    Args:
        http: What the calls go through.
        url: The interface's address.
        version: The version of A2A that the calls are of.
    """

    def __init__(self, http: httpx.AsyncClient, url: str, version: str) -> None:
        self._json = JsonHttp(http, _refusal)
        self._url = url.removesuffix("/")
        self._version = version

    async def get(
        self,
        path: str,
        query: dict[str, Any],
        context: ClientCallContext | None,
        make: Callable[[object], T],
    ) -> T:
        """Return what `make` makes of what is found at a path.

        Raises:
            RemoteRefusedError: The agent refuses.
            RemoteAnswerError: The answer is not JSON.
            httpx.HTTPError: There is no answer, or none but an HTTP status.
        """
        headers = headers_of(self._version, context)
        return await self._json.fetch(
            self._json.request("GET", self._url + path, headers, query=query), make
        )

    async def post(
        self,
        path: str,
        body: dict[str, Any],
        context: ClientCallContext | None,
        make: Callable[[object], T],
    ) -> T:
        """Have something done, and return what is made of what came of it.

        Raises:
            As `get`.
        """
        headers = headers_of(self._version, context)
        request = self._json.request("POST", self._url + path, headers, body)
        return await self._json.fetch(request, make)

    def stream(
        self,
        path: str,
        body: dict[str, Any] | None,
        context: ClientCallContext | None,
        make: Callable[[object], T],
        method: str = "POST",
    ) -> AsyncGenerator[T]:
        """Have something done, and yield what is made of each event.

        Raises:
            As `get`.
        """
        headers = headers_of(self._version, context)
        request = self._json.request(method, self._url + path, headers, body)
        return self._json.stream(request, make)


class RestTransport(SdkTransport):
    """Calls an agent's HTTP+JSON interface."""

    def __init__(self, http: httpx.AsyncClient, card: AgentCard, url: str) -> None:
        super().__init__(http, card, url, is_shared_httpx=True)
        self._rest = Rest(http, url, "1.0")

    async def send_message(
        self, request: SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> SendMessageResponse:
        """Send a message and wait for the task or message that answers it."""
        path = _path(request.tenant, "/message:send")
        return await self._rest.post(path, send_to_dict(request), context, _sent)

    def send_message_streaming(
        self, request: SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        """Send a message and yield what happens to its task."""
        path = _path(request.tenant, "/message:stream")
        return self._rest.stream(path, send_to_dict(request), context, nearly.response)

    def subscribe(
        self, request: SubscribeToTaskRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        """Yield a task and what happens to it."""
        path = _path(request.tenant, f"/tasks/{in_path(request.id)}:subscribe")
        return self._rest.stream(path, None, context, nearly.response)

    async def get_task(
        self, request: GetTaskRequest, *, context: ClientCallContext | None = None
    ) -> Task:
        """Return a task."""
        path = _path(request.tenant, f"/tasks/{in_path(request.id)}")
        has_length = request.HasField("history_length")
        query = {"historyLength": request.history_length} if has_length else {}
        return await self._rest.get(path, query, context, _task)

    async def cancel_task(
        self, request: CancelTaskRequest, *, context: ClientCallContext | None = None
    ) -> Task:
        """Cancel a task."""
        path = _path(request.tenant, f"/tasks/{in_path(request.id)}:cancel")
        return await self._rest.post(path, to_dict(request), context, _task)


def _sent(result: object) -> SendMessageResponse:
    return parsed(nearly.event(result), SendMessageResponse())


def _task(result: object) -> Task:
    return parsed(nearly.mended(result), Task())


def _path(tenant: str, path: str) -> str:
    return f"/{in_path(tenant)}{path}" if tenant else path


def in_path(part: str) -> str:
    """Return an id as one part of a path, whatever it holds."""
    return quote_path(part, safe="")


def _refusal(body: object) -> RemoteRefusedError | None:
    """Read an error as A2A 1.0 has it (section 11.6), or as a2a-sdk's servers of 0.3 do."""
    match body:
        case {"error": dict(error)}:
            message, code = str(error.get("message", "it said no more")), _code(error)
        case {"type": str(name), "message": str(message)}:
            code = _CODES_OF_NAMES.get(name, 0)
        case _:
            return None
    return RemoteRefusedError(f"the agent refused: {quote(message)}", code=code)


def _code(error: dict[str, Any]) -> int:
    """Return the code of JSON-RPC for an error, 0 if it tells nothing that has one."""
    details = error.get("details")
    for detail in details if isinstance(details, list) else ():
        reason = detail.get("reason") if isinstance(detail, dict) else None
        if known := A2A_REASON_TO_ERROR.get(str(reason)):
            return JSON_RPC_ERROR_CODE_MAP.get(known, 0)
    return _CODES.get(str(error.get("status")), 0)
