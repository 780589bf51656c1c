"""A small authorization server: Authlib on Starlette, with token exchange (RFC 8693)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl
from uuid import uuid4

from authlib.oauth2.rfc6749 import (
    AuthorizationServer,
    BaseGrant,
    ClientMixin,
    InvalidGrantError,
    InvalidScopeError,
    OAuth2Request,
    TokenEndpointMixin,
)
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

if TYPE_CHECKING:
    from starlette.requests import Request

SECRETS = {"planner": "the planner's secret"}
"""The registered programs."""

ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - a name


class Client(ClientMixin):
    """A registered program."""

    def __init__(self, name: str) -> None:
        self.name = name

    def check_client_secret(self, client_secret: str) -> bool:
        return client_secret == SECRETS[self.name]

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:  # noqa: ARG002
        return method == "client_secret_basic"


class Form(OAuth2Request):
    """A request to the token endpoint. TLS, which Authlib asks for, is left out on loopback."""

    def __init__(self, request: Request, form: dict[str, Any]) -> None:
        super().__init__("POST", "https://login.example/token", headers=request.headers)
        self.payload = BasicOAuth2Payload(form)


class TokenExchange(BaseGrant, TokenEndpointMixin):
    """Exchanges a user's token for one that a program sends to another agent for the user."""

    GRANT_TYPE = "urn:ietf:params:oauth:grant-type:token-exchange"

    def validate_token_request(self) -> None:
        self.request.client = self.authenticate_token_endpoint_client()
        form = self.request.payload.data
        claims = self.server.login.verified(form["subject_token"], self.request.client.name)
        if not {*form["scope"].split()} <= {*claims["scope"].split()}:
            raise InvalidScopeError
        self.request.user = claims["sub"]

    def create_token_response(self) -> tuple[int, dict[str, Any], Any]:
        form, client = self.request.payload.data, self.request.client
        token = self.server.login.token(
            self.request.user, form["audience"], form["scope"], act={"sub": client.name}
        )
        body = {"access_token": token, "issued_token_type": ACCESS_TOKEN, "token_type": "Bearer"}
        return 200, {**body, "expires_in": 300}, self.TOKEN_RESPONSE_HEADER


class Endpoint(AuthorizationServer):
    """Connects Authlib with Starlette."""

    def __init__(self, login: Login) -> None:
        super().__init__()
        self.login = login
        self.register_grant(TokenExchange)

    def query_client(self, client_id: str) -> Client | None:
        return Client(client_id) if client_id in SECRETS else None

    def create_oauth2_request(self, request: Form) -> Form:
        return request

    def handle_response(self, status: int, body: Any, headers: Any) -> Response:
        return JSONResponse(body, status, dict(headers))

    def send_signal(self, *_: Any, **__: Any) -> None:
        """Tell nobody about requests."""


class Login:
    """The authorization server; `url` is its address, once it runs."""

    def __init__(self) -> None:
        self.url = ""
        self.exchanges = 0
        self._key = RSAKey.generate_key(2048, {"kid": "one"})
        self._endpoint = Endpoint(self)
        self.app = Starlette(
            routes=[
                Route("/token", self._exchange, methods=["POST"]),
                Route("/keys", self._keys),
                Route("/.well-known/openid-configuration", self._metadata),
            ]
        )

    def token(self, user: str, audience: str, scope: str, **claims: Any) -> str:
        """Return a token, as a user gets it from logging in."""
        now = int(time.time())
        content = {"iss": self.url, "sub": user, "aud": audience, "scope": scope, **claims}
        times = {"iat": now, "exp": now + 300, "jti": uuid4().hex}
        return jwt.encode({"alg": "RS256", "kid": "one"}, content | times, self._key)

    def verified(self, token: str, audience: str) -> dict[str, Any]:
        """Return the claims of a token for a program."""
        try:
            claims = jwt.decode(token, self._key).claims
            wanted = {"essential": True, "value": audience}
            jwt.JWTClaimsRegistry(exp={"essential": True}, aud=wanted).validate(claims)
        except (JoseError, ValueError) as error:
            raise InvalidGrantError from error
        return claims

    async def _exchange(self, request: Request) -> Response:
        self.exchanges += 1
        form = Form(request, dict(parse_qsl((await request.body()).decode())))
        response: Response = self._endpoint.create_token_response(form)
        return response

    async def _keys(self, _: Request) -> Response:
        return JSONResponse({"keys": [self._key.as_dict(private=False)]})

    async def _metadata(self, _: Request) -> Response:
        return JSONResponse({"issuer": self.url, "token_endpoint": f"{self.url}/token"})
