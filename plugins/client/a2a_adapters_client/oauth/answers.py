"""Questions to an authorization server, and its answers (RFC 6749, sections 5.1 and 5.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeVar
from urllib.parse import quote_plus, urlsplit

import httpx
from pydantic import BaseModel, Field, StringConstraints, ValidationError

from a2a_adapters import (
    RemoteAnswerError,
    RemoteAuthError,
    RemoteConnectionError,
    RemoteTimeoutError,
)
from a2a_adapters.calling.http import MAX_BYTES
from a2a_adapters.net.addresses import is_loopback
from a2a_adapters.protocol.shown import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T", bound=BaseModel)

_MAX_BYTES = 64 * 1024
_Sendable = Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]+$", max_length=16_000)]


class Token(BaseModel):
    """A token, as a server gives it."""

    access_token: _Sendable
    token_type: Annotated[str, StringConstraints(pattern=r"(?i)^bearer$")]
    expires_in: Annotated[float, Field(ge=0)] | None = None
    refresh_token: str = ""
    scope: str = ""


class _Error(BaseModel):
    error: str
    error_description: str = ""


class OAuthError(RemoteAuthError):
    """An authorization server refuses.

    Args:
        reason: The code of RFC 6749, section 5.2, or RFC 8628, section 3.5.
        told: What it says to people.
    """

    def __init__(self, reason: str, told: str = "") -> None:
        about = f": {quote(told)}" if told else ""
        super().__init__(f"the authorization server refuses ({quote(reason)}){about}")
        self.reason = reason


def check_address(url: str) -> None:
    """Refuse an address where others could read what is sent.

    Raises:
        RemoteAnswerError: It is neither https nor this machine.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        host = ""
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))):
        raise RemoteAnswerError(f"the card names {quote(url)} to log in at, which is not https")


async def ask(
    http: httpx.AsyncClient,
    url: str,
    form: Mapping[str, str],
    client: tuple[str, str],
    kind: type[T],
) -> T:
    """Return what an endpoint answers to a form.

    Args:
        http: What asks.
        url: The endpoint.
        form: The form; fields without a value are left out.
        client: The client's id, and its secret, "" if it has none.
        kind: What the answer should be.

    Raises:
        OAuthError: The server refuses.
        RemoteAnswerError: It answers something else.
        RemoteConnectionError: It cannot be reached.
        RemoteTimeoutError: It does not answer in time.
    """
    client_id, secret = client
    fields = {key: value for key, value in form.items() if value}
    # A server has to know this way to send a secret (RFC 6749, section 2.3.1).
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
