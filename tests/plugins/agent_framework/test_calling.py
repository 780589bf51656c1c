"""Remote agents as chat clients, tools and members of workflows."""

from __future__ import annotations

from a2a_adapters_agent_framework import A2AChatClient, a2a_tool
from agent_framework import (
    AgentSession,
    Content,
    Message,
    WorkflowBuilder,
    agent_middleware,
)

from a2a_adapters import InputRequired
from tests.plugins.agent_framework import support
from tests.plugins.openai_agents.calling.support import reading, remembering, served
from tests.support.adapters import answer, ask, deltas, only, reply
from tests.support.agents import calling


def asking(remote, **options):
    return support.made(A2AChatClient(remote), **options)


class Conversing(calling.Conversing):
    support = support

    def conversation(self, agent):
        session = AgentSession()

        async def say(text):
            nonlocal session
            response = await agent.run(text, session=session)
            session = AgentSession.from_dict(session.to_dict())  # as after a restart
            return response.text

        return say


class TestModels(Conversing, calling.Models, calling.Conversations):
    framework = "agent-framework"
    model = A2AChatClient


class TestTools(Conversing, calling.Tools):
    framework = "agent-framework"

    def tool(self, remote, about):
        return a2a_tool(remote, about)

    def described(self, tool):
        return tool.name, tool.description


async def test_answers_are_streamed_with_their_usage():
    async with served(remembering) as remote:
        agent, session = asking(remote), AgentSession()
        await agent.run("hi", session=session)
        stream = agent.run("ho", session=session, stream=True)
        heard = [update.text async for update in stream if update.text]
        usage = (await stream.get_final_response()).usage_details
    assert heard == ["hi", " | ho"]
    assert (usage["input_token_count"], usage["output_token_count"]) == (3, 4)


async def test_instructions_and_files_are_sent():
    async with served(reading) as remote:
        agent = asking(remote, instructions="Be kind.")
        file = Content.from_data(b"1,2", "text/csv", name="a")
        response = await agent.run(Message("user", [Content.from_text("look"), file]))
    assert response.text == "[System: Be kind.][User: look][a text/csv 1,2]"


async def test_a_remote_agent_is_a_member_of_a_workflow():
    async with served(remembering) as remote:
        workflow = WorkflowBuilder(start_executor=asking(remote, name="desk")).build()
        result = await workflow.run("hi")
    assert [output.text for output in result.get_outputs()] == ["hi"]


async def test_served_agents_ask_the_questions_of_their_client():
    async def looking(request):
        yield "I looked."
        city = yield InputRequired("Which city?")
        yield f"Booked {city.text}."

    for middleware in ([], [unchanged]):
        async with served(looking) as remote:
            adapter = support.adapt(asking(remote, middleware=middleware))
            events = await ask(adapter, "book")
            assert answer(events) == "I looked."
            assert "Which" not in "".join(deltas(events))
            assert only(events, InputRequired) == InputRequired("Which city?", durable=True)
            done = await reply(adapter, "Rome")
        assert "Booked Rome." in answer(done)


@agent_middleware
async def unchanged(context, call_next):
    await call_next()
