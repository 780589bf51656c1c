"""A web server with a picture, whose URL is sent to an agent."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from a2a_adapters import File, RemoteAgent, Text, build_app
from a2a_adapters.testing import running

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from a2a_adapters import AgentReply
    from a2a_adapters.plugin import Adapter


class Pictures:
    """Serves a picture at several URLs and counts the requests."""

    def __init__(self, picture: bytes) -> None:
        self.picture = picture
        self.asked = 0
        self.url = ""

    async def answer(self, request) -> Response:
        """Answer with the picture, a redirect to it, or compressed content."""
        self.asked += 1
        match request.path_params["name"]:
            case "moved.png":
                return RedirectResponse("/a.png")
            case "packed.png":
                return Response(self.picture, headers={"Content-Encoding": "gzip"})
            case _:
                return Response(self.picture, media_type="image/png")

    def file(self, name: str = "a.png") -> File:
        """Return the picture as a URL."""
        return File(url=f"{self.url}/{name}")


@asynccontextmanager
async def pictures(picture: bytes) -> AsyncGenerator[Pictures]:
    """Serve a picture."""
    server = Pictures(picture)
    async with running(Starlette(routes=[Route("/{name}", server.answer)])) as url:
        server.url = url
        yield server


async def show(adapter: Adapter, *files: File) -> AgentReply:
    """Send files to a served adapter."""
    async with running(build_app(adapter)) as url, RemoteAgent(url) as agent:
        return await agent.send([Text("look"), *files])
