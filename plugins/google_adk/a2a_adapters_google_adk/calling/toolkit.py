"""Several remote agents as a toolset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.adk.tools.base_toolset import BaseToolset

from a2a_adapters import Fleet
from a2a_adapters_google_adk.calling.tool import A2ATool

if TYPE_CHECKING:
    from google.adk.agents.readonly_context import ReadonlyContext
    from google.adk.tools.base_tool import BaseTool

    from a2a_adapters.plugin import AnyFleet


class A2AToolkit(BaseToolset):
    """A tool for each agent of a fleet: `LlmAgent(tools=[A2AToolkit({"poet": url})], ...)`.

    Each invocation has the tools of the agents that answer then.

    Args:
        agents: A `Fleet`, or its agents by the names of their tools: URLs, settings, or
            `RemoteAgent`s.

    Raises:
        ConfigurationError: A setting is invalid.
    """

    def __init__(self, agents: AnyFleet) -> None:
        super().__init__()
        self.fleet = Fleet.of(agents)

    async def get_tools(
        self,
        readonly_context: ReadonlyContext | None = None,  # noqa: ARG002 - of the interface
    ) -> list[BaseTool]:
        """Return the tools of the agents that answer, in their order."""
        members = await self.fleet.members()
        return [A2ATool(each.agent, each.about, wait=each.wait) for each in members]

    async def close(self) -> None:
        """Close the connections, which the next call reopens."""
        await self.fleet.aclose()
