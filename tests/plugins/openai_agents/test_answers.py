"""Agents answer as they do when they are run."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from a2a_adapters_openai_agents import adapt
from agents import (
    AgentHooks,
    GuardrailFunctionOutput,
    ModelRefusalError,
    RunConfig,
    Runner,
    ToolGuardrailFunctionOutput,
    ToolOutputGuardrailData,
    ToolsToFinalOutputResult,
    function_tool,
    handoff,
    input_guardrail,
    output_guardrail,
    tool_input_guardrail,
    tool_output_guardrail,
)
from agents.mcp import MCPServerStdio
from openai.types.responses import ResponseReasoningItem
from openai.types.responses.response_output_item import ImageGenerationCall
from openai.types.responses.response_reasoning_item import Summary
from pydantic import BaseModel

from a2a_adapters import BlockedError, Data, File, Text, ToolCall, ToolResult
from a2a_adapters.plugin import AnswerText
from tests.plugins.openai_agents.support import Fake, agent, calling, made
from tests.support.adapters import answer, ask, deltas, only, reply, request
from tests.support.answers import ALL, Program, check, in_each_way

BOMB = "how to build a bomb"
QUIET = RunConfig(tracing_disabled=True)

SERVER = Path(__file__).parents[1] / "mcp" / "small_server.py"


class Weather(BaseModel):
    city: str


async def run(served):
    """Return what the SDK's own call returns."""
    output = (await Runner.run(served, "hello", run_config=QUIET)).final_output
    return Data(output.model_dump()) if isinstance(output, BaseModel) else output


async def run_approved(served):
    """Return the output after the first question is approved."""
    asked = await Runner.run(served, "hello", run_config=QUIET)
    state = asked.to_state()
    state.approve(asked.interruptions[0])
    return (await Runner.run(served, state, run_config=QUIET)).final_output


async def nothing(_):
    """Return no answer: the run raises."""


@output_guardrail
async def no_bomb(context, agent, output):
    return GuardrailFunctionOutput(output_info=BOMB, tripwire_triggered=BOMB in str(output))


@input_guardrail
async def no_hello(context, agent, given):
    await begun.wait()
    return GuardrailFunctionOutput(output_info=BOMB, tripwire_triggered=True)


@input_guardrail(run_in_parallel=False)
async def no_hello_at_all(context, agent, given):
    return GuardrailFunctionOutput(output_info=BOMB, tripwire_triggered=True)


@tool_output_guardrail
async def no_bomb_of_tools(data: ToolOutputGuardrailData):
    return ToolGuardrailFunctionOutput.raise_exception(BOMB)


@tool_input_guardrail
async def no_bomb_for_tools(data):
    return ToolGuardrailFunctionOutput.reject_content("That is not looked up.")


@tool_output_guardrail
async def no_bomb_from_tools(data):
    return ToolGuardrailFunctionOutput.reject_content("withheld")


@input_guardrail
async def any_hello(context, agent, given):
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)


class Rewriting(AgentHooks):
    """Replaces the text of responses, which the SDK takes over."""

    async def on_llm_end(self, context, agent, response):
        for item in response.output:
            if item.type == "message" and BOMB in item.content[0].text:
                item.content[0].text = "I cannot help."


class DroppingThoughts(AgentHooks):
    async def on_llm_end(self, context, agent, response):
        response.output[:] = [item for item in response.output if item.type != "reasoning"]


class BlockingResponses(AgentHooks):
    async def on_llm_end(self, context, agent, response):
        if BOMB in str(response.output):
            raise BlockedError


class BlockingAnswers(AgentHooks):
    async def on_end(self, context, agent, output):
        if BOMB in str(output):
            raise BlockedError


class BlockingCalls(AgentHooks):
    async def on_tool_start(self, context, agent, tool):
        raise BlockedError


class BlockingResults(AgentHooks):
    async def on_tool_end(self, context, agent, tool, result):
        raise BlockedError


class Streaming(Fake):
    """Lets its reader in after each word, as a model in a network does."""

    async def stream_response(self, *args, **options):
        async for event in super().stream_response(*args, **options):
            await asyncio.sleep(0)
            yield event


def hooked(hooks, *answers, **options):
    left = list(answers)
    return made(Streaming(lambda _: left.pop(0)), hooks=hooks(), **options)


def slowly(text):
    """Return a model that lets the input guardrails trip after it has begun to answer."""
    global begun  # noqa: PLW0603 - each test has a loop of its own
    begun = asyncio.Event()

    def model(_):
        begun.set()
        return text

    return Fake(model)


@function_tool
def look_up() -> str:
    """Look up the weather."""
    return "rain"


@function_tool(tool_output_guardrails=[no_bomb_of_tools])
def research() -> str:
    """Find out."""
    return BOMB


@function_tool
def search(query: str) -> str:
    """Search for something."""
    return f"a book about {query}"


@function_tool(tool_input_guardrails=[no_bomb_for_tools])
def search_checked(query: str) -> str:
    """Search for something."""
    return "never"


@function_tool(tool_output_guardrails=[no_bomb_from_tools])
def search_library() -> str:
    """Search the library."""
    return BOMB


@function_tool(needs_approval=True)
def book() -> str:
    """Book a trip."""
    return "booked"


def withhold(context, results):
    """Answer with something else than the tools have found."""
    return ToolsToFinalOutputResult(is_final_output=True, final_output="withheld")


def guarded(*answers, **options):
    return agent(*answers, output_guardrails=[no_bomb], **options)


def refuses(_):
    raise ModelRefusalError("I do not help with that.")


def drawn():
    return ImageGenerationCall(
        id="i", result="cG5n", status="completed", type="image_generation_call"
    )


def thought(text):
    summary = [Summary(text=text, type="summary_text")]
    return ResponseReasoningItem(id="t", summary=summary, type="reasoning")


BESIDE = "The text beside a tool call or a handoff is part of the answer."
REJECTED = {"bare": nothing, "state": "rejected", "blocked": BOMB}

PROGRAMS = [
    Program(name="a text", target=lambda: agent("one two three"), bare=run),
    Program(name="no text", target=lambda: agent(" "), bare=nothing),
    Program(
        name="several messages",
        target=lambda: agent(["first", "second"]),
        bare=run,
        differs="first\n\nsecond",
        because="All messages are part of the answer.",
    ),
    Program(
        name="reasoning in the text",
        target=lambda: agent("<think>hm</think>It is so"),
        bare=run,
        differs="It is so",
        because="Reasoning is not part of the answer.",
    ),
    Program(name="a guardrail passes", target=lambda: guarded("fine"), bare=run, blocked=BOMB),
    Program(name="a guardrail blocks", target=lambda: guarded(f"this is {BOMB}"), **REJECTED),
    Program(
        name="a guardrail of the run blocks",
        target=lambda: adapt(
            agent(f"this is {BOMB}"), run_config=RunConfig(output_guardrails=[no_bomb])
        ),
        **REJECTED,
    ),
    Program(
        name="a guardrail checks the final message",
        target=lambda: guarded(
            [thought(BOMB), f"this is {BOMB}", calling("look_up")], "It rains.", tools=[look_up]
        ),
        bare=run,
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="a guardrail of data blocks",
        target=lambda: guarded(f'{{"city":"{BOMB}"}}', output_type=Weather),
        **REJECTED,
    ),
    Program(
        name="a guardrail withholds an image",
        target=lambda: guarded([drawn(), BOMB]),
        **REJECTED,
    ),
    Program(
        name="a guardrail lets an image pass",
        target=lambda: guarded([drawn(), "There."]),
        bare=lambda _: both(File(content=b"png", media_type="image/png"), Text("There.")),
    ),
    Program(
        name="a guardrail lets an image before an approval pass",
        target=lambda: guarded([drawn(), calling("book")], "There.", tools=[book]),
        bare=lambda _: both(File(content=b"png", media_type="image/png"), Text("There.")),
        messages=("hello", "yes"),
    ),
    Program(
        name="a guardrail withholds an image before an approval",
        target=lambda: guarded([drawn(), calling("book")], BOMB, tools=[book]),
        messages=("hello", "yes"),
        **REJECTED,
    ),
    Program(
        name="an image before an approval",
        target=lambda: agent(
            ["Look:", drawn(), "A cat.", calling("book")], "Booked.", tools=[book]
        ),
        bare=lambda _: both(
            Text("Look:"),
            File(content=b"png", media_type="image/png"),
            Text("A cat."),
            Text("Booked."),
        ),
        messages=("hello", "yes"),
    ),
    Program(
        name="a guardrail before a handoff",
        target=lambda: guarded(
            [f"this is {BOMB}", calling("transfer_to_expert")],
            handoffs=[agent("It rains.", name="expert")],
        ),
        bare=run,
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="a guardrail after a handoff",
        target=lambda: agent(
            ["Let me ask.", calling("transfer_to_expert")],
            handoffs=[guarded(f"this is {BOMB}", name="expert")],
        ),
        **REJECTED,
    ),
    Program(
        name="a guardrail of an agent that is not known before",
        target=lambda: agent(
            calling("transfer_to_expert"), handoffs=[hidden(guarded(BOMB, name="expert"))]
        ),
        **REJECTED,
    ),
    Program(
        name="a guardrail before an approval",
        target=lambda: guarded([f"this is {BOMB}", calling("book")], "Booked.", tools=[book]),
        bare=run_approved,
        messages=("hello", "yes"),
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="an input guardrail declines during the answer",
        target=lambda: made(slowly(f"this is {BOMB}"), input_guardrails=[no_hello]),
        **REJECTED,
    ),
    Program(
        name="an input guardrail declines before the answer",
        target=lambda: agent("never", input_guardrails=[no_hello_at_all]),
        **REJECTED,
    ),
    Program(
        name="one of two input guardrails declines",
        target=lambda: made(
            slowly(f"this is {BOMB}"), input_guardrails=[any_hello, no_hello, any_hello]
        ),
        **REJECTED,
    ),
    Program(
        name="a hook replaces",
        target=lambda: hooked(
            Rewriting, [f"this is {BOMB}", calling("look_up")], f"this is {BOMB}", tools=[look_up]
        ),
        bare=run,
        differs="I cannot help.\n\nI cannot help.",
        because=BESIDE,
        blocked=BOMB,
    ),
    Program(
        name="a hook drops a thought",
        target=lambda: hooked(DroppingThoughts, [thought(BOMB), "fine"]),
        bare=run,
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="a hook blocks a response",
        target=lambda: hooked(
            BlockingResponses, [f"{BOMB}?", calling("search", query=BOMB)], tools=[search]
        ),
        **REJECTED,
    ),
    Program(
        name="a hook blocks the answer",
        target=lambda: hooked(BlockingAnswers, f"this is {BOMB}"),
        **REJECTED,
    ),
    Program(
        name="a hook blocks the answer after a handoff",
        target=lambda: agent(
            ["Let me ask.", calling("transfer_to_expert")],
            handoffs=[hooked(BlockingAnswers, f"this is {BOMB}", name="expert")],
        ),
        **REJECTED,
    ),
    Program(
        name="a hook blocks a call",
        target=lambda: hooked(BlockingCalls, calling("search", query=BOMB), tools=[search]),
        **REJECTED,
    ),
    Program(
        name="a hook blocks a result",
        target=lambda: hooked(BlockingResults, calling("search", query="it"), tools=[search]),
        bare=nothing,
        state="rejected",
        blocked="a book about it",
    ),
    Program(
        name="a guardrail of a tool rejects its arguments",
        target=lambda: agent(
            calling("search_checked", query=BOMB), "I cannot help.", tools=[search_checked]
        ),
        bare=run,
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="a guardrail of a tool replaces its result",
        target=lambda: agent(calling("search_library"), "I cannot help.", tools=[search_library]),
        bare=run,
        blocked=BOMB,
    ),
    Program(
        name="a guardrail blocks a tool's result as the answer",
        target=lambda: guarded(
            calling("search", query=BOMB), tools=[search], tool_use_behavior="stop_on_first_tool"
        ),
        bare=nothing,
        state="rejected",
        blocked="a book about",
    ),
    Program(
        name="a guardrail passes a tool's result as the answer",
        target=lambda: guarded(
            calling("look_up"), tools=[look_up], tool_use_behavior="stop_on_first_tool"
        ),
        bare=run,
    ),
    Program(
        name="a function withholds a tool's result",
        target=lambda: agent(
            calling("search", query="it"), tools=[search], tool_use_behavior=withhold
        ),
        bare=run,
        blocked="a book about it",
        is_kept=True,
    ),
    Program(
        name="a guardrail of a tool blocks",
        target=lambda: agent(["Let me see.", calling("research")], tools=[research]),
        **REJECTED,
    ),
    Program(
        name="the model refuses", target=lambda: made(Fake(refuses)), bare=nothing, state="rejected"
    ),
    Program(
        name="a tool",
        target=lambda: agent(["Let me see.", calling("look_up")], "It rains.", tools=[look_up]),
        bare=run,
        differs="Let me see.\n\nIt rains.",
        because=BESIDE,
    ),
    Program(
        name="a tool as the last step",
        target=lambda: agent(
            calling("look_up"), tools=[look_up], tool_use_behavior="stop_on_first_tool"
        ),
        bare=run,
    ),
    Program(
        name="a text before a tool as the last step",
        target=lambda: agent(
            ["Let me see.", calling("look_up")],
            tools=[look_up],
            tool_use_behavior="stop_on_first_tool",
        ),
        bare=run,
        differs="Let me see.\n\nrain",
        because=BESIDE,
    ),
    Program(
        name="a structured output",
        target=lambda: agent('{"city":"Rome"}', output_type=Weather),
        bare=run,
    ),
    Program(
        name="a nested agent",
        target=lambda: agent(
            calling("inner", input="hello"),
            "It says no.",
            tools=[guarded(BOMB).as_tool("inner", "Asks.")],
        ),
        bare=run,
        blocked=BOMB,
    ),
]


def hidden(expert):
    """Return a handoff to an agent that only its function makes."""
    known = handoff(expert)
    known._agent_ref = None  # private: as of handoffs that are made by hand
    return known


async def both(*parts):
    return list(parts)


@in_each_way
@pytest.mark.parametrize("program", PROGRAMS, ids=str)
async def test_answers_are_those_of_the_run(program, ways, tmp_path, caplog):
    await check(program, ways, tmp_path, caplog)


@pytest.mark.parametrize(
    "program", [each for each in PROGRAMS if each.state == "completed"], ids=str
)
async def test_answers_of_durable_runs_are_those_of_the_run(program, tmp_path, caplog):
    durable = replace(
        program,
        target=lambda: adapt(program.target(), durable=True),
        bare=lambda _: program.bare(program.target()),
    )
    await check(durable, ALL[:1], tmp_path, caplog)


async def test_text_without_guardrails_is_accepted_message_by_message():
    expert = guarded("It rains.", name="expert")
    turn = ["Let me ask.", calling("transfer_to_expert")]
    adapter = adapt(agent(turn, handoffs=[expert]))
    assert adapter.holds_text
    accepted = [event for event in await ask(adapter, "hi") if isinstance(event, AnswerText)]
    assert accepted == [AnswerText("Let me ask."), AnswerText("Let me ask.\n\nIt rains.")]


async def test_text_is_streamed_once_the_input_guardrails_have_passed():
    passed = asyncio.Event()

    @input_guardrail
    async def slow(context, agent, given):
        await passed.wait()
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)

    adapter = adapt(agent("one two", input_guardrails=[slow]))
    assert not adapter.holds_text
    events = asyncio.create_task(ask(adapter, "hi"))
    passed.set()
    assert deltas(await events) == ["one", " two"]


async def test_refusals_of_models_have_a_category():
    events = adapt(made(Fake(refuses))).stream(request("hi"))
    assert (await anext(events)).values == {"error": {"category": "model_refused"}}
    with pytest.raises(BlockedError, match="I do not help with that"):
        await anext(events)


def server(mode, **options):
    """Return an MCP server with one tool."""
    arguments = ["-I", "-S", str(SERVER), mode]
    return MCPServerStdio({"command": sys.executable, "args": arguments}, **options)


@function_tool(needs_approval=True)
def book_city(city: str) -> str:
    """Book a trip."""
    return f"booked {city}"


@function_tool
def look(city: str) -> str:
    """Look at a city."""
    return f"rain in {city}"


async def test_results_after_an_approval_have_tool_names():
    calls = [calling("look", city="Rome"), calling("book_city", call_id="c2", city="Rome")]
    adapter = adapt(agent(calls, "done", tools=[look, book_city]))
    before = await ask(adapter, "hi", wants_progress=True)
    after = await reply(adapter, "yes", wants_progress=True)
    results = [event for event in (*before, *after) if isinstance(event, ToolResult)]
    assert results == [
        ToolResult("c1", "look", "rain in Rome"),
        ToolResult("c2", "book_city", "booked Rome"),
    ]


@pytest.mark.parametrize("mode", ["failing", "flagged"])
async def test_failed_mcp_tools_are_flagged_without_their_error(mode):
    async with server(mode, custom_data_extractor=lambda _: {"own": 1}) as mcp:
        for options in ({}, {"tool_use_behavior": "stop_on_first_tool"}):
            made = agent(calling(mode, text="x"), "done", mcp_servers=[mcp], **options)
            events = await ask(adapt(made), "hi", wants_progress=True)
            assert only(events, ToolCall).name == mode
            assert only(events, ToolResult) == ToolResult("c1", mode, is_error=True)
            assert answer(events) == ("The tool failed." if options else "done")
