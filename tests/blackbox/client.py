"""An A2A 1.0 client over JSON-RPC that retries after lost connections."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Callable
from typing import Any

import httpx

Json = dict[str, Any]

RETRY_SECONDS = 0.1
UNAVAILABLE = {429, 503}


class RefusedError(Exception):
    """An error that a retry cannot fix.

    Args:
        method: The JSON-RPC method.
        error: The error's body.
    """

    def __init__(self, method: str, error: Json) -> None:
        super().__init__(f"{method} is refused: {error.get('code')} {error.get('message')}")
        self.code = error.get("code")


class LostError(Exception):
    """The connection was lost, or the server is temporarily unavailable."""


class Client:
    """Calls an agent as an owner, at any live process.

    Args:
        http: The connections.
        somewhere: Returns the URL of a live process, None if there is none.
        agent: The agent's name.
        owner: The owner's name.
        chance: Decides when the client drops a connection.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        somewhere: Callable[[], str | None],
        agent: str,
        owner: str,
        chance: random.Random,
    ) -> None:
        self._http = http
        self._somewhere = somewhere
        self._path = f"/agents/{agent}"
        self._headers = {"A2A-Version": "1.0", "Authorization": f"Bearer {owner}-token"}
        self._chance = chance

    async def call(self, method: str, params: Json, *, hasty: bool = False) -> Json:
        """Return a method's result, retrying until there is one.

        Args:
            method: The JSON-RPC method.
            params: Its parameters.
            hasty: Whether the client itself drops the first connection at a random moment.

        Raises:
            RefusedError: The server refuses the request.
        """
        seconds = self._chance.uniform(0.01, 0.3) if hasty else None
        while True:
            try:
                return await asyncio.wait_for(self._call_once(method, params), seconds)
            except (LostError, TimeoutError):
                await asyncio.sleep(RETRY_SECONDS)
            seconds = None

    async def _call_once(self, method: str, params: Json) -> Json:
        try:
            response = await self._http.post(
                self._url(), json=_request(method, params), headers=self._headers
            )
        except httpx.TransportError as error:
            raise LostError from error
        return _result(method, response.status_code, response.text)

    async def stream(self, method: str, params: Json) -> AsyncGenerator[Json]:
        """Yield the events of one stream, which may end early.

        Raises:
            LostError: The connection was lost.
            RefusedError: The server refuses the request.
        """
        request = self._http.stream(
            "POST", self._url(), json=_request(method, params), headers=self._headers
        )
        try:
            async with request as response:
                if "text/event-stream" not in response.headers.get("content-type", ""):
                    text = (await response.aread()).decode()
                    yield _result(method, response.status_code, text)
                    return
                async for line in response.aiter_lines():
                    if line.startswith("data:"):
                        yield _result(method, response.status_code, line[5:])
        except httpx.TransportError as error:
            raise LostError from error

    def _url(self) -> str:
        if (url := self._somewhere()) is None:
            raise LostError
        return f"{url}{self._path}"


def _request(method: str, params: Json) -> Json:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def _result(method: str, status: int, text: str) -> Json:
    """Return the result of a response.

    Raises:
        LostError: The server is temporarily unavailable.
        RefusedError: The response is another error.
    """
    try:
        answer: Json = json.loads(text)
    except ValueError:
        answer = {"code": status, "message": text[:200]}
    if "result" in answer:
        result: Json = answer["result"]
        return result
    if status in UNAVAILABLE:
        raise LostError
    raise RefusedError(method, answer.get("error", answer))
