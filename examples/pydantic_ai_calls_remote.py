"""An agent of Pydantic AI whose tool is a remote agent, which asks the user back.

    pip install 'a2a-adapters[pydantic-ai]'
    python examples/pydantic_ai_calls_remote.py

It needs no key: its model is Pydantic AI's `TestModel`, which calls every tool once.
"""

from __future__ import annotations

import asyncio

from a2a_adapters_pydantic_ai import A2AToolset
from pydantic_ai import Agent, DeferredToolRequests, ToolApproved
from pydantic_ai.models.test import TestModel

from a2a_adapters import AgentRequest, InputRequired, RemoteAgent, build_app
from a2a_adapters.testing import running


async def desk(_request: AgentRequest):
    """Book trips, once it knows where to."""
    city = yield InputRequired("Which city?")
    yield f"Booked a trip to {city.text}."


async def main() -> None:
    async with running(build_app(desk)) as url, RemoteAgent(url) as remote:
        planner = Agent(
            TestModel(),
            toolsets=[A2AToolset(remote, ask_user=True)],
            output_type=[str, DeferredToolRequests],
        )
        waiting = await planner.run("I need a holiday")
        requests = waiting.output
        assert isinstance(requests, DeferredToolRequests)
        call_id = requests.approvals[0].tool_call_id
        print("The desk asks:", requests.metadata[call_id]["question"])

        answered = requests.build_results(
            approvals={call_id: ToolApproved(override_args={"message": "Rome"})},
            metadata=requests.metadata,
        )
        done = await planner.run(
            message_history=waiting.all_messages(), deferred_tool_results=answered
        )
        print(done.output)
        assert "Booked a trip to Rome." in str(done.output)


if __name__ == "__main__":
    asyncio.run(main())
