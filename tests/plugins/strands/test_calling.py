"""Remote agents as models, tools and members of graphs."""

from __future__ import annotations

import pytest
from a2a.types import TaskState
from a2a_adapters_strands import A2AModel, a2a_tool
from strands.types._snapshot import Snapshot

from a2a_adapters import (
    AgentRequest,
    ConfigurationError,
    InputRequired,
    ServerOptions,
    build_app,
)
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.openai_agents.calling.support import (
    booking,
    reading,
    remembering,
    served,
)
from tests.plugins.strands import support
from tests.support.agents import calling
from tests.support.servers.front import Recording


def asking(remote, **options):
    return support.made(A2AModel(remote), **options)


def text_of(result):
    return "".join(block["text"] for block in result.message["content"])


class Conversing(calling.Conversing):
    support = support

    def conversation(self, agent):
        stored = agent.take_snapshot(preset="session").to_dict()

        async def say(text):
            nonlocal stored
            restored = support.made(agent.model, tools=list(agent.tool_registry.registry.values()))
            restored.load_snapshot(Snapshot.from_dict(stored))
            result = await restored.invoke_async(text)
            stored = restored.take_snapshot(preset="session").to_dict()
            return text_of(result)

        return say


class TestModels(Conversing, calling.Models, calling.Conversations):
    framework = "strands"
    model = A2AModel

    def test_settings_are_refused(self):
        with pytest.raises(ConfigurationError, match="temperature"):
            A2AModel(calling.NOWHERE).update_config(temperature=1)


class TestModelsAsMembers(calling.Members):
    def member(self, remote):
        return asking(remote)


class TestTools(Conversing, calling.Tools):
    framework = "strands"

    def tool(self, remote, about, **options):
        return a2a_tool(remote, about, **options)

    def described(self, tool):
        return tool.tool_name, tool.tool_spec["description"]

    async def test_questions_are_passed_to_the_user_once(self):
        recording = Recording(build_app(booking))
        async with running(recording) as url:
            agent, restored = (
                self.using(self.tool(url, calling.ABOUT, ask_user=True)) for _ in range(2)
            )
            waiting = await agent.invoke_async("book")
            [interrupt] = waiting.interrupts
            assert interrupt.reason == {"question": "Which city?"}
            stored = agent.take_snapshot(preset="session").to_dict()
            restored.load_snapshot(Snapshot.from_dict(stored))
            reply = {"interruptId": interrupt.id, "response": "Rome"}
            done = await restored.invoke_async([{"interruptResponse": reply}])
        assert text_of(done).startswith("Booked Rome.")
        assert [message["parts"][0]["text"] for message in recording.messages] == ["book", "Rome"]


async def test_answers_are_streamed_with_their_usage():
    async with served(remembering) as remote:
        agent = asking(remote)
        await agent.invoke_async("hi")
        events = [event async for event in agent.stream_async("ho")]
    assert [event["data"] for event in events if "data" in event] == ["hi", " | ho"]
    usage = events[-1]["result"].metrics.latest_agent_invocation.usage
    assert (usage["inputTokens"], usage["outputTokens"]) == (3, 4)


async def test_system_prompts_and_files_are_sent():
    async with served(reading) as remote:
        document = {"format": "csv", "name": "a", "source": {"bytes": b"1,2"}}
        agent = asking(remote, system_prompt="Be kind.")
        result = await agent.invoke_async([{"text": "look"}, {"document": document}])
        assert text_of(result) == "[System: Be kind.][User: look][a text/csv 1,2]"


async def test_a_remote_agent_is_a_node_of_a_graph():
    async with served(remembering) as remote:
        result = await support.team(asking(remote, name="desk")).invoke_async("hi")
    assert text_of(result.results["desk"].result) == "hi"


def graph(member):
    return lambda: support.team(member(), support.agent("the end", name="last"))


async def asking_twice(request: AgentRequest):
    """Book a trip after two questions."""
    city = yield InputRequired("Which city?")
    day = yield InputRequired("Which day?")
    yield f"Booked {city.text} on {day.text}."


@pytest.mark.parametrize("compose", [lambda member: member, graph])
async def test_questions_of_a_model_wait_for_the_caller(compose, tmp_path):
    recording = Recording(build_app(asking_twice))
    options = ServerOptions(storage=f"sqlite:///{tmp_path}/tasks.db")
    async with running(recording) as url:
        target = compose(lambda: asking(url, name="desk"))
        context = ""
        for _ in range(2):
            async with (
                running(build_app(target, options=options)) as address,
                connect(address) as client,
            ):
                task = await send(client, user_message("book", context_id=context))
                for question, said in (("Which city?", "Rome"), ("Which day?", "Monday")):
                    assert task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
                    assert task.status.message.parts[0].text == question
                    assert not task.artifacts
                    task = await send(client, user_message(said, task_id=task.id))
            expected = "the end" if compose is graph else "Booked Rome on Monday."
            assert answer_of(task) == expected
            context = task.context_id
    said = [message["parts"][-1]["text"] for message in recording.messages]
    assert [text.rpartition(" ")[2] for text in said] == ["book", "Rome", "Monday"] * 2
