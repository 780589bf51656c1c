"""Messages of one conversation take turns, from any thread or event loop."""

from __future__ import annotations

import asyncio
import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from a2a_adapters import InputRequired, RemoteAgent, TextDelta, build_app
from a2a_adapters.testing import running


async def test_async_and_blocking_callers_share_one_conversation():
    seen = []

    async def agent(request):
        seen.append((request.context_id, len(request.history)))
        await asyncio.sleep(0)
        return request.text

    async with running(build_app(agent)) as url, RemoteAgent(url) as remote:
        conversation = remote.conversation("anna")
        with ThreadPoolExecutor(5) as pool:
            loop = asyncio.get_running_loop()
            blocking = [
                loop.run_in_executor(pool, conversation.send_sync, f"sync {n}") for n in range(5)
            ]
            here = [conversation.send(f"async {n}") for n in range(5)]
            replies = await asyncio.gather(*here, *blocking)
        await asyncio.to_thread(remote.close)
    assert len({reply.context_id for reply in replies}) == 1
    assert [turns for _, turns in seen] == [2 * n for n in range(10)]


async def test_a_key_gives_every_thread_the_same_conversation():
    remote = RemoteAgent("http://127.0.0.1:9")
    with ThreadPoolExecutor(8) as pool:
        for n in range(200):
            found = list(pool.map(remote.conversation, [f"key {n}"] * 8))
            assert len({id(each) for each in found}) == 1


async def test_a_conversation_is_found_by_key_and_by_context():
    async with running(build_app(lambda text: text)) as url, RemoteAgent(url) as remote:
        anna, ben = remote.conversation("anna"), remote.conversation("ben")
        reply = await anna.send("hello")
        assert remote.conversation(context_id=reply.context_id) is anna
        assert remote.conversation("anna", context_id="other") is anna
        assert remote.conversation("ben", context_id=reply.context_id) is anna
        assert remote.conversation("ben") is anna
        assert ben is not anna
        assert remote.conversation("") is remote.conversation("")
        assert remote.conversation() is not remote.conversation()


async def test_a_conversation_left_in_its_first_answer_can_be_continued():
    cancelled = asyncio.Event()

    async def agent(request):
        yield "so"
        if request.text == "long":
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

    async with running(build_app(agent)) as url, RemoteAgent(url) as remote:
        conversation = remote.conversation()
        events = conversation.stream("long")
        async for event in events:
            if isinstance(event, TextDelta):
                break
        await events.aclose()
        async with asyncio.timeout(60):
            await cancelled.wait()
        left = conversation.context_id
        reply = await conversation.send("short")
    assert left
    assert reply.context_id == left


async def test_a_question_with_an_abandoned_answer_no_longer_waits():
    async def agent(request):
        if request.text == "again":
            yield "a new task"
            return
        yield InputRequired("Where?")
        yield "On the way"
        await asyncio.Event().wait()

    async with running(build_app(agent)) as url, RemoteAgent(url) as remote:
        conversation = remote.conversation()
        assert (await conversation.send("travel")).is_question
        events = conversation.stream("to Rome")
        async for event in events:
            if isinstance(event, TextDelta):
                break
        await events.aclose()
        assert not conversation.task_id
        assert (await conversation.send("again")).text == "a new task"


async def test_the_task_that_is_answered_may_be_named():
    async def agent(request):
        where = yield InputRequired("Where?")
        yield f"{request.text} {where.text}"

    async with running(build_app(agent)) as url, RemoteAgent(url) as remote:
        conversation = remote.conversation()
        first = await conversation.send("drive")
        second = await conversation.send("fly", task_id="")
        replies = [
            await conversation.send("to Rome", task_id=first.task_id),
            await conversation.send("to Oslo", task_id=second.task_id),
        ]
    assert [reply.text for reply in replies] == ["drive to Rome", "fly to Oslo"]


def test_a_copy_shares_connections_and_conversations():
    remote = RemoteAgent("http://127.0.0.1:9")
    assert copy.deepcopy({"agent": remote})["agent"] is remote
    with pytest.raises(TypeError, match="pickle its URL"):
        pickle.dumps(remote)
