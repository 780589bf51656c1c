"""A router: its deployments, tariffs and accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from a2a_adapters_router.agents import Agent
from a2a_adapters_router.cache import Cache
from a2a_adapters_router.history import History
from a2a_adapters_router.ledger import Ledger
from a2a_adapters_router.models import Model
from a2a_adapters_router.pricing import tariff_of
from a2a_adapters_router.reading import read_config
from a2a_adapters_router.route import Pace, Routes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from a2a_adapters_router.calls import Callee
    from a2a_adapters_router.config import RouterConfig

__all__ = ["Router"]


class Router:
    """Target that sends each message to the best of several models and agents.

    Args:
        config: Its settings.

    Raises:
        ConfigurationError: The price of a deployment is unknown, or an environment variable is
            not set.
        MissingExtraError: litellm is not installed.
    """

    def __init__(self, config: RouterConfig) -> None:
        self.config = config
        self.tariffs = {each.id: tariff_of(each, config) for each in config.deployments}
        self.callees: Mapping[str, Callee] = {
            each.id: (Agent if each.agent else Model)(
                each, each.timeout_seconds or config.timeout_seconds
            )
            for each in config.deployments
        }
        self.ledger = Ledger(config.limits, config.lease_seconds, config.teams)
        self.cache = Cache(config.cache) if config.cache else None
        self.history = History(config.history) if config.history else None
        self.pace = Pace()
        self.routes = Routes(config, self.tariffs, self.ledger, self.pace)

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Create a router from a YAML file.

        Raises:
            ConfigurationError: The file is unreadable or invalid; the message lists each error
                with its line.
        """
        return cls(read_config(path))

    async def aclose(self) -> None:
        """Store the accounts and close the deployments."""
        await self.ledger.aclose()
        for callee in self.callees.values():
            await callee.aclose()
