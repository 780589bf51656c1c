"""How a token is had: by the client's own secret, by a person elsewhere, or by another one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, Field

from a2a_adapters import RemoteAuthError, RemoteConnectionError, RemoteTimeoutError
from a2a_adapters_client.oauth.answers import OAuthError, Token, ask

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx

    from a2a_adapters_client.oauth.ways import Way

_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_SLOWER_SECONDS = 5.0
_LEAST_SECONDS = 1.0
_MOST_SECONDS = 60.0


class DeviceCode(BaseModel):
    """What a person is to do (RFC 8628, section 3.2); times are in seconds."""

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str = ""
    expires_in: Annotated[float, Field(gt=0)]
    interval: Annotated[float, Field(ge=0)] = 5.0


async def by_secret(
    http: httpx.AsyncClient, url: str, client: tuple[str, str], scope: str
) -> Token:
    """Return a token for the client itself (RFC 6749, section 4.4).

    Raises:
        RemoteAgentError: The server refuses, or does not answer.
    """
    form = {"grant_type": "client_credentials", "scope": scope}
    return await ask(http, url, form, client, Token)


async def by_refresh(
    http: httpx.AsyncClient, url: str, client: tuple[str, str], refresh_token: str
) -> Token:
    """Return a token in place of one that is over (RFC 6749, section 6).

    Raises:
        RemoteAgentError: The server refuses, or does not answer.
    """
    form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
    return await ask(http, url, form, client, Token)


class DeviceLogin:
    """A login by a person with a browser, on whichever device (RFC 8628).

    Args:
        http: What asks.
        way: Where.
        client: The client's id, and its secret, "" if it has none.
        tell: Tells the person what to do.
        sleep: Waits for so many seconds.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        way: Way,
        client: tuple[str, str],
        tell: Callable[[DeviceCode], None],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._http = http
        self._way = way
        self._client = client
        self._tell = tell
        self._sleep = sleep

    async def token(self, scope: str) -> Token:
        """Return a token once the person has agreed.

        Raises:
            RemoteAuthError: The person did not, or not in time.
            RemoteAgentError: The server does not answer as RFC 8628 has it.
        """
        form = {"scope": scope}
        code = await ask(self._http, self._way.device_url, form, self._client, DeviceCode)
        self._tell(code)
        try:
            async with asyncio.timeout(code.expires_in):
                return await self._polled(code)
        except TimeoutError as error:
            raise RemoteAuthError("nobody has entered the code in time; log in again") from error

    async def _polled(self, code: DeviceCode) -> Token:
        form = {"grant_type": _DEVICE_GRANT, "device_code": code.device_code}
        seconds = max(code.interval, _LEAST_SECONDS)
        while True:
            await self._sleep(seconds)
            try:
                return await ask(self._http, self._way.token_url, form, self._client, Token)
            except OAuthError as error:
                seconds += _slower(error)
            except (RemoteConnectionError, RemoteTimeoutError):
                seconds = min(2 * seconds, _MOST_SECONDS)


def _slower(error: OAuthError) -> float:
    """Return how many seconds longer to wait.

    Raises:
        RemoteAuthError: Waiting does not help.
    """
    match error.reason:
        case "authorization_pending":
            return 0
        case "slow_down":
            return _SLOWER_SECONDS
        case "access_denied":
            raise RemoteAuthError("the login was denied") from error
        case "expired_token":
            raise RemoteAuthError("nobody has entered the code in time; log in again") from error
        case _:
            raise error
