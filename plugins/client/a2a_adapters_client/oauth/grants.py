"""Tokens from an authorization server (RFC 6749): for the client itself, a device, or a refresh."""

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
    """A token, as a server issues it (RFC 6749, section 5.1)."""

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
        reason: The code of RFC 6749, section 5.2, or RFC 8628, section 3.5.
        description: Its explanation for people.
    """

    def __init__(self, reason: str, description: str = "") -> None:
        about = f": {quote(description)}" if description else ""
        super().__init__(f"the authorization server refuses ({quote(reason)}){about}")
        self.reason = reason


async def post_form(
    http: httpx.AsyncClient,
    url: str,
    form: Mapping[str, str],
    client: tuple[str, str],
    kind: type[T],
) -> T:
    """Post a form to an endpoint of OAuth and return its answer.

    Args:
        http: Sends the request.
        url: The endpoint.
        form: The fields; those without a value are left out.
        client: The client's id, and its secret, "" if it has none.
        kind: The model of the answer.

    Raises:
        OAuthError: The server refuses.
        RemoteAnswerError: It answers something else.
        RemoteConnectionError: It cannot be reached.
        RemoteTimeoutError: It does not answer in time.
    """
    client_id, secret = client
    fields = {key: value for key, value in form.items() if value}
    # Every server has to support Basic, with both parts form-encoded (RFC 6749, section 2.3.1).
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
    raise RemoteAnswerError(f"{url} answers HTTP {response.status_code}")


def _read(response: httpx.Response, kind: type[T]) -> T:
    try:
        return kind.model_validate_json(response.content)
    except ValidationError:  # which quotes what may be secret
        url = response.request.url
    raise RemoteAnswerError(f"{url} answers something else than OAuth 2.0 has it")


class DeviceCode(BaseModel):
    """The answer of a device authorization endpoint (RFC 8628, section 3.2); times in seconds."""

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
        RemoteAgentError: The server refuses, or does not answer.
    """
    form = {"grant_type": "client_credentials", "scope": scope}
    return await post_form(http, url, form, client, Token)


async def refreshed_token(
    http: httpx.AsyncClient, url: str, client: tuple[str, str], refresh_token: str
) -> Token:
    """Return a token in place of an expired one (RFC 6749, section 6).

    Raises:
        RemoteAgentError: The server refuses, or does not answer.
    """
    form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
    return await post_form(http, url, form, client, Token)


class DeviceLogin:
    """A login by a person with a browser, on any device (RFC 8628).

    Args:
        http: Sends the requests.
        flow: The endpoints.
        client: The client's id, and its secret, "" if it has none.
        tell: Shows the person the code and where to enter it.
        sleep: Waits for a number of seconds.
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
        """Return a token once the person has agreed.

        Raises:
            RemoteAuthError: The person did not, or not in time.
            RemoteAgentError: The server does not answer as RFC 8628 has it.
        """
        form = {"scope": scope}
        code = await post_form(self._http, self._flow.device_url, form, self._client, DeviceCode)
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
                return await post_form(self._http, self._flow.token_url, form, self._client, Token)
            except OAuthError as error:
                seconds += _slower(error)
            except (RemoteConnectionError, RemoteTimeoutError):
                seconds = min(2 * seconds, _MOST_SECONDS)


def _slower(error: OAuthError) -> float:
    """Return by how many seconds to lengthen the polling interval.

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
