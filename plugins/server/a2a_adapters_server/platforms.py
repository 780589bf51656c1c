"""Settings that hosts with a contract of their own require, for `serve --platform`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from a2a_adapters.contract.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Platform:
    """A host.

    Attributes:
        settings: Returns its settings for an environment. Nearer settings override them.
        dialects: Dialects with the platform's own paths, besides those of the settings.
        calls_root_only: Whether it calls one agent at the root of the server.
    """

    settings: Callable[[Mapping[str, str]], Mapping[str, Any]]
    dialects: Sequence[str] = ()
    calls_root_only: bool = False


def _agentcore(environment: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the settings for AWS Bedrock AgentCore Runtime.

    Its front authenticates the callers and is the only way to the container. It takes no other
    port, even if `PORT` names one.
    """
    url = environment.get("AGENTCORE_RUNTIME_URL")
    return {
        "host": "0.0.0.0",  # noqa: S104 - the network of a virtual machine for one session
        "port": 9000,
        **({"url": url} if url else {}),
        "allowed_hosts": ["*"],
        "allow_unauthenticated": True,
        "context_header": "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id",
    }


PLATFORMS = {"agentcore": Platform(_agentcore, ["agentcore"], calls_root_only=True)}


def own_dialects(name: str | None) -> Sequence[str]:
    """Return the dialects of a platform, if one was named."""
    return platform(name).dialects if name else ()


def platform(name: str) -> Platform:
    """Return a platform by its name.

    Raises:
        ConfigurationError: There is no such platform.
    """
    if name not in PLATFORMS:
        raise ConfigurationError(
            f"there is no platform {name!r}; use {' or '.join(PLATFORMS)}, or see the page Hosting"
        )
    return PLATFORMS[name]
