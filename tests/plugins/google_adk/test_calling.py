"""Remote agents as models, agents and tools."""

from __future__ import annotations

import asyncio
from functools import partial
from uuid import uuid4

import pytest
from a2a_adapters_google_adk import A2AAgent, A2AModel, A2ATool, A2AToolkit, adapt
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.adk.workflow import Workflow

from a2a_adapters import (
    File,
    InputRequired,
    RemoteAgentError,
    RemoteTaskError,
    TaskMetadata,
    Text,
    build_app,
)
from a2a_adapters.testing import running
from tests.plugins.google_adk import support
from tests.plugins.google_adk.support import Fake, agent, composed, results
from tests.plugins.openai_agents.calling.support import (
    booking,
    failing,
    reading,
    remembering,
    served,
)
from tests.support.adapters import answer, ask, deltas, only, reply
from tests.support.agents import calling
from tests.support.servers.front import Recording


def desk(remote, **options):
    return A2AAgent(remote, calling.ABOUT, **options)


def asking(remote, **options):
    return support.made(A2AModel(remote), name="desk", **options)


class Conversing(calling.Conversing):
    support = support

    def conversation(self, agent):
        runner, session = InMemoryRunner(agent=agent), uuid4().hex

        async def say(text):
            events = await runner.run_debug(text, session_id=session, quiet=True)
            return "".join(part.text or "" for part in events[-1].content.parts)

        return say


class TestModels(Conversing, calling.Models):
    framework = "google-adk"
    model = A2AModel


class TestAgents(Conversing, calling.Conversations):
    def asking(self, remote):
        return desk(remote)


class TestAgentsAsMembers(calling.Members):
    def member(self, remote):
        return desk(remote)


class TestModelsAsMembers(calling.Members):
    def member(self, remote):
        return asking(remote)


class TestTools(Conversing, calling.Tools):
    framework = "google-adk"

    def tool(self, remote, about, **options):
        return A2ATool(remote, about, **options)

    def described(self, tool):
        return tool.name, tool.description

    async def test_questions_are_passed_to_the_user_once(self):
        recording = Recording(build_app(booking))
        async with running(recording) as url:
            adapter = adapt(self.using(self.tool(url, calling.ABOUT, ask_user=True)))
            assert "Which city?" in only(await ask(adapter, "book"), InputRequired).prompt
            assert answer(await reply(adapter, "Rome")).startswith("Booked Rome.")
        assert [message["parts"][0]["text"] for message in recording.messages] == ["book", "Rome"]


async def test_a_fleet_is_a_toolset():
    gone = {"url": "http://127.0.0.1:9", "retries": 0}

    def model(messages):
        done = support.results(messages)
        return next(iter(done.values())) if done else support.calling("two", "c", message="hi")

    async with served(booking) as books, served(remembering) as remembers:
        kit = A2AToolkit({"one": books, "gone": gone, "two": {"url": remembers.name, "wait": 60}})
        assert [tool.name for tool in await kit.get_tools()] == ["one", "two"]
        events = await ask(adapt(support.made(support.Fake(model), tools=[kit])), "go")
        await kit.close()
    assert answer(events).startswith("hi\n(context_id: ")


async def test_answers_of_a_model_are_streamed_with_their_usage():
    async with served(remembering) as remote:
        events = await ask(adapt(asking(remote)), "hi")
    assert deltas(events) == ["hi"]
    assert only(events, TaskMetadata).values["usage"]["output_tokens"] == 4


async def test_models_send_the_whole_conversation():
    async with served(remembering) as remote:
        adapter = adapt(asking(remote))
        await ask(adapter, "hi")
        assert "hi" in answer(await ask(adapter, "ho"))


async def test_instructions_and_files_are_sent():
    async with served(reading) as remote:
        adapter = adapt(asking(remote, instruction="Be kind."))
        file = File(content=b"1,2", media_type="text/csv", filename="a")
        told = answer(await ask(adapter, Text("look"), file))
    assert told == "[System: Be kind.][User: look][a text/csv 1,2]"


async def test_agents_send_only_what_is_new_and_one_serves_many_sessions():
    recording = Recording(build_app(remembering))
    async with running(recording) as url:
        adapter = adapt(desk(url))

        async def converse(name):
            for number in range(3):
                events = await ask(adapter, f"{name}.{number}", context_id=name)
            return answer(events)

        outputs = await asyncio.gather(*(converse(f"caller{n}") for n in range(20)))
    assert outputs == [f"caller{n}.0 | caller{n}.1 | caller{n}.2" for n in range(20)]
    assert {len(message["parts"]) for message in recording.messages} == {1}


def loop(member):
    return composed(LoopAgent, member, max_iterations=1)


def sequence(member):
    return composed(SequentialAgent, agent("a draft", name="writer"), member)


def first(member):
    return composed(SequentialAgent, member, agent("the end", name="last"))


def parallel(member):
    return composed(ParallelAgent, member, agent("beside", name="other"))


def handed_over(member):
    return agent(support.calling("transfer_to_agent", agent_name=member.name), sub_agents=[member])


def workflow(member):
    return Workflow(name="flow", edges=[("START", member)])


COMPOSED = [lambda member: member, sequence, first, parallel, handed_over, workflow, loop]


# Its model takes no tools, not even the one that hands over to the parent.
@pytest.mark.parametrize("make", [desk, partial(asking, disallow_transfer_to_parent=True)])
@pytest.mark.parametrize("compose", COMPOSED)
async def test_questions_of_an_agent_wait_for_the_user(compose, make):
    recording = Recording(build_app(booking))
    async with running(recording) as url:
        adapter = adapt(compose(make(url)))
        events = await ask(adapter, "book")
        assert only(events, InputRequired).prompt == "Which city?"
        assert "Which city?" not in answer(events)
        events = await reply(adapter, "Rome")
        assert not [event for event in events if isinstance(event, InputRequired)]
        assert answer(events) == ("the end" if compose is first else "Booked Rome.")
    assert [message["parts"][-1]["text"] for message in recording.messages][-1] == "Rome"
    assert len(recording.messages) == 2


async def test_the_next_message_of_a_session_answers_a_question():
    async with served(booking) as remote:
        say = Conversing().conversation(desk(remote))
        assert await say("book") == "Which city?"
        assert await say("Rome") == "Booked Rome."


async def test_failed_tasks_and_lost_agents_raise():
    async with served(failing) as remote:
        with pytest.raises(RemoteTaskError):
            await InMemoryRunner(agent=desk(remote)).run_debug("hi", quiet=True)
    with pytest.raises(RemoteAgentError):
        await InMemoryRunner(agent=desk(calling.NOWHERE)).run_debug("hi", quiet=True)


async def test_a_remote_agent_is_a_sub_agent_a_member_and_a_node():
    async with served(remembering) as remote:
        call = support.calling("transfer_to_agent", agent_name=desk(remote).name)
        host = agent(call, name="host", sub_agents=[desk(remote)])
        assert answer(await ask(adapt(host), "hi")) == "hi"
        team = composed(SequentialAgent, agent("a draft", name="writer"), desk(remote))
        assert answer(await ask(adapt(team), "hi")) == "User: hi\nwriter: a draft"
        flow = Workflow(name="flow", edges=[("START", desk(remote))])
        assert answer(await ask(adapt(flow), "hi")) == "hi"


# The framework's own tool still uses it.
@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")
async def test_an_agent_is_a_tool_of_another():
    async with served(remembering) as remote:
        tool = AgentTool(desk(remote))
        model = Fake(
            lambda found: results(found).get("c1") or support.calling(tool.name, request="hi")
        )
        host = LlmAgent(name="host", model=model, tools=[tool])
        assert answer(await ask(adapt(host), "go")) == "hi"
