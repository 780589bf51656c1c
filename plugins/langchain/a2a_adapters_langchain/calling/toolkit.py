"""Several remote agents as tools."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import TYPE_CHECKING, Self, Unpack

from langchain_core.tools import BaseTool, BaseToolkit

from a2a_adapters_langchain.calling.tool import A2ATool

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from a2a_adapters import AgentOptions, RemoteAgent

_STEM_LENGTH = 60


class A2AToolkit(BaseToolkit):
    """A tool for each of several agents: `A2AToolkit.from_urls([...]).get_tools()`.

    Tools whose agents have the same name are numbered.
    """

    tools: list[A2ATool]

    @classmethod
    def from_urls(
        cls, agents: Iterable[str | RemoteAgent], **options: Unpack[AgentOptions]
    ) -> Self:
        """Return a toolkit for agents, given by URL or as `RemoteAgent`.

        Args:
            agents: The agents.
            **options: For all agents, if they are given by their URLs; see `AgentOptions`.

        Raises:
            RemoteAgentError: A card cannot be had.
        """
        return cls(tools=_numbered([A2ATool.from_agent(agent, **options) for agent in agents]))

    @classmethod
    async def afrom_urls(
        cls, agents: Iterable[str | RemoteAgent], **options: Unpack[AgentOptions]
    ) -> Self:
        """`from_urls` in async code; reads all cards at once."""
        tools = await asyncio.gather(*(A2ATool.afrom_agent(agent, **options) for agent in agents))
        return cls(tools=_numbered(tools))

    def get_tools(self) -> list[BaseTool]:
        """Return the tools."""
        return list(self.tools)


def _numbered(tools: Sequence[A2ATool]) -> list[A2ATool]:
    taken = {tool.name for tool in tools}
    seen: set[str] = set()
    numbered = []
    for tool in tools:
        name = tool.name
        if name in seen:
            candidates = (f"{name[:_STEM_LENGTH]}_{number}" for number in count(2))
            name = next(candidate for candidate in candidates if candidate not in taken)
        seen.add(name)
        taken.add(name)
        numbered.append(tool.model_copy(update={"name": name}))
    return numbered
