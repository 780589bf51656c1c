"""JSON-RPC calls to a gateway, and the transport that makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
from pydantic_core import from_json, to_json

from a2a_adapters.dialects import DialectTransport, event_data, rpc_call
from a2a_adapters_omniroute.calling.failure import cancelled, refusal, unauthorized
from a2a_adapters_omniroute.calling.messages import to_params
from a2a_adapters_omniroute.calling.reading import StreamReader, read_answer, read_error, read_task
from a2a_adapters_omniroute.errors import OmniRouteAnswerError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from a2a.types import AgentCard, Message, StreamResponse, Task

    from a2a_adapters.plugin import JSON

_JSON = "application/json"
_EVENT_STREAM = "text/event-stream"
_REDIRECTS = frozenset({307, 308})
_UNAUTHORIZED = frozenset({401, 403})


class Gateway:
    """The endpoint of a gateway.

    Args:
        http: The HTTP client.
        url: The endpoint.
    """

    def __init__(self, http: httpx.AsyncClient, url: str) -> None:
        self._http = http
        self._url = url

    async def call(self, method: str, params: Mapping[str, JSON]) -> dict[str, Any]:
        """Return the result of a call.

        Raises:
            RemoteAgentError: The call failed.
        """
        return await _result(await self._send(_call(method, params), _JSON))

    async def stream(
        self, method: str, params: Mapping[str, JSON]
    ) -> AsyncGenerator[dict[str, Any]]:
        """Yield the events of a call.

        Raises:
            RemoteAgentError: The call was refused, or the stream broke.
        """
        response = await self._send(_call(method, params), _EVENT_STREAM)
        if not response.headers.get("content-type", "").startswith(_EVENT_STREAM):
            yield await _result(response)
            return
        try:
            async for data in event_data(response.aiter_bytes()):
                yield _checked(_parsed(data, response), response)
        finally:
            await response.aclose()

    async def _send(self, body: bytes, accept: str) -> httpx.Response:
        headers = {"Accept": accept, "Content-Type": _JSON}
        request = self._http.build_request("POST", self._url, content=body, headers=headers)
        response = await self._http.send(request, stream=True)
        if response.status_code in _REDIRECTS and response.next_request is not None:
            await response.aclose()
            request = _within(response.next_request, request.url)
            response = await self._http.send(request, stream=True)
        return response


def _call(method: str, params: Mapping[str, JSON]) -> bytes:
    return to_json(rpc_call(method, params))


def _within(request: httpx.Request, url: httpx.URL) -> httpx.Request:
    """Return a redirected request if it stays on the same origin."""
    target = request.url
    if (target.scheme, target.host, target.port) != (url.scheme, url.host, url.port):
        raise OmniRouteAnswerError(
            f"the gateway redirects to {target}; use that URL if you trust it"
        )
    return request


async def _result(response: httpx.Response) -> dict[str, Any]:
    body = await _body(response)
    if response.status_code in _UNAUTHORIZED:
        raise unauthorized(f"HTTP {response.status_code}")
    if response.status_code == httpx.codes.INTERNAL_SERVER_ERROR and not body:
        raise cancelled("signalled by an empty HTTP 500")
    return _checked(_parsed(body, response), response)


async def _body(response: httpx.Response) -> bytes:
    try:
        return await response.aread()
    finally:
        await response.aclose()


def _parsed(body: bytes, response: httpx.Response) -> object:
    try:
        return from_json(body)
    except ValueError as error:
        raise _without_answer(response) from error


def _checked(body: object, response: httpx.Response) -> dict[str, Any]:
    """Return the result of a response or the params of an event."""
    if isinstance(body, dict):
        if isinstance(error := body.get("error"), dict):
            code = error.get("code")
            message = str(error.get("message", ""))
            raised = refusal(code if isinstance(code, int) else 0, message)
            raise read_error(raised, error.get("data"))
        found = body.get("result", body.get("params"))
        if isinstance(found, dict):
            return found
    raise _without_answer(response)


def _without_answer(response: httpx.Response) -> OmniRouteAnswerError:
    return OmniRouteAnswerError(
        f"the gateway's answer (HTTP {response.status_code}) is not that of OmniRoute's A2A "
        "endpoint",
        status=response.status_code,
    )


class OmniRouteTransport(DialectTransport):
    """Calls a gateway.

    A message's metadata holds the parameters: `model`, `combo`, `budget`, `role`, `skill`.
    The gateway's metadata becomes the task's.

    Args:
        http: The HTTP client.
        card: The gateway's card.
        url: Its endpoint.
    """

    def __init__(self, http: httpx.AsyncClient, card: AgentCard, url: str) -> None:
        super().__init__(http, card, url)
        self._gateway = Gateway(http, url)

    async def send(self, message: Message) -> Task:
        """Send a message and return its task."""
        return read_answer(await self._gateway.call("message/send", to_params(message)))

    async def stream(self, message: Message) -> AsyncGenerator[StreamResponse]:
        """Send a message and yield the events of its task."""
        reader = StreamReader()
        async for event in self._gateway.stream("message/stream", to_params(message)):
            for response in reader.read(event):
                yield response

    async def find(self, task_id: str) -> Task:
        """Return a task in any state."""
        return read_task(await self._gateway.call("tasks/get", {"taskId": task_id}))

    async def cancel(self, task_id: str) -> Task:
        """Cancel a task; the provider may still finish it."""
        return read_task(await self._gateway.call("tasks/cancel", {"taskId": task_id}))
