"""Several remote agents as tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.plugin import Toolkit
from a2a_adapters_autogen.calling.tool import A2ATool

if TYPE_CHECKING:
    from a2a_adapters.plugin import FleetMember


class A2AToolkit(Toolkit[A2ATool]):
    """A tool for each agent of a fleet, see `Toolkit`.

    All calls of a tool are one conversation, so call `get_tools` for every agent or run.
    """

    @staticmethod
    def _tool(member: FleetMember) -> A2ATool:
        return A2ATool.of_member(member)
