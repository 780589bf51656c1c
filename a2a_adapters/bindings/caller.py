"""Who is calling, and with what headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a.auth.user import UnauthenticatedUser
from a2a.extensions.common import HTTP_EXTENSION_HEADER, get_requested_extensions
from a2a.server.context import ServerCallContext
from a2a.server.routes.common import ServerCallContextBuilder, StarletteUser

from a2a_adapters.headers import headers_of

if TYPE_CHECKING:
    from starlette.requests import Request

OLD_EXTENSION_HEADER = "X-A2A-Extensions"
"""The header of A2A 0.3 that names extensions."""

EXTENSION_HEADERS = (HTTP_EXTENSION_HEADER.lower(), OLD_EXTENSION_HEADER.lower())
"""The headers of A2A 1.0 and 0.3 that name the extensions a client activates."""

_ANONYMOUS = UnauthenticatedUser()


class CallerContextBuilder(ServerCallContextBuilder):
    """Makes the same of a request as a2a-sdk's default builder, in half the time."""

    def build(self, request: Request) -> ServerCallContext:
        """Return the context of a call."""
        scope = request.scope
        headers = headers_of(scope)
        state: dict[str, object] = {"headers": headers, "scope": scope}
        if "auth" in scope:
            state["auth"] = scope["auth"]
        return ServerCallContext(
            state=state,
            user=StarletteUser(scope["user"]) if "user" in scope else _ANONYMOUS,
            requested_extensions=set()
            if headers.keys().isdisjoint(EXTENSION_HEADERS)
            else get_requested_extensions(
                [headers[name] for name in EXTENSION_HEADERS if name in headers]
            ),
        )
