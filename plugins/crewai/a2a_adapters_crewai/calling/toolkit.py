"""Several remote agents as tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.plugin import Toolkit
from a2a_adapters_crewai.calling.tool import A2ATool

if TYPE_CHECKING:
    from a2a_adapters.plugin import FleetMember


class A2AToolkit(Toolkit[A2ATool]):
    """A tool for each agent of a fleet, see `Toolkit`."""

    @staticmethod
    def _tool(member: FleetMember) -> A2ATool:
        return A2ATool.of_member(member)
