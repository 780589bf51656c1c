"""Remote agents as models, agents and tools."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_google_adk import A2AAgent, A2AModel, A2ATool, adapt
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.adk.workflow import Workflow

from a2a_adapters import (
    AgentDescription,
    ConfigurationError,
    File,
    InputRequired,
    RemoteAgent,
    RemoteAgentError,
    RemoteTaskError,
    Skill,
    TaskMetadata,
    Text,
    build_app,
    remote_llm,
    remote_tool,
)
from a2a_adapters.testing import running
from tests.plugins.google_adk.support import Fake, agent, calling, composed, results, said
from tests.plugins.openai_agents.calling.support import (
    booking,
    failing,
    reading,
    remembering,
    served,
)
from tests.support.adapters import answer, ask, deltas, only, reply
from tests.support.servers.front import Recording

ABOUT = AgentDescription(name="The desk", description="Books trips.")


def desk(remote, **options):
    return A2AAgent(remote, ABOUT, **options)


def asking(remote, **options):
    return LlmAgent(name="desk", model=A2AModel(remote), **options)


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


async def test_tools_of_the_framework_are_refused_by_a_model():
    adapter = adapt(asking("http://127.0.0.1:9", tools=[A2ATool("http://127.0.0.1:9", ABOUT)]))
    with pytest.raises(ConfigurationError, match="remove the tools"):
        await ask(adapter, "hi")


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


async def test_questions_of_an_agent_are_answers_and_the_next_message_replies():
    async with served(booking) as remote:
        adapter = adapt(desk(remote))
        assert answer(await ask(adapter, "book")) == "Which city?"
        assert answer(await ask(adapter, "Rome")) == "Booked Rome."


async def test_failed_tasks_and_lost_agents_raise():
    async with served(failing) as remote:
        for target in (desk(remote), asking(remote)):
            runner = InMemoryRunner(agent=target)
            with pytest.raises(RemoteTaskError):
                await runner.run_debug("hi", quiet=True)
    with pytest.raises(RemoteAgentError):
        await InMemoryRunner(agent=desk("http://127.0.0.1:9")).run_debug("hi", quiet=True)


async def test_a_remote_agent_is_a_sub_agent_a_member_and_a_node():
    async with served(remembering) as remote:
        call = calling("transfer_to_agent", agent_name=desk(remote).name)
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
        model = Fake(lambda found: results(found).get("c1") or calling(tool.name, request="hi"))
        host = LlmAgent(name="host", model=model, tools=[tool])
        assert answer(await ask(adapt(host), "go")) == "hi"


def using(tool):
    """Return an agent that calls the tool with the user's message, and repeats the result."""

    def act(contents):
        if done := results(contents):
            return next(iter(done.values()))
        return calling(tool.name, f"c{len(contents)}", message=said(contents)[-1])

    return adapt(LlmAgent(name="host", model=Fake(act), tools=[tool]))


async def test_a_remote_agent_is_a_tool():
    recording = Recording(build_app(remembering))
    skill = Skill(id="repeat", name="repeat", description="Repeats.")
    async with running(recording) as url:
        about = await RemoteAgent(url).describe()
        plain, skilled = A2ATool(url, about), A2ATool(url, skill)
        assert plain.description.startswith("Asks the agent")
        assert answer(await ask(using(plain), "hi")).startswith("hi\n(context_id: ")
        await ask(using(skilled), "hi")
    assert recording.messages[-1]["metadata"] == {"skill_id": "repeat"}


async def test_errors_are_results_for_the_model():
    async with served(failing) as remote:
        said = answer(await ask(using(A2ATool(remote, ABOUT)), "hi"))
    assert said.startswith("The agent could not be asked:")


async def test_questions_of_a_tool_are_returned_to_the_model():
    async with served(booking) as remote:
        said = answer(await ask(using(A2ATool(remote, ABOUT)), "book"))
    assert said.startswith("Which city?\n(It asks you.")
    assert "task_id: " in said


async def test_questions_of_a_tool_are_passed_to_the_user_once():
    recording = Recording(build_app(booking))
    async with running(recording) as url:
        adapter = using(A2ATool(url, ABOUT, ask_user=True))
        assert "Which city?" in only(await ask(adapter, "book"), InputRequired).prompt
        assert answer(await reply(adapter, "Rome")).startswith("Booked Rome.")
    assert [message["parts"][0]["text"] for message in recording.messages] == ["book", "Rome"]


async def test_the_framework_is_found_by_name():
    async with served(remembering) as remote:
        assert isinstance(remote_llm(remote, "google-adk"), A2AModel)
        tool = await asyncio.to_thread(remote_tool, remote, "google-adk")
        assert isinstance(tool, A2ATool)
