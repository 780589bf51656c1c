"""Limits, expiry, and hostile links and uploads."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections import Counter
from contextlib import AsyncExitStack
from urllib.parse import parse_qs, urlsplit

import httpx
import obstore
import pytest
from a2a_adapters_files import FileStore, download, save

from a2a_adapters import (
    AgentRequest,
    BearerTokens,
    ConfigurationError,
    File,
    InvalidInputError,
    Output,
    RemoteAgent,
    RemoteAuthError,
    RemoteRefusedError,
    RemoteTaskError,
    RemoteTimeoutError,
    ServerOptions,
    build_app,
)
from a2a_adapters.testing import running
from tests.plugins.files.support import MEBIBYTE, SECRET, USERS, app, echo, stored

ANN = {"Authorization": "Bearer t0ken-ann"}
BEN = {"Authorization": "Bearer t0ken-ben"}


async def ask(http, url, size=5000, headers=ANN, **asked):
    return await http.post(f"{url}/files", json={"size": size, **asked}, headers=headers)


async def test_uploads_need_credentials_and_links_do_not(tmp_path):
    store = stored(tmp_path)
    async with running(app(echo(store), store)) as url, httpx.AsyncClient() as http:
        assert (await ask(http, url, headers={})).status_code == 401
        links = (await ask(http, url)).json()
        put = await http.put(links["upload"].replace("{part}", "0"), content=b"x" * 5000)
        assert put.status_code == 204
        assert (await http.get(links["url"])).content == b"x" * 5000
        async with RemoteAgent(url) as agent:
            with pytest.raises(RemoteAuthError):
                await agent.send(File(content=b"x" * 5000))


async def test_a_place_that_fails_is_not_available_for_now(tmp_path, caplog):
    place = tmp_path / "place"
    store = stored(place)
    async with running(app(echo(store), store)) as url, httpx.AsyncClient() as http:
        links = (await ask(http, url)).json()
        shutil.rmtree(place)
        place.touch()
        put = await http.put(links["upload"].replace("{part}", "0"), content=b"x" * 5000)
        refused = put, await ask(http, url)
    for response in refused:
        assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
        text = response.json()["error"]["message"]
        assert text.startswith("files are not available at the moment; error id: ")
        assert str(tmp_path) not in text
        assert text.rpartition(" ")[2] in caplog.text


async def test_an_agents_file_is_not_lost_with_a_place_that_fails(tmp_path, caplog):
    place = tmp_path / "place"
    store = stored(place)

    async def adds(request: AgentRequest):
        content = b"x" * 5000
        if request.text == "yield":
            yield Output([File(content=content)])
        else:
            yield Output([await store.add(content)])

    async with running(app(adds, store)) as url, RemoteAgent(url) as agent:
        ann = agent.as_user("t0ken-ann")
        shutil.rmtree(place)
        place.touch()
        [file] = (await ann.send("yield")).files
        assert len(file.content) == 5000
        with pytest.raises(RemoteTaskError, match="cannot be stored at the moment") as failed:
            await ann.send("add")
    assert failed.value.reply.metadata["error"]["category"] == "limit"
    assert str(tmp_path) not in str(failed.value.reply)
    assert "stays in it" in caplog.text


async def test_an_upload_without_its_length_learns_what_is_missing(tmp_path):
    store = stored(tmp_path)

    async def chunks():
        yield b"x" * 5000

    async with running(app(echo(store), store)) as url, httpx.AsyncClient() as http:
        links = (await ask(http, url)).json()
        put = await http.put(links["upload"].replace("{part}", "0"), content=chunks())
    assert put.status_code == 411
    assert put.json()["error"]["message"] == "a part needs the header Content-Length: 5000"


@pytest.mark.parametrize(
    "asked",
    [
        {"size": 0},
        {"size": -1},
        {"size": "5"},
        {"size": 1.5},
        {"filename": 3},
        {"media_type": "x" * 201},
    ],
)
async def test_invalid_requests_for_uploads(tmp_path, asked):
    store = stored(tmp_path)
    async with running(app(echo(store), store)) as url, httpx.AsyncClient() as http:
        answer = await ask(http, url, **{"size": 5, **asked})
        assert answer.status_code == 400
        assert next(iter(asked)) in answer.json()["error"]["message"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content_type", ["application/json", "text/plain"])
async def test_a_request_that_is_not_json_is_refused_and_the_connection_kept(
    tmp_path, content_type, caplog
):
    store = stored(tmp_path)
    headers = {**ANN, "Content-Type": content_type, "Origin": "http://localhost"}
    limits = httpx.Limits(max_connections=1)
    async with (
        running(app(echo(store), store)) as url,
        httpx.AsyncClient(limits=limits) as http,
    ):
        for _ in range(3):
            answer = await http.post(f"{url}/files", content=b"{", headers=headers)
            assert answer.status_code == 400
            assert answer.json()["error"]["message"]
        assert (await ask(http, url)).status_code == 201
    assert not [each for each in caplog.records if each.exc_info]


async def test_forged_links_and_parts(tmp_path):
    store = stored(tmp_path)
    async with running(app(echo(store), store)) as url, httpx.AsyncClient() as http:
        links = (await ask(http, url, size=4 * MEBIBYTE + 5)).json()
        other = (await ask(http, url)).json()
        upload, read = links["upload"].replace("{part}", "0"), links["url"]
        signature, of_read = (
            parse_qs(urlsplit(each["url"]).query)["signature"][0] for each in (other, links)
        )
        for forged in (
            upload[:-1] + ("0" if upload[-1] != "0" else "1"),
            upload.replace("size=4194309", "size=9999999"),
            upload.replace("size=4194309", "size=x"),
            upload.partition("?")[0],
            f"{upload.partition('&')[0]}&signature={of_read}",
            upload.replace("/files/", "/files/0"),
        ):
            assert (await http.put(forged, content=b"x")).status_code == 404, forged
        for part, size in [(0, 4 * MEBIBYTE + 1), (0, 5), (1, 6), (2, 0), (99999999, 5)]:
            path = links["upload"].replace("{part}", str(part))
            assert (await http.put(path, content=b"x" * size)).status_code == 400
        outside = links["upload"].replace("{part}", "..%2f0")
        assert (await http.put(outside, content=b"x")).status_code == 401  # no such route
        outside = f"{url}/files/..%2f..%2fsecret/x?signature={signature}"
        assert (await http.get(outside)).status_code == 401
        for forged in (
            read.partition("?")[0],
            f"{read.partition('=')[0]}={signature}",
            f"{read.partition('=')[0]}=ä",
        ):
            assert (await http.get(forged)).status_code == 404, forged
        assert (await http.get(read)).status_code == 404  # not complete
        async with RemoteAgent(url) as agent:
            for reference, problem in [
                (read, "not complete"),
                (f"{read}0", "invalid"),
                (read.partition("?")[0], "invalid"),
                (f"https://evil.example{urlsplit(other['url']).path}?signature=0", "invalid"),
            ]:
                with pytest.raises(RemoteRefusedError, match=problem) as refused:
                    await agent.as_user("t0ken-ann").send(File(url=reference))
                assert refused.value.code == -32602


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/secret",
        "file:///etc/passwd",
        "http://[::1",
        "/files/x",
        "https://a/files/b/c",
    ],
)
async def test_other_urls_are_neither_fetched_nor_read(tmp_path, url):
    store = stored(tmp_path)
    async with running(app(echo(store), store)) as address, RemoteAgent(address) as agent:
        with pytest.raises(RemoteTaskError, match="uploaded to it"):
            await agent.as_user("t0ken-ann").send(File(url=url, filename="x"))


async def test_the_sizes_of_a_file_and_of_an_owner_are_limited(tmp_path):
    store = stored(tmp_path, file_bytes=300_000, owner_bytes=500_000)
    async with running(app(echo(store), store)) as url, RemoteAgent(url) as agent:
        ann, ben = agent.as_user("t0ken-ann"), agent.as_user("t0ken-ben")
        with pytest.raises(InvalidInputError, match="at most 300,000 bytes"):
            await ann.send(File(content=b"x" * 300_001))
        async with httpx.AsyncClient() as http:
            refused = await ask(http, url, size=300_001)
            assert refused.status_code == 413
            both = await asyncio.gather(*[ask(http, url, size=300_000) for _ in range(4)])
            granted = [each for each in both if each.status_code == 201]
            assert len(granted) <= 1
            while (await ask(http, url, size=1)).status_code == 201:
                pass  # each counts as 64 KiB
        sizes = [int(each.name[5:]) for each in tmp_path.rglob("meta.*")]
        assert sum(max(size, 65_536) for size in sizes) <= 500_000
        with pytest.raises(RemoteRefusedError, match="together"):
            await ann.send(File(content=b"x" * 200_000))
        await ben.send(File(content=b"x" * 200_000))


async def test_simultaneous_files_at_several_servers_fill_the_room_of_an_owner_exactly(tmp_path):
    stores = [stored(tmp_path, owner_bytes=10 * 65_536) for _ in range(3)]
    async with AsyncExitStack() as stack:
        urls = [await stack.enter_async_context(running(app(echo(s), s))) for s in stores]
        http = await stack.enter_async_context(httpx.AsyncClient(timeout=60))
        asked = await asyncio.gather(*[ask(http, url, size=1) for url in urls * 20])
        assert Counter(each.status_code for each in asked) == {201: 10, 413: 50}
        assert (await ask(http, urls[0], size=1, headers=BEN)).status_code == 201


async def test_a_file_that_is_refused_or_fails_gives_its_room_back(tmp_path):
    store = stored(tmp_path, owner_bytes=10 * 65_536)

    async def pieces(count, fails):
        for _ in range(count):
            yield b"x" * 65_536
        if fails:
            raise OSError("disk full")

    async def adds(request: AgentRequest):
        count, fails = request.text.split()
        yield Output([await store.add(pieces(int(count), fails == "fails"))])

    async with running(app(adds, store)) as url, RemoteAgent(url) as agent:
        ann = agent.as_user("t0ken-ann")
        for text in ("3 fails", "5 fails", "11 ends", "9 fails"):
            with pytest.raises(RemoteTaskError):
                await ann.send(text)
        assert len((await ann.send("8 ends")).files) == 1
        assert len((await ann.send("2 ends")).files) == 1
        with pytest.raises(RemoteTaskError, match="together"):
            await ann.send("1 ends")


async def test_the_time_of_a_reservation_does_not_depend_on_the_number_of_files(
    tmp_path, monkeypatch
):
    listed = []

    async def counting(*args, **options):
        async for chunk in whole(*args, **options):
            listed.extend(chunk)
            yield chunk

    whole = obstore.list
    monkeypatch.setattr(obstore, "list", counting)
    store = stored(tmp_path)
    async with running(app(echo(store), store)) as url, httpx.AsyncClient() as http:
        for _ in range(60):
            assert (await ask(http, url)).status_code == 201
        listed.clear()
        assert (await ask(http, url)).status_code == 201
    assert len(listed) <= 40


async def test_an_agents_files_are_limited(tmp_path):
    store = stored(tmp_path, file_bytes=300_000)

    async def endless():
        while True:
            yield b"x" * 65536

    async def adds(request: AgentRequest):
        if request.text == "bytes":
            yield Output([File(content=b"x" * 300_001)])
        else:
            content = endless() if request.text == "endless" else b"x" * 300_001
            yield Output([await store.add(content)])

    async with running(app(adds, store)) as url, RemoteAgent(url) as agent:
        ann = agent.as_user("t0ken-ann")
        for text in ("endless", "add"):
            with pytest.raises(RemoteTaskError, match="at most 300,000 bytes") as rejected:
                await ann.send(text)
            assert rejected.value.state == "rejected"
        [file] = (await ann.send("bytes")).files
        assert len(file.content) == 300_001  # the answer is not lost with the link


async def test_files_expire_and_are_deleted(tmp_path, monkeypatch):
    store = stored(tmp_path, expiry_seconds=100, owner_bytes=200_000)
    async with running(app(echo(store), store)) as url, RemoteAgent(url) as agent:
        ann = agent.as_user("t0ken-ann")
        [file] = (await ann.send(File(content=b"x" * 5000, filename="x"))).files
        async with httpx.AsyncClient() as http:
            links = (await ask(http, url)).json()
            (before,) = tmp_path.glob("*/count/1")
            os.utime(before, (0, 0))
            later = time.time() + 101
            monkeypatch.setattr(time, "time", lambda: later)
            assert (await http.get(file.url)).status_code == 410
            upload = links["upload"].replace("{part}", "0")
            assert (await http.put(upload, content=b"x" * 5000)).status_code == 410
        with pytest.raises(RemoteRefusedError, match="HTTP 410"):
            await save(file, tmp_path / "copy", agent=agent)
        with pytest.raises(RemoteRefusedError, match="has expired") as refused:
            await ann.send(File(url=file.url))
        assert refused.value.code == -32602
        (tmp_path / "unrelated").write_text("kept")
        [new] = (await ann.send(File(content=b"y" * 5000))).files
        await store.tidy()
        assert not before.exists()
        assert b"".join([piece async for piece in download(new, agent=agent)]) == b"y" * 5000
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    names = {path.name for path in files if path.parent.name != "count"}
    assert names == {"unrelated", "meta.5000", "00000"}
    expired = {path.parent.name.split(".")[0] for path in tmp_path.rglob("00000")}
    assert all(int(each) > later for each in expired)


async def test_several_servers_share_a_place_and_a_secret(tmp_path):
    first, second, third = stored(tmp_path), stored(tmp_path), FileStore(tmp_path, secret="x" * 32)
    async with (
        running(app(echo(first), first)) as one,
        running(app(echo(second), second)) as two,
        running(app(echo(third), third)) as three,
        RemoteAgent(one) as agent,
        RemoteAgent(two) as other,
        RemoteAgent(three) as foreign,
    ):
        [file] = (await agent.as_user("t0ken-ann").send(File(content=b"x" * 5000))).files
        [again] = (await other.as_user("t0ken-ann").send(File(url=file.url))).files
        assert b"".join([piece async for piece in download(again, agent=other)]) == b"x" * 5000
        with pytest.raises(RemoteRefusedError, match="invalid"):
            await foreign.as_user("t0ken-ann").send(File(url=file.url))


async def test_agents_of_one_server_have_their_own_addresses(tmp_path):
    store = stored(tmp_path)
    agents = {"a": echo(store), "b": echo(store)}
    async with running(app(agents, store, authenticated=False)) as url:
        for name in agents:
            async with RemoteAgent(f"{url}/agents/{name}") as agent:
                [file] = (await agent.send(File(content=b"x" * 5000))).files
                assert b"".join([p async for p in download(file, agent=agent)]) == b"x" * 5000


async def test_too_many_simultaneous_parts_are_refused_with_a_time_to_retry(tmp_path):
    store = stored(tmp_path)
    tokens = BearerTokens(USERS | {"t0ken-eve": "eve"})
    served = build_app(echo(store), options=ServerOptions(authentication=tokens, files=store))
    async with running(served) as url, httpx.AsyncClient() as http:
        started, finish = asyncio.Semaphore(0), asyncio.Event()

        async def slow():
            yield b"x"
            started.release()
            await finish.wait()
            yield b"x" * 4999

        async def put(content, headers=ANN):
            links = (await ask(http, url, headers=headers)).json()
            path = links["upload"].replace("{part}", "0")
            return await http.put(path, content=content, headers={"Content-Length": "5000"})

        write = store.objects.write

        async def noting_write(*args):
            started.release()
            await finish.wait()
            await write(*args)

        store.objects.write = noting_write
        running_puts = []
        for headers in (ANN, BEN):
            running_puts += [asyncio.create_task(put(b"x" * 5000, headers)) for _ in range(8)]
            for _ in range(8):
                await started.acquire()
            refused = await put(b"x" * 5000, headers)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        refused = await put(b"x" * 5000, {"Authorization": "Bearer t0ken-eve"})
        assert refused.status_code == 503
        finish.set()
        assert {each.status_code for each in await asyncio.gather(*running_puts)} == {204}


async def test_an_upload_ends_with_the_time_of_its_message(tmp_path):
    store = stored(tmp_path)
    finish = asyncio.Event()

    async def waiting_write(*args):
        await finish.wait()

    store.objects.write = waiting_write
    async with running(app(echo(store), store)) as url, RemoteAgent(url) as agent:
        ann = agent.as_user("t0ken-ann")
        await ann.send("connects")
        with pytest.raises(RemoteTimeoutError, match="files of the message"):
            await ann.send(File(content=b"x" * 5000), timeout=0.2)
        finish.set()


def test_a_store_needs_a_secret_and_a_place(tmp_path, monkeypatch):
    monkeypatch.delenv("A2A_ADAPTERS_FILES_SECRET", raising=False)
    for secret in (None, "short"):
        with pytest.raises(ConfigurationError, match="at least 32 characters"):
            FileStore(tmp_path, secret=secret)
    monkeypatch.setenv("A2A_ADAPTERS_FILES_SECRET", SECRET)
    assert SECRET not in repr(vars(FileStore(tmp_path))) + repr(FileStore(tmp_path))
    for place in ("nonsense://x", tmp_path / "file" / "x"):
        (tmp_path / "file").touch()
        with pytest.raises(ConfigurationError, match="cannot be stored"):
            FileStore(place)
