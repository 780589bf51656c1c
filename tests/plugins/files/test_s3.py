"""Files in a bucket of an S3-compatible server."""

from __future__ import annotations

import asyncio
import re
from uuid import uuid4

import httpx
import pytest
from a2a_adapters_files import LocalFile, save
from moto.server import ThreadedMotoServer
from obstore.store import S3Store

from a2a_adapters import AgentRequest, File, Output, RemoteAgent, RemoteRefusedError
from a2a_adapters.testing import running
from tests.plugins.files.support import MEBIBYTE, app, content_of, echo, stored
from tests.support.processes import PATIENCE


@pytest.fixture
def s3(monkeypatch):
    """Serve a new bucket, and set the variables that name its server; return its URL."""
    server = ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    for name, value in {
        "AWS_ENDPOINT_URL": url,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "s3cret-key",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    try:
        bucket = f"{url}/{uuid4().hex}"  # the servers of a process share their buckets
        httpx.put(bucket, timeout=PATIENCE).raise_for_status()
        yield bucket
    finally:
        server.stop()


def name_of(s3):
    return s3.rpartition("/")[2]


async def listed_in(s3):
    """Return what the server lists in the bucket."""
    async with httpx.AsyncClient(timeout=PATIENCE) as http:
        return (await http.get(f"{s3}?list-type=2")).text


async def test_files_are_copied_through_a_bucket(s3, tmp_path):
    store = stored(f"s3://{name_of(s3)}/files", expiry_seconds=3600)
    sent = tmp_path / "sent.bin"
    sent.write_bytes(content_of(9 * MEBIBYTE + 5))
    async with running(app(echo(store), store)) as url, RemoteAgent(url) as agent:
        ann, ben = agent.as_user("t0ken-ann"), agent.as_user("t0ken-ben")
        [file] = (await ann.send(LocalFile(sent))).files
        copy = await save(file, tmp_path / "copy", agent=agent)
        assert copy.read_bytes() == sent.read_bytes()
        with pytest.raises(RemoteRefusedError, match="another user"):
            await ben.send(File(url=file.url))
        edge = 4 * MEBIBYTE
        async with httpx.AsyncClient(timeout=PATIENCE) as http:
            part = await http.get(file.url, headers={"Range": f"bytes={edge - 2}-{edge + 1}"})
        assert part.content == sent.read_bytes()[edge - 2 : edge + 2]
    listed = await listed_in(s3)
    keys = re.findall("<Key>files/[^<]+", listed)
    assert len([key for key in keys if "/count/" not in key]) == 8
    assert "ann" not in listed


async def test_expired_files_are_deleted_from_a_bucket(s3):
    store = stored(S3Store(name_of(s3), prefix="files"), expiry_seconds=0)

    async def adds(request: AgentRequest):
        yield Output([await store.add(b"x" * 5000)])

    async with running(app(adds, store)) as url, RemoteAgent(url) as agent:
        await agent.as_user("t0ken-ann").send("x")
        await asyncio.gather(store.tidy(), store.tidy())
    keys = re.findall("<Key>[^<]+", await listed_in(s3))
    assert keys
    assert all("/count/" in key for key in keys)
