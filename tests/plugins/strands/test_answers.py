"""Agents and teams answer as their own call does."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from pydantic import BaseModel
from strands import Agent, ToolContext, tool
from strands.agent import AgentResult
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.event_loop._retry import ModelRetryStrategy
from strands.hooks import (
    AfterInvocationEvent,
    AfterModelCallEvent,
    AfterNodeCallEvent,
    AfterToolCallEvent,
    AfterToolsEvent,
    BeforeInvocationEvent,
    BeforeModelCallEvent,
    BeforeNodeCallEvent,
    BeforeToolCallEvent,
    MessageAddedEvent,
)
from strands.interventions import Deny, InterventionHandler, Proceed
from strands.middleware import ExecuteToolStage, InvokeModelStage
from strands.multiagent import GraphBuilder, Swarm
from strands.multiagent.base import MultiAgentBase, MultiAgentResult, NodeResult, Status
from strands.types.exceptions import ModelThrottledException
from strands.vended_plugins.goal import GoalLoop
from strands.vended_plugins.steering import Proceed as Continue
from strands.vended_plugins.steering import SteeringHandler

from a2a_adapters import BlockedError, Data, File, Progress, TargetError, TextDelta, build_app
from a2a_adapters.plugin import Factory
from a2a_adapters.testing import AnswerContract
from tests.plugins.strands.support import (
    Fake,
    adapt,
    agent,
    calling,
    made,
    results,
    script,
    team,
)
from tests.support.adapters import answer, ask
from tests.support.answers import Program, check, in_each_way

BOMB = AnswerContract.blocked
REFUSAL = "I cannot help."
PNG = {"format": "png", "source": {"bytes": b"pixels"}}
PIXELS = File(content=b"pixels", media_type="image/png")


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
    """Replace the text of the result."""
    message = event.result.message
    if "bomb" in text_of(message):
        others = [block for block in message["content"] if "text" not in block]
        message["content"] = [{"text": REFUSAL}, *others]


async def drop_files(event: AfterInvocationEvent) -> None:
    """Remove the files of the result, after others could read it."""
    for _ in range(10):
        await asyncio.sleep(0)
    content = event.result.message["content"]
    content[:] = [block for block in content if "image" not in block]


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


def register(event: BeforeInvocationEvent) -> None:
    """Register a hook during the run."""
    event.agent.add_hook(rewrite)


def register_late(event: BeforeModelCallEvent) -> None:
    """Register a hook for the result just before the model is called."""
    event.agent.add_hook(rewrite_result)


def register_in_member(event: BeforeNodeCallEvent) -> None:
    """Register a hook of a member of a team."""
    event.source.nodes[event.node_id].executor.add_hook(rewrite)


def rewrite_node(event: AfterNodeCallEvent) -> None:
    """Replace the result of a member."""
    rewrite_result(event.source.state.results[event.node_id])


def rewrite_tool(event: AfterToolCallEvent) -> None:
    """Replace the result of a tool."""
    event.result = {**event.result, "content": [{"text": REFUSAL}]}


class GuardedSwarm(Swarm):
    """Replaces the result."""

    async def stream_async(self, *args, **options):
        async for event in super().stream_async(*args, **options):
            if "result" in event:
                for node in event["result"].results.values():
                    node.result.message["content"] = [{"text": REFUSAL}]
            yield event


def change_call(event: BeforeToolCallEvent) -> None:
    """Replace the arguments of a tool."""
    event.tool_use = {**event.tool_use, "input": {"text": "flowers"}}


class Denial(InterventionHandler):
    """Refuses calls."""

    name = "denial"

    def before_tool_call(self, event):
        return Deny(reason="No.") if "bomb" in str(event.tool_use) else Proceed()


class OfTools(SteeringHandler):
    """Steers calls of tools."""

    async def steer_before_tool(self, **_):
        return Continue(reason="")


class OfMessages(SteeringHandler):
    """Steers messages."""

    async def steer_after_model(self, **_):
        return Continue(reason="")


def changed_call(*answers, **options):
    """Return an agent with middleware that replaces the arguments of a tool."""

    def change(context):
        return replace(context, tool_use={**context.tool_use, "input": {"text": "flowers"}})

    made = agent(*answers, **options)
    made.add_middleware(ExecuteToolStage.Input, change)
    return made


class Redacting(SlidingWindowConversationManager):
    """Replaces what is forbidden when a run has ended."""

    def apply_management(self, agent, **options):
        rewrite(MessageAddedEvent(agent, agent.messages[-1]))


class OfInvocations(Agent):
    """Replaces what is forbidden, except in streams."""

    async def invoke_async(self, *args, **options):
        result = await super().invoke_async(*args, **options)
        rewrite_result(AfterInvocationEvent(self, result=result))
        return result


class OfStreams(Agent):
    """Replaces what is forbidden in the results of streams."""

    async def stream_async(self, *args, **options):
        async for event in super().stream_async(*args, **options):
            if "result" in event:
                rewrite_result(AfterInvocationEvent(self, result=event["result"]))
            yield event


class OfCalls(Agent):
    """Replaces what is forbidden in the results of calls."""

    def __call__(self, *args, **options):
        result = super().__call__(*args, **options)
        rewrite_result(AfterInvocationEvent(self, result=result))
        return result


class SwarmOfCalls(Swarm):
    """May replace the results of calls."""

    def __call__(self, *args, **options):
        return super().__call__(*args, **options)


def own(kind):
    """Return an agent of a class of one's own."""
    return kind(model=script(BOMB), callback_handler=None)


def filtered(*answers, **options):
    """Return an agent with middleware that replaces what is forbidden."""

    def rewritten(result):
        message = result.result["stop"][1]
        if "bomb" in text_of(message):
            message["content"] = [{"text": REFUSAL}]
        return result

    made = agent(*answers, **options)
    made.add_middleware(InvokeModelStage.Output, rewritten)
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


async def end_of(make):
    """Return the text of the result of the agent `end` of a team."""
    result = await make().invoke_async("hello")
    return text_of(result.results["end"].result.message)


async def nothing(_):
    """Return nothing: the run ends with an exception, or for a reason that is no answer."""


def delegating(member, **options):
    """Return an agent that answers with what another one says."""
    call = calling("desk", input="go")
    return agent(["Over to the desk.", call], tools=[member.as_tool(delegate=True)], **options)


def hooked(member, hook):
    """Return a graph of an agent, with a hook of the graph."""
    graph = team(member)
    graph.add_hook(hook)
    return graph


def unlikely(first, second):
    """Return a graph whose second agent does not run."""
    builder = GraphBuilder()
    builder.set_max_node_executions(10)
    for each in (first, second):
        builder.add_node(each, each.name)
    builder.add_edge(first.name, second.name, condition=lambda _: False)
    builder.set_entry_point(first.name)
    return builder.build()


def detour():
    """Return a graph that reaches its last agent in two ways, one longer than the other."""
    builder = GraphBuilder()
    builder.set_max_node_executions(10)
    for each in (agent("a", name="a"), agent("b", name="b"), agent("first", "last", name="end")):
        builder.add_node(each, each.name)
    for edge in (("a", "end"), ("a", "b"), ("b", "end")):
        builder.add_edge(*edge)
    return builder.build()


def around(member):
    """Return a graph around a graph, or around another team."""
    builder = GraphBuilder()
    builder.set_max_node_executions(10)
    builder.add_node(member, "inner")
    builder.set_entry_point("inner")
    return builder.build()


def drawing(*answers, **options):
    """Return an agent that adds a file to what it says."""
    return agent(*answers, name="end", hooks=[draw], **options)


def forecasting(*said):
    """Return an agent with a structured output, which may say something, too."""
    call = calling("Weather", city="Rome", degrees=20)
    return agent([*said, call], name="end", structured_output_model=Weather)


class Own(MultiAgentBase):
    """A node of a graph that streams an agent, and answers with another text."""

    id = "own"

    async def invoke_async(self, task, invocation_state=None, **_):
        result = await agent(REFUSAL).invoke_async(task)
        node = NodeResult(result=result, status=Status.COMPLETED)
        return MultiAgentResult(status=Status.COMPLETED, results={"own": node})

    async def stream_async(self, task, invocation_state=None, **_):
        async for event in agent(BOMB).stream_async(task):
            if "result" not in event:
                yield event
        yield {"result": await self.invoke_async(task)}


class Weather(BaseModel):
    city: str
    degrees: int


@tool
def look() -> str:
    """Look."""
    return "rain"


@tool
def write(text: str) -> str:
    """Write."""
    return "done"


@tool(context=True)
def arm(tool_context: ToolContext) -> str:
    """Register a hook."""
    tool_context.agent.add_hook(rewrite)
    return "armed"


@tool(context=True)
def confirm(tool_context: ToolContext) -> str:
    """Ask."""
    return tool_context.interrupt("confirm", "Sure?")


async def confirmed(target):
    """Return the text of the result after a question was answered with yes."""
    return text_of((await _confirmed(target)).message)


async def confirmed_team(make):
    """Return the text of the last result of a team after a question was answered with yes."""
    [*_, result] = (await _confirmed(make())).results["inner"].get_agent_results()
    return text_of(result.message)


async def _confirmed(target):
    asked = await target.invoke_async("hello")
    [question] = asked.interrupts
    answer = {"interruptId": question.id, "response": "yes"}
    return await target.invoke_async([{"interruptResponse": answer}])


def asking():
    """Return an agent that asks, with a hook."""
    model = Fake(lambda messages: BOMB if results(messages) else calling("confirm"))
    return made(model, tools=[confirm], hooks=[rewrite])


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
    *[
        Program(name=name, target=target, bare=bare, blocked=BOMB)
        for name, target in (
            ("a hook registers a hook", lambda: agent(BOMB, hooks=[register])),
            ("a hook registers a hook late", lambda: agent(BOMB, hooks=[register_late])),
            ("a tool registers a hook", lambda: agent(calling("arm"), BOMB, tools=[arm])),
            ("a member registers a hook", lambda: lambda: team(agent(BOMB, hooks=[register]))),
            (
                "a hook of a graph registers a hook",
                lambda: lambda: hooked(agent(BOMB), register_in_member),
            ),
            ("a hook of a graph rewrites", lambda: lambda: hooked(agent(BOMB), rewrite_node)),
            ("a team of one's own in a graph", lambda: lambda: around(Own())),
            (
                "a conversation manager rewrites",
                lambda: agent(BOMB, conversation_manager=Redacting()),
            ),
            ("a class rewrites what it returns", lambda: own(OfInvocations)),
            ("a class rewrites what it streams", lambda: own(OfStreams)),
            ("a class in a graph rewrites", lambda: lambda: team(own(OfStreams))),
        )
    ],
    *[
        Program(
            name=f"{name} changes a call",
            target=lambda make=make, options=options: make(
                calling("write", text=BOMB), "It rains.", tools=[write], **options
            ),
            bare=bare,
            blocked=BOMB,
            is_kept=True,
        )
        for name, make, options in (
            ("a hook", agent, {"hooks": [change_call]}),
            ("an intervention", agent, {"interventions": [Denial()]}),
            ("middleware", changed_call, {}),
        )
    ],
    Program(
        name="a hook rewrites what is said before a question",
        target=lambda: agent(
            [BOMB, calling("confirm")], "It rains.", tools=[confirm], hooks=[rewrite_result]
        ),
        bare=confirmed,
        messages=("hello", "yes"),
        blocked=BOMB,
        differs=[REFUSAL, "It rains."],
        because="what the agent says before it asks is part of the answer",
    ),
    *(
        Program(
            name=f"a file before a question, {name}",
            target=lambda hooks=hooks: agent(
                ["Look:", calling("confirm")], "It rains.", tools=[confirm], hooks=[draw, *hooks]
            ),
            bare=confirmed,
            messages=("hello", "yes"),
            differs=["Look:", PIXELS, "It rains.", PIXELS],
            because="what precedes a question is part of the answer",
        )
        for name, hooks in (("with a hook", []), ("with a hook of the run", [rewrite_result]))
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
        name="a hook checks the result only",
        target=lambda: agent(
            [BOMB, calling("look")], "It rains.", tools=[look], hooks=[rewrite_result]
        ),
        bare=bare,
        blocked=BOMB,
        is_kept=True,
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
        name="a hook removes a file",
        target=lambda: agent("Here.", hooks=[draw, drop_files]),
        bare=bare,
    ),
    Program(
        name="reasoning",
        target=lambda: agent([{"thought": "pondering"}, "It rains."]),
        bare=bare,
        blocked="pondering",
        is_kept=True,
        is_reported=True,
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
        target=lambda: lambda: around(team(agent(BOMB, name="writer", hooks=[rewrite]))),
        bare=bare,
        blocked=BOMB,
    ),
    *[
        Program(
            name=f"a member of a {name} in a graph asks",
            target=target,
            bare=confirmed_team,
            messages=("hello", "yes"),
            blocked=BOMB,
        )
        for name, target in (
            ("graph", lambda: lambda: around(team(asking()))),
            ("graph in a graph", lambda: lambda: around(around(team(asking())))),
            ("swarm", lambda: lambda: around(Swarm([asking()]))),
        )
    ],
    *[
        Program(name=name, target=target, bare=bare)
        for name, target in (
            (
                "the last agent of a graph with structured output",
                lambda: lambda: team(agent("a draft", name="writer"), forecasting()),
            ),
            (
                "the last agent of a graph with text and structured output",
                lambda: lambda: team(agent("a draft", name="writer"), forecasting("Well.")),
            ),
            (
                "structured output of a graph in a graph",
                lambda: lambda: around(team(forecasting())),
            ),
            ("structured output of a swarm", lambda: lambda: Swarm([forecasting()])),
            (
                "files of the last agent of a graph",
                lambda: lambda: team(agent("a draft", name="writer"), drawing("Here.")),
            ),
            ("files of a swarm", lambda: lambda: Swarm([drawing("Here.")])),
            (
                "the last agent of a graph says nothing",
                lambda: lambda: team(agent("a draft", name="writer"), agent(" ", name="end")),
            ),
            (
                "the last agent of a graph does not run",
                lambda: lambda: unlikely(agent("a draft", name="writer"), agent("x", name="end")),
            ),
        )
    ],
    Program(
        name="the last agent of a graph runs twice",
        target=lambda: detour,
        bare=end_of,
    ),
    Program(
        name="a filter stops the first agent of a graph",
        target=lambda: (
            lambda: team(
                agent([BOMB, ("content_filtered",)], name="writer"), agent("the end", name="end")
            )
        ),
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
        name="a hook does not see what another agent says before it asks",
        target=lambda: delegating(
            agent([BOMB, calling("confirm")], REFUSAL, name="desk", tools=[confirm]),
            hooks=[rewrite],
        ),
        bare=confirmed,
        messages=("hello", "yes"),
        blocked=BOMB,
    ),
    Program(
        name="a hook rewrites the result of another agent",
        target=lambda: delegating(agent(BOMB, name="desk"), hooks=[rewrite_tool]),
        bare=bare,
        blocked=BOMB,
    ),
    Program(
        name="a class of swarms rewrites the result",
        target=lambda: lambda: GuardedSwarm([agent(BOMB, name="writer")]),
        bare=bare,
        blocked=BOMB,
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


@in_each_way
@pytest.mark.parametrize("program", PROGRAMS, ids=str)
async def test_answers_are_those_of_the_call(program, ways, tmp_path, caplog):
    await check(program, ways, tmp_path, caplog)


def test_text_is_held_where_it_may_change():
    held = [agent("x", hooks=[each]) for each in (rewrite, call_again, rewrite_result)]
    free = [agent("x", hooks=[each]) for each in (cancel, end_turn)]
    free += [agent("x", hooks=[change_call]), agent("x", plugins=[OfTools()])]
    held += [filtered("x"), agent("x", plugins=[OfMessages()])]
    assert all(adapt(target).holds_text for target in held)
    assert not any(adapt(target).holds_text for target in (*free, agent("x")))


def test_a_class_that_checks_only_calls_is_refused():
    with pytest.raises(TargetError, match="invoke_async"):
        adapt(own(OfCalls))
    with pytest.raises(TargetError, match="override stream_async"):
        build_app(lambda: SwarmOfCalls([agent("x")]))


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
