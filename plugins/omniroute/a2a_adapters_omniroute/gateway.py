"""JSON-RPC calls to a gateway, and what may come back for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
from pydantic_core import from_json, to_json

from a2a_adapters import (
    BearerAuth,
    ConfigurationError,
    RemoteConnectionError,
    RemoteOptions,
    RemoteTimeoutError,
)
from a2a_adapters.dialects import HttpClients, agent_url, event_data
from a2a_adapters_omniroute.errors import OmniRouteAnswerError
from a2a_adapters_omniroute.failure import refusal, unauthorized

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

    from a2a_adapters import JSON

_ENDPOINT = "/a2a"
_CARD = "/.well-known/agent.json"
_EVENT_STREAM = "text/event-stream"
_REDIRECTS = frozenset({307, 308})
_UNAUTHORIZED = frozenset({401, 403})


class Gateway:
    """One gateway's endpoint.

    Args:
        base_url: Its address, with or without `/a2a`.
        api_key: The key, or a callable that returns it; "" for an open gateway.
        timeout: How long it may be silent, in seconds.

    Raises:
        ConfigurationError: The address is none.
    """

    def __init__(
        self, base_url: str, api_key: str | Callable[[], str | Awaitable[str]], timeout: float
    ) -> None:
        if timeout <= 0:
            raise ConfigurationError("timeout must be positive")
        self.url = base_url.rstrip("/").removesuffix(_ENDPOINT).rstrip("/")
        # One attempt: HTTP 503 mostly means that the endpoint is switched off.
        options = RemoteOptions(timeout=timeout, idle_timeout=timeout, retries=0)
        auth = BearerAuth(api_key) if api_key else None
        self._clients = HttpClients(agent_url(self.url), auth, options)

    async def card(self) -> object:
        """Return the gateway's card as it is sent.

        Raises:
            RemoteAgentError: There is none.
        """
        response = await self._send("GET", _CARD, None)
        body = await _body(response)
        if not response.is_success:
            raise _without_answer(response)
        return _parsed(body, response)

    async def call(self, method: str, params: Mapping[str, JSON]) -> dict[str, Any]:
        """Return the result of a call.

        Raises:
            RemoteAgentError: There is none.
        """
        response = await self._send("POST", _ENDPOINT, _call(method, params))
        return await _result(response)

    async def stream(
        self, method: str, params: Mapping[str, JSON]
    ) -> AsyncGenerator[dict[str, Any]]:
        """Yield the events of a call.

        Raises:
            RemoteAgentError: It was refused, or the stream broke.
        """
        response = await self._send("POST", _ENDPOINT, _call(method, params), _EVENT_STREAM)
        if not response.headers.get("content-type", "").startswith(_EVENT_STREAM):
            yield await _result(response)
            return
        try:
            async for data in event_data(response.aiter_bytes()):
                yield _checked(_parsed(data, response), response)
        except httpx.HTTPError as error:
            raise _unreachable(error) from error
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Close the connections; the next call opens them again."""
        await self._clients.aclose()

    async def _send(
        self, verb: str, path: str, body: bytes | None, accept: str = "application/json"
    ) -> httpx.Response:
        http = await self._clients.get()
        headers = {"Accept": accept, **({"Content-Type": "application/json"} if body else {})}
        request = http.build_request(verb, self.url + path, content=body, headers=headers)
        try:
            response = await http.send(request, stream=True)
            if response.status_code in _REDIRECTS and response.next_request is not None:
                await response.aclose()
                request = _within(response.next_request, request.url)
                response = await http.send(request, stream=True)
        except httpx.HTTPError as error:
            raise _unreachable(error) from error
        return response


def _call(method: str, params: Mapping[str, JSON]) -> bytes:
    return to_json({"jsonrpc": "2.0", "id": uuid4().hex, "method": method, "params": params})


def _within(request: httpx.Request, url: httpx.URL) -> httpx.Request:
    """Return a request that was redirected, as long as it stays where it was sent."""
    target = request.url
    if (target.scheme, target.host, target.port) != (url.scheme, url.host, url.port):
        raise OmniRouteAnswerError(
            f"the gateway redirects to {target}: use that address if you trust it"
        )
    return request


async def _result(response: httpx.Response) -> dict[str, Any]:
    body = await _body(response)
    if response.status_code in _UNAUTHORIZED:
        raise unauthorized(f"HTTP {response.status_code}")
    return _checked(_parsed(body, response), response)


async def _body(response: httpx.Response) -> bytes:
    try:
        return await response.aread()
    except httpx.HTTPError as error:
        raise _unreachable(error) from error
    finally:
        await response.aclose()


def _parsed(body: bytes, response: httpx.Response) -> object:
    try:
        return from_json(body)
    except ValueError as error:
        raise _without_answer(response) from error


def _checked(body: object, response: httpx.Response) -> dict[str, Any]:
    """Return the result of a response, or the parameters of an event."""
    if isinstance(body, dict):
        if isinstance(error := body.get("error"), dict):
            code = error.get("code")
            raise refusal(code if isinstance(code, int) else 0, str(error.get("message", "")))
        found = body.get("result", body.get("params"))
        if isinstance(found, dict):
            return found
    raise _without_answer(response)


def _without_answer(response: httpx.Response) -> OmniRouteAnswerError:
    status = response.status_code
    hint = "; it answers so when the task is cancelled meanwhile" if status == 500 else ""
    return OmniRouteAnswerError(
        f"the gateway's answer (HTTP {status}) is not one of OmniRoute's A2A endpoint{hint}",
        status=status,
    )


def _unreachable(error: httpx.HTTPError) -> RemoteConnectionError | RemoteTimeoutError:
    if isinstance(error, httpx.ReadTimeout):
        return RemoteTimeoutError("the gateway was silent for too long")
    return RemoteConnectionError(f"the connection failed: {type(error).__name__}: {error}")
