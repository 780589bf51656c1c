"""What every request passes before it reaches an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.security.body import Bodies, BodyLimit
from a2a_adapters.security.gate import AuthenticationGate
from a2a_adapters.security.shares import RateLimit, RequestRates

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from a2a_adapters.serving.options import ServerOptions


class Protection:
    """Protects everything on one server.

    Args:
        options: Who may use it, and how much and how large what they send may be.
    """

    def __init__(self, options: ServerOptions) -> None:
        self._authentication = options.authentication
        self._bodies = Bodies(options.limits)
        self.rates = RequestRates(
            options.limits.requests_per_minute, behind_proxy=options.trust_forwarded
        )
        """Counts the requests of each caller, over every binding and dialect."""

    def of(self, app: ASGIApp) -> ASGIApp:
        """Return `app` for those who may use it, as often and as largely as they may."""
        app = RateLimit(BodyLimit(app, self._bodies), self.rates)
        if self._authentication is None:
            return app
        return AuthenticationGate(app, self._authentication)
