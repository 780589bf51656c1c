"""Login in a browser on this machine: authorization code with PKCE (RFC 7636, RFC 8252)."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import httpx
from a2a_adapters_oauth.endpoints import OAuthError, Token, post_form

from a2a_adapters import RemoteAuthError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from a2a_adapters_oauth.discovery import LoginFlow
    from a2a_adapters_oauth.endpoints import Client

_PATH = "/callback"
_HEAD_BYTES = 16 * 1024
_HEAD_SECONDS = 10.0
_DONE = "You are logged in. You can close this page and return to the terminal."
_FAILED = "The login failed. The terminal says why."
_HEADERS = (
    "Content-Type: text/plain; charset=utf-8\r\nReferrer-Policy: no-referrer\r\n"
    "Cache-Control: no-store\r\nConnection: close\r\n"
)


class BrowserLogin:
    """A login by the user in a browser, which returns to an address of this process.

    Args:
        http: The HTTP client.
        flow: The grant's endpoints.
        client: The client.
        open_page: Shows the user the address of the login.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        flow: LoginFlow,
        client: Client,
        open_page: Callable[[str], None],
    ) -> None:
        self._http = http
        self._flow = flow
        self._client = client
        self._open_page = open_page
        self._state = secrets.token_urlsafe(32)
        self._verifier = secrets.token_urlsafe(64)

    async def token(self, scope: str) -> Token:
        """Return a token once the user has consented.

        Raises:
            RemoteAuthError: The user denied the login.
            RemoteAgentError: The server refuses the code or does not answer.
        """
        returned: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                async with asyncio.timeout(_HEAD_SECONDS):
                    await self._answer(reader, writer, returned)
            except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
                pass  # not the browser
            finally:
                writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0, limit=_HEAD_BYTES) as server:
            port = server.sockets[0].getsockname()[1]
            # Servers accept any port of this address (RFC 8252, section 7.3).
            redirect = f"http://127.0.0.1:{port}{_PATH}"
            self._open_page(self._address(redirect, scope))
            fields = await returned
        return await self._exchanged(fields, redirect)

    def _address(self, redirect: str, scope: str) -> str:
        digest = hashlib.sha256(self._verifier.encode()).digest()
        fields = {
            "response_type": "code",
            "client_id": self._client.id,
            "redirect_uri": redirect,
            "scope": scope,
            "state": self._state,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        url = httpx.URL(self._flow.authorization_url)
        return str(url.copy_merge_params({key: value for key, value in fields.items() if value}))

    async def _answer(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        returned: asyncio.Future[dict[str, str]],
    ) -> None:
        """Answer a request; only one with our state ends the wait."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, target, _ = head.partition("\r\n")[0].split(" ")
        address = urlsplit(target)
        fields = {name: values[0] for name, values in parse_qs(address.query).items()}
        is_ours = hmac.compare_digest(fields.get("state", "").encode(), self._state.encode())
        if method != "GET" or address.path != _PATH or not is_ours:
            writer.write(f"HTTP/1.1 404 Not Found\r\n{_HEADERS}\r\n".encode())
        else:
            text = _DONE if "code" in fields else _FAILED
            writer.write(f"HTTP/1.1 200 OK\r\n{_HEADERS}\r\n{text}\n".encode())
            if not returned.done():
                returned.set_result(fields)
        await writer.drain()

    async def _exchanged(self, fields: Mapping[str, str], redirect: str) -> Token:
        """Exchange the code for a token.

        Raises:
            RemoteAuthError: The user denied the login, or another server answered (RFC 9207).
        """
        issuer = fields.get("iss", "")
        is_named = issuer or self._flow.names_issuer
        if is_named and self._flow.issuer and issuer != self._flow.issuer:
            raise RemoteAuthError("another authorization server than the card's has answered")
        if "code" not in fields:
            reason = fields.get("error", "no code")
            if reason == "access_denied":
                raise RemoteAuthError("the login was denied")
            raise OAuthError(reason, fields.get("error_description", ""))
        form = {
            "grant_type": "authorization_code",
            "code": fields["code"],
            "redirect_uri": redirect,
            "code_verifier": self._verifier,
        }
        return await post_form(self._http, self._flow.token_url, form, self._client, Token)
