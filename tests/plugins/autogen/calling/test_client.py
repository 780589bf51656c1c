from __future__ import annotations

import asyncio
import sys

import pytest
from a2a_adapters_autogen import A2AAgent, A2AChatCompletionClient, A2ATool
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import MultiModalMessage
from autogen_core import CancellationToken, FunctionCall, Image
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    RequestUsage,
    SystemMessage,
    UserMessage,
)
from PIL import Image as Picture

from a2a_adapters import (
    ConfigurationError,
    RemoteAgent,
    RemoteTaskError,
    RemoteTimeoutError,
    build_app,
)
from a2a_adapters.plugin import remote_llm
from a2a_adapters.testing import running
from tests.plugins.autogen.calling.support import (
    Endless,
    booking,
    everything,
    failing,
    reading,
    remembering,
    remote,
)
from tests.support.servers.front import Recording


def user(text):
    return UserMessage(content=text, source="user")


def said(text):
    return AssistantMessage(content=text, source="helper")


async def test_the_answer_is_streamed_and_returned():
    async with remote(remembering) as agent:
        client = A2AChatCompletionClient(agent)
        *chunks, result = [chunk async for chunk in client.create_stream([user("hi")])]
        assert "".join(chunks) == result.content == "hi"
        assert result.finish_reason == "stop"
        assert await client.create([user("hello")])
        usage = RequestUsage(prompt_tokens=3, completion_tokens=4)
        assert result.usage == client.actual_usage() == usage
        assert client.total_usage() == RequestUsage(prompt_tokens=6, completion_tokens=8)


async def test_only_new_messages_are_sent():
    async with remote(remembering) as agent:
        client = A2AChatCompletionClient(agent)
        talk = [user("one")]
        for word in ("two", "three"):
            result = await client.create(talk)
            talk += [said(result.content), user(word)]
        assert (await client.create(talk)).content == "one | two | three"


async def test_an_agent_of_autogen_uses_it_with_memory():
    async with remote(remembering) as agent:
        client = A2AChatCompletionClient(agent)
        helper = AssistantAgent("helper", client, model_client_stream=True, system_message=None)
        await helper.run(task="one")
        state = await helper.save_state()
        assert (await helper.run(task="two")).messages[-1].content == "one | two"
        other = AssistantAgent("helper", client, system_message=None)
        await other.load_state(state)
        # The remote conversation has continued without this one, which therefore starts another.
        last = (await other.run(task="three")).messages[-1].content
        assert last == "User: one\nhelper: one\nUser: three"


async def test_many_conversations_share_a_client():
    async with remote(remembering) as agent:
        client = A2AChatCompletionClient(agent)

        async def talk(caller):
            helper = AssistantAgent("helper", client, system_message=None)
            for turn in range(3):
                result = await helper.run(task=f"{caller}.{turn}")
            return result.messages[-1].content

        answers = await asyncio.gather(*(talk(f"caller{number}") for number in range(16)))
        assert answers == [f"caller{n}.0 | caller{n}.1 | caller{n}.2" for n in range(16)]


async def test_conversations_with_identical_messages_are_isolated():
    async with remote(remembering) as agent:
        client = A2AChatCompletionClient(agent)
        for _ in range(2):
            assert (await client.create([user("hi")])).content == "hi"
        for word in ("from ann", "from bob"):
            result = await client.create([user("hi"), said("hi"), user(word)])
            assert result.content == f"User: hi\nhelper: hi\nUser: {word}"


async def test_the_next_message_answers_a_question():
    async with remote(booking) as agent:
        client = A2AChatCompletionClient(agent)
        question = await client.create([user("book")])
        assert question.content == "Which city?"
        done = await client.create([user("book"), said(question.content), user("Rome")])
        assert done.content == "Booked Rome."


async def test_a_dialogue_names_its_speakers():
    call = FunctionCall(id="1", name="look", arguments="{}")
    result = FunctionExecutionResult(content="seen", name="look", call_id="1", is_error=False)
    dialogue = [
        SystemMessage(content="Be brief."),
        user("hi"),
        AssistantMessage(content=[call], source="helper"),
        FunctionExecutionResultMessage(content=[result]),
        UserMessage(content="and?", source="critic"),
    ]
    async with remote(remembering) as agent:
        answer = (await A2AChatCompletionClient(agent).create(dialogue)).content
    assert answer == (
        "System: Be brief.\nUser: hi\nhelper: (calls look with {})\nTool: look: seen\ncritic: and?"
    )


async def test_images_are_files():
    image = Image(Picture.new("RGB", (9, 9), "red"))
    async with remote(reading) as agent:
        helper = AssistantAgent("helper", A2AChatCompletionClient(agent), system_message=None)
        task = MultiModalMessage(content=["look", image], source="user")
        result = await helper.run(task=task)
    assert result.messages[-1].content == "[look][image/png True]"


async def test_other_content_is_sent_as_text():
    async with remote(everything) as agent:
        client = A2AChatCompletionClient(agent)
        *chunks, result = [chunk async for chunk in client.create_stream([user("hi")])]
    assert "".join(chunks) == result.content
    assert result.content == (
        'here:\n{"n":3}\n(A file: a.png)\n(A file: b.csv)\n(A file: broken.png)'
    )
    assert result.usage == RequestUsage(prompt_tokens=0, completion_tokens=0)


async def test_a_failure_is_raised():
    async with remote(failing) as agent:
        with pytest.raises(RemoteTaskError, match="failed"):
            await A2AChatCompletionClient(agent).create([user("hi")])


@pytest.mark.parametrize("by_token", [True, False])
async def test_cancelling_cancels_the_remote_task(by_token, has_begun):
    endless = Endless()
    async with remote(endless.__call__) as agent:
        token = CancellationToken()
        client = A2AChatCompletionClient(agent)
        call = asyncio.create_task(client.create([user("hi")], cancellation_token=token))
        await has_begun.wait()
        if by_token:
            token.cancel()
        else:
            call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(endless.was_stopped.wait(), 60)
        with pytest.raises(asyncio.CancelledError):
            await client.create([user("hi")], cancellation_token=_cancelled())


def _cancelled():
    token = CancellationToken()
    token.cancel()
    return token


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"tools": [{"name": "look"}]}, "takes none"),
        ({"json_output": True}, "JSON"),
        ({"extra_create_args": {"seed": 3}}, "no options: seed"),
    ],
)
async def test_tools_and_json_output_are_refused(options, complaint):
    client = A2AChatCompletionClient("http://127.0.0.1:9")
    with pytest.raises(ValueError, match=complaint):
        await client.create([user("hi")], **options)


def test_model_info_reports_the_real_capabilities():
    client = A2AChatCompletionClient("http://127.0.0.1:9")
    info = client.model_info
    assert client.capabilities == info
    assert not info["function_calling"]
    assert not info["json_output"]
    assert not info["structured_output"]
    assert client.count_tokens([user("hi")]) == 0
    assert client.remaining_tokens([user("hi")]) == sys.maxsize
    with pytest.raises(ValueError, match="function calling"):
        AssistantAgent("helper", client, tools=[len])


async def test_it_can_be_dumped_and_loaded():
    async with running(build_app(remembering)) as url:
        dumped = A2AChatCompletionClient(url).dump_component()
        loaded = ChatCompletionClient.load_component(dumped)
        result = await loaded.create([user("hi")])
        await loaded.close()
    assert isinstance(loaded, A2AChatCompletionClient)
    assert isinstance(result, CreateResult)
    assert result.content == "hi"
    with pytest.raises(ValueError, match="RemoteAgent"):
        A2AChatCompletionClient(RemoteAgent(url)).dump_component()


async def test_options_of_a_client_and_of_a_call():
    recording = Recording(build_app(remembering))
    async with running(recording) as url:
        client = A2AChatCompletionClient(url, timeout=60, headers={"X-Key": "k"})
        own = {"timeout": 60, "headers": {"X-Tenant": "a"}}
        await client.create([user("hi")], extra_create_args=own)
        await client.close()
    assert set(recording.header_values("x-key")) == {"k"}
    assert "a" in recording.header_values("x-tenant")


async def test_timeouts_are_reported_as_limits():
    async def silent(text: str) -> str:
        await asyncio.Event().wait()
        return text

    async with running(build_app(silent)) as url, RemoteAgent(url) as agent:
        for client, own in (
            (A2AChatCompletionClient(url, timeout=0.2), {}),
            (A2AChatCompletionClient(agent), {"timeout": 0.2}),
        ):
            with pytest.raises(RemoteTimeoutError):
                await client.create([user("hi")], extra_create_args=own)
            await client.close()


@pytest.mark.parametrize(
    "made",
    [
        A2AChatCompletionClient,
        lambda url, **options: A2AAgent("a", url, **options),
        lambda url, **options: A2ATool(url, "a", "d", **options),
    ],
)
def test_options_are_dumped_except_headers(made):
    dumped = made("http://127.0.0.1:9", timeout=3, max_retries=1).dump_component()
    assert (dumped.config["timeout"], dumped.config["max_retries"]) == (3, 1)
    loaded = type(made("http://127.0.0.1:9")).load_component(dumped)
    assert loaded.dump_component().config == dumped.config
    with pytest.raises(ValueError, match="headers"):
        made("http://127.0.0.1:9", headers={"X-Key": "k"}).dump_component()
    with pytest.raises(ConfigurationError, match="timeout"):
        made(RemoteAgent("http://127.0.0.1:9"), timeout=3)


def test_remote_llm_returns_a_client():
    assert isinstance(remote_llm("http://127.0.0.1:9", "autogen"), A2AChatCompletionClient)
