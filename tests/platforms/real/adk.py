"""`google-adk`: its `RemoteA2aAgent` calls the agent, and answers its question."""

from __future__ import annotations

import asyncio

from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.runners import InMemoryRunner
from google.genai.types import Content, FunctionCall, FunctionResponse, Part

from tests.platforms.contract import CARD
from tests.platforms.real.processes import serving


async def talk(url: str) -> None:
    """Send a message, and answer a question, which ADK shows as a call of a function."""
    runner = InMemoryRunner(RemoteA2aAgent(name="echo", agent_card=f"{url}/{CARD}"))
    session = await runner.session_service.create_session(app_name=runner.app_name, user_id="ann")

    async def say(part: Part) -> tuple[str, FunctionCall | None]:
        message = Content(role="user", parts=[part])
        said, question = "", None
        async for event in runner.run_async(
            user_id="ann", session_id=session.id, new_message=message
        ):
            for each in (event.content and event.content.parts) or []:
                said += each.text or ""
                question = each.function_call or question
        return said, question

    text, _ = await say(Part(text="hello"))
    assert "hello" in text, text
    _, question = await say(Part(text="ask"))
    assert question is not None
    assert question.args == {"input_required": "Your name?"}, question
    reply = FunctionResponse(id=question.id, name=question.name, response={"result": "Ann"})
    text, _ = await say(Part(function_response=reply))
    # ADK shows the agent's last message in the history of the task with which the stream begins.
    assert text.removeprefix("Your name?").startswith("Hello, "), text
    assert "Ann" in text, text


if __name__ == "__main__":
    with serving() as ours:
        asyncio.run(talk(ours))
    print("ran: RemoteA2aAgent, with a question and its answer")
