from __future__ import annotations

import subprocess
import sys
from functools import partial

import a2a_adapters_autogen
import pytest
from a2a_adapters_autogen import AutoGenAdapter, ConversableAdapter, adapt
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import ChatAgent, Team

from a2a_adapters import MissingExtraError, NoAdapterError, TargetError
from a2a_adapters.plugin import Plugins
from tests.plugins.autogen.support import Custom, agent, answer, ask, round_robin


@pytest.fixture
def plugins():
    plugins = Plugins()
    plugins.register(a2a_adapters_autogen, "autogen")
    return plugins


def make_agent(name: str = "made") -> AssistantAgent:
    return agent("hello", name=name)


async def make_team() -> Team | None:
    return round_robin(agent("hello"))


def make_anything():
    return agent("hello")


async def make_anything_later():
    return agent("hello")


def make_object() -> object:
    return agent("hello")


async def make_number_later() -> int:
    raise AssertionError("its annotation says that it makes no agent")


def make_trouble():
    raise RuntimeError("needs a key")


@pytest.mark.parametrize(
    "target",
    [
        agent("hello"),
        round_robin(agent("hello")),
        make_agent,
        partial(make_agent, "other"),
        make_team,
        make_anything,
        make_anything_later,
        make_object,
        lambda: agent("hello"),
    ],
)
async def test_hook_accepts_agents_teams_and_factories(plugins, target):
    adapter = plugins.adapt(target)
    assert isinstance(adapter, AutoGenAdapter)
    assert answer(await ask(adapter, "hi")) == "hello"


@pytest.mark.parametrize(
    "target",
    [
        str.upper,
        object(),
        lambda text: text,
        lambda: 3,
        make_number_later,
        ChatAgent,
    ],
)
def test_hook_declines_other_objects(plugins, target):
    with pytest.raises(NoAdapterError):
        plugins.adapt(target)


def test_a_factory_that_fails_says_why(plugins):
    with pytest.raises(TargetError, match=r"make_trouble\(\).*needs a key"):
        plugins.adapt(make_trouble)


def test_hook_accepts_classic_agents(plugins):
    class Classic:
        name = "classic"

        async def a_generate_reply(self, messages=None):
            return "hi"

    assert isinstance(plugins.adapt(Classic()), ConversableAdapter)
    with pytest.raises(NoAdapterError):
        plugins.adapt(Classic)


async def test_other_targets_are_refused():
    with pytest.raises(TargetError, match="int"):
        adapt(3)
    with pytest.raises(TargetError, match="returned int"):
        adapt(lambda: 3)

    async def late() -> ChatAgent:
        return 3

    with pytest.raises(TargetError, match="returned int"):
        await ask(adapt(late), "hi")


def test_a_custom_runtime_is_refused():
    from autogen_core import SingleThreadedAgentRuntime

    team = round_robin(Custom(len), runtime=SingleThreadedAgentRuntime())
    with pytest.raises(TargetError, match="runtime"):
        adapt(team)


def test_public_names_are_importable():
    assert a2a_adapters_autogen.adapt is adapt
    for name in a2a_adapters_autogen.__all__:
        assert getattr(a2a_adapters_autogen, name)
    with pytest.raises(AttributeError, match="nothing"):
        _ = a2a_adapters_autogen.nothing


def test_missing_framework_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "autogen_agentchat", None)
    with pytest.raises(MissingExtraError, match=r"a2a-adapters\[autogen\]"):
        _ = a2a_adapters_autogen.AutoGenAdapter


CHECK = """
import sys
import a2a_adapters_autogen
assert a2a_adapters_autogen.a2a_adapt(print) is None
assert a2a_adapters_autogen.MemoryStateStore()
assert "autogen_core" not in sys.modules, "importing the plugin imported AutoGen"
"""


def test_the_framework_is_imported_only_when_it_is_needed():
    subprocess.run([sys.executable, "-c", CHECK], check=True)
