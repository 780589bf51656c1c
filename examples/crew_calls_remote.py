"""Remote A2A agents in a crew: as a member, as a tool and as a model.

    pip install 'a2a-adapters[crewai]'
    python examples/crew_calls_remote.py

It needs no network: the remote agents run in this process, and the local model is rule-based.
"""

from __future__ import annotations

import asyncio

from a2a_adapters_crewai import quiet

quiet()  # before crewai is imported

from a2a_adapters_crewai import A2ALLM, A2AAgent, A2ATool
from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM

from a2a_adapters import InputRequired, build_app
from a2a_adapters.testing import running


async def agency(_: str):
    """Book trips."""
    city = yield InputRequired("Which city?")
    yield f"Booked {city.text}."


async def atlas(text: str) -> str:
    """Know the sights of cities."""
    return "The Colosseum" if "Rome" in text else "I know nothing of that"


async def poet(text: str) -> str:
    """Write a line about a topic."""
    return f"O {'Colosseum' if 'Colosseum' in text else 'world'}!"


class Clerk(BaseLLM):
    """A rule-based model: it books with the tool, and answers the tool's question."""

    def call(self, messages, *_, **__) -> str:
        prompt = "\n".join(str(message["content"]) for message in messages)
        talk = prompt.rpartition("Begin!")[2]
        results = [part.splitlines()[0] for part in talk.split("Observation: ")[1:]]
        if len(results) < 2:
            words = "Book a trip, please" if not results else "Rome"
            return f'Action: agency\nAction Input: {{"message": "{words}"}}'
        return f"Final Answer: {results[-1]}"

    def get_input_tokens_count(self, *_, **__) -> int:
        return 0


def make_crew(agency_url: str, atlas_url: str, poet_url: str) -> Crew:
    clerk = Agent(
        role="Clerk",
        goal="Book",
        backstory="b",
        llm=Clerk(model="rules"),
        tools=[A2ATool.from_url(agency_url)],
    )
    guide = A2AAgent.from_url(atlas_url, role="Guide")
    writer = Agent(role="Writer", goal="Write", backstory="b", llm=A2ALLM(agent=poet_url))
    tasks = [
        Task(description="Book a trip to {city}", expected_output="A booking", agent=clerk),
        Task(description="What is there to see in {city}?", expected_output="A sight", agent=guide),
        Task(description="Write about it", expected_output="A line", agent=writer),
    ]
    return Crew(agents=[clerk, guide, writer], tasks=tasks)


async def main() -> None:
    async with (
        running(build_app(agency)) as agency_url,
        running(build_app(atlas)) as atlas_url,
        running(build_app(poet)) as poet_url,
    ):
        crew = await asyncio.to_thread(make_crew, agency_url, atlas_url, poet_url)
        result = await crew.akickoff({"city": "Rome"})
        outputs = [output.raw for output in result.tasks_output]
        for who, said in zip(("tool:  ", "member:", "model: "), outputs, strict=True):
            print(who, said)
        assert outputs == ["Booked Rome.", "The Colosseum", "O Colosseum!"], outputs
        again = await asyncio.to_thread(crew.copy().kickoff, {"city": "Rome"})
        assert again.raw == "O Colosseum!", again.raw
        print("The same from blocking code.")


if __name__ == "__main__":
    asyncio.run(main())
