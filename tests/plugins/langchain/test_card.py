from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from a2a_adapters_langchain import adapt
from langchain.agents import create_agent
from langchain_core.language_models import FakeListLLM
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph

from a2a_adapters import Skill
from tests.plugins.langchain.support import Scripted

SECRET = "never tell the launch code"


@tool
def search(query: str) -> str:
    """Search the archive."""
    return query


def summarise(text: str) -> str:
    """Summarise a text.

    Internal: uses the cheap model.
    """
    return text


@entrypoint()
async def plan_trip(city: str) -> str:
    return city


class Keyed(Scripted):
    api_key: str = SECRET
    model_name: str = SECRET


MODEL = Keyed(script=["x"])
PROMPT = ChatPromptTemplate.from_messages([("system", SECRET), ("human", "{topic} {tone}")])


@pytest.mark.parametrize(
    ("runnable", "name", "description"),
    [
        (MODEL, "Chat model", "Chat model: answers messages."),
        (FakeListLLM(responses=["x"]), "Language model", None),
        (PROMPT | MODEL, "Agent", "Agent: takes tone, topic."),
        ((PROMPT | MODEL).with_config(run_name="Writer"), "Writer", "Writer: takes tone, topic."),
        (RunnableLambda(summarise), "summarise", "Summarise a text."),
        (RunnableLambda(lambda text: text), "Agent", None),
        (search, "search", "Search the archive."),
        (create_agent(MODEL, tools=[search], system_prompt=SECRET), "Agent", None),
        (create_agent(MODEL, tools=[], name="Helper", system_prompt=SECRET), "Helper", None),
        (plan_trip, "plan_trip", None),
    ],
)
def test_cards_have_readable_names_and_no_private_data(runnable, name, description):
    card = adapt(runnable).describe()
    assert card.name == name
    assert card.description == (description or card.description)
    assert card.description
    text = json.dumps(asdict(card))
    assert SECRET not in text
    assert "Keyed" not in text


def test_tools_are_skills():
    skill = Skill(id="search", name="search", description="Search the archive.", tags=("tool",))
    agent = create_agent(MODEL, tools=[search])
    assert adapt(agent).describe().skills == [skill]
    assert adapt(search).describe().skills == [skill]
    builder = StateGraph(MessagesState)
    builder.add_node("team", agent)
    builder.add_node("other", agent)
    builder.add_edge(START, "team")
    assert adapt(builder.compile(name="Team")).describe().skills == [skill]
    assert adapt(MODEL).describe().skills == []


def test_input_modes_show_whether_files_are_accepted():
    assert "*/*" in adapt(MODEL).describe().input_modes
    assert "*/*" in adapt(PROMPT | MODEL, input=lambda r: {}).describe().input_modes
    assert adapt(PROMPT | MODEL).describe().input_modes == ("text/plain", "application/json")
