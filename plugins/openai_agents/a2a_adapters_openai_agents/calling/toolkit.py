"""Several remote agents as tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters import Fleet
from a2a_adapters_openai_agents.calling.tool import a2a_tool

if TYPE_CHECKING:
    from agents import FunctionTool

    from a2a_adapters.plugin import AnyFleet, FleetMember


class A2AToolkit:
    """A tool for each agent of a fleet: `A2AToolkit({"poet": "http://..."}).get_tools()`.

    Agents that are down are left out; call `get_tools` again to have those that are back.

    Args:
        agents: A `Fleet`, or its agents by the names of their tools: URLs, settings, or
            `RemoteAgent`s.

    Raises:
        ConfigurationError: A setting is invalid.
    """

    def __init__(self, agents: AnyFleet) -> None:
        self.fleet = Fleet.of(agents)

    def get_tools(self) -> list[FunctionTool]:
        """Return the tools of the agents that answer, in their order."""
        return [_tool(member) for member in self.fleet.members_sync()]

    async def aget_tools(self) -> list[FunctionTool]:
        """`get_tools` in async code."""
        return [_tool(member) for member in await self.fleet.members()]


def _tool(member: FleetMember) -> FunctionTool:
    return a2a_tool(member.agent, member.about, wait=member.wait)
