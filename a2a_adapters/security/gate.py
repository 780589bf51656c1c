"""Middleware that admits authenticated callers only."""

from __future__ import annotations

import functools
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from starlette.authentication import AuthCredentials, SimpleUser

from a2a_adapters.contract.caller import CALLER, Caller
from a2a_adapters.contract.errors import AccessDeniedError, ForbiddenError, UnauthenticatedError
from a2a_adapters.contract.text import clipped
from a2a_adapters.observability.failures import log_failure
from a2a_adapters.observability.requests import note_authenticated
from a2a_adapters.protocol.headers import HEADERS
from a2a_adapters.security.refusals import Refusal, refuse

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from a2a_adapters.security.authenticator import Authenticator

logger = logging.getLogger(__name__)

_AUTHENTICATED = AuthCredentials(["authenticated"])
_user = functools.lru_cache(maxsize=1024)(SimpleUser)


class AuthenticationGate:
    """ASGI middleware that refuses unauthenticated requests and stores the user in the scope."""

    def __init__(self, app: ASGIApp, authenticator: Authenticator) -> None:
        self._app = app
        self._authenticator = authenticator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request (ASGI)."""
        admitted = await admit(self._authenticator, scope[HEADERS], scope["path"])
        if isinstance(admitted, Refusal):
            await refuse(admitted, scope, receive, send)
            return
        scope["user"] = _user(admitted.owner)
        scope[CALLER] = admitted
        scope["auth"] = _AUTHENTICATED
        await self._app(scope, receive, _uncached(send) if scope.get("method") == "GET" else send)


class CallerDetails:
    """Adds details to callers, as the server's options define.

    Args:
        headers: Names of request headers to add.
        operators: Owners, `role:NAME`, `scope:NAME`, or `*` for all; see `ServerOptions`.
    """

    def __init__(self, headers: Collection[str], operators: Collection[str]) -> None:
        self._headers = {name.lower() for name in headers}
        self._operators = frozenset(operators)

    def __bool__(self) -> bool:
        return bool(self._headers or self._operators)

    def added(self, caller: Caller, headers: Mapping[str, str]) -> Caller:
        """Return the caller with the details from the request's headers."""
        chosen = {name: headers[name] for name in self._headers & headers.keys()}
        is_operator = caller.is_operator or self._names(caller)
        return replace(caller, headers=chosen, is_operator=is_operator)

    def _names(self, caller: Caller) -> bool:
        if not self._operators:
            return False
        roles = caller.claims.get("roles")
        names = ["*", *(f"scope:{scope}" for scope in caller.scopes)]
        if isinstance(roles, str):
            roles = [roles]
        names += [f"role:{role}" for role in roles] if isinstance(roles, list) else []
        if caller.owner and not caller.owner.startswith(("role:", "scope:", "*")):
            names.append(caller.owner)
        return not self._operators.isdisjoint(names)


class KnownCaller:
    """ASGI middleware that adds details to the caller."""

    def __init__(self, app: ASGIApp, details: CallerDetails) -> None:
        self._app = app
        self._details = details

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request (ASGI)."""
        scope[CALLER] = self._details.added(scope.get(CALLER, Caller()), scope[HEADERS])
        await self._app(scope, receive, send)


async def admit(
    authenticator: Authenticator, headers: Mapping[str, str], asked: str
) -> Caller | Refusal:
    """Return the user who sent a request, or the reason to refuse it.

    Args:
        authenticator: Authenticates the user.
        headers: The request's headers by lower-case name.
        asked: The requested path or method, for the log.
    """
    try:
        caller = _printable(await authenticator.identify(headers))
    except ForbiddenError as error:
        logger.warning("refused %r: %s", clipped(asked), clipped(str(error)))
        challenge = {"WWW-Authenticate": error.challenge} if error.challenge else {}
        return Refusal(403, "PERMISSION_DENIED", str(error), challenge)
    except AccessDeniedError as error:
        logger.warning("refused %r: %s", clipped(asked), clipped(str(error)))
        challenge = {"WWW-Authenticate": error.challenge or authenticator.challenge}
        return Refusal(401, "UNAUTHENTICATED", str(error), challenge)
    except Exception as error:  # the authenticator failed; its error may contain secrets
        error_id = log_failure("authentication failed", error)
        message = f"authentication is not available at the moment; error id: {error_id}"
        return Refusal(503, "UNAVAILABLE", message)
    note_authenticated()
    return caller


def _printable(caller: Caller) -> Caller:
    """Return the caller if its name is printable, as logs and other programs require."""
    if not caller.owner.isprintable():
        raise UnauthenticatedError("the user's name has characters that are not printable")
    return caller


def _uncached(send: Send) -> Send:
    """Keep responses out of caches, because they belong to one user."""

    async def uncached(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [item for item in message["headers"] if item[0].lower() != b"cache-control"]
            message = {**message, "headers": [*headers, (b"cache-control", b"no-store")]}
        await send(message)

    return uncached
