"""Addresses of agents, as clients write them: without the slash at the end, or wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import BaseRoute, Mount, Route
from starlette.websockets import WebSocketClose

from a2a_adapters.security.refusals import Refusal, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import Receive, Scope, Send


def place(path: str, routes: Sequence[BaseRoute]) -> list[BaseRoute]:
    """Return the routes of an agent at a path, which answers calls without the last slash too."""
    mount = Mount(path, routes=routes)
    return [Route(path, _Slashed(mount), methods=["POST"]), mount]


class _Slashed:
    """Answers at once what Starlette would redirect: few clients send a message twice."""

    def __init__(self, mount: Mount) -> None:
        self._mount = mount

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope = {**scope, "path": f"{scope['path']}/"}
        _, found = self._mount.matches(scope)
        await self._mount.handle({**scope, **found}, receive, send)


async def nothing_here(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a request for what there is not (ASGI)."""
    if scope["type"] == "websocket":
        await WebSocketClose()(scope, receive, send)
        return
    await refuse(Refusal(404, "NOT_FOUND", "there is nothing here"), scope, receive, send)
