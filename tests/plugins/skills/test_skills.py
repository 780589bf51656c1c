"""Several targets as the skills of one agent."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from a2a_adapters_langchain import adapt
from a2a_adapters_skills import Skills
from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel

from a2a_adapters import (
    AgentRequest,
    ConfigurationError,
    InputRequired,
    OutboundPolicy,
    RemoteAgent,
    RemoteRefusedError,
    ServerOptions,
    TargetError,
    build_app,
)
from a2a_adapters.testing import running
from tests.support.requests import Agent, old_say, rpc
from tests.support.warm import completed


class Sum(BaseModel):
    """A sum."""

    total: int


def add(a: int, b: int) -> Sum:
    """Add two numbers."""
    return Sum(total=a + b)


async def book(request: AgentRequest):
    """Book a flight."""
    assert not request.resume_metadata
    city = yield InputRequired("Where to?", metadata={"mine": 1})
    assert city.resume_metadata == {"mine": 1}
    yield f"Booked: {city.text}"


def remembering(name):
    """Return a graph that counts the messages of its thread."""

    def count(state):
        if state["messages"][-1].text == "ask":
            return {"messages": [("ai", f"{name} heard {interrupt('Which?')}")]}
        said = [each for each in state["messages"] if each.type == "human"]
        return {"messages": [("ai", f"{name} {len(said)}")]}

    return StateGraph(MessagesState).add_node("count", count).add_edge(START, "count")


def desk(**options):
    targets = {
        "add": add,
        "book": book,
        "upper": RunnableLambda(str.upper),
        "one": remembering("one").compile(),
        "two": remembering("two").compile(),
    }
    return Skills(targets, name="Desk", description="Does many things.", **options)


@pytest.fixture
async def agent():
    async with running(build_app(desk())) as url, RemoteAgent(url) as remote:
        yield remote


async def test_a_message_is_answered_by_the_skill_that_it_names(agent):
    assert (await agent.send("hello", skill="upper")).text == "HELLO"
    assert (await agent.send('{"a": 1, "b": 2}', skill="add")).data == [{"total": 3}]
    question = await agent.send("hello", skill="book")
    assert question.question == "Where to?"
    done = await agent.send("Rome", task_id=question.task_id, context_id=question.context_id)
    assert done.text == "Booked: Rome"


async def test_the_card_lists_the_skills_with_their_schemas(agent):
    card = await agent.card()
    assert [skill.id for skill in card.skills] == ["add", "book", "upper", "one", "two"]
    assert '"total"' in card.skills[0].description
    assert (card.name, card.description) == ("Desk", "Does many things.")


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        (None, "the message names no skill"),
        ({"skill_id": "other"}, "there is no such skill"),
        ({"skill_id": ["add"]}, "there is no such skill"),
    ],
)
async def test_other_messages_are_refused_with_the_names_of_the_skills(agent, metadata, problem):
    with pytest.raises(RemoteRefusedError, match=f"{problem}; .*: add, book, upper, one, two"):
        await agent.send("hello", metadata=metadata)


async def test_a_default_takes_messages_that_name_no_skill():
    app = build_app(desk(default="upper"))
    async with running(app) as url, RemoteAgent(url) as agent:
        assert (await agent.send("hello")).text == "HELLO"


async def test_clients_of_the_old_version_choose_too():
    async with running(build_app(desk())) as url, httpx.AsyncClient(timeout=60) as http:
        call = rpc("message/send", old_say("hello", metadata={"skill_id": "upper"}))
        result = (await http.post(url, json=call)).json()["result"]
        call = rpc("message/send", old_say("hello", messageId="m2"))
        assert (await http.post(url, json=call)).json()["error"]["code"] == -32602
    assert result["artifacts"][0]["parts"][0]["text"] == "HELLO"


async def test_skills_have_conversations_of_their_own(tmp_path):
    """Two graphs in one conversation share neither thread nor checkpointer."""
    options = ServerOptions(storage=f"sqlite:///{tmp_path / 'agents.db'}")

    async def ask(agent, skill, text="hello"):
        return await agent.send(text, skill=skill, context_id="shared")

    async with running(build_app(desk(), options=options)) as url, RemoteAgent(url) as agent:
        texts = [(await ask(agent, skill)).text for skill in ("one", "two", "one")]
        assert texts == ["one 1", "two 1", "one 2"]
        question = await ask(agent, "two", "ask")
        assert question.is_question
    async with running(build_app(desk(), options=options)) as url, RemoteAgent(url) as agent:
        done = await agent.send("this", task_id=question.task_id, context_id="shared")
        assert done.text == "two heard this"
        assert (await ask(agent, "one")).text == "one 3"


async def test_skills_answer_several_callers_at_once(agent):
    asked = [(skill, f"c{number}") for number in range(8) for skill in ("one", "two", "upper")]

    async def ask(skill, context):
        return (await agent.send("hello", skill=skill, context_id=f"{skill}-{context}")).text

    texts = await asyncio.gather(*(ask(*each) for each in asked))
    expected = {"one": "one 1", "two": "two 1", "upper": "HELLO"}
    assert texts == [expected[skill] for skill, _ in asked]


async def test_a_tool_for_each_skill_uses_it():
    from a2a_adapters_langchain import A2ATool

    async with running(build_app(desk())) as url:
        tools = {tool.name: tool for tool in await A2ATool.aper_skill(url)}
        [upper] = [tool for name, tool in tools.items() if "upper" in name.lower()]
        assert "HELLO" in str(await upper.ainvoke({"message": "hello"}))


@pytest.mark.parametrize(
    ("targets", "options"),
    [
        ({}, {}),
        ({"a b": add}, {}),
        ({"a": add}, {"default": "b"}),
        ({"a": Skills({"b": add}, name="x", description="y")}, {}),
    ],
)
def test_skills_need_targets_and_valid_ids(targets, options):
    with pytest.raises(ConfigurationError):
        Skills(targets, name="x", description="y", **options)


def test_a_target_that_cannot_be_served_is_named():
    def untyped(a, b):
        """Take anything."""

    with pytest.raises(TargetError, match="untyped"):
        build_app(Skills({"a": untyped}, name="x", description="y"))


def test_skills_cannot_differ_in_what_they_fetch():
    upper = RunnableLambda(str.upper)
    targets = {"a": adapt(upper, fetch=OutboundPolicy()), "b": upper}
    with pytest.raises(ConfigurationError, match="same fetch="):
        build_app(Skills(targets, name="x", description="y"))


async def test_skills_that_cannot_all_be_opened_are_closed_again():
    closed = []

    class Closes(Agent):
        async def aclose(self):
            closed.append(self.description["name"])

    class Fails(Closes):
        async def open(self, storage):
            raise ConfigurationError("the database is missing")

    targets = {"a": Closes(name="one"), "b": Fails(name="two"), "c": Closes(name="three")}
    app = build_app(Skills(targets, name="x", description="y"))
    with pytest.raises(ConfigurationError, match="database"):
        async with app.router.lifespan_context(app):
            pass
    assert closed == ["two", "one"]


async def test_send_takes_the_id_of_a_skill():
    async with running(build_app(desk())) as url:
        done = await asyncio.to_thread(completed, "send", url, "hello", "--skill", "upper")
    assert done.stdout == "HELLO\n", done.stderr
