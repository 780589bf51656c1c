"""An authorization server for tests: RFC 6749, RFC 8628 and OpenID Connect Discovery."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote_plus, urlencode

from starlette.applications import Starlette
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Route

SECRET = "s3cret/+ü"


@dataclass
class AuthorizationServer:
    """A configurable server that records its requests."""

    answers: list[str] = field(default_factory=list)
    """Errors of RFC 8628 returned before the user's consent."""
    expires_in: float | None = 3600
    gives_refresh: bool = True
    issuer: str = ""
    valid: set[str] = field(default_factory=set)
    refresh_tokens: set[str] = field(default_factory=set)
    seen: Counter[str] = field(default_factory=Counter)
    scopes: list[str] = field(default_factory=list)
    pages: dict[str, dict[str, str]] = field(default_factory=dict)
    """Requests of logins in a browser by their code."""
    said: dict[str, str] = field(default_factory=dict)
    """Fields returned to the client in place of a code."""

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/token", self.token, methods=["POST"]),
                Route("/device", self.device, methods=["POST"]),
                Route("/authorize", self.authorize),
                Route("/.well-known/openid-configuration", self.metadata),
            ]
        )

    async def device(self, request):
        form = await read(request)
        if not await self.client(request):
            return error("invalid_client", 401)
        self.scopes.append(form.get("scope", ""))
        return JSONResponse(
            {
                "device_code": "d3vice",
                "user_code": "ABCD-EFGH",
                "verification_uri": "https://login.example/device\x1b[2J",
                "expires_in": 600,
                "interval": 0,
            }
        )

    async def authorize(self, request):
        """Send the user, who consents at once, back to the client with a code (RFC 6749, 4.1.2)."""
        asked = dict(request.query_params)
        code = f"c0de-{len(self.pages)}"
        self.pages[code] = asked
        self.scopes.append(asked.get("scope", ""))
        fields = {"state": asked["state"], **(self.said or {"code": code})}
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(fields)}", 302)

    def is_proven(self, form) -> bool:
        """Return whether a code is redeemed as it was asked for, once (RFC 7636, 4.6)."""
        asked = self.pages.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        return asked is not None and (
            (asked["code_challenge"], asked["code_challenge_method"], asked["redirect_uri"])
            == (challenge, "S256", form.get("redirect_uri"))
        )

    async def token(self, request):
        form = await read(request)
        grant = form["grant_type"]
        self.seen[grant] += 1
        if not (client := await self.client(request)):
            return error("invalid_client", 401)
        if grant == "client_credentials" and client == "machine":
            self.scopes.append(form.get("scope", ""))
            return self.made(refresh=False)
        if grant == "refresh_token" and form["refresh_token"] in self.refresh_tokens:
            self.refresh_tokens.remove(form["refresh_token"])
            return self.made(refresh=True)
        if form.get("device_code") == "d3vice" and self.answers:
            return error(self.answers.pop(0))
        if form.get("device_code") == "d3vice" or self.is_proven(form):
            return self.made(refresh=self.gives_refresh)
        return error("invalid_grant")

    async def client(self, request) -> str:
        """Return the authenticated client, "" if there is none."""
        scheme, _, value = request.headers.get("authorization", "").partition(" ")
        if scheme == "Basic":
            name, _, secret = base64.b64decode(value).decode().partition(":")
            return "machine" if (name, unquote_plus(secret)) == ("machine", SECRET) else ""
        return "person" if (await read(request)).get("client_id") == "person" else ""

    def made(self, *, refresh: bool):
        token = f"t0ken-{sum(self.seen.values())}"
        self.valid.add(token)
        body = {"access_token": token, "token_type": "bearer", "expires_in": self.expires_in}
        if refresh:
            self.refresh_tokens.add(f"r-{token}")
            body["refresh_token"] = f"r-{token}"
        return JSONResponse(body)

    async def metadata(self, request):
        base = str(request.base_url).rstrip("/")
        return JSONResponse(
            {
                "issuer": self.issuer or base,
                "token_endpoint": f"{base}/token",
                "device_authorization_endpoint": f"{base}/device",
            }
        )


async def read(request) -> dict[str, str]:
    return dict(parse_qsl((await request.body()).decode()))


def error(code: str, status: int = 400):
    return JSONResponse({"error": code, "error_description": "said\x1b[2J"}, status)
