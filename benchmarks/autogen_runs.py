"""Runs an AutoGen agent and a team without a server: `python autogen_runs.py KIND RUNS`.

Prints the seconds per run. Each run creates a new object, as a server does.
"""

from __future__ import annotations

import asyncio
import sys
import time

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_ext.models.replay import ReplayChatCompletionClient


def make_agent() -> AssistantAgent:
    return AssistantAgent("agent", ReplayChatCompletionClient(["one two three"]))


def make_team() -> RoundRobinGroupChat:
    members = [AssistantAgent(n, ReplayChatCompletionClient(["hello"])) for n in ("one", "two")]
    return RoundRobinGroupChat(members, max_turns=2)


MAKERS = {"autogen agent": make_agent, "autogen team": make_team}


async def main(kind: str, runs: str) -> None:
    make = MAKERS[kind]
    await make().run(task="hello")  # excludes imports on first use
    started = time.perf_counter()
    for _ in range(int(runs)):
        async for _event in make().run_stream(task="hello"):
            pass
    print((time.perf_counter() - started) / int(runs))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
