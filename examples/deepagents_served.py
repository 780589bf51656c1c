"""A served deep agent: it plans, delegates, writes a file, and asks before it publishes.

    pip install 'a2a-adapters[langchain]' 'deepagents>=0.7,<0.8'
    python examples/deepagents_served.py

It needs no key: its models are scripted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from a2a_adapters_langchain import adapt
from deepagents import create_deep_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from a2a_adapters import File, RemoteAgent, build_app
from a2a_adapters.testing import running

PATH = "/reports/rome.md"


class Scripted(BaseChatModel):
    """Stands in for a model: makes one call after the other, and then answers."""

    calls: Sequence[tuple[str, dict]] = ()
    answer: str

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *_, **__):
        return self

    def _generate(self, messages, *_, **__):
        begun = max(i for i, each in enumerate(messages) if isinstance(each, HumanMessage))
        step = sum(isinstance(each, AIMessage) for each in messages[begun:])
        message = AIMessage(self.answer)
        if step < len(self.calls):
            name, args = self.calls[step]
            message = AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"call-{step}"}])
        return ChatResult(generations=[ChatGeneration(message=message)])


@tool
def publish(path: str) -> str:
    """Publish a report."""
    return f"{path} is published."


researcher = {
    "name": "researcher",
    "description": "Researches cities.",
    "system_prompt": "Name one sight.",
    "model": Scripted(answer="the Colosseum"),
}
writer = create_deep_agent(
    model=Scripted(
        calls=(
            ("task", {"description": "Sights of Rome", "subagent_type": "researcher"}),
            ("write_file", {"file_path": PATH, "content": "# Rome\n\nSee the Colosseum.\n"}),
            ("publish", {"path": PATH}),
        ),
        answer="The report about Rome is published.",
    ),
    tools=[publish],
    subagents=[researcher],
    interrupt_on={"publish": True},
    checkpointer=InMemorySaver(),
    name="writer",
)


async def main() -> None:
    app = build_app(adapt(writer, files=["/reports/*"]), description="Writes reports.")
    async with running(app) as url, RemoteAgent(url) as agent:
        conversation = agent.conversation()
        question = await conversation.send("Write about Rome")
        print(question.question)
        assert "publish" in question.question
        answer = await conversation.send("approve")
        print(answer.text)
        assert answer.text == "The report about Rome is published."
        parts = [
            part for reply in (question, answer) for each in reply.artifacts for part in each.parts
        ]
        (file,) = {part.filename: part for part in parts if isinstance(part, File)}.values()
        print(file.filename)
        assert file.content == b"# Rome\n\nSee the Colosseum.\n"


if __name__ == "__main__":
    asyncio.run(main())
