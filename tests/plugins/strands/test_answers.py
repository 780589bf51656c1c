"""Agents and teams answer as their own call does."""

from __future__ import annotations

import pytest
from pydantic import BaseModel
from strands import tool
from strands.agent import AgentResult
from strands.event_loop._retry import ModelRetryStrategy
from strands.hooks import (
    AfterInvocationEvent,
    AfterModelCallEvent,
    AfterToolsEvent,
    BeforeInvocationEvent,
    MessageAddedEvent,
)
from strands.middleware import InvokeModelStage
from strands.multiagent import GraphBuilder, Swarm
from strands.multiagent.base import MultiAgentResult
from strands.types.exceptions import ModelThrottledException
from strands.vended_plugins.goal import GoalLoop

from a2a_adapters import BlockedError, Data, Factory, File, Progress, TextDelta
from a2a_adapters.testing import AnswerContract
from tests.plugins.strands.support import adapt, agent, calling, team
from tests.support.adapters import answer, ask
from tests.support.answers import Program, check

BOMB = AnswerContract.blocked
REFUSAL = "I cannot help."
PNG = {"format": "png", "source": {"bytes": b"pixels"}}


def text_of(message):
    return str(AgentResult("end_turn", message, None, None)).strip()


def rewrite(event: MessageAddedEvent) -> None:
    """Replace what is forbidden."""
    if event.message["role"] == "assistant" and "bomb" in str(event.message):
        event.message["content"] = [{"text": REFUSAL}]


def block(event: MessageAddedEvent) -> None:
    """End the run."""
    if event.message["role"] == "assistant" and "bomb" in text_of(event.message):
        raise BlockedError("This is not allowed.")


def call_again(event: AfterModelCallEvent) -> None:
    """Have the model called again."""
    event.retry = bool(event.stop_response) and "bomb" in text_of(event.stop_response.message)


def rewrite_result(event: AfterInvocationEvent) -> None:
    """Replace the result."""
    if "bomb" in text_of(event.result.message):
        event.result.message["content"] = [{"text": REFUSAL}]


def draw(event: MessageAddedEvent) -> None:
    """Add a file."""
    if event.message["role"] == "assistant":
        event.message["content"].append({"image": PNG})


def cancel(event: BeforeInvocationEvent) -> None:
    """Answer in place of the agent."""
    event.cancel = REFUSAL


def end_turn(event: AfterToolsEvent) -> None:
    """End the run after its tools."""
    event.end_turn = "Booked."


def filtered(*answers, **options):
    """Return an agent with middleware that replaces what is forbidden."""

    def replace(result):
        message = result.result["stop"][1]
        if "bomb" in text_of(message):
            message["content"] = [{"text": REFUSAL}]
        return result

    made = agent(*answers, **options)
    made.add_middleware(InvokeModelStage.Output, replace)
    return made


def striving(*answers):
    """Return an agent that answers until a check passes."""
    goal = GoalLoop(goal=lambda message, _: "bomb" not in text_of(message), max_attempts=3)
    return agent(*answers, plugins=[goal])


def retrying():
    """Return an agent whose model fails once."""
    strategy = ModelRetryStrategy(initial_delay=0)
    failed = ["half an ", ModelThrottledException("busy")]
    return agent(failed, "an answer", retry_strategy=strategy)


async def bare(target):
    """Return the text and the files of the message of the result, and the structured output."""
    made = target() if isinstance(target, type(retrying)) else target
    result = await made.invoke_async("hello")
    while isinstance(result, MultiAgentResult):
        [*_, last] = result.results.values()
        result = last.result
    images = [block["image"] for block in result.message["content"] if "image" in block]
    files = [File(content=each["source"]["bytes"], media_type="image/png") for each in images]
    output = result.structured_output
    return [text_of(result.message), *files, *([Data(output.model_dump())] if output else [])]


async def nothing(_):
    """Return nothing: the run ends with an exception, or for a reason that is no answer."""


def delegating(member, **options):
    """Return an agent that answers with what another one says."""
    call = calling("desk", input="go")
    return agent(["Over to the desk.", call], tools=[member.as_tool(delegate=True)], **options)


def nested(member):
    """Return a graph of a graph of an agent."""
    builder = GraphBuilder()
    builder.set_max_node_executions(10)
    builder.add_node(team(member), "inner")
    builder.set_entry_point("inner")
    return builder.build()


class Weather(BaseModel):
    city: str
    degrees: int


@tool
def look() -> str:
    """Look."""
    return "rain"


class TestAnswers(AnswerContract):
    def guarded(self):
        return agent(self.blocked, hooks=[rewrite])

    def blocking(self):
        return agent([self.blocked, ("guardrail_intervened",)], hooks=[rewrite])

    def retrying(self):
        return retrying()


class TestAnswersOfTeams(AnswerContract):
    def guarded(self):
        return lambda: team(agent(self.blocked, hooks=[rewrite]))

    def blocking(self):
        return lambda: team(agent(self.blocked, hooks=[block]))

    def retrying(self):
        return lambda: team(retrying())


class TestRejectedRuns(AnswerContract):
    """Runs in which the model is called again, or the agent, or in which a hook raises."""

    def guarded(self):
        return striving(self.blocked, REFUSAL)

    def blocking(self):
        return agent(self.blocked, hooks=[block])

    def retrying(self):
        return agent("half an bomb", "an answer", hooks=[call_again])


PROGRAMS = [
    Program(
        name="a hook rewrites a message",
        target=lambda: agent(BOMB, hooks=[rewrite]),
        bare=bare,
        blocked=BOMB,
    ),
    Program(name="a cited text", target=lambda: agent({"cited": "It rains."}), bare=bare),
    Program(
        name="a hook has the model called again",
        target=lambda: agent(BOMB, REFUSAL, hooks=[call_again]),
        bare=bare,
        blocked=BOMB,
    ),
    Program(
        name="a hook rewrites the result",
        target=lambda: agent(BOMB, hooks=[rewrite_result]),
        bare=bare,
        blocked=BOMB,
    ),
    Program(
        name="a check has the agent run again",
        target=lambda: striving(BOMB, REFUSAL),
        bare=bare,
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="middleware rewrites a message",
        target=lambda: filtered(BOMB),
        bare=bare,
        blocked=BOMB,
    ),
    Program(
        name="a hook raises",
        target=lambda: agent(BOMB, hooks=[block]),
        bare=nothing,
        state="rejected",
        blocked=BOMB,
    ),
    Program(
        name="a guardrail of the model intervenes",
        target=lambda: agent([BOMB, ("guardrail_intervened",)], hooks=[rewrite]),
        bare=nothing,
        state="rejected",
        blocked=BOMB,
    ),
    Program(
        name="a hook answers in place of the agent",
        target=lambda: agent(BOMB, hooks=[cancel]),
        bare=bare,
        blocked=BOMB,
    ),
    Program(name="a failed call is retried", target=retrying, bare=bare),
    Program(
        name="a hook ends the run after a tool",
        target=lambda: agent(calling("look"), tools=[look], hooks=[end_turn]),
        bare=bare,
    ),
    Program(
        name="several messages",
        target=lambda: agent(["Let me see.", calling("look")], "It rains.", tools=[look]),
        bare=bare,
        differs="Let me see.\n\nIt rains.",
        because="what the agent says before it calls a tool is part of the answer",
    ),
    Program(
        name="structured output",
        target=lambda: agent(
            ["Well.", calling("Weather", city="Rome", degrees=20)],
            structured_output_model=Weather,
        ),
        bare=bare,
    ),
    Program(name="files", target=lambda: agent("Here.", hooks=[draw]), bare=bare),
    Program(
        name="reasoning",
        target=lambda: agent([{"thought": "pondering"}, "It rains."]),
        bare=bare,
        blocked="pondering",
        is_kept=True,
    ),
    Program(name="nothing", target=lambda: agent(" "), bare=bare),
    Program(
        name="a graph",
        target=lambda: (
            lambda: team(agent("a draft", name="writer"), agent(BOMB, name="end", hooks=[rewrite]))
        ),
        bare=bare,
        blocked=BOMB,
    ),
    Program(
        name="a graph in a graph",
        target=lambda: lambda: nested(agent(BOMB, name="writer", hooks=[rewrite])),
        bare=bare,
        blocked=BOMB,
    ),
    Program(
        name="an agent delegates",
        target=lambda: delegating(agent(BOMB, name="desk", hooks=[rewrite])),
        bare=bare,
        blocked=BOMB,
    ),
    Program(
        name="a hook rewrites what another agent has said",
        target=lambda: delegating(agent(BOMB, name="desk"), hooks=[rewrite]),
        bare=bare,
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="a message is too long",
        target=lambda: agent([BOMB, ("max_tokens",)], hooks=[rewrite]),
        bare=nothing,
        state="failed",
        blocked=BOMB,
    ),
    Program(
        name="a swarm",
        target=lambda: lambda: Swarm([agent(BOMB, name="desk", hooks=[rewrite_result])]),
        bare=bare,
        blocked=BOMB,
    ),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
async def test_answers_are_those_of_the_call(program, tmp_path, caplog):
    await check(program, tmp_path, caplog)


def test_text_is_held_where_it_may_change():
    held = [agent("x", hooks=[each]) for each in (rewrite, call_again, rewrite_result)]
    free = [agent("x", hooks=[each]) for each in (cancel, end_turn)]
    found = [adapt(target).holds_text for target in (*held, filtered("x"), *free, agent("x"))]
    assert found == [True, True, True, True, False, False, False]


async def test_agents_that_are_made_with_hooks_later_stream_nothing_unchecked():
    made = Factory(lambda: agent(BOMB, hooks=[rewrite]), agent("x"))
    adapter = adapt(made)
    assert not adapter.holds_text
    events = await ask(adapter, "hello")
    assert answer(events) == REFUSAL
    assert not [event for event in events if isinstance(event, TextDelta)]


@pytest.mark.parametrize("hook", [rewrite, rewrite_result])
async def test_reasoning_that_may_change_is_not_reported(hook):
    helper = agent([{"thought": "a bomb"}, BOMB], hooks=[hook])
    events = await ask(adapt(helper), "hello", wants_progress=True)
    assert not [event for event in events if isinstance(event, Progress)]
