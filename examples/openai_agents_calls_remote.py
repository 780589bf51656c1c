"""An agent of the OpenAI Agents SDK that hands over to a remote agent, which asks back.

    pip install 'a2a-adapters[openai-agents]'
    python examples/openai_agents_calls_remote.py

It needs no key: the first agent's model is a local stand-in that always hands over.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from a2a_adapters_openai_agents import a2a_handoff
from agents import Agent, Model, ModelResponse, RunConfig, Runner, SQLiteSession, Usage
from openai.types.responses import ResponseFunctionToolCall

from a2a_adapters import AgentRequest, InputRequired, RemoteAgent, build_app
from a2a_adapters.testing import running


async def desk(_request: AgentRequest):
    """Book trips, once it knows where to."""
    city = yield InputRequired("Which city?")
    yield f"Booked a trip to {city.text}."


class HandsOver(Model):
    """Stands in for a model that hands everything over to the desk."""

    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
        call = ResponseFunctionToolCall(
            arguments="{}", call_id="1", name="transfer_to_desk", type="function_call"
        )
        return ModelResponse([call], Usage(), None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


async def main() -> None:
    async with running(build_app(desk)) as url, RemoteAgent(url) as remote:
        handoff = a2a_handoff(remote, await remote.describe())
        triage = Agent(name="triage", model=HandsOver(), handoffs=[handoff])
        quiet = RunConfig(tracing_disabled=True)
        session = SQLiteSession("ann")

        question = await Runner.run(triage, "I need a holiday", session=session, run_config=quiet)
        print(question.last_agent.name, "asks:", question.final_output)
        answer = await Runner.run(question.last_agent, "Rome", session=session, run_config=quiet)
        print(answer.final_output)
        assert answer.final_output == "Booked a trip to Rome."


if __name__ == "__main__":
    asyncio.run(main())
