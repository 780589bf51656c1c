"""Requests to OAuth endpoints (RFC 6749), and the tokens in their responses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, TypeVar
from urllib.parse import quote as encoded

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
    from collections.abc import Mapping

T = TypeVar("T", bound=BaseModel)

_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_MAX_BYTES = 64 * 1024
_PUBLIC_FIELDS = frozenset(
    {
        "actor_token_type", "audience", "client_assertion_type", "client_id", "grant_type",
        "resource", "scope", "subject_token_type",
    }
)  # fmt: skip
_HeaderSafe = Annotated[
    str, StringConstraints(pattern=r"^[\x21-\x7e]+$", max_length=16_000), Field(repr=False)
]


@dataclass(frozen=True, slots=True)
class Client:
    """A client's id and its proof of identity at an authorization server.

    Attributes:
        id: The client's id; "" sends no client.
        secret: The client's secret, if any.
        in_body: Whether the secret is sent in the form (`client_secret_post`), not the header.
        assertion: The signed assertion of `private_key_jwt` (RFC 7523, section 2.2), if any.
    """

    id: str
    secret: str = field(default="", repr=False)
    in_body: bool = False
    assertion: str = field(default="", repr=False)


class Token(BaseModel):
    """A token response (RFC 6749, section 5.1)."""

    access_token: _HeaderSafe
    token_type: Annotated[str, StringConstraints(pattern=r"(?i)^bearer$")]
    expires_in: Annotated[float, Field(ge=0)] | None = None
    refresh_token: Annotated[str, Field(repr=False)] = ""
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
    http: httpx.AsyncClient, url: str, form: Mapping[str, str], client: Client, kind: type[T]
) -> T:
    """Post a form to an OAuth endpoint and return its response.

    Args:
        http: The HTTP client.
        url: The endpoint.
        form: The fields; empty ones are omitted.
        client: The client.
        kind: Model of the response.

    Raises:
        OAuthError: The server refuses the request.
        RemoteAnswerError: The response is invalid.
        RemoteConnectionError: The server cannot be reached.
        RemoteTimeoutError: The server does not answer in time.
    """
    fields, auth = _authenticated(form, client)
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
        secrets = [value for name, value in fields.items() if name not in _PUBLIC_FIELDS]
        secrets += [client.secret] if client.secret else []
        repeats = any(secret in refusal.error_description for secret in secrets)
        raise OAuthError(refusal.error, "" if repeats else refusal.error_description)
    raise RemoteAnswerError(f"{url} answered with HTTP {response.status_code}")


def _authenticated(form: Mapping[str, str], client: Client) -> tuple[dict[str, str], httpx.Auth]:
    """Return the fields of a form with those of the client, and the header for it."""
    fields = {key: value for key, value in form.items() if value}
    if client.assertion:
        fields |= {"client_assertion_type": _ASSERTION_TYPE, "client_assertion": client.assertion}
    elif client.secret and client.in_body:
        fields["client_secret"] = client.secret
    elif client.secret:
        # Every server must support Basic, with both parts encoded (RFC 6749, section 2.3.1). Some
        # do not decode `+`.
        name, secret = encoded(client.id, safe=""), encoded(client.secret, safe="")
        return fields, httpx.BasicAuth(name, secret)
    if client.id:
        fields["client_id"] = client.id
    return fields, httpx.Auth()


def _read(response: httpx.Response, kind: type[T]) -> T:
    try:
        return kind.model_validate_json(response.content)
    except ValidationError:  # its text may contain secrets
        url = response.request.url
    raise RemoteAnswerError(f"{url} answered with an invalid OAuth 2.0 response")


async def client_credentials_token(
    http: httpx.AsyncClient, url: str, client: Client, scope: str
) -> Token:
    """Return a token for the client itself (RFC 6749, section 4.4).

    Raises:
        RemoteAgentError: The server refuses or does not answer.
    """
    form = {"grant_type": "client_credentials", "scope": scope}
    return await post_form(http, url, form, client, Token)


async def refreshed_token(
    http: httpx.AsyncClient, url: str, client: Client, refresh_token: str
) -> Token:
    """Return a refreshed token (RFC 6749, section 6).

    Raises:
        RemoteAgentError: The server refuses or does not answer.
    """
    form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
    return await post_form(http, url, form, client, Token)
