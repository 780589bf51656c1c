"""Answers, progress, files, usage, failures and cancellation."""

from __future__ import annotations

import asyncio
import base64

import pytest
from claude_agent_sdk import AgentDefinition, ClaudeAgentOptions, ClaudeSDKClient

from a2a_adapters import (
    BlockedError,
    Data,
    File,
    InvalidInputError,
    Progress,
    TargetError,
    TaskMetadata,
    ToolCall,
    ToolResult,
    build_app,
)
from a2a_adapters.plugin import AgentFailedError, Factory
from tests.plugins.claude_agent import support
from tests.plugins.claude_agent.support import (
    Fake,
    adapt,
    agent,
    calling,
    made,
    said,
    script,
    using,
)
from tests.support.adapters import answer, ask, deltas, failure, only, request
from tests.support.anthropic_endpoint import RefusedError

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def test_tokens_are_streamed_and_usage_is_reported():
    events = await ask(adapt(agent("one two three")), "hi")
    assert deltas(events) == ["one", " two", " three"]
    usage = only(events, TaskMetadata).values
    assert usage["usage"] == {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    assert usage["cost_envelope"]["currency"] == "USD"


async def test_thoughts_and_tools_are_progress_and_the_last_message_is_the_answer():
    def look(city):
        """Look."""
        return f"rain in {city}"

    thought = {"type": "thinking", "thinking": "hm"}
    model = script([thought, "Let me see.", calling("look", city="Rome")], "It rains.")
    events = await ask(adapt(made(model, tools=[support.tool(look)])), "hi", wants_progress=True)
    assert answer(events) == "It rains."
    shown = [each for each in events if isinstance(each, Progress | ToolCall | ToolResult)]
    assert shown == [
        Progress("hm", {"kind": "thought"}),
        Progress("Let me see.", {"kind": "text"}),
        ToolCall("c1", "mcp__local__look", {"city": "Rome"}),
        ToolResult("c1", "mcp__local__look", "rain in Rome"),
    ]


async def test_progress_is_off_by_default():
    thought = {"type": "thinking", "thinking": "hm"}
    events = await ask(adapt(agent([thought, "y"])), "hi")
    assert not [each for each in events if isinstance(each, Progress)]


@pytest.mark.parametrize(
    ("answer_of_api", "options", "category"),
    [
        (RefusedError(401, "hunter2"), {}, "model_refused"),
        (RefusedError(529, "hunter2"), {}, "model_unavailable"),
        ([using("Glob", pattern="*")], {"max_turns": 1, "allowed_tools": ["Glob(**)"]}, "limit"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_failures_have_a_category_and_no_details(answer_of_api, options, category):
    agent = made(Fake(lambda _: answer_of_api), **options)
    assert await failure(adapt(agent)) == category


async def test_a_refusal_of_the_model_rejects_the_task():
    with pytest.raises(BlockedError, match="refuses"):
        await ask(adapt(made(Fake(lambda _: ["I will", ("refusal",)]))), "hi")


async def test_files_and_data_reach_the_model():
    model = script("seen")
    parts = [
        Data({"city": "Rome"}),
        File(content=PNG, media_type="image/png"),
        File(content=b"%PDF", media_type="application/pdf"),
        File(content="Grüße".encode(), media_type="text/plain", filename="note.txt"),
    ]
    await ask(adapt(made(model)), *parts)
    blocks = model.heard[0][-1]["content"]
    assert '{"city":"Rome"}' in said(model.heard[0])
    kinds = [each["type"] for each in blocks if each["type"] != "text"]
    assert kinds == ["image", "document", "document"]
    [_, pdf, note] = [each["source"] for each in blocks if each["type"] != "text"]
    assert pdf["media_type"] == "application/pdf"
    assert note["data"] == "Grüße"


@pytest.mark.parametrize("part", [" ", File(content=b"x", media_type="audio/ogg")])
async def test_other_input_is_refused_before_a_task_exists(part):
    with pytest.raises(InvalidInputError):
        adapt(agent("never")).stream(request(part))


async def test_cancelled_and_failed_runs_leave_the_conversation_unchanged():
    begun = asyncio.Event()

    async def answer_once(messages):
        match said(messages)[-1]:
            case "wait":
                begun.set()
                await asyncio.Event().wait()
            case "fail":
                return RefusedError(400, "no")
        return " ".join(said(messages))

    adapter = adapt(made(Fake(answer_once)))
    await ask(adapter, "one")
    run = asyncio.create_task(ask(adapter, "wait"))
    await begun.wait()
    run.cancel()
    await asyncio.wait({run})
    with pytest.raises(AgentFailedError):
        await ask(adapter, "fail")
    assert answer(await ask(adapter, "two")) == "one two"


@pytest.mark.parametrize(
    "option", [{"resume": "x"}, {"continue_conversation": True}, {"session_id": "x"}]
)
def test_options_that_would_mix_callers_are_refused(option):
    with pytest.raises(TargetError, match=f"{next(iter(option))} would mix"):
        build_app(ClaudeAgentOptions(**option))


def test_clients_are_refused_and_functions_are_served():
    with pytest.raises(TargetError, match="serve its options"):
        build_app(ClaudeSDKClient())
    with pytest.raises(TargetError, match="str"):
        adapt(Factory(lambda: "x", "x"))
    assert build_app(lambda: agent("hello"))


async def test_a_subagent_left_behind_does_not_end_the_next_run():
    async def never(*_):
        await asyncio.Event().wait()

    def model(messages):
        if said(messages)[0] != "hi":  # it is the subagent's
            return using("Bash", command="rm notes.txt")
        if len(messages) == 1:
            return using("Agent", description="look", prompt="look", subagent_type="scout")
        return "two" if said(messages)[-1] == "more" else "one"

    scout = AgentDefinition(description="Looks.", prompt="Look.")
    adapter = adapt(made(Fake(model), agents={"scout": scout}, can_use_tool=never))
    assert answer(await ask(adapter, "hi")) == "one"
    assert answer(await ask(adapter, "more")) == "two"


async def test_options_are_made_for_each_request():
    def own(request):
        return agent(f"for {request.owner}", system_prompt="Help.")

    adapter = adapt(agent("never"), options_for=own)
    for owner in ("ann", "bob"):
        assert answer(await ask(adapter, "hi", owner=owner)) == f"for {owner}"


def test_the_card_has_the_subagents_and_no_prompts():
    scout = AgentDefinition(description="Looks around.", prompt="SECRET")
    card = adapt(agent("x", agents={"scout": scout}, system_prompt="SECRET")).describe()
    assert [(skill.id, skill.description) for skill in card.skills] == [("scout", "Looks around.")]
    assert "SECRET" not in str(card)
