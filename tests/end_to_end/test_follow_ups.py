"""Answers to questions, and corrections, through the classes of each framework."""

from __future__ import annotations

import pytest
from a2a_adapters_autogen import A2AAgent, A2AChatCompletionClient
from a2a_adapters_langchain import A2AChatModel, A2ARunnable, A2ATool
from a2a_adapters_openai_agents import A2AModel as OpenAIModel
from a2a_adapters_openai_agents import a2a_handoff
from a2a_adapters_pydantic_ai import A2AModel as PydanticModel
from a2a_adapters_pydantic_ai import A2AToolset
from agents import Agent, RunConfig, Runner, SQLiteSession
from autogen_agentchat.conditions import HandoffTermination
from autogen_agentchat.messages import HandoffMessage
from autogen_agentchat.teams import Swarm
from autogen_core.models import AssistantMessage, UserMessage
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from pydantic_ai import Agent as PydanticAgent

from a2a_adapters import InputRequired, RemoteAgent, build_app
from a2a_adapters.plugin import AgentDescription
from a2a_adapters.testing import running
from tests.plugins.openai_agents import support as openai
from tests.plugins.pydantic_ai.support import Fake, calling, made
from tests.support.servers.told import BOOKED, FORMS, Told

pytestmark = pytest.mark.timeout(120)
THREAD = {"configurable": {"thread_id": "t"}}
QUIET = RunConfig(tracing_disabled=True)


def langchain_model(remote, **fields):
    model = A2AChatModel(agent=remote, **fields)

    async def say(text):
        answer = await model.ainvoke(text, THREAD)
        assert type(answer) is AIMessage
        return answer.text

    return say


def langchain_streaming_model(remote):
    return langchain_model(remote, streaming=True)


def langchain_tool(remote):
    tool = A2ATool(agent=remote, name="desk", description="Books.")

    async def say(text):
        answer = await tool.ainvoke({"message": text}, THREAD)
        return answer.partition("\n(It asks")[0]

    return say


def graph_with(remote):
    builder = StateGraph(MessagesState)
    builder.add_node("desk", A2ARunnable(remote))
    builder.add_edge(START, "desk")
    return builder.compile(checkpointer=InMemorySaver())


def langgraph_node(remote):
    graph = graph_with(remote)
    asked = []

    async def say(text):
        given = Command(resume=text) if asked else {"messages": [("user", text)]}
        async for _ in graph.astream(given, THREAD, stream_mode="messages"):  # streams the node
            pass
        state = await graph.aget_state(THREAD)
        if state.interrupts:
            asked.append(state.interrupts[0].value["question"])
            return asked[-1]
        return state.values["messages"][-1].text

    return say


def autogen_client(remote):
    client, messages = A2AChatCompletionClient(remote), []

    async def say(text):
        messages.append(UserMessage(content=text, source="user"))
        result = await client.create(messages)
        messages.append(AssistantMessage(content=result.content, source="desk"))
        return result.content

    return say


def team_with(remote):
    member = A2AAgent("desk", remote, description="Books.")
    return Swarm([member], termination_condition=HandoffTermination("user"), max_turns=1)


def autogen_member(remote):
    team = team_with(remote)
    asked = []

    async def say(text):
        task = text
        if asked:
            task = HandoffMessage(source="user", target="desk", content=text)
        result = await team.run(task=task)
        asked.append(text)
        return result.messages[-1].content

    return say


def openai_model(remote):
    agent, session = Agent(name="desk", model=OpenAIModel(remote)), SQLiteSession("s")

    async def say(text):
        result = Runner.run_streamed(agent, text, session=session, run_config=QUIET)
        async for _ in result.stream_events():
            pass
        return result.final_output

    return say


def pydantic_model(remote):
    agent, history = PydanticAgent(PydanticModel(remote)), []

    async def say(text):
        result = await agent.run(text, message_history=history)
        history[:] = result.all_messages()
        return result.output

    return say


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "caller",
    [
        langchain_model,
        langchain_streaming_model,
        langchain_tool,
        langgraph_node,
        autogen_client,
        autogen_member,
        openai_model,
        pydantic_model,
    ],
)
async def test_the_answer_to_a_question_is_that_of_the_task(caller, form):
    async with (
        Told(FORMS[form]).app("JSONRPC", "1.0") as app,
        running(app) as url,
        RemoteAgent(url) as remote,
    ):
        say = caller(remote)
        assert await say("book") == "Which city?"
        assert await say("Rome") == "booked"


async def test_the_last_chunk_has_a_corrected_text():
    async with (
        Told(FORMS["a corrected artifact"]).app("JSONRPC", "1.0") as app,
        running(app) as url,
        RemoteAgent(url) as remote,
    ):
        model = A2AChatModel(agent=remote)
        await model.ainvoke("book", THREAD)
        chunks = [chunk async for chunk in model.astream("Rome", THREAD)]
    assert "".join(chunk.text for chunk in chunks) == "raw\nbooked"
    assert chunks[-1].response_metadata["corrected_text"] == "booked"


def function_with(remote):
    async def desk(request):
        reply = await remote.send(request.text)
        answer = yield InputRequired(reply.question)
        yield (await remote.send(answer.text, task_id=reply.task_id)).text

    return desk


def pydantic_agent(remote):
    return PydanticAgent(PydanticModel(remote), name="desk")


def pydantic_tool(remote):
    def model(messages):
        last = messages[-1].parts[-1]
        is_done = last.part_kind == "tool-return"
        return last.content.partition("\n")[0] if is_done else calling("desk", message="book")

    toolset = A2AToolset(remote, ask_user=True, about=AgentDescription(name="desk", description=""))
    return made(Fake(model), toolsets=[toolset])


def openai_agent(remote):
    return Agent(name="desk", model=OpenAIModel(remote))


def openai_handoff(remote):
    about = AgentDescription(name="desk", description="Books.")
    model = openai.Fake(lambda _: openai.calling("transfer_to_desk"))
    return openai.made(model, name="front", handoffs=[a2a_handoff(remote, about)])


TARGETS = [
    graph_with, team_with, function_with, pydantic_agent, pydantic_tool, openai_agent,
    openai_handoff,
]  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
async def test_a_question_of_a_remote_agent_is_cancelled_with_the_task_that_asks_it(target):
    server = Told([BOOKED])
    async with (
        server.app("JSONRPC", "1.0") as app,
        running(app) as url,
        RemoteAgent(url) as remote,
        running(build_app(target(remote), name="local")) as here,
        RemoteAgent(here) as caller,
    ):
        asked = await caller.send("book")
        assert asked.question == "Which city?"
        await caller.cancel(asked.task_id)
        assert await server.cancelled.get() == "t"
        asked = await caller.send("book", context_id=asked.context_id)
        assert (await caller.send("Rome", task_id=asked.task_id)).text == "booked"
    # The saved state of a team names the task as well, for a cancel after a restart.
    assert server.cancelled.qsize() <= (target is team_with)
