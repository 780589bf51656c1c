"""Calling agents: replies, conversations, credentials, event loops and threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from a2a_adapters import (
    AgentReply,
    AgentRequest,
    ConfigurationError,
    Data,
    File,
    InputRequired,
    Output,
    Progress,
    RemoteAgent,
    RemoteConnectionError,
    RemoteOptions,
    RemoteTaskError,
    TaskMetadata,
    Text,
    TextDelta,
    ToolCall,
    ToolResult,
    build_app,
)
from a2a_adapters.testing import running
from tests.support.servers import FOREIGN_AGENTS
from tests.support.servers.cards import only
from tests.support.servers.single import IMAGE, RECORD, REPORT_URL, mixed_parts
from tests.support.servers.states import (
    LOGIN,
    QUESTION,
    asks_city,
    asks_login,
    cancels,
    crashes,
    fails,
    fails_silently,
    rejects,
)


def deltas(events) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_nothing_of_a_mixed_answer_is_lost():
    async with running(mixed_parts()) as url, RemoteAgent(url) as agent:
        reply = await agent.send("ping")
    assert reply.text == "pong: ping"
    assert RECORD in reply.data
    assert IMAGE in [file.content for file in reply.files]
    assert REPORT_URL in [file.url for file in reply.files]
    assert sum(len(artifact.parts) for artifact in reply.artifacts) == len(reply.parts)


@settings(max_examples=25)
@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=8))
def test_however_a_text_is_cut_it_arrives_as_it_was(pieces):
    async def pour(text: str) -> AsyncIterator[str]:
        for piece in pieces:
            yield piece

    async def main():
        async with running(build_app(pour)) as url, RemoteAgent(url) as agent:
            return [event async for event in agent.stream("go")]

    sent = "".join(pieces).encode("utf-8", "replace").decode()
    events = asyncio.run(main())
    assert deltas(events) == sent
    assert events[-1].text == sent


async def test_all_kinds_of_parts_go_there_and_back():
    async def mirror(request: AgentRequest):
        yield Output(request.parts, name="mirror")

    sent = [
        Text("hello\u2028there"),
        Data({"n": 3, "list": [1.5, None, True]}),
        File(content=b"\x00\xff", media_type="image/png", filename="a.png"),
        File(url="https://files.example/b.pdf", media_type="application/pdf"),
    ]
    app = build_app(mirror)
    async with running(app) as url, RemoteAgent(url) as agent:
        reply = await agent.send(sent)
    assert [(type(part), getattr(part, "value", None)) for part in reply.parts] == [
        (type(part), getattr(part, "value", None)) for part in sent
    ]
    assert reply.text == "hello\u2028there"
    assert reply.files == sent[2:]
    assert reply.artifacts[0].name == "mirror"


async def test_metadata_goes_there_and_back():
    async def tell(request: AgentRequest):
        yield TaskMetadata({"usage": {"input_tokens": 3}, "seen": request.metadata["mark"]})
        yield "done"

    async with running(build_app(tell)) as url, RemoteAgent(url) as agent:
        reply = await agent.send("go", metadata={"mark": "x"})
    assert reply.metadata["seen"] == "x"
    assert reply.metadata["usage"] == {"input_tokens": 3}


@pytest.mark.parametrize("wanted", [True, False])
async def test_progress_is_yielded_if_requested(wanted):
    async def work(text: str):
        yield ToolCall("1", "search", {"q": text})
        yield ToolResult("1", "search", "found")
        yield Progress("half way", {"percent": 50})
        yield "done"

    options = RemoteOptions(progress=wanted)
    async with running(build_app(work)) as url, RemoteAgent(url, options=options) as agent:
        events = [event async for event in agent.stream("go")]
    news = [event for event in events if not isinstance(event, TextDelta | AgentReply)]
    assert news == (
        [
            ToolCall("1", "search", {"q": "go"}),
            ToolResult("1", "search", "found"),
            Progress("half way", {"percent": 50}),
        ]
        if wanted
        else []
    )
    assert events[-1].text == "done"


@pytest.mark.parametrize(
    ("app", "state", "reason"),
    [
        (fails, "failed", "Out of paper"),
        (fails_silently, "failed", "no reason given"),
        (rejects, "rejected", "Not my job"),
        (cancels, "canceled", "The shop is closed"),
    ],
)
async def test_a_task_that_ends_without_an_answer_raises(app, state, reason):
    async with running(app()) as url, RemoteAgent(url) as agent:
        with pytest.raises(RemoteTaskError, match=reason) as caught:
            await agent.send("ping")
    assert caught.value.state == state
    assert caught.value.task_id
    assert caught.value.context_id


async def test_the_partial_answer_before_a_failure_is_kept():
    async with running(fails()) as url, RemoteAgent(url) as agent:
        with pytest.raises(RemoteTaskError) as caught:
            await agent.send("ping")
    assert caught.value.reply.text == "begun"


async def test_an_agent_that_crashes_is_an_error_and_not_an_answer():
    async with running(crashes()) as url, RemoteAgent(url) as agent:
        with pytest.raises(Exception, match="agent"):
            await agent.send("ping")


async def test_streaming_a_question_and_its_answer():
    async with running(asks_city()) as url, RemoteAgent(url) as agent:
        conversation = agent.conversation()
        asked = [event async for event in conversation.stream("book a room")]
        answered = [event async for event in conversation.stream("Rome")]
    assert deltas(asked) == QUESTION
    assert deltas(answered) == answered[-1].text == "Booked: Rome"


async def test_a_question_can_be_answered_by_its_task_alone():
    async with running(asks_city()) as url, RemoteAgent(url) as agent:
        question = await agent.send("book a room")
        reply = await agent.send("Rome", task_id=question.task_id)
    assert reply.text == "Booked: Rome"


async def test_a_login_is_a_question():
    async with running(asks_login()) as url, RemoteAgent(url) as agent:
        question = await agent.send("in")
    assert question.state == "auth-required"
    assert question.is_question
    assert question.text == LOGIN


async def test_answers_before_a_question_are_not_repeated():
    async def draft(request: AgentRequest):
        yield "A draft. "
        answer = yield InputRequired("Is it good?")
        yield f"You said {answer.text}."

    async with running(build_app(draft)) as url, RemoteAgent(url) as agent:
        conversation = agent.conversation()
        first = await conversation.send("write")
        second = [event async for event in conversation.stream("yes")]
    assert first.text == "A draft. \nIs it good?"
    assert deltas(second) == second[-1].text == "You said yes."


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1:8000",
        "ftp://x",
        "http://",
        "http://u:p@x",
        "\n",
        "http://x:99999",
        "http://xn--a/",
    ],
)
def test_invalid_addresses(address):
    with pytest.raises(ConfigurationError):
        RemoteAgent(address)


async def test_an_agent_by_its_card_and_by_its_cards_address():
    async with running(FOREIGN_AGENTS["chunks"]()) as url:
        async with RemoteAgent(f"{url}/.well-known/agent-card.json") as agent:
            assert (await agent.send("ping")).text == "pong: ping"
            card = await agent.card()
        async with RemoteAgent(card) as agent:
            assert (await agent.send("ping")).text == "pong: ping"
            assert card.name in repr(agent)


async def test_one_agent_serves_event_loops_and_threads_at_once():
    async with running(FOREIGN_AGENTS["chunks"]()) as url:
        agent = RemoteAgent(url)
        answers = []

        def own_loop():
            answers.append(asyncio.run(agent.send("ping")).text)
            answers.append(asyncio.run(agent.send("ping")).text)

        def blocking():
            answers.append(agent.send_sync("ping").text)
            answers.append(deltas(agent.stream_sync("ping")))

        threads = [threading.Thread(target=each) for each in [own_loop, blocking] * 4]
        for thread in threads:
            thread.start()
        here = await asyncio.gather(*(agent.send("ping") for _ in range(8)))
        await asyncio.to_thread(lambda: [thread.join() for thread in threads])
        await agent.aclose()
        assert (await agent.send("ping")).text == "pong: ping", "it opens again after closing"
        await agent.aclose()
    assert [reply.text for reply in here] == ["pong: ping"] * 8
    assert answers == ["pong: ping"] * 16


async def test_it_is_closed_while_another_event_loop_ends(monkeypatch):
    is_used, may_end = threading.Event(), threading.Event()
    ask = asyncio.run_coroutine_threadsafe

    def ask_and_let_end(coroutine, loop):
        asked = ask(coroutine, loop)
        may_end.set()
        return asked

    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", ask_and_let_end)

    agent = RemoteAgent("http://127.0.0.1:1", options=RemoteOptions(retries=0))

    async def elsewhere():
        with pytest.raises(RemoteConnectionError):
            await agent.send("hi")
        is_used.set()
        may_end.wait()  # blocks its event loop, which ends then

    thread = threading.Thread(target=asyncio.run, args=[elsewhere()])
    thread.start()
    await asyncio.to_thread(is_used.wait)
    async with asyncio.timeout(60):
        await agent.aclose()
    await asyncio.to_thread(thread.join)


async def test_blocking_calls_work_inside_a_running_event_loop():
    async with running(FOREIGN_AGENTS["chunks"]()) as url:
        agent = RemoteAgent(url)

        async def inside():
            return agent.send_sync("ping").text, agent.describe_sync().name

        text, name = await asyncio.to_thread(lambda: asyncio.run(inside()))
        agent.close()
    assert text == "pong: ping"
    assert name


LINE_ENDS = "a\u2028b\u2029c\u0085d\r\ne"


@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_unicode_line_separators_are_kept(binding, version):
    """The stream survives separators, escaped by our bindings and unescaped by others."""

    async def say(text: str):
        yield text
        yield LINE_ENDS

    def unescaped(body: bytes) -> bytes:
        for character in "\u2028\u2029\u0085":
            body = body.replace(f"\\u{ord(character):04x}".encode(), character.encode())
        return body

    app = build_app(say)

    async def careless(scope, receive, send):
        async def send_unescaped(message):
            if message["type"] == "http.response.body":
                message = {**message, "body": unescaped(message["body"])}
            await send(message)

        await app(scope, receive, send_unescaped if scope["type"] == "http" else send)

    async with running(careless) as url:
        async with RemoteAgent(url) as agent:
            card = only(await agent.card(), binding, version)
        async with RemoteAgent(card) as agent:
            events = [event async for event in agent.stream("go ")]
    assert deltas(events) == events[-1].text == f"go {LINE_ENDS}"
