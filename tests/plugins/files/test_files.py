"""Large files of agents and clients as links."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest
from a2a_adapters_files import LocalFile, download, save

from a2a_adapters import (
    AgentRequest,
    Data,
    File,
    InvalidInputError,
    OutboundPolicy,
    Output,
    RemoteAgent,
    RemoteOptions,
    RemoteRefusedError,
    RemoteTaskError,
    Text,
    TextDelta,
)
from a2a_adapters.testing import running
from tests.plugins.files.support import MEBIBYTE, USERS, app, content_of, echo, stored
from tests.support.requests import Agent


async def whole(file, agent, **options) -> bytes:
    return b"".join([piece async for piece in download(file, agent=agent, **options)])


@pytest.mark.parametrize("size", [1001, 4 * MEBIBYTE, 9 * MEBIBYTE + 17])
async def test_a_large_file_is_uploaded_and_comes_back_as_a_link(tmp_path, size):
    store, sent = stored(tmp_path), content_of(size)
    path = tmp_path / "a film.mp4"
    path.write_bytes(sent)
    async with running(app(echo(store), store)) as url, RemoteAgent(url) as agent:
        reply = await agent.as_user("t0ken-ann").send([Text("copy"), LocalFile(path)])
        [file] = reply.files
        way = "bytes" if size <= 8 * MEBIBYTE else "link"
        assert reply.text == f"{way} a film.mp4 video/mp4"
        assert (file.content, file.filename, file.media_type) == (None, path.name, "video/mp4")
        assert await whole(file, agent) == sent
        assert (await save(file, tmp_path / "copy", agent=agent)).read_bytes() == sent


async def test_blocking_code_reads_no_further_than_it_needs(tmp_path):
    read = []

    def first_bytes(request: AgentRequest) -> str:
        [file] = [part for part in request.parts if isinstance(part, File)]
        begun = store.read_sync(file)
        next(begun)
        whole = b"".join(store.read_sync(file))
        begun.close()
        return f"{len(whole)} {read[0]}"

    store = stored(tmp_path, agent_bytes=0)
    read_objects = store.objects.read

    async def noting_read(*args):
        number = len(read)
        read.append(0)
        async for piece in read_objects(*args):
            read[number] += 1
            yield piece

    store.objects.read = noting_read
    async with running(app(first_bytes, store)) as url, RemoteAgent(url) as agent:
        sent = File(content=content_of(20 * MEBIBYTE))
        assert (await agent.as_user("t0ken-ann").send(sent)).text == f"{20 * MEBIBYTE} 1"


async def test_a_stored_file_is_not_fetched_by_the_policy_of_the_agent(tmp_path):
    seen = []

    class Fetches(Agent):
        fetch = OutboundPolicy(allow_private=True)

        async def answer(self, request):
            [file] = [part for part in request.parts if isinstance(part, File)]
            seen.append(file.content)
            yield TextDelta(str(len(b"".join([piece async for piece in store.read(file)]))))

    store = stored(tmp_path, agent_bytes=2000)
    async with running(app(Fetches(input_modes=["*/*"]), store)) as url, RemoteAgent(url) as agent:
        ann = agent.as_user("t0ken-ann")
        for size, content in [(1500, b"x" * 1500), (2001, None)]:
            assert (await ann.send(File(content=b"x" * size))).text == str(size)
            assert seen.pop() == content


async def test_bytes_are_uploaded_and_artifacts_are_stored_from_the_size_on(tmp_path):
    async def returns_bytes(request: AgentRequest):
        [file] = [part for part in request.parts if isinstance(part, File)]
        yield Output([file, Data({"size": len(file.received())})])

    store = stored(tmp_path)
    async with running(app(returns_bytes, store)) as url, RemoteAgent(url) as agent:
        ann = agent.as_user("t0ken-ann")
        small = await ann.send(File(content=b"x" * 1000, filename="a.txt", media_type="text/x"))
        large = await ann.send(
            File(content=b"y" * 1001, filename="b.txt", media_type="text/x", metadata={"k": 1})
        )
        assert small.files[0].content == b"x" * 1000
        assert not list(tmp_path.glob("*/*/00001"))
        [file] = large.files
        assert (file.filename, file.media_type, file.metadata) == ("b.txt", "text/x", {"k": 1})
        assert await whole(file, agent) == b"y" * 1001
        assert large.data == [{"size": 1001}]


@pytest.mark.parametrize("storage", ["memory:", "sqlite"])
@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_a_stored_task_has_the_link(tmp_path, storage, binding):
    if storage == "sqlite":
        storage = f"sqlite:///{tmp_path}/tasks.db"
    store = stored(tmp_path / "files")
    options = RemoteOptions(bindings=[binding])
    async with (
        running(app(echo(store), store, storage=storage)) as url,
        RemoteAgent(url, options=options) as agent,
    ):
        ann = agent.as_user("t0ken-ann")
        reply = await ann.send(File(content=b"x" * 5000, filename="a.txt"))
        task = await ann.get_task(reply.task_id)
        assert task.files == reply.files
        assert await whole(task.files[0], agent) == b"x" * 5000


async def test_users_cannot_use_the_files_of_others(tmp_path):
    store = stored(tmp_path)
    async with running(app(echo(store), store)) as url, RemoteAgent(url) as agent:
        ann, ben = (agent.as_user(token) for token in USERS)
        [of_ann] = (await ann.send(File(content=b"a" * 5000, filename="a"))).files
        with pytest.raises(RemoteRefusedError, match="belongs to another user") as refused:
            await ben.send(File(url=of_ann.url))
        assert refused.value.code == -32602
        [again] = (await ann.send(File(url=of_ann.url))).files
        assert await whole(again, agent) == b"a" * 5000


async def test_simultaneous_users_get_their_own_files(tmp_path):
    store = stored(tmp_path)
    everybody, entered = asyncio.Event(), []

    async def adds(request: AgentRequest):
        entered.append(request.owner)
        if len(entered) == 20:
            everybody.set()
        await everybody.wait()
        yield Output([await store.add(f"{request.owner} {request.text}".encode())])

    async with running(app(adds, store)) as url, RemoteAgent(url) as agent:

        async def ask(token, number):
            [file] = (await agent.as_user(token).send(str(number))).files
            assert await whole(file, agent) == f"{USERS[token]} {number}".encode()
            return store.links.referred(file.url, USERS[token])

        asked = [ask(token, number) for token in USERS for number in range(10)]
        found = await asyncio.gather(*asked)
    assert len({each.random for each in found}) == 20
    assert len({each.owner for each in found}) == 2


async def test_a_question_is_answered_with_a_file_of_the_same_owner(tmp_path):
    from a2a_adapters import InputRequired

    store = stored(tmp_path)

    async def asks(request: AgentRequest):
        answer = yield InputRequired("Which file?")
        [file] = answer.parts
        yield Output([await store.add(file.received())])

    async with running(app(asks, store)) as url, RemoteAgent(url) as agent:
        talk = agent.as_user("t0ken-ann").conversation()
        assert (await talk.send("begin")).is_question
        [file] = (await talk.send(File(content=b"z" * 2000))).files
        assert await whole(file, agent) == b"z" * 2000


async def test_functions_that_are_not_async_use_the_store(tmp_path):
    store = stored(tmp_path, agent_bytes=0)
    target = tmp_path / "target"

    def returns_files(request: AgentRequest):
        [file] = request.parts
        store.save_sync(file, target)
        return store.add_sync(target, filename=file.filename)

    async with running(app(returns_files, store)) as url, RemoteAgent(url) as agent:
        reply = await agent.as_user("t0ken-ann").send(File(content=b"z" * 2000, filename="z"))
        assert await whole(reply.files[0], agent) == b"z" * 2000


async def test_ranges_and_headers(tmp_path):
    store, sent = stored(tmp_path), content_of(9 * MEBIBYTE)
    name = "../ä\n.html"

    async def returns_file():
        yield Output([await store.add(sent, filename=name)])

    async def agent_of(request: AgentRequest):
        async for event in returns_file():
            yield event

    async with (
        running(app(agent_of, store)) as url,
        RemoteAgent(url) as agent,
        httpx.AsyncClient() as http,
    ):
        [file] = (await agent.as_user("t0ken-ann").send("x")).files
        assert file.filename == "ä_.html"
        edge = 4 * MEBIBYTE
        for asked, start, end in [
            ("bytes=0-0", 0, 1),
            (f"bytes={edge - 3}-{edge + 3}", edge - 3, edge + 4),
            (f"bytes={edge}-", edge, len(sent)),
            ("bytes=-5", len(sent) - 5, len(sent)),
            ("bytes=1-99999999", 1, len(sent)),
        ]:
            answer = await http.get(file.url, headers={"Range": asked})
            assert answer.status_code == 206
            assert answer.content == sent[start:end]
            assert answer.headers["content-range"] == f"bytes {start}-{end - 1}/{len(sent)}"
        for asked in ("bytes=9437184-", "bytes=5-3", "bytes=-"):
            answer = await http.get(file.url, headers={"Range": asked})
            assert answer.status_code == 416
            assert answer.headers["content-range"] == f"bytes */{len(sent)}"
        head = await http.head(file.url)
        assert (head.status_code, head.headers["content-length"]) == (200, str(len(sent)))
        answer = await http.get(file.url, headers={"Range": "bytes=0-1", "If-Range": '"x"'})
        assert (answer.status_code, len(answer.content)) == (200, len(sent))
        headers = answer.headers
        assert headers["content-type"] == "text/html"
        assert headers["content-disposition"] == "attachment; filename*=UTF-8''%C3%A4_.html"
        assert headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in headers["content-security-policy"]


async def test_a_local_file_for_an_agent_without_a_store_is_sent_in_the_message(tmp_path):
    async def names(request: AgentRequest):
        [file] = request.parts
        yield f"{file.filename} {file.received()!r}"

    path = tmp_path / "a.txt"
    path.write_text("hello")
    large = tmp_path / "b.txt"
    with large.open("wb") as target:
        target.truncate(8 * MEBIBYTE + 1)
    async with running(app(names, None)) as url, RemoteAgent(url) as agent:
        ann = agent.as_user("t0ken-ann")
        assert (await ann.send(LocalFile(path))).text == "a.txt b'hello'"
        with pytest.raises(InvalidInputError, match="takes no uploads"):
            await ann.send(LocalFile(large))
        with pytest.raises(InvalidInputError, match="No such file"):
            await ann.send(LocalFile(Path("nothing")))


async def test_a_failed_run_leaves_no_part_of_a_file(tmp_path):
    store, deleted = stored(tmp_path), asyncio.Event()
    delete = store.objects.delete

    async def noting_delete(file_id):
        await delete(file_id)
        deleted.set()

    store.objects.delete = noting_delete

    async def breaks():
        yield content_of(5 * MEBIBYTE)
        raise RuntimeError

    async def adds(request: AgentRequest):
        yield Output([await store.add(breaks())])

    async with running(app(adds, store)) as url, RemoteAgent(url) as agent:
        with pytest.raises(RemoteTaskError):
            await agent.as_user("t0ken-ann").send("x")
        await deleted.wait()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.parent.name for path in files} == {"count"}
