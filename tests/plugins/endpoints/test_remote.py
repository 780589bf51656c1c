"""Remote A2A agents, served again: to clients of A2A and of the OpenAI-compatible API."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_endpoints import RemoteA2AAgent

from a2a_adapters import (
    BearerTokens,
    ConfigurationError,
    File,
    InputRequired,
    Output,
    RemoteAgent,
    RemoteTaskError,
    Reply,
    ServerOptions,
    Text,
    TextDelta,
    build_app,
)
from a2a_adapters.plugin import installed_plugins
from a2a_adapters.testing import as_user, running
from tests.plugins.openai.served import assistant, chunks_of, client, joined, text_of, worker


def served_again(url, **options):
    return build_app(RemoteA2AAgent(url, **options), name="worker", dialects=["openai"])


async def test_everything_is_passed_on():
    async with (
        running(build_app(worker)) as far,
        running(served_again(far)) as url,
        client(f"{url}/v1") as api,
        RemoteAgent(url) as agent,
    ):
        asked = await text_of(api, "ASK")
        result = await text_of(api, "ASK", assistant(asked), "Rome")
        parts, direct = await text_of(api, "PARTS"), (await agent.send("PARTS")).parts
        tool = await chunks_of(api, "TOOL")
        usage = (await agent.send("COUNT")).usage
        with pytest.raises(RemoteTaskError, match="not my job"):
            await agent.send("REJECT")
        with pytest.raises(RemoteTaskError, match="failed"):
            await agent.send("BOOM")
    assert asked == "Which city?"
    assert result.startswith("took Rome in ")
    assert parts.startswith('text\n\n{"a":1}\n\n[f.pdf](https://x.example/f.pdf)')
    assert len(direct) == 4
    assert (joined(tool), "add" in joined(tool, "reasoning_content")) == ("added", True)
    assert usage.total_tokens == 7


async def test_conversations_of_callers_are_separate_at_the_remote_agent():
    async with (
        running(build_app(worker)) as far,
        running(served_again(far)) as url,
        RemoteAgent(url) as agent,
    ):

        async def contexts(user, context_id):
            options = {"context_id": context_id, "headers": as_user(user)}
            return [(await agent.send("CONTEXT", **options)).text for _ in range(2)]

        callers = [(user, chat) for user in ("ann", "bob") for chat in ("one", "two")]
        found = await asyncio.gather(*(contexts(*caller) for caller in callers))
    assert all(first == second for first, second in found)
    assert len({first for first, _ in found}) == 4


async def test_a_token_from_the_environment(monkeypatch):
    monkeypatch.setenv("FAR_TOKEN", "s3cret")
    options = ServerOptions(authentication=BearerTokens({"s3cret": "ann"}))
    agents = {"travel": worker}
    async with running(build_app(agents, options=options)) as far:
        target = installed_plugins().target(f"a2a:--token-env FAR_TOKEN {far}#travel")
        async with running(build_app(target)) as url, RemoteAgent(url) as agent:
            assert (await agent.send("hello")).text == "worked on hello "


def test_words():
    assert isinstance(installed_plugins().target("https://x.example#a"), RemoteA2AAgent)
    with pytest.raises(ConfigurationError, match="a2a:--help"):
        installed_plugins().target("a2a:")


CAT = File(content=b"cat", media_type="image/png")
DOG = File(content=b"dog", media_type="image/png")


def text_in_order(*parts):
    """Return an agent that sends texts and files one by one, by this server's artifacts."""

    async def agent(request):
        for part in parts:
            yield TextDelta(part) if isinstance(part, str) else Output([part])

    return agent


def in_one_artifact(*parts):
    async def agent(request):
        yield Output([Text(part) if isinstance(part, str) else part for part in parts])

    return agent


def without_task(*parts):
    async def agent(request):
        yield Reply([Text(part) if isinstance(part, str) else part for part in parts])

    return agent


def asking(*parts):
    async def agent(request):
        for part in parts:
            yield TextDelta(part) if isinstance(part, str) else Output([part])
        yield InputRequired("Go on?")
        yield TextDelta("Done.")
        yield Output([CAT])
        yield TextDelta("Bye.")

    return agent


@pytest.mark.parametrize("hold_text", ["guarded", "always", "never"])
@pytest.mark.parametrize("make", [text_in_order, in_one_artifact, without_task])
@pytest.mark.parametrize(
    "parts", [("Look:", CAT, "A cat."), (CAT, "A cat."), ("Two:", CAT, DOG, "pets.", CAT)]
)
async def test_texts_and_files_are_in_order(parts, make, hold_text):
    options = ServerOptions(hold_text=hold_text)
    async with (
        running(build_app(make(*parts), name="far")) as far,
        running(build_app(RemoteA2AAgent(far), name="near", options=options)) as url,
        RemoteAgent(url) as agent,
    ):
        reply = await agent.send("go")
    assert in_order(reply.parts) == in_order(parts)


async def test_readers_that_cannot_take_back_text_get_it_once():
    agent = text_in_order("Look: ", CAT, "A cat.")
    async with (
        running(build_app(agent, name="far")) as far,
        running(served_again(far)) as url,
        client(f"{url}/v1") as api,
    ):
        streamed = joined(await chunks_of(api, "go"))
    assert (streamed.count("Look:"), streamed.count("A cat.")) == (1, 1)


async def test_texts_and_files_before_a_question_are_in_order():
    async with (
        running(build_app(asking("Look:", CAT, "A cat.", DOG), name="far")) as far,
        running(build_app(RemoteA2AAgent(far), name="near")) as url,
        RemoteAgent(url) as agent,
    ):
        asked = await agent.send("go")
        await agent.send("yes", task_id=asked.task_id)
        task = await agent.get_task(asked.task_id)
    before = ["Look:", b"cat", "A cat.", b"dog"]
    assert in_order(asked.parts) == [*before, "Go on?"]
    assert in_order(task.parts) == [*before, "Done.", b"cat", "Bye."]


async def test_blank_lines_behind_a_file_do_not_repeat_the_text_with_the_next_answer():
    parts = [Text("Look:"), CAT, Text("So:")], [DOG], "\n\nA dog."

    async def agent(request):
        for part in parts:
            yield TextDelta(part) if isinstance(part, str) else Output(part)
        yield InputRequired("Go on?")
        yield TextDelta("Done.")

    async with (
        running(build_app(agent, name="far")) as far,
        running(build_app(RemoteA2AAgent(far), name="near")) as url,
        RemoteAgent(url) as near,
    ):
        asked = await near.send("go")
        reply = await near.send("yes", task_id=asked.task_id)
    assert in_order(reply.parts) == ["Done."]


def in_order(parts):
    """Return texts, and the contents of files."""
    texts = (each.text if isinstance(each, Text) else each for each in parts)
    found = [each if isinstance(each, str) else each.content for each in texts]
    return [each for each in found if each]
