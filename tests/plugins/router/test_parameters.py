"""Files, tools and parameters reach models that support them; others are skipped."""

from __future__ import annotations

import base64

import pytest

from a2a_adapters import AgentRequest, File, RemoteRefusedError, RemoteTaskError, Text
from tests.plugins.router.providers import ANSWER, Provider, deployed, routed, served

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
IMAGE = File(content=PNG, media_type="image/png", filename="dot.png")
PDF = File(content=b"%PDF-1.4", media_type="application/pdf", filename="a.pdf")
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
CALL = {
    "id": "call-1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city": "Rome"}'},
}


async def test_parameters_reach_the_model():
    asked = {
        "temperature": 0.2,
        "max_tokens": 3,
        "stop": ["fox"],
        "seed": 7,
        "response_format": {"type": "json_object"},
    }
    provider = Provider()
    async with routed({"one": provider}) as agent:
        reply = await agent.send("hello", metadata=asked)
    assert reply.text == "the quick brown "
    assert {key: provider.calls[0][key] for key in asked} == asked


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"reasoning_effort": "low"}, "it does not support reasoning_effort"),
        ({"tools": [WEATHER]}, "it does not support tools"),
        ({"stop": ["x"], "seed": 1}, "it does not support stop"),
    ],
)
async def test_a_model_without_support_is_skipped(asked, reason):
    models = {"tools": "openai/local", "stop": "openai/gpt-5", "reasoning_effort": "openai/gpt-4"}
    async with deployed(one=Provider(), two=Provider()) as (one, two):
        one["litellm_params"]["model"] = models[next(iter(asked))]
        two["litellm_params"]["allowed_openai_params"] = ["reasoning_effort"]
        if "tools" in asked:
            one["supports"] = {"function_calling": False}
        prices = {"two": {"input": 0}, "one": {"input": 0}}
        async with served(deployments=[one, two], prices=prices) as agent:
            reply = await agent.send("hello", metadata=asked)
            with pytest.raises(RemoteTaskError) as caught:
                await agent.send("hello", metadata={**asked, "model": "one"})
    assert reply.metadata["model"] == "two"
    event = reply.metadata["resilience_trace"][0]
    assert event["event"] == "not_supported"
    assert event["reason"].startswith(reason)
    assert caught.value.reply.state == "rejected"
    assert reason in str(caught.value)


@pytest.mark.parametrize("name", ["n", "functions", "service_tier"])
async def test_unsupported_parameters_are_refused(name):
    async with routed({"one": Provider()}) as agent:
        with pytest.raises(RemoteRefusedError, match=f"does not support {name}"):
            await agent.send("hello", metadata={name: 2})


async def test_files_go_to_a_model_that_supports_them():
    async with deployed(blind=Provider(), seeing=Provider()) as (blind, seeing):
        seeing["supports"] = {"vision": True, "pdf_input": True}
        settings = {"deployments": [blind, seeing], "prices": {}}
        settings["prices"] = {name: {"input": 0} for name in ("blind", "seeing")}
        async with served(**settings) as agent:
            reply = await agent.send([Text("What is this?"), IMAGE, PDF])
            assert reply.metadata["model"] == "seeing"
            reason = reply.metadata["resilience_trace"][0]["reason"]
            assert reason == "it does not support images, PDF files"
            with pytest.raises(RemoteTaskError, match="it does not support images"):
                await agent.send([Text("What is this?"), IMAGE], metadata={"model": "blind"})
            with pytest.raises(RemoteRefusedError, match="not application/zip"):
                await agent.send([File(content=b"PK", media_type="application/zip")])
            with pytest.raises(RemoteRefusedError, match="no model supports files of text/plain"):
                await agent.send([File(content=b"\xff", media_type="text/plain")])


async def test_a_file_is_sent_with_the_preceding_text():
    seeing = Provider()
    async with deployed(seeing=seeing) as (one,):
        one["supports"] = {"vision": True}
        async with served(deployments=[one], prices={"seeing": {"input": 1}}) as agent:
            text = File(content=b"a,b", media_type="text/csv", filename="t.csv")
            reply = await agent.send([Text("What is this?"), IMAGE, text])
            await agent.send("And now?", context_id=reply.context_id)
    encoded = base64.b64encode(PNG).decode()
    content = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded}"}},
        {"type": "text", "text": "t.csv:\na,b"},
    ]
    messages = [{"role": "user", "content": content}]
    assert seeing.calls[0]["messages"] == messages
    assert seeing.calls[1]["messages"][0] == messages[0]
    assert reply.metadata["cost_envelope"]["estimated"] >= 2000 / 1e6


async def test_an_agent_gets_files_and_refuses_parameters():
    async def read(request: AgentRequest) -> str:
        return ", ".join(each.filename for each in request.parts if isinstance(each, File))

    async with routed({"reader": read}) as agent:
        assert (await agent.send([Text("read"), IMAGE])).text == "dot.png"
        with pytest.raises(RemoteTaskError, match="agents do not support temperature"):
            await agent.send("hello", metadata={"temperature": 1})


async def test_tool_calls_and_results_are_passed_on():
    provider = Provider(answer="", delta={"tool_calls": [{"index": 0, **CALL}]})
    async with routed({"one": provider}) as agent:
        asked = {"tools": [WEATHER], "tool_choice": "auto"}
        first = await agent.send("Weather in Rome?", metadata=asked)
        assert first.data == [{"tool_calls": [CALL]}]
        assert first.metadata["finish_reason"] == "tool_calls"
        provider.answer, provider.delta = ANSWER, {}
        result = Text("Sunny.", metadata={"role": "tool", "tool_call_id": "call-1"})
        second = await agent.send([result], context_id=first.context_id, metadata=asked)
    assert second.text == ANSWER
    assert provider.calls[0]["tools"] == [WEATHER]
    _, called, tool_message = provider.calls[1]["messages"]
    assert called["tool_calls"] == [CALL]
    assert tool_message == {"role": "tool", "content": "Sunny.", "tool_call_id": "call-1"}
