"""JSON-RPC 2.0, of whichever version of A2A."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from a2a_adapters.calling.errors import RemoteAnswerError, RemoteRefusedError
from a2a_adapters.calling.json_http import JsonHttp, headers_of
from a2a_adapters.protocol.ids import new_id
from a2a_adapters.protocol.shown import quote

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from a2a.client import ClientCallContext

T = TypeVar("T")


class Rpc:
    """Calls the methods of one endpoint.

    Args:
        http: What the calls go through.
        url: The endpoint.
        version: The version of A2A that the calls are of.
    """

    def __init__(self, http: httpx.AsyncClient, url: str, version: str) -> None:
        self._json = JsonHttp(http, rpc_refusal)
        self._address = url
        self._version = version

    @cached_property
    def _url(self) -> httpx.URL:
        return httpx.URL(self._address)  # parsed once: httpx takes long over it

    async def call(
        self,
        method: str,
        params: dict[str, Any],
        context: ClientCallContext | None,
        make: Callable[[dict[str, Any]], T],
    ) -> T:
        """Call a method and return what `make` makes of its result.

        Raises:
            RemoteRefusedError: The agent refuses.
            RemoteAnswerError: The answer is no response to this call.
            httpx.HTTPError: There is no answer, or none but an HTTP status.
        """
        call = _Call(new_id(), method, params)
        return await self._json.fetch(self._request(call, context), call.making(make))

    def stream(
        self,
        method: str,
        params: dict[str, Any],
        context: ClientCallContext | None,
        make: Callable[[dict[str, Any]], T],
    ) -> AsyncGenerator[T]:
        """Call a method and yield what is made of each of its results.

        Raises:
            As `call`.
        """
        call = _Call(new_id(), method, params)
        return self._json.stream(self._request(call, context), call.making(make))

    def _request(self, call: _Call, context: ClientCallContext | None) -> httpx.Request:
        headers = headers_of(self._version, context)
        return self._json.request("POST", self._url, headers, call.body())


@dataclass(frozen=True, slots=True)
class _Call:
    """One request, and what may come back for it."""

    id: str
    method: str
    params: dict[str, Any]

    def body(self) -> dict[str, Any]:
        return rpc_call(self.method, self.params, self.id)

    def making(self, make: Callable[[dict[str, Any]], T]) -> Callable[[object], T]:
        return lambda response: make(self.result(response))

    def result(self, response: object) -> dict[str, Any]:
        if not isinstance(response, dict):
            raise RemoteAnswerError("the agent's answer is not a JSON-RPC response")
        result = response.get("result")
        if not isinstance(result, dict) or response.get("id") != self.id:
            raise RemoteAnswerError("the agent's answer is not a response to this call")
        return result


def rpc_call(method: str, params: Mapping[str, Any], call_id: str = "") -> dict[str, Any]:
    """Return a call; without an id it gets one of its own."""
    return {"jsonrpc": "2.0", "id": call_id or new_id(), "method": method, "params": params}


def rpc_refusal(response: object) -> RemoteRefusedError | None:
    """Return what a response refuses with; None if it refuses nothing."""
    error = response.get("error") if isinstance(response, dict) else None
    if not isinstance(error, dict):
        return None
    code = error.get("code")
    message = f"the agent refused: {quote(str(error.get('message', 'it said no more')))}"
    return RemoteRefusedError(message, code=code if isinstance(code, int) else 0)
