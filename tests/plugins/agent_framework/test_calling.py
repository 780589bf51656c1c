"""Remote agents as chat clients, tools and members of workflows."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_agent_framework import A2AChatClient, a2a_tool
from agent_framework import Agent, AgentSession, Content, Message, WorkflowBuilder

from a2a_adapters import (
    AgentDescription,
    ConfigurationError,
    RemoteAgent,
    RemoteAgentError,
    RemoteTaskError,
    Skill,
    build_app,
    remote_llm,
    remote_tool,
)
from a2a_adapters.testing import running
from tests.plugins.agent_framework.support import Fake, calling, results, said
from tests.plugins.openai_agents.calling.support import (
    booking,
    failing,
    reading,
    remembering,
    served,
)
from tests.support.servers.front import Recording

ABOUT = AgentDescription(name="The desk", description="Books trips.")


def asking(agent, **options):
    return Agent(client=A2AChatClient(agent), **options)


async def test_answers_are_streamed_with_their_usage():
    async with served(remembering) as remote:
        agent, session = asking(remote), AgentSession()
        await agent.run("hi", session=session)
        stream = agent.run("ho", session=session, stream=True)
        heard = [update.text async for update in stream if update.text]
        usage = (await stream.get_final_response()).usage_details
    assert heard == ["hi", " | ho"]
    assert (usage["input_token_count"], usage["output_token_count"]) == (3, 4)


async def test_one_client_serves_many_sessions_and_restored_ones():
    async with served(remembering) as remote:
        agent = asking(remote)

        async def converse(name):
            session = AgentSession()
            for number in range(3):
                response = await agent.run(f"{name}.{number}", session=session)
                session = AgentSession.from_dict(session.to_dict())
            return response.text

        outputs = await asyncio.gather(*(converse(f"caller{n}") for n in range(20)))
    assert outputs == [f"caller{n}.0 | caller{n}.1 | caller{n}.2" for n in range(20)]


async def test_instructions_and_files_are_sent():
    async with served(reading) as remote:
        agent = asking(remote, instructions="Be kind.")
        file = Content.from_data(b"1,2", "text/csv", name="a")
        response = await agent.run(Message("user", [Content.from_text("look"), file]))
    assert response.text == "[System: Be kind.][User: look][a text/csv 1,2]"


async def test_questions_are_answers_and_the_next_message_replies():
    async with served(booking) as remote:
        agent, session = asking(remote), AgentSession()
        assert (await agent.run("book", session=session)).text == "Which city?"
        assert (await agent.run("Rome", session=session)).text == "Booked Rome."


async def test_failed_tasks_and_lost_agents_raise():
    async with served(failing) as remote:
        with pytest.raises(RemoteTaskError):
            await asking(remote).run("hi")
    with pytest.raises(RemoteAgentError):
        await asking("http://127.0.0.1:9").run("hi")


async def test_tools_are_refused():
    agent = asking("http://127.0.0.1:9", tools=[a2a_tool("http://127.0.0.1:9", ABOUT)])
    with pytest.raises(ConfigurationError, match="remove the tools"):
        await agent.run("hi")


async def test_a_remote_agent_is_a_member_of_a_workflow():
    async with served(remembering) as remote:
        workflow = WorkflowBuilder(start_executor=asking(remote, name="desk")).build()
        result = await workflow.run("hi")
    assert [output.text for output in result.get_outputs()] == ["hi"]


def using(tool):
    """Return an agent that calls the tool with the user's message, and repeats the result."""

    def model(messages):
        if done := results(messages):
            return next(iter(done.values()))
        return calling(tool.name, f"c{len(messages)}", message=said(messages)[-1])

    return Agent(client=Fake(model), tools=[tool])


async def test_a_remote_agent_is_a_tool():
    recording = Recording(build_app(remembering))
    skill = Skill(id="repeat", name="repeat", description="Repeats.")
    async with running(recording) as url:
        about = await RemoteAgent(url).describe()
        plain, skilled = a2a_tool(url, about), a2a_tool(url, skill)
        assert plain.description.startswith("Asks the agent")
        assert (await using(plain).run("hi")).text.startswith("hi\n(context_id: ")
        await using(skilled).run("hi")
    assert recording.messages[-1]["metadata"] == {"skill_id": "repeat"}


async def test_errors_are_results_for_the_model():
    async with served(failing) as remote:
        response = await using(a2a_tool(remote, ABOUT)).run("hi")
    assert response.text.startswith("The agent could not be asked:")


async def test_questions_of_a_tool_are_returned_to_the_model():
    async with served(booking) as remote:
        response = await using(a2a_tool(remote, ABOUT)).run("book")
    assert response.text.startswith("Which city?\n(It asks you.")
    assert "task_id: " in response.text


async def test_the_framework_is_found_by_name():
    async with served(remembering) as remote:
        assert isinstance(remote_llm(remote, "agent-framework"), A2AChatClient)
        tool = await asyncio.to_thread(remote_tool, remote, "agent-framework")
        assert tool.name
