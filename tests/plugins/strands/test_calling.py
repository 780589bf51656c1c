"""Remote agents as models, tools and members of graphs."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_strands import A2AModel, a2a_tool
from strands import Agent
from strands.multiagent import GraphBuilder
from strands.types._snapshot import Snapshot

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
from tests.plugins.openai_agents.calling.support import (
    booking,
    failing,
    reading,
    remembering,
    served,
)
from tests.plugins.strands.support import Fake, calling, results, said
from tests.support.servers.front import Recording

ABOUT = AgentDescription(name="The desk", description="Books trips.")


def asking(agent, **options):
    return Agent(model=A2AModel(agent), callback_handler=None, **options)


def text_of(result):
    return "".join(block["text"] for block in result.message["content"])


async def test_answers_are_streamed_with_their_usage():
    async with served(remembering) as remote:
        agent = asking(remote)
        await agent.invoke_async("hi")
        events = [event async for event in agent.stream_async("ho")]
    assert [event["data"] for event in events if "data" in event] == ["hi", " | ho"]
    usage = events[-1]["result"].metrics.latest_agent_invocation.usage
    assert (usage["inputTokens"], usage["outputTokens"]) == (3, 4)


async def test_one_model_serves_many_agents_and_restored_ones():
    async with served(remembering) as remote:
        model = A2AModel(remote)

        async def converse(name):
            snapshot = None
            for number in range(3):
                agent = Agent(model=model, callback_handler=None)
                if snapshot:
                    agent.load_snapshot(Snapshot.from_dict(snapshot))
                result = await agent.invoke_async(f"{name}.{number}")
                snapshot = agent.take_snapshot(preset="session").to_dict()
            return text_of(result)

        outputs = await asyncio.gather(*(converse(f"caller{n}") for n in range(20)))
    assert outputs == [f"caller{n}.0 | caller{n}.1 | caller{n}.2" for n in range(20)]


async def test_system_prompts_and_files_are_sent():
    async with served(reading) as remote:
        document = {"format": "csv", "name": "a", "source": {"bytes": b"1,2"}}
        agent = asking(remote, system_prompt="Be kind.")
        result = await agent.invoke_async([{"text": "look"}, {"document": document}])
        assert text_of(result) == "[System: Be kind.][User: look][a text/csv 1,2]"


async def test_questions_are_answers_and_the_next_message_replies():
    async with served(booking) as remote:
        agent = asking(remote)
        assert text_of(await agent.invoke_async("book")) == "Which city?"
        assert text_of(await agent.invoke_async("Rome")) == "Booked Rome."


async def test_failed_tasks_and_lost_agents_raise():
    async with served(failing) as remote:
        with pytest.raises(RemoteTaskError):
            await asking(remote).invoke_async("hi")
    with pytest.raises(RemoteAgentError):
        await asking("http://127.0.0.1:9").invoke_async("hi")


async def test_tools_and_settings_are_refused():
    model = A2AModel("http://127.0.0.1:9")
    agent = Agent(model=model, tools=[a2a_tool("http://127.0.0.1:9", ABOUT)], callback_handler=None)
    with pytest.raises(ConfigurationError, match="remove the tools"):
        await agent.invoke_async("hi")
    with pytest.raises(ConfigurationError, match="temperature"):
        model.update_config(temperature=1)


async def test_a_remote_agent_is_a_node_of_a_graph():
    async with served(remembering) as remote:
        builder = GraphBuilder()
        builder.add_node(asking(remote, name="desk"), "desk")
        builder.set_max_node_executions(1)
        result = await builder.build().invoke_async("hi")
    assert text_of(result.results["desk"].result) == "hi"


def using(tool, **options):
    """Return an agent that calls the tool with the user's message, and repeats the result."""

    def model(messages):
        if done := results(messages):
            return next(iter(done.values()))
        return calling(tool.tool_name, f"c{len(messages)}", message=said(messages)[-1])

    return Agent(model=Fake(model), tools=[tool], callback_handler=None, **options)


async def test_a_remote_agent_is_a_tool():
    recording = Recording(build_app(remembering))
    skill = Skill(id="repeat", name="repeat", description="Repeats.")
    async with running(recording) as url:
        about = await RemoteAgent(url).describe()
        plain, skilled = a2a_tool(url, about), a2a_tool(url, skill)
        assert plain.tool_spec["description"].startswith("Asks the agent")
        answer = text_of(await using(plain).invoke_async("hi"))
        assert answer.startswith("hi\n(context_id: ")
        await using(skilled).invoke_async("hi")
    assert recording.messages[-1]["metadata"] == {"skill_id": "repeat"}


async def test_errors_are_results_for_the_model():
    async with served(failing) as remote:
        answer = text_of(await using(a2a_tool(remote, ABOUT)).invoke_async("hi"))
    assert answer.startswith("The agent could not be asked:")


async def test_questions_of_a_tool_are_returned_to_the_model():
    async with served(booking) as remote:
        answer = text_of(await using(a2a_tool(remote, ABOUT)).invoke_async("book"))
    assert answer.startswith("Which city?\n(It asks you.")
    assert "task_id: " in answer


async def test_questions_of_a_tool_are_passed_to_the_user_once():
    recording = Recording(build_app(booking))
    async with running(recording) as url:
        agent = using(a2a_tool(url, ABOUT, ask_user=True))
        waiting = await agent.invoke_async("book")
        [interrupt] = waiting.interrupts
        assert interrupt.reason == {"question": "Which city?"}
        restored = using(a2a_tool(url, ABOUT, ask_user=True))
        stored = agent.take_snapshot(preset="session").to_dict()
        restored.load_snapshot(Snapshot.from_dict(stored))
        reply = {"interruptId": interrupt.id, "response": "Rome"}
        done = await restored.invoke_async([{"interruptResponse": reply}])
    assert text_of(done).startswith("Booked Rome.")
    assert [message["parts"][0]["text"] for message in recording.messages] == ["book", "Rome"]


async def test_the_framework_is_found_by_name():
    async with served(remembering) as remote:
        assert isinstance(remote_llm(remote, "strands"), A2AModel)
        tool = await asyncio.to_thread(remote_tool, remote, "strands")
        assert tool.tool_name
