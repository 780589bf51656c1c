"""Bounded requests to an endpoint; errors are logged without details for the caller."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from a2a_adapters import ConfigurationError
from a2a_adapters.dialects import quote
from a2a_adapters.plugin import AgentFailedError
from a2a_adapters_endpoints.words import checked_seconds

if TYPE_CHECKING:
    from a2a_adapters.plugin import JSON

_CONNECT_SECONDS = 10.0

logger = logging.getLogger(__name__)


def checked_url(url: str, example: str) -> str:
    """Return a URL.

    Raises:
        ConfigurationError: The URL is invalid.
    """
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # an address or a port that is not valid
        is_valid = False
    if not is_valid:
        raise ConfigurationError(f"{url!r} is not a URL, as in {example}")
    return url


class Endpoint:
    """Posts JSON to one URL, without redirects and retries.

    Args:
        url: The URL, trusted as typed.
        token: A bearer token.
        seconds: Time limit between two pieces of the answer.
        answer_bytes: The maximum size of a response body.

    Raises:
        ConfigurationError: `seconds` is not positive.
    """

    def __init__(self, url: str, token: str | None, seconds: float, answer_bytes: int) -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._timeout = httpx.Timeout(checked_seconds(seconds), connect=_CONNECT_SECONDS)
        self._answer_bytes = answer_bytes
        self._client: httpx.AsyncClient | None = None

    @asynccontextmanager
    async def post(
        self, body: JSON, headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[httpx.Response]:
        """Post JSON, and yield the response with its body unread.

        Raises:
            AgentFailedError: The endpoint is unreachable or answers with an error.
        """
        if self._client is None:
            self._client = httpx.AsyncClient(timeout=self._timeout, headers=self._headers)
        try:
            async with self._client.stream("POST", self._url, json=body, headers=headers) as given:
                if not given.is_success:
                    start = await anext(given.aiter_bytes(1000), b"")
                    self._log(f"status {given.status_code}; {start.decode(errors='replace')}")
                    is_refusal = given.status_code < 500 and given.status_code not in (408, 429)
                    raise AgentFailedError("model_refused" if is_refusal else "model_unavailable")
                yield given
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            self._log(f"{type(error).__name__}: {error}")
            raise AgentFailedError("model_unavailable") from error

    async def chunks(self, response: httpx.Response) -> AsyncIterator[bytes]:
        """Yield a response body.

        Raises:
            AgentFailedError: The body is too large.
        """
        size = 0
        async for chunk in response.aiter_bytes():
            size += len(chunk)
            if size > self._answer_bytes:
                raise AgentFailedError("limit", "The answer is too long.")
            yield chunk

    async def aclose(self) -> None:
        """Close the connections; the next request opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _log(self, problem: str) -> None:
        logger.error("%s: %s", urlsplit(self._url).hostname, quote(problem, 500))
