"""Bus over Redis publish/subscribe, with one channel per process."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from a2a_adapters.concurrency import end_if_cancelled
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters_sql.alarm import fair_timeout
from a2a_adapters_sql.replicas.batches import ANSWER_SECONDS, BEAT_SECONDS, BatchBus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_adapters_sql.replicas.batches import Payload

_CHANNEL = "a2a-adapters:"


class RedisBus(BatchBus):
    """Publishes each batch with one pipeline; Redis stores nothing.

    Args:
        url: URL such as `redis://user:password@host:6379/0`, `rediss:` with TLS, or
            `unix:///run/redis.sock`.
        process_id: This process.

    Raises:
        ConfigurationError: The URL is invalid; the message omits it, since it may contain a
            password.
    """

    _payload_bytes = 64 * 1024
    _failures = (RedisError, OSError)  # includes TimeoutError

    def __init__(self, url: str, process_id: str) -> None:
        super().__init__(process_id)
        try:
            self.name = f"the bus {_shown(url)}"
            self._redis = Redis.from_url(
                url,
                socket_connect_timeout=2 * ANSWER_SECONDS,
                # Publishing has its own time limit; silence is not a failure.
                socket_timeout=None,
                retry=Retry(NoBackoff(), 0),  # retried here, where losses are detected
            )
        except ValueError:
            raise ConfigurationError(
                "the bus must be a URL: redis://user:password@host:6379/0, rediss://... or unix://path"
            ) from None

    async def aclose(self) -> None:
        """Stop and disconnect."""
        await super().aclose()
        await self._redis.aclose()

    async def _listen(self) -> None:
        async with self._redis.pubsub() as channel:
            await channel.subscribe(_CHANNEL + self._process_id)
            is_asked = False
            while True:
                received = await channel.get_message(timeout=BEAT_SECONDS)
                if received is None:
                    if is_asked:
                        raise TimeoutError
                    await channel.ping()
                elif received["type"] == "subscribe":  # also after a reconnect
                    self._begin()
                elif received["type"] == "message":
                    self._hear(received["data"].decode(errors="replace"))
                is_asked = received is None
                end_if_cancelled()

    async def _send(self) -> None:
        async def deliver(payloads: Sequence[Payload], seconds: float) -> None:
            async with fair_timeout(seconds), self._redis.pipeline(transaction=False) as pipe:
                for process, payload in payloads:
                    pipe.publish(_CHANNEL + process, payload)
                await pipe.execute()

        async with fair_timeout(2 * ANSWER_SECONDS):
            await self._redis.ping()
        await self._send_by(deliver)


def _shown(url: str) -> str:
    """Return a URL for messages, without credentials."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
