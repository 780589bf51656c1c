"""A real authorization server, on Authlib, that issues JWTs."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import parse_qsl
from uuid import uuid4

from authlib.oauth2.rfc6749 import (
    AuthorizationServer,
    BaseGrant,
    ClientMixin,
    InvalidGrantError,
    InvalidRequestError,
    InvalidScopeError,
    OAuth2Request,
    TokenEndpointMixin,
)
from authlib.oauth2.rfc6749.grants import ClientCredentialsGrant
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc7523 import JWTBearerClientAssertion, JWTBearerGrant
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

SECRET = "s3cret/+ü :%"
METHODS = ["client_secret_basic", "client_secret_post", "client_assertion_jwt"]
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
CLIENT_KEY = ECKey.generate_key("P-256")


@dataclass
class Program(ClientMixin):
    """A registered client; its id names its ways to authenticate."""

    id: str
    methods: list[str]
    scopes: str = "read write"

    def get_client_id(self):
        return self.id

    def get_allowed_scope(self, scope):
        return " ".join(each for each in scope.split() if each in self.scopes.split())

    def check_client_secret(self, client_secret):
        return client_secret == SECRET

    def check_endpoint_auth_method(self, method, endpoint):
        return method in self.methods

    def check_grant_type(self, grant_type):
        return True


PROGRAMS = {
    program.id: program
    for program in (
        Program("agent", ["client_secret_basic"]),
        Program("posting", ["client_secret_post"]),
        Program("signing", ["client_assertion_jwt"]),
    )
}


class Request(OAuth2Request):
    """A request as Authlib sees it; TLS is left out on loopback."""

    def __init__(self, headers, form):
        super().__init__("POST", "https://login.test/token", headers=headers)
        self.payload = BasicOAuth2Payload(form)
        self._form = form

    @property
    def args(self):
        return {}

    @property
    def form(self):
        return self._form


class Machine(ClientCredentialsGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS


class Exchange(BaseGrant, TokenEndpointMixin):
    """Token exchange (RFC 8693), which Authlib leaves to its users."""

    GRANT_TYPE = EXCHANGE
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS

    def validate_token_request(self):
        self.request.client = self.authenticate_token_endpoint_client()
        form = self.request.form
        claims = self.server.owner.verified(form.get("subject_token", ""))
        if not form.get("audience"):
            raise InvalidRequestError("Missing 'audience' in request.")
        if not set(form.get("scope", "").split()) <= set(claims["scope"].split()):
            raise InvalidScopeError
        actor = self.request.client.id
        if token := form.get("actor_token"):
            actor = self.server.owner.verified(token)["sub"]
        self.request.user = {"sub": claims["sub"], "act": {"sub": actor}}

    def create_token_response(self):
        form = self.request.form
        token = self.generate_token(
            user=self.request.user, scope=form.get("scope"), include_refresh_token=False
        )
        token["issued_token_type"] = "urn:ietf:params:oauth:token-type:access_token"
        return 200, token, self.TOKEN_RESPONSE_HEADER


class Assertion(JWTBearerGrant):
    def resolve_issuer_client(self, issuer):
        return PROGRAMS.get(issuer)

    def resolve_client_public_key(self, client):
        return CLIENT_KEY

    def get_audiences(self):
        return [self.server.owner.url, f"{self.server.owner.url}/token"]

    def authenticate_user(self, subject):
        return {"sub": subject}

    def has_granted_permission(self, client, user):
        return user["sub"] not in self.server.owner.revoked


class ClientAssertion(JWTBearerClientAssertion):
    def __init__(self, owner):
        super().__init__()
        self._owner, self._used = owner, set()

    def resolve_client_public_key(self, client):
        return CLIENT_KEY

    def get_audiences(self):
        return [self._owner.url, f"{self._owner.url}/token"]

    def validate_jti(self, claims, jti):
        is_new = jti not in self._used
        self._used.add(jti)
        return is_new


class Authlib(AuthorizationServer):
    def __init__(self, owner):
        super().__init__(scopes_supported=["read", "write"])
        self.owner = owner
        for grant in (Machine, Exchange, Assertion):
            self.register_grant(grant)
        self.register_client_auth_method("client_assertion_jwt", ClientAssertion(owner))
        self.register_token_generator("default", owner.token)

    def query_client(self, client_id):
        return PROGRAMS.get(client_id)

    def save_token(self, token, request):
        pass

    def send_signal(self, name, *args, **kwargs):
        pass

    def create_oauth2_request(self, request):
        return request

    def handle_response(self, status, body, headers):
        return JSONResponse(body, status, dict(headers))


@dataclass
class LoginServer:
    """Issues tokens of one address, set when it runs.

    Attributes:
        expires_in: The lifetime of new tokens, in seconds.
        revoked: Users whose tokens are no longer valid.
        audience: The audience of tokens whose requests name none.
        forms: The requests received.
        may_answer: Set unless requests are to be held.
        asked: Set once there was a request.
        status: The HTTP status of all answers, 0 for the usual ones.
        issuer: The issuer named by the metadata, "" for the right one.
        endpoint: The token endpoint named by the metadata, None for the right one.
        hidden: Paths of metadata that are not served.
    """

    url: str = ""
    expires_in: int = 3600
    revoked: set[str] = field(default_factory=set)
    audience: str = "agent-b"
    forms: list[dict[str, str]] = field(default_factory=list)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    status: int = 0
    issuer: str = ""
    endpoint: str | None = None
    hidden: set[str] = field(default_factory=set)
    headers: list[dict[str, str]] = field(default_factory=list)
    metadata_requests: Counter[str] = field(default_factory=Counter)

    def __post_init__(self):
        self.may_answer.set()
        self._key = RSAKey.generate_key(2048, {"kid": "one"})
        self._authlib = Authlib(self)
        self._audience = ""
        metadata = ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"]
        self.app = Starlette(
            routes=[
                Route("/token", self.answer, methods=["POST"]),
                Route("/keys", self.keys),
                *(Route(path, self.metadata) for path in metadata),
            ]
        )

    async def answer(self, request):
        form = dict(parse_qsl((await request.body()).decode()))
        self.forms.append(form)
        self.headers.append(dict(request.headers))
        self.asked.set()
        await self.may_answer.wait()
        if self.status:
            return JSONResponse({"error": "server_error"}, self.status)
        self._audience = form.get("audience") or form.get("resource") or self.audience
        return self._authlib.create_token_response(Request(request.headers, form))

    async def keys(self, request):
        return JSONResponse({"keys": [self._key.as_dict(private=False)]})

    async def metadata(self, request):
        self.metadata_requests[request.url.path] += 1
        if request.url.path in self.hidden:
            return JSONResponse({}, 404)
        endpoint = f"{self.url}/token" if self.endpoint is None else self.endpoint
        return JSONResponse({"issuer": self.issuer or self.url, "token_endpoint": endpoint})

    def token(self, grant_type, client, user=None, scope=None, **_):
        """Return a token response (Authlib's protocol)."""
        about = user or {"sub": client.id}
        issued = self.issue(about, scope or client.scopes, self._audience)
        expires = {"expires_in": self.expires_in} if self.expires_in is not None else {}
        return {"access_token": issued, "token_type": "Bearer", **expires}

    def issue(self, about, scope, audience, lifetime=3600):
        """Return a signed token."""
        now = int(time.time())
        claims = {"iss": self.url, "aud": audience, "scope": scope, "jti": uuid4().hex, **about}
        header = {"alg": "RS256", "kid": "one"}
        return jwt.encode(header, {**claims, "iat": now, "exp": now + lifetime}, self._key)

    def user_token(self, user, audience="agent-a", lifetime=3600):
        """Return the token with which a user calls an agent."""
        return self.issue({"sub": user}, "read write", audience, lifetime)

    def verified(self, token):
        """Return the claims of a token, of which nothing is secret to this server."""
        try:
            claims = jwt.decode(token, self._key).claims
            jwt.JWTClaimsRegistry(exp={"essential": True}).validate(claims)
        except (JoseError, ValueError) as error:
            raise InvalidGrantError("The subject token is invalid.") from error
        if claims["sub"] in self.revoked:
            raise InvalidGrantError(f"The token {token} was revoked.")
        return claims
