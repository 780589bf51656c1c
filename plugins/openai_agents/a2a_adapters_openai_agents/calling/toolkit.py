"""Several remote agents as tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents import FunctionTool

from a2a_adapters.plugin import Toolkit
from a2a_adapters_openai_agents.calling.tool import a2a_tool

if TYPE_CHECKING:
    from a2a_adapters.plugin import FleetMember


class A2AToolkit(Toolkit[FunctionTool]):
    """A tool for each agent of a fleet, see `Toolkit`."""

    @staticmethod
    def _tool(member: FleetMember) -> FunctionTool:
        return a2a_tool(member.agent, member.about, wait=member.wait)
