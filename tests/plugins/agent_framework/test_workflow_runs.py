"""What the executors of workflows take, what is told about a run, and what ends it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from a2a_adapters_agent_framework.serving.failures import LIMIT_TEXT
from agent_framework import (
    Content,
    Executor,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
    response_handler,
    tool,
)
from agent_framework_orchestrations import SequentialBuilder

from a2a_adapters import (
    Data,
    File,
    InvalidInputError,
    Rejected,
    TargetError,
    TaskMetadata,
    ToolCall,
    ToolResult,
)
from a2a_adapters.plugin import as_json
from tests.plugins.agent_framework.support import Fake, agent, calling
from tests.plugins.agent_framework.test_workflows import adapt, asking, of_one
from tests.support.adapters import ask, data, only, reply


@dataclass
class Stay:
    """What an executor takes, asks about and outputs."""

    city: str
    nights: int


class Hotel(Executor):
    @handler
    async def begin(self, stay: Stay, ctx: WorkflowContext[Stay, Stay]) -> None:
        await ctx.request_info(stay, bool)

    @response_handler
    async def end(self, stay: Stay, longer: bool, ctx: WorkflowContext[Stay, Stay]) -> None:
        await ctx.yield_output(Stay(stay.city, stay.nights + longer))


def hotel() -> Workflow:
    return WorkflowBuilder(start_executor=Hotel(id="hotel")).build()


@pytest.mark.parametrize(
    "part", [Data({"city": "Rome", "nights": 2}), '{"city": "Rome", "nights": 2}']
)
async def test_executors_take_and_output_objects_of_their_types(part):
    adapter = adapt(hotel)
    assert as_json(data(await ask(adapter, part)))[0]["request"] == {"city": "Rome", "nights": 2}
    assert data(await reply(adapter, "yes")) == [Stay("Rome", 3)]


@pytest.mark.parametrize("part", ["Rome", Data({"city": "Rome"}), File(content=b"x")])
async def test_messages_must_fit_the_type_of_the_first_executor(part):
    with pytest.raises(InvalidInputError):
        await ask(adapt(hotel), part)


async def test_workflows_that_messages_cannot_fit_say_so():
    class Odd(Executor):
        @handler
        async def begin(self, odd: Executor, ctx: WorkflowContext[str, str]) -> None: ...

    def make() -> Workflow:
        return WorkflowBuilder(start_executor=Odd(id="odd")).build()

    with pytest.raises(InvalidInputError, match="neither text nor data"):
        await ask(adapt(make), "1")


async def test_tools_and_usage_of_all_agents_are_told():
    @tool
    def look(city: str) -> str:
        """Look."""
        return f"rain in {city}"

    def member(name, city):
        return agent([calling("look", city, city=city)], "done", name=name, tools=[look])

    def make() -> Workflow:
        members = [member("writer", "Rome"), member("editor", "Oslo")]
        return SequentialBuilder(participants=members).build()

    events = await ask(adapt(make), "go", wants_progress=True)
    calls = [event.arguments for event in events if isinstance(event, ToolCall)]
    assert calls == [{"city": "Rome"}, {"city": "Oslo"}]
    found = [event.result for event in events if isinstance(event, ToolResult)]
    assert found == ["rain in Rome", "rain in Oslo"]
    assert only(events, TaskMetadata).values["usage"]["total_tokens"] == 20


async def test_an_agent_at_its_limit_of_tool_calls_is_rejected():
    def make() -> Workflow:
        return of_one(Fake(lambda _: LIMIT_TEXT, streams=False))()

    assert "limit of tool calls" in only(await ask(adapt(make), "go"), Rejected).reason


async def test_endless_workflows_are_rejected():
    class Loop(Executor):
        @handler
        async def again(self, text: str, ctx: WorkflowContext[str, str]) -> None:
            await ctx.send_message(text)

    def make() -> Workflow:
        one, other = Loop(id="one"), Loop(id="other")
        builder = WorkflowBuilder(start_executor=one, max_iterations=5)
        return builder.add_edge(one, other).add_edge(other, one).build()

    assert (
        only(await ask(adapt(make), "go"), Rejected).reason
        == "The workflow reached its limit of steps."
    )


async def test_requests_that_callers_cannot_answer_are_rejected():
    class Portal(Executor):
        @handler
        async def begin(self, text: str, ctx: WorkflowContext[str, str]) -> None:
            await ctx.request_info(
                Content.from_oauth_consent_request("https://example.com"), Content
            )

        @response_handler
        async def end(self, asked: Content, given: Content, ctx: WorkflowContext[str, str]) -> None:
            await ctx.yield_output("signed in")

    def make() -> Workflow:
        return WorkflowBuilder(start_executor=Portal(id="portal")).build()

    assert "oauth_consent_request" in only(await ask(adapt(make), "go"), Rejected).reason


async def test_agents_that_ask_need_names():
    @tool(approval_mode="always_require")
    def book() -> str:
        """Book."""
        return ""

    def make() -> Workflow:
        return WorkflowBuilder(
            start_executor=agent(calling("book"), name=None, tools=[book])
        ).build()

    with pytest.raises(TargetError, match="names"):
        await ask(adapt(make), "go")


async def test_a_changed_workflow_does_not_continue():
    made = [asking] * 3  # the first two when it is served

    def make() -> Workflow:
        return (made.pop() if made else hotel)()

    adapter = adapt(make)
    await ask(adapter, "go")
    assert "has changed" in only(await reply(adapter, "Rome"), Rejected).reason
