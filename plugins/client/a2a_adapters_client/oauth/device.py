"""Login on any device (RFC 8628)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from a2a_adapters_oauth.endpoints import OAuthError, Token, post_form
from pydantic import BaseModel, Field

from a2a_adapters import RemoteAuthError, RemoteConnectionError, RemoteTimeoutError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx
    from a2a_adapters_oauth.discovery import LoginFlow
    from a2a_adapters_oauth.endpoints import Client

_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_SLOWER_SECONDS = 5.0
_LEAST_SECONDS = 1.0
_MOST_SECONDS = 60.0


class DeviceCode(BaseModel):
    """A device authorization response (RFC 8628, section 3.2); times in seconds."""

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str = ""
    expires_in: Annotated[float, Field(gt=0)]
    interval: Annotated[float, Field(ge=0)] = 5.0


class DeviceLogin:
    """A login by the user in a browser on any device (RFC 8628).

    Args:
        http: The HTTP client.
        flow: The grant's endpoints.
        client: The client.
        tell: Shows the user the code and the URL to enter it.
        sleep: Waits a number of seconds.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        flow: LoginFlow,
        client: Client,
        tell: Callable[[DeviceCode], None],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._http = http
        self._flow = flow
        self._client = client
        self._tell = tell
        self._sleep = sleep

    async def token(self, scope: str) -> Token:
        """Return a token once the user has consented.

        Raises:
            RemoteAuthError: The user denied the login or did not respond in time.
            RemoteAgentError: The server violates RFC 8628.
        """
        form = {"scope": scope}
        code = await post_form(self._http, self._flow.device_url, form, self._client, DeviceCode)
        self._tell(code)
        try:
            async with asyncio.timeout(code.expires_in):
                return await self._polled(code)
        except TimeoutError as error:
            raise RemoteAuthError("the code was not entered in time; log in again") from error

    async def _polled(self, code: DeviceCode) -> Token:
        form = {"grant_type": _DEVICE_GRANT, "device_code": code.device_code}
        seconds = max(code.interval, _LEAST_SECONDS)
        while True:
            await self._sleep(seconds)
            try:
                return await post_form(self._http, self._flow.token_url, form, self._client, Token)
            except OAuthError as error:
                seconds += _slower(error)
            except (RemoteConnectionError, RemoteTimeoutError):
                seconds = min(2 * seconds, _MOST_SECONDS)


def _slower(error: OAuthError) -> float:
    """Return the increase of the polling interval in seconds.

    Raises:
        RemoteAuthError: Polling is pointless.
    """
    match error.reason:
        case "authorization_pending":
            return 0
        case "slow_down":
            return _SLOWER_SECONDS
        case "access_denied":
            raise RemoteAuthError("the login was denied") from error
        case "expired_token":
            raise RemoteAuthError("the code was not entered in time; log in again") from error
        case _:
            raise error
