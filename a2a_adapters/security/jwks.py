"""The public keys of an identity provider."""

from __future__ import annotations

import asyncio
import logging
import time
from urllib.parse import urlsplit

import httpx
from jwt import PyJWK, PyJWKSet
from jwt.exceptions import PyJWTError

from a2a_adapters.errors import ConfigurationError
from a2a_adapters.security.hosts import is_loopback

_FRESH_SECONDS = 600.0
"""How long keys are used without asking again."""
_PAUSE_SECONDS = 30.0
"""How long a key that is not known, or a failure, does not make us ask again."""
_FIRST_PAUSE_SECONDS = 1.0
"""The same as long as no keys are known at all."""
_TIMEOUT_SECONDS = 5.0

logger = logging.getLogger(__name__)


class KeySet:
    """Fetches a JWKS when it is needed, without holding up the event loop, and keeps it.

    While the issuer does not answer, the keys that are known stay in use.

    Args:
        url: Where the issuer publishes its keys.

    Raises:
        ConfigurationError: The address is neither https nor on this machine.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
            raise ConfigurationError("keys are fetched by https: who changes them is let in")
        self._url = url
        self._keys: dict[str | None, PyJWK] = {}
        self._fetched_at = self._asked_at = float("-inf")
        self._turn = asyncio.Lock()

    async def find(self, key_id: str | None) -> PyJWK | None:
        """Return the key with this id; a token without one is signed with the only key.

        Raises:
            ConnectionError: No keys are known, and the issuer does not send any.
        """
        if key_id not in self._keys or time.monotonic() - self._fetched_at > _FRESH_SECONDS:
            async with self._turn:
                pause = _PAUSE_SECONDS if self._keys else _FIRST_PAUSE_SECONDS
                if time.monotonic() - self._asked_at > pause:
                    await self._fetch()
        if not self._keys:
            raise ConnectionError(f"there are no keys of {self._url}")
        return self._keys.get(key_id)

    async def _fetch(self) -> None:
        self._asked_at = time.monotonic()
        try:
            async with httpx.AsyncClient(timeout=_TIMEOUT_SECONDS) as http:
                response = await http.get(self._url)
            response.raise_for_status()
            keys = PyJWKSet.from_dict(response.json()).keys
        except (httpx.HTTPError, PyJWTError, ValueError, AttributeError, TypeError) as error:
            logger.warning("no keys from %s", self._url, exc_info=error)
            return
        self._keys = {key.key_id: key for key in keys if key.public_key_use in {None, "sig"}}
        if len(keys) == 1:
            self._keys[None] = keys[0]
        self._fetched_at = time.monotonic()
