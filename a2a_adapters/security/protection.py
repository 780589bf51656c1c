"""What every request passes before it reaches an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.security.body import BodyLimit
from a2a_adapters.security.gate import AuthenticationGate

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from a2a_adapters.options import ServerOptions


def protected(app: ASGIApp, options: ServerOptions) -> ASGIApp:
    """Return `app` for those only who may use it, and for bodies of the size that they may have."""
    app = BodyLimit(app, options.limits.body_bytes)
    if options.authentication is None:
        return app
    return AuthenticationGate(app, options.authentication)
