"""Remote agents as tools and as managed agents."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_smolagents import A2AManagedAgent, A2ATool
from smolagents import CodeAgent

from a2a_adapters import ConfigurationError, RemoteAgent
from tests.plugins.openai_agents.calling.support import booking, failing, remembering, served
from tests.plugins.smolagents import support
from tests.plugins.smolagents.support import calling as call
from tests.plugins.smolagents.support import coding, made, script
from tests.support.agents import calling


class TestTools(calling.Tools):
    support = support
    framework = "smolagents"

    def tool(self, remote, about, **options):
        return A2ATool(remote, about, **options)

    def described(self, tool):
        return tool.name, tool.description

    def conversation(self, agent):
        async def say(text):
            return await asyncio.to_thread(agent.run, text)

        return say


async def test_a_remote_agent_is_managed():
    async with served(remembering) as remote:
        desk = await asyncio.to_thread(A2AManagedAgent, remote)
        boss = made(script(call(desk.name, task="hi"), "Done."), managed_agents=[desk])
        assert await asyncio.to_thread(boss.run, "go") == "Done."
        assert boss.memory.steps[1].observations == "hi"


async def test_a_remote_agent_is_called_in_code():
    async with served(remembering) as remote:
        desk = await asyncio.to_thread(A2AManagedAgent, remote)
        coder = coding(f'final_answer({desk.name}(task="hi"))')
        managing = CodeAgent(tools=[], model=coder.model, managed_agents=[desk], verbosity_level=-1)
        assert await asyncio.to_thread(managing.run, "go") == "hi"


@pytest.mark.parametrize(
    ("function", "said"), [(booking, "(It asks you."), (failing, "Error executing request")]
)
async def test_questions_and_failures_reach_the_manager(function, said):
    async with served(function) as remote:
        desk = A2AManagedAgent(remote, calling.ABOUT)
        boss = made(script(call(desk.name, task="hi"), "Done."), managed_agents=[desk])
        await asyncio.to_thread(boss.run, "go")
    step = boss.memory.steps[1]
    assert said in f"{step.observations} {step.error}"


@pytest.mark.parametrize("kind", [A2ATool, A2AManagedAgent])
def test_remote_agents_keep_their_options(kind):
    with pytest.raises(ConfigurationError, match="timeout"):
        kind(RemoteAgent(calling.NOWHERE), calling.ABOUT, timeout=1)
