"""Agents that send huge bodies, generated on the fly."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tests.support.servers.cards import CARD_PATH, agent_card, base_url
from tests.support.servers.wire import Call, message

BLOCK = 1 << 20
_FILLER = "@filler@"


class Huge:
    """Answers calls, or requests for its card, with a JSON text of many mebibytes.

    `sent` counts the sent bytes, which shows how much a client read.

    Args:
        card: Whether the card is huge instead of answers (in a stream: one event).
        mebibytes: The size of the JSON text.
        compressed: Whether to send it with gzip.
    """

    def __init__(
        self, *, card: bool = False, mebibytes: int = 80, compressed: bool = False
    ) -> None:
        self.sent = 0
        self._card = card
        self._mebibytes = mebibytes
        self._compressed = compressed
        routes = [Route(CARD_PATH, self._get_card), Route("/", self._call, methods=["POST"])]
        self._app = Starlette(routes=routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    async def _get_card(self, request: Request) -> Response:
        url = base_url(request)
        if not self._card:
            return JSONResponse(agent_card_to_dict(agent_card(url)))
        card = agent_card_to_dict(agent_card(url, description=_FILLER))
        return self._respond("", card, "application/json")

    async def _call(self, request: Request) -> Response:
        body = await request.json()
        call = Call(body["id"], body["method"], body["params"])
        answer = call.result(message(_FILLER))
        if call.streams:
            return self._respond("data: ", answer, "text/event-stream")
        return self._respond("", answer, "application/json")

    def _respond(self, prefix: str, value: dict[str, Any], media_type: str) -> Response:
        before, after = json.dumps(value).split(_FILLER)
        blocks = self._blocks(prefix + before, after + "\n\n")
        headers = {"Content-Encoding": "gzip"} if self._compressed else {}
        body = self._counted(_gzip(blocks) if self._compressed else blocks)
        return StreamingResponse(body, headers=headers, media_type=media_type)

    def _blocks(self, before: str, after: str) -> Iterator[bytes]:
        yield before.encode()
        for _ in range(self._mebibytes):
            yield b"x" * BLOCK
        yield after.encode()

    async def _counted(self, blocks: Iterator[bytes]) -> AsyncIterator[bytes]:
        for block in blocks:
            yield block
            self.sent += len(block)
            await asyncio.sleep(0)  # lets a disconnect be noticed


def huge_answer(*, compressed: bool = False) -> Huge:
    """Answers with a Message of 80 MiB (in a stream: one event)."""
    return Huge(compressed=compressed)


def huge_card(*, compressed: bool = False) -> Huge:
    """Has a card of 80 MiB."""
    return Huge(card=True, compressed=compressed)


def _gzip(blocks: Iterator[bytes]) -> Iterator[bytes]:
    gzip = zlib.compressobj(wbits=31)
    for block in blocks:
        yield gzip.compress(block)
    yield gzip.flush()
