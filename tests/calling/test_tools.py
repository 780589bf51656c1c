"""The descriptions and results of agents as tools, for models."""

from __future__ import annotations

import asyncio
import re

import pytest

from a2a_adapters import ConfigurationError, InputRequired, RemoteAgent, Skill, build_app
from a2a_adapters.plugin import AgentDescription, StatelessTool, ToolDescription, tool_answer
from a2a_adapters.testing import running

BOOK = Skill(id="book", name="Book a trip", description="Books.", examples=["To Rome", "To Oslo"])


def test_an_agents_description_includes_its_skills():
    about = AgentDescription(name="Travel desk", description="Plans trips.", skills=[BOOK])
    assert ToolDescription.of_agent(about) == ToolDescription(
        "Travel_desk",
        "Asks the agent Travel desk: Plans trips.\nIt can:\n- Book a trip: Books.",
    )


def test_a_skills_description_includes_its_examples():
    assert ToolDescription.of_skill(BOOK) == ToolDescription(
        "Book_a_trip", "Books.\nExample: To Rome\nExample: To Oslo", "book"
    )


@pytest.mark.parametrize("name", ["", "…", "x" * 80, "Zürich & Co.", "-_-"])
def test_model_providers_accept_names_and_descriptions(name):
    about = AgentDescription(name=name, description="Long. " * 1000)
    skill = Skill(id="", name=name, description="Long. " * 1000)
    for tool in (ToolDescription.of_agent(about), ToolDescription.of_skill(skill)):
        assert 1 <= len(tool.name) <= 64
        assert tool.name.replace("-", "_").isidentifier()
        assert len(tool.description) == 1024


def test_a_question_includes_how_to_answer_it():
    assert tool_answer("Done.", asks=False) == "Done."
    assert tool_answer("", asks=False) == "(The agent answered nothing.)"
    assert tool_answer("Where?", asks=True).startswith("Where?\n(It asks you.")
    assert "whole request" in tool_answer("Where?", asks=True, is_kept=False)


async def test_a_stateless_tool_waits_a_limited_time():
    goes_on = asyncio.Event()

    async def desk(request):
        city = yield InputRequired("Where?")
        await goes_on.wait()
        yield f"Booked {city.text}."

    about = AgentDescription(name="desk", description="Books.")
    async with running(build_app(desk)) as url, RemoteAgent(url) as agent:
        patient, hasty = StatelessTool(agent, about, 600), StatelessTool(agent, about, 0.05)
        asked = await patient.ask("book")
        assert patient.result(asked).startswith("Where?\n(It asks you.")
        ids = re.findall(r"_id: ([\w-]+)", patient.result(asked))
        assert ids == [asked.context_id, asked.task_id]
        shown = hasty.result(await hasty.ask("Rome", *ids))
        assert shown.startswith("(It is still working.")
        assert re.findall(r"_id: ([\w-]+)", shown) == ids
        goes_on.set()
        done = await patient.ask("wait", *ids)
        assert patient.result(done) == f"Booked Rome.\n(context_id: {asked.context_id})"
    with pytest.raises(ConfigurationError, match="wait"):
        StatelessTool(agent, about, 0)
