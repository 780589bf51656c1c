"""OAuth 2.0 and OpenID Connect flows offered by a card (A2A 1.0, section 4.5)."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import httpx
from pydantic import BaseModel, Field, StringConstraints, ValidationError

from a2a_adapters import RemoteAnswerError, RemoteAuthError, RemoteConnectionError
from a2a_adapters.calling.auth import Trust
from a2a_adapters.calling.http import MAX_BYTES
from a2a_adapters.contract.text import quote
from a2a_adapters.net.addresses import is_loopback

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Sequence

    from a2a.types import AgentCard, OAuthFlows

Flow: TypeAlias = Literal["authorization-code", "client-credentials", "device-code"]

_MAX_BYTES = 256 * 1024
_OPENID = "/.well-known/openid-configuration"
_OAUTH = "/.well-known/oauth-authorization-server"
_HOST = re.compile(r"[\w.:-]+", re.ASCII)
_Address = Annotated[str, StringConstraints(max_length=2_000)]


@dataclass(frozen=True, slots=True)
class LoginFlow:
    """A grant offered by an authorization server.

    Attributes:
        flow: The grant.
        token_url: The token endpoint.
        refresh_url: The endpoint that renews tokens.
        device_url: The device authorization endpoint (RFC 8628); "" for other grants.
        scopes: The scopes required by the card.
        issuer: The authorization server's issuer, "" if the card names endpoints only.
        authorization_url: The authorization endpoint, where users log in; "" for other grants.
        names_issuer: Whether the server names its issuer when users return (RFC 9207).

    Raises:
        RemoteAnswerError: An endpoint is neither https nor on loopback.
    """

    flow: Flow
    token_url: str
    refresh_url: str
    device_url: str
    scopes: Sequence[str]
    issuer: str = ""
    authorization_url: str = ""
    names_issuer: bool = False

    def __post_init__(self) -> None:
        addresses = self.token_url, self.refresh_url, self.device_url, self.authorization_url
        for address in filter(None, addresses):
            check_address(address)

    def check_server(self, trusted_hosts: Collection[str]) -> None:
        """Refuse a token endpoint of another server than that of the login page.

        A card, or the metadata of its issuer, may name the login page of one server and the token
        endpoint of another, which would redeem the user's code for itself.

        Args:
            trusted_hosts: Hosts that may get the code, as `host` or `host:port`.

        Raises:
            RemoteAuthError: An endpoint is not known to belong to the server with the login page.
        """
        page = httpx.URL(self.authorization_url or self.device_url or self.token_url)
        server = Trust(page, trusted_hosts)
        if self.issuer and server.gets_credentials(httpx.URL(self.issuer)):
            return  # the server's own metadata
        for url in filter(None, (self.token_url, self.refresh_url)):
            if not server.gets_credentials(httpx.URL(url)):
                there = quote(httpx.URL(url).netloc.decode("ascii"))
                raise RemoteAuthError(
                    f"the card names a login at {quote(page.host)}, and tokens at {there}; "
                    f"if both belong together, trust the latter: --trust {there}"
                )


class Metadata(BaseModel):
    """The metadata of an authorization server (RFC 8414; OpenID Connect Discovery 1.0)."""

    issuer: _Address
    token_endpoint: _Address = ""
    device_authorization_endpoint: _Address = ""
    authorization_endpoint: _Address = ""
    grant_types_supported: Annotated[list[str] | None, Field(max_length=100)] = None
    authorization_response_iss_parameter_supported: bool = False


async def login_flows(card: AgentCard, http: httpx.AsyncClient) -> AsyncIterator[LoginFlow]:
    """Yield the flows offered by a card, in its order.

    Raises:
        RemoteAgentError: An authorization server is unreachable or answers incorrectly.
    """
    for name, scheme in card.security_schemes.items():
        wanted = [
            scope
            for requirement in card.security_requirements
            if name in requirement.schemes
            for scope in requirement.schemes[name].list
        ]
        match scheme.WhichOneof("scheme"):
            case "oauth2_security_scheme":
                for each in _declared_flows(scheme.oauth2_security_scheme.flows, wanted):
                    yield each
                if url := scheme.oauth2_security_scheme.oauth2_metadata_url:
                    for each in await _discovered_flows(url, http, wanted):
                        yield each
            case "open_id_connect_security_scheme":
                url = scheme.open_id_connect_security_scheme.open_id_connect_url
                for each in await _discovered_flows(url, http, wanted):
                    yield each


def _declared_flows(flows: OAuthFlows, scopes: Sequence[str]) -> list[LoginFlow]:
    match flows.WhichOneof("flow"):
        case "client_credentials":
            each = flows.client_credentials
            refresh = each.refresh_url or each.token_url
            return [LoginFlow("client-credentials", each.token_url, refresh, "", scopes)]
        case "device_code":
            device = flows.device_code
            refresh, begin = device.refresh_url or device.token_url, device.device_authorization_url
            return [LoginFlow("device-code", device.token_url, refresh, begin, scopes)]
        case "authorization_code":
            code = flows.authorization_code
            urls = code.token_url, code.refresh_url or code.token_url, ""
            page = code.authorization_url
            return [LoginFlow("authorization-code", *urls, scopes, authorization_url=page)]
        case _:
            return []


async def _discovered_flows(
    url: str, http: httpx.AsyncClient, scopes: Sequence[str]
) -> list[LoginFlow]:
    """Return the flows in an authorization server's metadata."""
    found = await _metadata(url, http)
    token, device = found.token_endpoint, found.device_authorization_endpoint
    grants = found.grant_types_supported
    offered = []
    if token and device:
        offered.append(LoginFlow("device-code", token, token, device, scopes, found.issuer))
    page, code = found.authorization_endpoint, "authorization_code"
    if token and page and (grants is None or code in grants):
        urls = token, token, ""
        names_issuer = found.authorization_response_iss_parameter_supported
        flow = LoginFlow("authorization-code", *urls, scopes, found.issuer, page, names_issuer)
        offered.append(flow)
    if token and (grants is None or "client_credentials" in grants):
        offered.append(LoginFlow("client-credentials", token, token, "", scopes, found.issuer))
    return offered


async def _metadata(url: str, http: httpx.AsyncClient) -> Metadata:
    check_address(url)
    found = await _fetched(url, http)
    if url not in _metadata_urls(found.issuer):
        raise RemoteAnswerError(f"{url} serves metadata of another issuer")
    return found


async def issuer_metadata(issuer: str, http: httpx.AsyncClient) -> Metadata:
    """Return the metadata of an issuer (OpenID Connect Discovery 1.0 or RFC 8414).

    Raises:
        RemoteAgentError: The issuer is unreachable, or serves no metadata of its own.
    """
    *others, last = _metadata_urls(issuer)
    for url in others:
        with suppress(RemoteAnswerError):
            return _of_issuer(issuer, await _fetched(url, http))
    return _of_issuer(issuer, await _fetched(last, http))


def _of_issuer(issuer: str, found: Metadata) -> Metadata:
    if found.issuer.rstrip("/") != issuer.rstrip("/"):
        raise RemoteAnswerError(f"{issuer} serves metadata of another issuer")
    if not is_protected(found.token_endpoint):
        raise RemoteAnswerError(f"the metadata of {issuer} names no token endpoint with https")
    return found


async def _fetched(url: str, http: httpx.AsyncClient) -> Metadata:
    try:
        response = await http.get(url, extensions={MAX_BYTES: _MAX_BYTES})
    except httpx.HTTPError as error:
        raise RemoteConnectionError(f"{url} cannot be reached: {type(error).__name__}") from error
    try:
        found = Metadata.model_validate_json(response.content)
    except ValidationError:
        found = None
    if response.status_code != httpx.codes.OK or found is None:
        raise RemoteAnswerError(f"{url} does not serve authorization server metadata")
    return found


def _metadata_urls(issuer: str) -> list[str]:
    """Return the URLs of an issuer's metadata; metadata elsewhere is not trusted."""
    try:
        parts = httpx.URL(issuer)
    except httpx.InvalidURL:
        return []
    path = parts.path.rstrip("/")
    host = f"{parts.scheme}://{parts.netloc.decode()}"
    found = (f"{host}{path}{_OPENID}", f"{host}{_OPENID}{path}", f"{host}{_OAUTH}{path}")
    return [*dict.fromkeys(found)]


def check_address(url: str) -> None:
    """Raise an error for an unencrypted URL.

    Raises:
        RemoteAnswerError: The URL is neither https nor on loopback.
    """
    if not is_protected(url):
        raise RemoteAnswerError(f"the login URL {quote(url)} in the card is not https")


def is_protected(url: str) -> bool:
    """Return whether secrets may be sent to a URL: it is https, or on loopback."""
    try:
        parts = httpx.URL(url)  # as the client reads it
        host = parts.raw_host.decode("ascii")
    except (httpx.InvalidURL, UnicodeError):  # UnicodeError: international names
        return False
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
    return is_safe and _HOST.fullmatch(host) is not None
