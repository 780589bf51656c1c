"""Several remote agents as a toolset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai.toolsets import AbstractToolset

from a2a_adapters import Fleet
from a2a_adapters_pydantic_ai.calling.toolset import A2AToolset

if TYPE_CHECKING:
    from pydantic_ai import RunContext
    from pydantic_ai.toolsets import ToolsetTool

    from a2a_adapters.plugin import AnyFleet


class A2AToolkit(AbstractToolset[Any]):
    """A tool for each agent of a fleet: `Agent(toolsets=[A2AToolkit({"poet": "http://..."})])`.

    Each step of a run has the tools of the agents that answer then.

    Args:
        agents: A `Fleet`, or its agents by the names of their tools: URLs, settings, or
            `RemoteAgent`s.
        id: The id of the toolset, for agents that several toolsets need to be told apart for.

    Raises:
        ConfigurationError: A setting is invalid.
    """

    def __init__(
        self,
        agents: AnyFleet,
        *,
        id: str | None = None,  # noqa: A002 - the framework's name
    ) -> None:
        self.fleet = Fleet.of(agents)
        self._id = id

    @property
    def id(self) -> str | None:
        """The id of the toolset."""
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools of the agents that answer."""
        tools: dict[str, ToolsetTool[Any]] = {}
        for each in await self.fleet.members():
            toolset = A2AToolset(each.agent, about=each.about, wait=each.wait)
            tools |= await toolset.get_tools(ctx)
        return tools

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Ask the agent of a tool."""
        return await tool.toolset.call_tool(name, tool_args, ctx, tool)
