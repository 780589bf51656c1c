"""OAuth grants (RFC 6749): client credentials, device code and refresh token."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, TypeVar
from urllib.parse import quote_plus

import httpx
from pydantic import BaseModel, Field, StringConstraints, ValidationError

from a2a_adapters import (
    RemoteAnswerError,
    RemoteAuthError,
    RemoteConnectionError,
    RemoteTimeoutError,
)
from a2a_adapters.calling.http import MAX_BYTES
from a2a_adapters.contract.text import quote

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from a2a_adapters_client.oauth.discovery import LoginFlow

_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_SLOWER_SECONDS = 5.0
_LEAST_SECONDS = 1.0
_MOST_SECONDS = 60.0

T = TypeVar("T", bound=BaseModel)

_MAX_BYTES = 64 * 1024
_HeaderSafe = Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]+$", max_length=16_000)]


class Token(BaseModel):
    """A token response (RFC 6749, section 5.1)."""

    access_token: _HeaderSafe
    token_type: Annotated[str, StringConstraints(pattern=r"(?i)^bearer$")]
    expires_in: Annotated[float, Field(ge=0)] | None = None
    refresh_token: str = ""
    scope: str = ""


class _Error(BaseModel):
    error: str
    error_description: str = ""


class OAuthError(RemoteAuthError):
    """A refusal of an authorization server.

    Args:
        reason: Error code of RFC 6749, section 5.2, or RFC 8628, section 3.5.
        description: Human-readable explanation.
    """

    def __init__(self, reason: str, description: str = "") -> None:
        about = f": {quote(description)}" if description else ""
        super().__init__(f"the authorization server refused the request ({quote(reason)}){about}")
        self.reason = reason


async def post_form(
    http: httpx.AsyncClient,
    url: str,
    form: Mapping[str, str],
    client: tuple[str, str],
    kind: type[T],
) -> T:
    """Post a form to an OAuth endpoint and return its response.

    Args:
        http: The HTTP client.
        url: The endpoint.
        form: The fields; empty ones are omitted.
        client: Client id and secret; the secret may be "".
        kind: Model of the response.

    Raises:
        OAuthError: The server refuses the request.
        RemoteAnswerError: The response is invalid.
        RemoteConnectionError: The server cannot be reached.
        RemoteTimeoutError: The server does not answer in time.
    """
    client_id, secret = client
    fields = {key: value for key, value in form.items() if value}
    # Every server must support Basic, with both parts form-encoded (RFC 6749, section 2.3.1).
    auth = httpx.BasicAuth(quote_plus(client_id), quote_plus(secret)) if secret else httpx.Auth()
    if not secret:
        fields["client_id"] = client_id
    try:
        response = await http.post(
            url,
            data=fields,
            auth=auth,
            headers={"Accept": "application/json"},
            extensions={MAX_BYTES: _MAX_BYTES},
        )
    except httpx.TimeoutException as error:
        raise RemoteTimeoutError(f"{url} does not answer") from error
    except httpx.HTTPError as error:
        raise RemoteConnectionError(f"{url} cannot be reached: {type(error).__name__}") from error
    if response.status_code == httpx.codes.OK:
        return _read(response, kind)
    if response.status_code in {httpx.codes.BAD_REQUEST, httpx.codes.UNAUTHORIZED}:
        refusal = _read(response, _Error)
        raise OAuthError(refusal.error, refusal.error_description)
    raise RemoteAnswerError(f"{url} answered with HTTP {response.status_code}")


def _read(response: httpx.Response, kind: type[T]) -> T:
    try:
        return kind.model_validate_json(response.content)
    except ValidationError:  # its text may contain secrets
        url = response.request.url
    raise RemoteAnswerError(f"{url} answered with an invalid OAuth 2.0 response")


class DeviceCode(BaseModel):
    """A device authorization response (RFC 8628, section 3.2); times in seconds."""

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str = ""
    expires_in: Annotated[float, Field(gt=0)]
    interval: Annotated[float, Field(ge=0)] = 5.0


async def client_credentials_token(
    http: httpx.AsyncClient, url: str, client: tuple[str, str], scope: str
) -> Token:
    """Return a token for the client itself (RFC 6749, section 4.4).

    Raises:
        RemoteAgentError: The server refuses or does not answer.
    """
    form = {"grant_type": "client_credentials", "scope": scope}
    return await post_form(http, url, form, client, Token)


async def refreshed_token(
    http: httpx.AsyncClient, url: str, client: tuple[str, str], refresh_token: str
) -> Token:
    """Return a refreshed token (RFC 6749, section 6).

    Raises:
        RemoteAgentError: The server refuses or does not answer.
    """
    form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
    return await post_form(http, url, form, client, Token)


class DeviceLogin:
    """A login by the user in a browser on any device (RFC 8628).

    Args:
        http: The HTTP client.
        flow: The grant's endpoints.
        client: Client id and secret; the secret may be "".
        tell: Shows the user the code and the URL to enter it.
        sleep: Waits a number of seconds.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        flow: LoginFlow,
        client: tuple[str, str],
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
