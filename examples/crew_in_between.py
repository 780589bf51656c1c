"""A LangChain program calls a crew, which calls a plain function, all over A2A.

    pip install 'a2a-adapters[crewai,langchain]'
    python examples/crew_in_between.py

Each could run on a separate machine; here they run in this process, without a network. For the
LangChain program, the crew is a chat model; for the crew, the function is a member.
"""

from __future__ import annotations

import asyncio

from a2a_adapters_crewai import quiet

quiet()  # before crewai is imported

from a2a_adapters_crewai import A2AAgent
from a2a_adapters_langchain import A2AChatModel
from crewai import Crew, Task
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate

from a2a_adapters import InputRequired, RemoteAgent, build_app
from a2a_adapters.testing import running


async def desk(request):
    """Book trips, once it knows for whom."""
    city = request.text.partition(".")[0].removeprefix("Book a trip to ")
    name = yield InputRequired("For whom?")
    yield f"Booked {city} for {name.text}."


def make_crew(desk_url: str) -> Crew:
    agency = A2AAgent.from_url(desk_url, role="Travel agency")
    book = Task(description="Book a trip to {city}.", expected_output="A booking", agent=agency)
    return Crew(name="Office", agents=[agency], tasks=[book])


async def main() -> None:
    async with running(build_app(desk)) as desk_url:
        crew = await asyncio.to_thread(make_crew, desk_url)
        async with running(build_app(crew)) as crew_url, RemoteAgent(crew_url) as office:
            model = A2AChatModel(agent=office)
            chain = ChatPromptTemplate.from_template("{message}") | model | StrOutputParser()
            names = [f"guest {number}" for number in range(4)]
            answers = await asyncio.gather(*(book(chain, name) for name in names))
    assert answers == [f"Booked Rome for {name}." for name in names], answers
    print("\n".join(answers))


async def book(chain, name: str) -> str:
    """Ask for a trip; question and answer pass through the crew."""
    thread = {"configurable": {"thread_id": name}}
    question = await chain.ainvoke({"message": "Rome"}, thread)
    assert question == "For whom?", question
    return await chain.ainvoke({"message": name}, thread)


if __name__ == "__main__":
    asyncio.run(main())
