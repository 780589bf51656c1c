"""The grants by which programs get tokens."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Self

from a2a_adapters import ConfigurationError, RemoteAuthError
from a2a_adapters.calling.auth import Secret  # noqa: TC001 - checked
from a2a_adapters.plugin import check_arguments
from a2a_adapters_oauth.auth import Grant, TokenAuth, digest, revealed
from a2a_adapters_oauth.keys import SignedAssertion, SigningKey
from a2a_adapters_oauth.server import AuthorizationServer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_adapters_oauth.server import Endpoint

_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_ASSERTION = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - a name


class ClientCredentials(TokenAuth):
    """The token of a program for itself (RFC 6749, section 4.4), as `auth=` of a `RemoteAgent`.

    Without `token_url` and `issuer`, the agent's card names the token endpoint, which has to be at
    the agent's own origin or one of `RemoteOptions.trusted_hosts`.

    Args:
        client_id: The client's id.
        client_secret: The secret, a callable that returns it, or a `SigningKey` for
            `private_key_jwt`.
        scopes: The scopes to request. By default those that the card requires if it names the
            endpoint, or else those of the client at the server.
        token_url: The token endpoint.
        issuer: The issuer, whose metadata names the endpoint (OpenID Connect, RFC 8414).
        audience: The service that the token is for, if the server asks for `audience`.
        resource: The service's URL, if the server asks for `resource` (RFC 8707).
        secret_in_body: Whether the form holds the secret (`client_secret_post`), not the header.

    Raises:
        ConfigurationError: An argument is missing, or an address is not https.
    """

    def __init__(
        self,
        client_id: str,
        client_secret: Secret | SigningKey,
        *,
        scopes: Sequence[str] | None = None,
        token_url: str = "",
        issuer: str = "",
        audience: str = "",
        resource: str = "",
        secret_in_body: bool = False,
    ) -> None:
        check_arguments(ClientCredentials, locals())
        server = AuthorizationServer(token_url, issuer)
        super().__init__(server, client_id, client_secret, secret_in_body=secret_in_body)
        if not client_id or not client_secret:
            raise ConfigurationError("client credentials need the client's id and secret")
        self._scopes = scopes
        self._fields = {
            "grant_type": "client_credentials",
            "audience": audience,
            "resource": resource,
        }

    async def grant(self) -> Grant:
        """Return the request for the client's token."""
        return Grant("client", self._form)

    def _form(self, endpoint: Endpoint) -> Mapping[str, str]:
        scopes = endpoint.scopes if self._scopes is None else self._scopes
        return self._fields | {"scope": " ".join(scopes)}


class _NamedGrant(TokenAuth):
    """A grant at a server that the user names: users' tokens go nowhere that a card names."""

    def __init__(
        self,
        *,
        fields: Mapping[str, str],
        scopes: Sequence[str],
        token_url: str,
        issuer: str,
        client_id: str,
        client_secret: Secret | SigningKey,
        secret_in_body: bool,
    ) -> None:
        server = AuthorizationServer(token_url, issuer)
        if not server.is_named:
            raise ConfigurationError("name the authorization server with token_url or issuer")
        super().__init__(server, client_id, client_secret, secret_in_body=secret_in_body)
        self._fields = {**fields, "scope": " ".join(scopes)}


class TokenExchange(_NamedGrant):
    """A token for calling another agent on behalf of a user (RFC 8693).

    Tokens are kept for each subject token until just before they expire.

    Args:
        subject_token: The user's token, or a callable that returns it in the caller's context; see
            also `on_behalf_of`.
        audience: The agent that is called.
        resource: Its URL, if the server asks for `resource` (RFC 8707).
        scopes: The scopes to request, which should be no more than the call needs.
        actor_token: The token of the program that acts for the user, if the server asks for it,
            such as `ClientCredentials(...).token`.
        token_url: The token endpoint. Either this or `issuer` is required.
        issuer: The issuer, whose metadata names the endpoint.
        client_id: The program's id at the server.
        client_secret: Its secret, a callable that returns it, or a `SigningKey`.
        secret_in_body: Whether the form holds the secret (`client_secret_post`), not the header.

    Raises:
        ConfigurationError: An argument is missing, or an address is not https.
    """

    def __init__(  # noqa: PLR0913 - as many as a token request has
        self,
        subject_token: Secret = "",
        *,
        audience: str = "",
        resource: str = "",
        scopes: Sequence[str] = (),
        actor_token: Secret = "",
        token_url: str = "",
        issuer: str = "",
        client_id: str = "",
        client_secret: Secret | SigningKey = "",
        secret_in_body: bool = False,
    ) -> None:
        check_arguments(TokenExchange, locals())
        fields = {
            "grant_type": _EXCHANGE,
            "audience": audience,
            "resource": resource,
            "subject_token_type": _ACCESS_TOKEN,
            "requested_token_type": _ACCESS_TOKEN,
        }
        super().__init__(
            fields=fields,
            scopes=scopes,
            token_url=token_url,
            issuer=issuer,
            client_id=client_id,
            client_secret=client_secret,
            secret_in_body=secret_in_body,
        )
        self._subject_token = subject_token
        self._actor_token = actor_token

    def on_behalf_of(self, subject_token: Secret) -> Self:
        """Return the exchange for another user's token: `agent.as_user(exchange.on_behalf_of(t))`.

        Exchanged tokens are kept together, each for its subject token.
        """
        other = copy(self)
        other._subject_token = subject_token  # noqa: SLF001 - a copy of this
        return other

    async def grant(self) -> Grant:
        """Return the request for the user's token.

        Raises:
            RemoteAuthError: There is no subject token, or no token of the actor.
        """
        subject = await revealed(self._subject_token)
        if not subject:
            raise RemoteAuthError("there is no token of the user to exchange")
        actor = await revealed(self._actor_token)
        if self._actor_token and not actor:
            raise RemoteAuthError("there is no token of the program that acts for the user")
        fields = {**self._fields, "subject_token": subject, "actor_token": actor}
        fields["actor_token_type"] = _ACCESS_TOKEN if actor else ""
        return Grant((digest(subject), digest(actor)), lambda _: fields)


class JwtBearer(_NamedGrant):
    """A token for a signed assertion (RFC 7523, section 2.1).

    Args:
        assertion: A `SignedAssertion`, a finished assertion, or a callable that returns one in the
            caller's context. Tokens are kept for each subject or finished assertion.
        scopes: The scopes to request.
        audience: The service that the token is for, if the server asks for `audience`.
        resource: The service's URL, if the server asks for `resource` (RFC 8707).
        token_url: The token endpoint. Either this or `issuer` is required.
        issuer: The issuer, whose metadata names the endpoint.
        client_id: The client's id, if the server wants the client to authenticate as well.
        client_secret: Its secret, a callable that returns it, or a `SigningKey`.
        secret_in_body: Whether the form holds the secret (`client_secret_post`), not the header.

    Raises:
        ConfigurationError: An argument is missing, or an address is not https.
    """

    def __init__(  # noqa: PLR0913 - as many as a token request has
        self,
        assertion: Secret | SignedAssertion,
        *,
        scopes: Sequence[str] = (),
        audience: str = "",
        resource: str = "",
        token_url: str = "",
        issuer: str = "",
        client_id: str = "",
        client_secret: Secret | SigningKey = "",
        secret_in_body: bool = False,
    ) -> None:
        check_arguments(JwtBearer, locals())
        super().__init__(
            fields={"grant_type": _ASSERTION, "audience": audience, "resource": resource},
            scopes=scopes,
            token_url=token_url,
            issuer=issuer,
            client_id=client_id,
            client_secret=client_secret,
            secret_in_body=secret_in_body,
        )
        self._assertion = assertion

    async def grant(self) -> Grant:
        """Return the request for the token of an assertion.

        Raises:
            RemoteAuthError: There is no assertion.
        """
        signed = self._assertion
        if isinstance(signed, SignedAssertion):
            subject = await revealed(signed.subject)
            if not subject and not isinstance(signed.subject, str):
                raise RemoteAuthError("there is no subject for the assertion")
            subject = subject or signed.issuer

            def form(endpoint: Endpoint) -> Mapping[str, str]:
                assertion = signed.key.assertion(signed.issuer, endpoint.audience, subject)
                return {**self._fields, "assertion": assertion}

            return Grant(("subject", subject), form)
        given = await revealed(signed)
        if not given:
            raise RemoteAuthError("there is no assertion")
        return Grant(("assertion", digest(given)), lambda _: {**self._fields, "assertion": given})
