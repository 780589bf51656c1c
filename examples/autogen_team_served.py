"""An AutoGen team as an A2A agent: a writer, a critic, and a question to the caller.

    pip install 'a2a-adapters[autogen]' 'autogen-ext<0.8'
    python examples/autogen_team_served.py

It serves the team, talks to it with the official A2A client, and checks its answers. The models
are scripted, so that no key is needed; replace them with your own model client.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a.types import TaskState
from a2a_adapters_autogen import adapt
from autogen_agentchat.agents import AssistantAgent, UserProxyAgent
from autogen_agentchat.conditions import TextMentionTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_ext.models.replay import ReplayChatCompletionClient

from a2a_adapters import build_app
from a2a_adapters.testing import connect, running, stream, user_message

if TYPE_CHECKING:
    from a2a.client import Client

DRAFT = "The sea is wide."
SECOND_DRAFT = "The sea is wide, the ship is small."


def make_team() -> RoundRobinGroupChat:
    """Create a team; called for every run."""
    drafts = ReplayChatCompletionClient([DRAFT, SECOND_DRAFT])
    remarks = ReplayChatCompletionClient(["Short. Is it what you want?", "Better."])
    writer = AssistantAgent("writer", drafts, description="Writes.", model_client_stream=True)
    critic = AssistantAgent("critic", remarks, description="Says what is missing.")
    caller = UserProxyAgent("caller")
    done = TextMentionTermination("APPROVE", sources=["caller"])
    return RoundRobinGroupChat([writer, critic, caller], termination_condition=done)


async def main() -> None:
    app = build_app(adapt(make_team, final="all"), name="Desk", description="Writes with you.")
    async with running(app) as url, connect(url) as client:
        asked = await say(client, "a poem about the sea, please")
        assert asked.state == TaskState.TASK_STATE_INPUT_REQUIRED
        assert asked.chunks > 3, "the text comes while it is written"
        assert asked.text == f"writer: {DRAFT}\n\ncritic: Short. Is it what you want?"

        again = await say(client, "Longer, please.", asked.task_id)
        assert again.task_id == asked.task_id
        assert again.text == f"writer: {SECOND_DRAFT}\n\ncritic: Better."

        done = await say(client, "APPROVE", asked.task_id)
        assert done.state == TaskState.TASK_STATE_COMPLETED


@dataclass
class Heard:
    """An answer: its text, the number of chunks, and the state of the task."""

    text: str
    chunks: int
    task_id: str
    state: TaskState


async def say(client: Client, text: str, task_id: str = "") -> Heard:
    print(f"you: {text}")
    events = await stream(client, user_message(text, task_id=task_id))
    updates = [event.artifact_update for event in events if event.HasField("artifact_update")]
    answer = "".join(part.text for update in updates for part in update.artifact.parts)
    print(answer, end="\n\n" if answer else "")
    last = events[-1].status_update
    return Heard(answer, len(updates), last.task_id, last.status.state)


if __name__ == "__main__":
    asyncio.run(main())
