"""A crew as an A2A agent: many callers at once, and a draft that its caller reviews.

    pip install 'a2a-adapters[crewai]'
    python examples/crew_served.py

It needs no network: the agents' model is rule-based. Replace it with your own.
"""

from __future__ import annotations

import asyncio
import re

from a2a_adapters_crewai import quiet

quiet()  # before crewai is imported

from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM

from a2a_adapters import RemoteAgent, build_app
from a2a_adapters.testing import running

TOPICS = [f"topic {number}" for number in range(8)]


class Rules(BaseLLM):
    """A rule-based model: it writes about the topic, and follows the editor's requests."""

    def call(self, messages, *_, **__) -> str:
        prompt = "\n".join(str(message["content"]) for message in messages)
        topic = re.findall(r"Write about '(.*?)'", prompt)[-1]
        wishes = re.findall(r"User feedback: (.*)", prompt)
        return f"Final Answer: {topic}, {wishes[-1] if wishes else 'at length'}"

    def get_input_tokens_count(self, *_, **__) -> int:
        return 0


def make_crew() -> Crew:
    writer = Agent(role="Writer", goal="Write", backstory="secret", llm=Rules(model="rules"))
    task = Task(description="Write about '{topic}'", expected_output="A line", agent=writer)
    return Crew(name="Press", agents=[writer], tasks=[task])


def make_reviewed_crew() -> Crew:
    crew = make_crew()
    crew.tasks[0].human_input = True
    return crew


async def many_callers() -> None:
    async with running(build_app(make_crew())) as url, RemoteAgent(url) as press:
        replies = await asyncio.gather(*(press.send(topic) for topic in TOPICS))
    answers = [reply.text for reply in replies]
    assert answers == [f"{topic}, at length" for topic in TOPICS], answers
    print(f"{len(answers)} callers at once, each got its own answer.")


async def a_review() -> None:
    async with running(build_app(make_reviewed_crew())) as url, RemoteAgent(url) as press:
        editor = press.conversation()
        draft = await editor.send("cats")
        assert draft.is_question, draft
        print(f"Draft:    {draft.text.splitlines()[0]}")
        shorter = await editor.send("in short")
        assert shorter.is_question, shorter
        print(f"Revised:  {shorter.text.splitlines()[0]}")
        final = await editor.send("ok")
        assert (final.state, final.text) == ("completed", "cats, in short"), final
        assert final.task_id == draft.task_id
        print(f"Accepted: {final.text}")


async def main() -> None:
    await many_callers()
    await a_review()


if __name__ == "__main__":
    asyncio.run(main())
