"""A remote agent as a toolset."""

from __future__ import annotations

import asyncio
import re

import pytest
from a2a_adapters_pydantic_ai import A2AToolkit, A2AToolset, adapt
from pydantic_ai import Agent, DeferredToolRequests, ToolApproved

from a2a_adapters import AgentRequest, InputRequired, Skill, build_app
from a2a_adapters.plugin import AgentDescription, remote_tool
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.openai_agents.calling.support import booking, failing, remembering, served
from tests.plugins.pydantic_ai.support import Fake, calling
from tests.support.adapters import Process, answer, ask, only, reply

ABOUT = AgentDescription(
    name="The desk",
    description="Books trips.",
    skills=[Skill(id="fly", name="fly", description="Books flights.")],
)

GONE = {"url": "http://127.0.0.1:9", "retries": 0}


def outcome(messages):
    """Return the result of the last tool call; None in the user's turn."""
    part = messages[-1].parts[0]
    return part if part.part_kind == "tool-return" else None


def planner(remote, *calls, **options):
    """Return an agent that makes calls of `The_desk` in turn and answers with the last result.

    A function as an argument makes it from the result before.
    """
    left = list(calls)

    def act(messages):
        done = outcome(messages)
        if not left:
            return f"{done.outcome}: {done.content}"
        asked = left.pop(0)
        asked = {
            key: value(done.content) if callable(value) else value for key, value in asked.items()
        }
        return calling("The_desk", call_id=f"c{len(left)}", **asked)

    toolset = A2AToolset(remote, **{"about": ABOUT, **options})
    return Agent(Fake(act), name="planner", toolsets=[toolset])


def named(name):
    """Return a function that finds an id in a result."""
    return lambda result: re.search(rf"{name}: ([\w-]+)", result)[1]


HERE = {"context_id": named("context_id")}


async def tell(agent, text="go", **options):
    return (await run(agent, text, **options)).output


async def run(agent, text, **options):
    async with agent.run_stream_events(text, **options) as events:
        async for _ in events:
            pass
        return events.result


async def test_the_card_describes_the_tool():
    model = Fake(lambda _: "done")
    async with served(booking) as remote:
        await tell(
            Agent(
                model,
                toolsets=[A2AToolset(remote), A2AToolset(remote, per_skill=True).prefixed("x")],
            )
        )
    [tool, skill] = model.info.function_tools
    assert (tool.name, skill.name) == ("booking", "x_booking")
    assert "Book a trip" in tool.description
    assert tool.parameters_json_schema["required"] == ["message"]


async def test_results_continue_a_conversation():
    async with served(remembering) as remote:
        said = await tell(planner(remote, {"message": "one"}, {"message": "two", **HERE}))
    assert said.startswith("success: one | two\n(context_id: ")


async def test_one_toolset_serves_concurrent_conversations():
    async with served(remembering) as remote:
        toolset = A2AToolset(remote, about=ABOUT)

        async def talk(name):
            agent = planner(remote, {"message": name}, {"message": "two", **HERE})
            return await tell(Agent(agent.model, toolsets=[toolset]))

        said = await asyncio.gather(*(talk(f"caller{n}") for n in range(20)))
    assert [each.partition("\n")[0] for each in said] == [
        f"success: caller{n} | two" for n in range(20)
    ]


async def test_the_model_answers_questions():
    place = {**HERE, "task_id": named("task_id")}
    async with served(booking) as remote:
        said = await tell(planner(remote, {"message": "book"}, {"message": "Rome", **place}))
    assert said.startswith("success: Booked Rome.")
    assert "task_id" not in said


async def test_skills_are_tools_whose_id_is_sent():
    async def desk(request: AgentRequest):
        yield f"{request.metadata['skill_id']}: {request.text}"

    async with served(desk) as remote:
        toolset = A2AToolset(remote, about=ABOUT, per_skill=True)
        model = Fake(
            lambda m: done.content if (done := outcome(m)) else calling("fly", message="x")
        )
        assert (await tell(Agent(model, toolsets=[toolset]))).startswith("fly: x")


async def test_errors_are_failed_results():
    async with served(failing) as remote:
        said = await tell(planner(remote, {"message": "hi"}))
    assert said.startswith("failed: The agent could not be asked: ")
    assert "hunter2" not in said


@pytest.mark.parametrize("arguments", [{}, {"message": "hi", "url": "http://x"}])
async def test_wrong_arguments_are_corrected_by_the_model(arguments):
    async with served(remembering) as remote:
        said = await tell(planner(remote, arguments, {"message": "hi"}))
    assert said.startswith("success: hi")


async def twice(request: AgentRequest):
    """Book a trip after two questions."""
    city = yield InputRequired("Which city?")
    day = yield InputRequired("Which day?")
    yield f"Booked {city.text} on {day.text}."


async def test_questions_are_passed_up_as_approvals():
    async with served(twice) as remote:
        agent = planner(remote, {"message": "book"}, ask_user=True)
        result = await run(agent, "go", output_type=[str, DeferredToolRequests])
        for question, given in (("Which city?", "Rome"), ("Which day?", "Monday")):
            [call] = result.output.approvals
            asked = result.output.metadata
            assert asked[call.tool_call_id]["question"] == question
            approved = ToolApproved(override_args={"message": given})
            result = await run(
                agent,
                None,
                message_history=result.all_messages(),
                deferred_tool_results=result.output.build_results(
                    approvals={call.tool_call_id: approved}, metadata=asked
                ),
                output_type=[str, DeferredToolRequests],
            )
    assert result.output.startswith("success: Booked Rome on Monday.")


async def test_served_agents_ask_their_caller_also_after_a_restart(tmp_path):
    url = f"sqlite:///{tmp_path}/agents.db"
    async with served(twice) as remote:

        async def process(step, *calls):
            async with Process(url, adapt(planner(remote, *calls, ask_user=True))) as adapter:
                return await step(adapter)

        asked = await process(lambda each: ask(each, "go"), {"message": "book"})
        assert only(asked, InputRequired).prompt == "Which city?"
        asked = await process(lambda each: reply(each, "Rome"))
        assert only(asked, InputRequired).prompt == "Which day?"
        done = await process(lambda each: reply(each, "Monday"))
    assert answer(done).startswith("success: Booked Rome on Monday.")


async def test_agents_with_toolsets_are_served():
    async with (
        served(booking) as remote,
        running(build_app(planner(remote, {"message": "book"}, ask_user=True))) as url,
        connect(url) as client,
    ):
        waiting = await send(client, user_message("go"))
        assert waiting.status.message.parts[0].text == "Which city?"
        done = await send(client, user_message("Rome", task_id=waiting.id))
    assert "Booked Rome." in answer_of(done)


def test_the_framework_is_found_by_name():
    toolset = remote_tool("http://127.0.0.1:9", "pydantic-ai")
    assert isinstance(toolset, A2AToolset)
    assert A2AToolset("http://127.0.0.1:9", id="desk").id == "desk"


async def test_each_agent_is_a_tool_of_the_toolset():
    def act(messages):
        part = messages[-1].parts[0]
        return part.content if part.part_kind == "tool-return" else calling("two", message="hi")

    async with served(booking) as books, served(remembering) as remembers:
        kit = A2AToolkit({"one": books, "gone": GONE, "two": {"url": remembers.name}}, id="fleet")
        assert kit.id == "fleet"
        assert list(await kit.get_tools(None)) == ["one", "two"]
        result = await Agent(Fake(act), toolsets=[kit]).run("go")
    assert result.output.startswith("hi\n(context_id: ")
