"""An AutoGen team whose members are remote A2A agents, one as an agent, one as a tool.

    pip install 'a2a-adapters[autogen]' 'autogen-ext<0.8'
    python examples/autogen_calls_remote.py

The remote agents are two functions served on this machine; they could be any A2A agents anywhere.
A scripted model decides what to do.
"""

from __future__ import annotations

import asyncio
import json

from a2a_adapters_autogen import A2AAgent, A2ATool
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import TaskResult
from autogen_agentchat.conditions import HandoffTermination
from autogen_agentchat.messages import HandoffMessage, ModelClientStreamingChunkEvent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, ModelInfo, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient

from a2a_adapters import AgentRequest, InputRequired, build_app
from a2a_adapters.testing import running

MODEL = ModelInfo(
    vision=False, function_calling=True, json_output=True, family="unknown", structured_output=True
)


async def weather(text: str) -> str:
    """Report the weather of a city."""
    return f"It is sunny in {text}."


async def desk(_: AgentRequest):
    """Book trips, once it knows for whom."""
    name = yield InputRequired("For whom?")
    yield "Booked for "
    yield f"{name.text.rpartition(': ')[2]}."


async def main() -> None:
    async with running(build_app(weather)) as weather_url, running(build_app(desk)) as desk_url:
        tool = await A2ATool.afrom_agent(weather_url)
        model = ReplayChatCompletionClient([calling(tool.name, "Rome")], MODEL)
        planner = AssistantAgent("planner", model, tools=[tool])
        agency = A2AAgent("agency", desk_url, description="Books trips.")
        team = RoundRobinGroupChat(
            [planner, agency], termination_condition=HandoffTermination("user")
        )

        asked = await follow(team, "A trip to Rome, if the weather is fine.")
        assert [message.to_text() for message in asked.messages][-2:] == [
            "It is sunny in Rome.",
            "For whom?",
        ]
        question = asked.messages[-1]
        assert isinstance(question, HandoffMessage), "the remote question is for the user"

        booked = await follow(agency, "Ann")
        assert booked.messages[-1].to_text() == "Booked for Ann."
        await agency.close()


async def follow(runner: RoundRobinGroupChat | A2AAgent, task: str) -> TaskResult:
    """Run a task, print its messages and return the result."""
    print(f"user: {task}")
    result = TaskResult(messages=[])
    async for event in runner.run_stream(task=task, output_task_messages=False):
        if isinstance(event, TaskResult):
            result = event
        elif not isinstance(event, ModelClientStreamingChunkEvent):
            print(f"{event.source}: {event.to_text()}")
    return result


def calling(name: str, message: str) -> CreateResult:
    """Return a model's answer that calls a tool."""
    call = FunctionCall(id="1", name=name, arguments=json.dumps({"message": message}))
    usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
    return CreateResult(finish_reason="function_calls", content=[call], usage=usage, cached=False)


if __name__ == "__main__":
    asyncio.run(main())
