"""AutoGen's agents and teams pass the contract of adapters, on our runtime and a2a-sdk's."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_autogen import adapt
from autogen_agentchat.agents import AssistantAgent, UserProxyAgent
from autogen_agentchat.conditions import HandoffTermination
from autogen_agentchat.messages import (
    HandoffMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
)
from autogen_agentchat.teams import RoundRobinGroupChat, Swarm
from autogen_core.models import ChatCompletionClient, FunctionExecutionResult, RequestUsage

from a2a_adapters.testing import (
    AdapterContract,
    InputRequiredContract,
    OnSqlite,
    ToolContract,
    answer_of,
    send,
    user_message,
)
from tests.plugins.autogen.support import Custom, agent, calling, model, round_robin
from tests.plugins.functions.test_contract import OnTheSdk
from tests.support.agents.contracts import OnPostgresql

pytestmark = pytest.mark.timeout(5 * 60)


class FailingClient(ChatCompletionClient):
    """A model that streams `begun` and then fails."""

    model_info = capabilities = model("unused").model_info

    def __init__(self, secret):
        self._secret = secret

    async def create_stream(self, *_, **__):
        yield "begun"
        raise RuntimeError(self._secret)

    async def create(self, *_, **__):
        raise NotImplementedError

    async def close(self):
        pass

    def actual_usage(self):
        return RequestUsage(0, 0)

    total_usage = actual_usage

    def count_tokens(self, *_, **__):
        return 0

    remaining_tokens = count_tokens


def streaming_then_failing(secret):
    """Return an agent whose model streams `begun` and then fails."""
    return AssistantAgent("helper", FailingClient(secret), model_client_stream=True)


def last(texts):
    return texts[-1]


class Agents(AdapterContract):
    def made(self, make):
        """Return how the agent is served: by a factory."""

        def factory():
            return make()

        return factory

    def echo(self):
        return self.made(lambda: Custom(last))

    def silent(self):
        return self.made(lambda: Custom(lambda _: ""))

    def failing(self):
        def fail(_):
            raise RuntimeError(self.secret)

        return self.made(lambda: Custom(fail))

    def failing_midway(self):
        return self.made(lambda: streaming_then_failing(self.secret))

    def endless(self):
        return self.made(lambda: Custom(lambda _: asyncio.Event().wait()))


class Teams(Agents):
    def made(self, make):
        def factory() -> RoundRobinGroupChat:
            return round_robin(make())

        return factory

    def failing_midway(self):
        """Return a team all of whose messages are the answer."""
        return adapt(super().failing_midway(), final="all")

    async def test_a_failure_midway_keeps_the_streamed_text(self):
        async with self.client(self.failing_midway()) as client:
            task = await send(client, user_message("hello"))
        assert answer_of(task) == "helper: begun"
        assert self.secret not in str(task)


class Handoffs(InputRequiredContract):
    def asking(self):
        def answer(texts):
            if len(texts) == 1:
                return HandoffMessage(content="which city?", target="user", source="travel")
            return texts[-1]

        def make() -> Swarm:
            travel = Custom(answer, "travel", produces=[HandoffMessage])
            ends = HandoffTermination(target="user")
            return Swarm([travel], termination_condition=ends, max_turns=1)

        return make


class Proxies(InputRequiredContract):
    def asking(self):
        def make() -> RoundRobinGroupChat:
            return round_robin(
                Custom(lambda _: "which city?", "asker"), UserProxyAgent("human"), Custom(last)
            )

        return make


class RunningItsTools(Custom):
    """Calls its tools itself. `breaks` ends the run, as in AutoGen's workbenches no tool does."""

    async def on_messages_stream(self, messages, cancellation_token):
        look = calling("look").content
        yield ToolCallRequestEvent(content=look, source=self.name)
        seen = FunctionExecutionResult(content="rain", name="look", call_id="c1", is_error=False)
        yield ToolCallExecutionEvent(content=[seen], source=self.name)
        yield ToolCallRequestEvent(content=calling("breaks", "c2").content, source=self.name)
        yield await self.on_messages(messages, cancellation_token)


class TestWithTools(ToolContract):
    def using_tools(self):
        def look() -> str:
            """Look around."""
            return "rain"

        def breaks() -> str:
            """Fail."""
            raise RuntimeError(self.secret)

        def make():
            lines = calling("look"), calling("breaks", "c2"), "done"
            return agent(*lines, tools=[look, breaks], max_tool_iterations=3)

        return make

    def ended_by_a_tool(self):
        def breaks(_):
            raise RuntimeError(self.secret)

        return lambda: RunningItsTools(breaks)


class TestAgents(Agents):
    pass


class TestSharedAgents(Agents):
    def made(self, make):
        return make()


class TestTeams(Teams):
    pass


class TestSharedTeams(Teams):
    def made(self, make):
        return round_robin(make())


class TestHandoffs(Handoffs):
    pass


class TestProxies(Proxies):
    pass


class TestAgentsOnTheSdk(OnTheSdk, Agents):
    pass


class TestTeamsOnTheSdk(OnTheSdk, Teams):
    pass


class TestHandoffsOnTheSdk(OnTheSdk, Handoffs):
    pass


class TestProxiesOnTheSdk(OnTheSdk, Proxies):
    pass


class TestAgentsOnSqlite(OnSqlite, Agents):
    pass


class TestAgentsOnPostgresql(OnPostgresql, Agents):
    pass


class TestTeamsOnSqlite(OnSqlite, Teams):
    pass


class TestTeamsOnPostgresql(OnPostgresql, Teams):
    pass


class TestHandoffsOnSqlite(OnSqlite, Handoffs):
    pass


class TestHandoffsOnPostgresql(OnPostgresql, Handoffs):
    pass


class TestProxiesOnSqlite(OnSqlite, Proxies):
    pass


class TestProxiesOnPostgresql(OnPostgresql, Proxies):
    pass
