"""Fetches and caches the public keys of an identity provider."""

from __future__ import annotations

import asyncio
import logging
import time
from urllib.parse import urlsplit

import httpx
from jwt import PyJWK, PyJWKSet
from jwt.exceptions import PyJWTError
from pydantic_core import from_json

from a2a_adapters import ConfigurationError
from a2a_adapters.concurrency import in_background
from a2a_adapters.net.addresses import is_loopback

_FRESH_SECONDS = 600.0
"""Age at which keys are refreshed."""
_PAUSE_SECONDS = 30.0
"""Minimum time between refreshes because of unknown keys or failures."""
_FIRST_PAUSE_SECONDS = 1.0
"""The same while no keys are known."""
_STALE_SECONDS = 24 * 3600.0
"""Maximum age of the keys of an issuer that does not answer."""
_TIMEOUT_SECONDS = 5.0
"""Total time for fetching the keys."""
_MOST_BYTES = 256 * 1024

logger = logging.getLogger(__name__)


class KeySet:
    """The keys of a JWKS URL, fetched on demand without blocking the event loop.

    While a refresh is running or failing, the known keys remain in use for a day.

    Raises:
        ConfigurationError: The URL is neither https nor on this machine.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
            raise ConfigurationError(
                "keys are fetched over https only: anyone who could change them would be admitted"
            )
        self._url = url
        self._keys: dict[str | None, PyJWK] = {}
        self._fetched_at = self._asked_at = float("-inf")
        self._fetching: asyncio.Task[None] | None = None

    async def find(self, key_id: str | None) -> PyJWK | None:
        """Return the key with this id, or the only key for None.

        Raises:
            ConnectionError: No keys are known, and the issuer does not send any.
        """
        age = time.monotonic() - self._fetched_at
        if age > _STALE_SECONDS:
            self._keys = {}
        if key_id in self._keys:
            if age > _FRESH_SECONDS:
                self._refresh()
            return self._keys[key_id]
        if refresh := self._refresh():
            await asyncio.shield(refresh)
        if not self._keys:
            raise ConnectionError(f"there are no keys of {self._url}")
        return self._keys.get(key_id)

    def _refresh(self) -> asyncio.Task[None] | None:
        """Return the running or a new refresh, or None if the last one was too recent."""
        running, loop = self._fetching, asyncio.get_running_loop()
        # A refresh of an event loop that has been closed never ends.
        if running and not running.done() and running.get_loop() is loop:
            return running
        pause = _PAUSE_SECONDS if self._keys else _FIRST_PAUSE_SECONDS
        if time.monotonic() - self._asked_at <= pause:
            return None
        self._asked_at = time.monotonic()
        self._fetching = in_background(self._fetch())
        return self._fetching

    async def _fetch(self) -> None:
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                keys = PyJWKSet.from_dict(from_json(await self._download())).keys
        except (
            httpx.HTTPError,
            OSError,
            PyJWTError,
            ValueError,
            AttributeError,
            TypeError,
        ) as error:
            logger.warning("cannot fetch the keys of %s", self._url, exc_info=error)
            return
        self._keys = {key.key_id: key for key in keys if key.public_key_use in {None, "sig"}}
        if len(keys) == 1:
            self._keys[None] = keys[0]
        self._fetched_at = time.monotonic()

    async def _download(self) -> bytes:
        content = bytearray()
        async with (
            httpx.AsyncClient(timeout=_TIMEOUT_SECONDS) as http,
            http.stream("GET", self._url, headers={"Accept-Encoding": "identity"}) as response,
        ):
            response.raise_for_status()
            async for chunk in response.aiter_raw():
                content += chunk
                if len(content) > _MOST_BYTES:
                    raise ValueError(f"there are more than {_MOST_BYTES} bytes of keys")
        return bytes(content)
