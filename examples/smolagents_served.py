"""A served agent of smolagents whose answers are checked, and that manages a remote agent.

    pip install 'a2a-adapters[smolagents]'
    python examples/smolagents_served.py

It needs no key: its model is scripted, and the remote agent is a function that runs beside it.
"""

from __future__ import annotations

import asyncio

from a2a_adapters_smolagents import A2AManagedAgent
from smolagents import CodeAgent
from smolagents.models import ChatMessage, MessageRole, Model

from a2a_adapters import RemoteAgent, build_app
from a2a_adapters.testing import running

WRONG = 'final_answer("I do not know.")'
RIGHT = 'final_answer(weather(task="Rome"))'


class Script(Model):
    """Stands in for a model: guesses first, and asks the managed agent after a check refused."""

    def generate(self, messages, **_):
        """Return a piece of code."""
        code = RIGHT if "Error" in str(messages[-1].content) else WRONG
        return ChatMessage(MessageRole.ASSISTANT, f"Thought: hm\n<code>\n{code}\n</code>")


def is_known(final_answer, memory, agent) -> bool:  # noqa: ARG001 - called by smolagents
    """Whether an answer is one."""
    return "do not know" not in final_answer


def weather(text: str) -> str:
    """Forecast the weather of a city."""
    return f"It will be sunny in {text}."


async def main() -> None:
    async with running(build_app(weather)) as service, RemoteAgent(service) as remote:
        forecaster = A2AManagedAgent(remote, await remote.describe())
        guide = CodeAgent(
            tools=[],
            model=Script(),
            managed_agents=[forecaster],
            final_answer_checks=[is_known],
            name="guide",
            description="Knows the weather.",
        )
        async with running(build_app(guide)) as url, RemoteAgent(url) as agent:
            answer = await agent.send("How is the weather in Rome?")
            print(answer.text)
            assert answer.text == "It will be sunny in Rome."


if __name__ == "__main__":
    asyncio.run(main())
