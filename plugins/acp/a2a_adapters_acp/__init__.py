"""The Agent Client Protocol: coding agents as A2A agents, and A2A agents in editors.

`a2a-adapters serve acp:claude` serves a coding agent of this machine, and `a2a-adapters acp URL` is
an agent for editors over stdio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.plugin import hookimpl, lazy_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_adapters_acp.serving.agent import AcpAgent
    from a2a_adapters_acp.serving.permissions import Permissions

__all__ = ["AcpAgent", "Permissions"]

_PREFIX = "acp:"


@hookimpl
def a2a_target(word: str) -> object | None:
    """Return the coding agent for `acp:NAME` or `acp:COMMAND`."""
    if not word.startswith(_PREFIX):
        return None
    agent: object = __getattr__("AcpAgent").of_word(word.removeprefix(_PREFIX))
    return agent


@hookimpl
def a2a_frameworks() -> Sequence[str]:
    """Return the supported protocol."""
    return ("agent-client-protocol",)


@hookimpl
def a2a_commands() -> Mapping[str, str]:
    """Return the command that offers an agent to editors."""
    return {"acp": "a2a_adapters_acp.command:acp"}


__getattr__ = lazy_names(
    __name__,
    {"AcpAgent": "serving.agent", "Permissions": "serving.permissions"},
    frameworks=["acp"],
    extra="acp",
)
