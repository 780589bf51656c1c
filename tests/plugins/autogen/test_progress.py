from __future__ import annotations

from a2a_adapters_autogen import adapt
from autogen_agentchat.messages import HandoffMessage, StructuredMessage
from autogen_agentchat.teams import SelectorGroupChat
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, RequestUsage
from pydantic import BaseModel

from a2a_adapters import Progress, ToolCall, ToolResult
from tests.plugins.autogen.support import Custom, agent, ask, calling, model, round_robin


def lookup(word: str) -> str:
    """Look it up."""
    if word == "bad":
        raise RuntimeError("password hunter2")
    return f"{word}!"


async def news(adapter):
    events = await ask(adapter, "hi", wants_progress=True)
    return [event for event in events if isinstance(event, Progress | ToolCall | ToolResult)]


async def test_tools_are_reported():
    adapter = adapt(lambda: agent(calling("lookup", word="x"), tools=[lookup]))
    assert await news(adapter) == [
        ToolCall("c1", "lookup", {"word": "x"}),
        ToolResult("c1", "lookup", "x!"),
    ]


async def test_a_failed_tool_reports_no_exception_text():
    adapter = adapt(lambda: agent(calling("lookup", word="bad"), tools=[lookup]))
    assert (await news(adapter))[1] == ToolResult("c1", "lookup", is_error=True)


async def test_arguments_that_are_not_json_are_text():
    call = FunctionCall(id="c1", name="lookup", arguments="{oops")
    usage = RequestUsage(prompt_tokens=1, completion_tokens=1)
    result = CreateResult(finish_reason="function_calls", content=[call], usage=usage, cached=False)
    adapter = adapt(lambda: agent(result, tools=[lookup]))
    assert (await news(adapter))[0] == ToolCall("c1", "lookup", "{oops")


async def test_reasoning_is_reported():
    usage = RequestUsage(prompt_tokens=1, completion_tokens=1)
    result = CreateResult(
        finish_reason="stop", content="yes", usage=usage, cached=False, thought="hm"
    )
    adapter = adapt(lambda: agent(result, model_client_stream=False))
    assert await news(adapter) == [Progress("hm", {"kind": "thought", "source": "helper"})]


async def test_messages_that_are_not_the_answer_are_reported():
    class Plan(BaseModel):
        steps: int

    def make():
        return round_robin(
            agent("draft", name="writer"),
            agent('{"steps": 2}', name="planner", output_content_type=Plan),
            agent("final", name="editor"),
            custom_message_types=[StructuredMessage[Plan]],
        )

    assert await news(adapt(make)) == [
        Progress("draft", {"kind": "message", "source": "writer"}),
        Progress("", {"kind": "message", "source": "planner", "content": {"steps": 2}}),
    ]


async def test_handoffs_and_speakers_are_reported():
    def make():
        first = Custom(
            lambda _: HandoffMessage(content="yours", target="two", source="one"),
            "one",
            produces=[HandoffMessage],
        )
        return SelectorGroupChat(
            [first, agent("done", name="two")],
            model_client=model("one", "two"),
            max_turns=2,
            emit_team_events=True,
        )

    speaker = {"kind": "speaker", "source": "SelectorGroupChatManager"}
    assert await news(adapt(make)) == [
        Progress("next: one", {**speaker, "speakers": ["one"]}),
        Progress("yours", {"kind": "handoff", "source": "one", "target": "two"}),
        Progress("next: two", {**speaker, "speakers": ["two"]}),
    ]


async def test_other_events_are_reported_by_their_kind():
    from autogen_agentchat.agents import AssistantAgent
    from autogen_core.memory import ListMemory, MemoryContent, MemoryMimeType

    memory = ListMemory()
    await memory.add(MemoryContent(content="likes tea", mime_type=MemoryMimeType.TEXT))
    adapter = adapt(lambda: AssistantAgent("helper", model("ok"), memory=[memory]))
    (event,) = await news(adapter)
    assert event.data == {"kind": "MemoryQueryEvent", "source": "helper"}
    assert "likes tea" in event.text


async def test_progress_is_sent_only_on_request():
    adapter = adapt(lambda: agent(calling("lookup", word="x"), tools=[lookup]))
    events = await ask(adapter, "hi")
    assert not [event for event in events if isinstance(event, Progress | ToolCall | ToolResult)]
