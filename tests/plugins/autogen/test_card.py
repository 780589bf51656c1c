from __future__ import annotations

from a2a_adapters_autogen import adapt
from autogen_agentchat.agents import AssistantAgent, UserProxyAgent
from autogen_agentchat.base import ChatAgent
from autogen_agentchat.tools import AgentTool
from autogen_core.tools import FunctionTool

from a2a_adapters import Skill
from tests.plugins.autogen.support import Custom, agent, model, round_robin

SECRET = "the system message"


def lookup(word: str) -> str:
    """Look a word up."""
    return word


def about(target):
    return adapt(target).describe()


def test_an_agent_is_described_by_its_description_and_tools():
    inner = AgentTool(agent("x", name="inner", description="Knows more."))
    description = about(
        lambda: agent(
            "x", name="helper", description="Helps.", tools=[lookup], system_message=SECRET
        )
    )
    assert (description.name, description.description) == ("helper", "Helps.")
    lookup_skill = Skill(id="lookup", name="lookup", description="Look a word up.", tags=("tool",))
    assert description.skills == [lookup_skill]
    assert SECRET not in str(description)
    unnamed = FunctionTool(lookup, description="")
    skills = about(agent("x", tools=[inner, unnamed])).skills
    assert [skill.description for skill in skills] == ["Knows more.", "lookup"]


def test_a_team_is_described_by_its_participants():
    def make():
        writer = agent("x", name="writer", description="Writes.", system_message=SECRET)
        return round_robin(writer, agent("x", name="critic"), UserProxyAgent("human"))

    description = about(make)
    assert description.name == "RoundRobinGroupChat"
    assert description.description == "A team of writer, critic."
    assert [(skill.id, skill.tags) for skill in description.skills] == [
        ("writer", ("agent",)),
        ("critic", ("agent",)),
    ]
    assert SECRET not in str(description)
    named = about(lambda: round_robin(agent("x"), name="desk", description="Answers."))
    assert (named.name, named.description) == ("desk", "Answers.")


def test_the_card_accepts_images_only_with_vision():
    assert "*/*" not in about(agent("x")).input_modes
    assert "*/*" in about(AssistantAgent("seeing", model("x", vision=True))).input_modes
    assert "*/*" in about(Custom(len)).input_modes


def test_an_async_factory_is_described_by_its_function():
    async def make_desk() -> ChatAgent:
        """Answer travel questions.

        More that is not for everyone.
        """

    description = about(make_desk)
    assert (description.name, description.description) == (
        "make_desk",
        "Answer travel questions.",
    )


def test_an_agent_without_a_description_gets_a_default():
    assert about(lambda: agent("x", description="")).description == "The agent helper."
