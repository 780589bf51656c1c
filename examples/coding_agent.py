"""A served coding agent that uses the Agent Client Protocol, and asks before it changes a file.

pip install 'a2a-adapters[acp]'
python examples/coding_agent.py

The agent in this file follows a script. For a real one: a2a-adapters serve acp:claude
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from uuid import uuid4

from a2a_adapters_acp import AcpAgent
from acp import PROTOCOL_VERSION, run_agent, text_block, tool_diff_content, update_agent_message
from acp.schema import (
    AllowedOutcome,
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    ToolCallUpdate,
)

from a2a_adapters import RemoteAgent, build_app
from a2a_adapters.testing import running

OPTIONS = [
    PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
    PermissionOption(option_id="no", name="Reject", kind="reject_once"),
]


class Scripted:
    """Writes a greeting into a file, if it may."""

    def on_connect(self, conn):
        self.client = conn

    async def initialize(self, **_):
        return InitializeResponse(protocol_version=PROTOCOL_VERSION)

    async def new_session(self, cwd, **_):
        self.folder = Path(cwd)
        return NewSessionResponse(session_id=uuid4().hex)

    async def prompt(self, session_id, **_):
        file = self.folder / "greeting.txt"
        change = tool_diff_content(str(file), "Hello!\n")
        call = ToolCallUpdate(
            tool_call_id="1", title=f"Write {file}", kind="edit", content=[change]
        )
        answer = await self.client.request_permission(session_id, call, OPTIONS)
        is_allowed = (
            isinstance(answer.outcome, AllowedOutcome) and answer.outcome.option_id == "yes"
        )
        if is_allowed:
            file.write_text("Hello!\n")
        said = text_block("Written." if is_allowed else "Left as it is.")
        await self.client.session_update(session_id, update_agent_message(said))
        return PromptResponse(stop_reason="end_turn")


def greeting(folder: str) -> str | None:
    """Return the file that the agent has written."""
    file = Path(folder, "greeting.txt")
    return file.read_text() if file.exists() else None


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        coder = AcpAgent([sys.executable, __file__, "--agent"], cwd=folder, name="Coder")
        async with running(build_app(coder)) as url, RemoteAgent(url) as agent:
            talk = agent.conversation()
            question = await talk.send("Greet me in a file.")
            print(question.question)
            assert question.is_question
            assert greeting(folder) is None
            answer = await talk.send("yes")
            print(answer.text)
            assert answer.text == "Written."
            assert greeting(folder) == "Hello!\n"


if __name__ == "__main__":
    asyncio.run(run_agent(Scripted()) if "--agent" in sys.argv else main())
