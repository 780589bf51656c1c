"""Clients obey their policy and limits, whatever an agent answers."""

from __future__ import annotations

import logging

import pytest
from a2a_adapters_files import FILES_EXTENSION, LocalFile, download, save
from starlette.applications import Starlette
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from a2a_adapters import (
    AgentRequest,
    File,
    ForbiddenUrlError,
    RemoteAgent,
    RemoteAnswerError,
    RemoteConnectionError,
    RemoteRefusedError,
    ServerOptions,
    build_app,
)
from a2a_adapters.plugin import Extension
from a2a_adapters.testing import running
from tests.plugins.files.support import app, content_of, stored


async def test_a_client_obeys_its_policy_and_limits(tmp_path):
    requests = []

    async def files(request):
        requests.append(request.headers.get("range"))
        match request.path_params["name"]:
            case "large":
                return Response(b"x" * 2000)
            case "packed":
                return Response(b"x", headers={"Content-Encoding": "gzip"})
            case "moved":
                return Response(status_code=302, headers={"Location": "/large"})

            case _:
                return Response(status_code=404)

    async with running(Starlette(routes=[Route("/{name}", files)])) as url:
        agent = RemoteAgent(url)
        with pytest.raises(ForbiddenUrlError):
            await save(File(url=f"{url}/large"), tmp_path / "x")
        with pytest.raises(ForbiddenUrlError):
            await save(File(url="file:///etc/passwd"), tmp_path / "x", agent=agent)
        assert not requests
        for name, error in [
            ("packed", RemoteAnswerError),
            ("moved", RemoteRefusedError),
            ("none", RemoteRefusedError),
        ]:
            with pytest.raises(error):
                await save(File(url=f"{url}/{name}"), tmp_path / "x", agent=agent)
        with pytest.raises(RemoteAnswerError, match="over 1,999 bytes"):
            await save(File(url=f"{url}/large"), tmp_path / "x", agent=agent, max_bytes=1999)
        assert not list(tmp_path.iterdir())


async def test_a_broken_download_is_continued():
    content, asked = content_of(300_000), []

    async def breaks(request):
        asked.append(request.headers.get("range"))
        start = int((asked[-1] or "bytes=0-").removeprefix("bytes=").rstrip("-"))
        rest = content[start:]
        part = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
        if len(asked) > 2:
            return Response(rest, 206, part)

        async def half():
            yield rest[: len(rest) // 2]
            raise ConnectionAbortedError

        length = {"Content-Length": str(len(rest))}
        return StreamingResponse(half(), 206 if start else 200, length | part if start else length)

    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    async with running(Starlette(routes=[Route("/x", breaks)])) as url:
        agent = RemoteAgent(url)
        found = [piece async for piece in download(File(url=f"{url}/x"), agent=agent)]
    assert b"".join(found) == content
    assert asked == [None, "bytes=150000-", "bytes=225000-"]


async def test_another_part_than_the_missing_one_is_refused():
    async def restarts(request):
        async def half():
            yield b"x" * 500
            raise ConnectionAbortedError

        if "range" in request.headers:
            return Response(b"x" * 1000, 206, {"Content-Range": "bytes 0-999/1000"})
        return StreamingResponse(half(), headers={"Content-Length": "1000"})

    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    async with running(Starlette(routes=[Route("/x", restarts)])) as url:
        with pytest.raises(RemoteAnswerError, match="another part"):
            async for _ in download(File(url=f"{url}/x"), agent=RemoteAgent(url)):
                pass


@pytest.mark.parametrize(
    "params",
    [
        {"address": "http://127.0.0.1:1/", "inline_bytes": 0, "file_bytes": 10},
        {"address": "files", "inline_bytes": 0, "file_bytes": 10},
    ],
)
async def test_a_hostile_card_cannot_redirect_uploads(params):
    async def nothing(request: AgentRequest):
        yield "x"

    extension = Extension(uri=FILES_EXTENSION, params=params)
    target = build_app(nothing, options=ServerOptions(extensions=[extension]))
    async with running(target) as url, RemoteAgent(url) as agent:
        with pytest.raises((RemoteConnectionError, RemoteRefusedError, ForbiddenUrlError)):
            await agent.send(File(content=b"x" * 5))


async def test_a_relayed_file_url_is_never_read_from_this_machine(tmp_path):
    store, secret = stored(tmp_path / "files"), tmp_path / "secret"
    secret.write_text("s3cret")
    seen = []

    async def notes(request: AgentRequest):
        seen.extend(request.parts)
        yield "x"

    async with running(app(notes, store)) as url, RemoteAgent(url) as agent:
        await agent.as_user("t0ken-ann").send(File(url=secret.as_uri()))
        await agent.as_user("t0ken-ann").send(LocalFile(secret))
    assert [each.content for each in seen] == [None, b"s3cret"]
