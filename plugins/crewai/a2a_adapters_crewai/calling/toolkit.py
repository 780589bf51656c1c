"""Several remote agents as tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters import Fleet
from a2a_adapters_crewai.calling.tool import A2ATool

if TYPE_CHECKING:
    from a2a_adapters.plugin import AnyFleet


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

    def get_tools(self) -> list[A2ATool]:
        """Return the tools of the agents that answer, in their order."""
        return [A2ATool.of_member(member) for member in self.fleet.members_sync()]

    async def aget_tools(self) -> list[A2ATool]:
        """`get_tools` in async code."""
        return [A2ATool.of_member(member) for member in await self.fleet.members()]
