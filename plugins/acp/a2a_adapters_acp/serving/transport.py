"""Lines of JSON between an agent's process and the SDK."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
)

if TYPE_CHECKING:
    from a2a_adapters.concurrency import ProcessTree

_CHUNK = 64 * 1024
_LINE_BYTES = 32 * 1024 * 1024
_UPDATES: Collection[str] = frozenset(
    model.model_fields["session_update"].annotation.__args__[0]  # type: ignore[union-attr]
    for model in (
        AgentMessageChunk,
        AgentPlanUpdate,
        AgentThoughtChunk,
        ToolCallProgress,
        ToolCallStart,
        UsageUpdate,
    )
)

logger = logging.getLogger(__name__)


class Lines:
    """A transport for the SDK's connections, which bounds what an agent can make us hold.

    The SDK's own reads lines of any length, runs a task for each message however many there are,
    and logs a traceback for each update that it does not know.

    Args:
        tree: The agent's process.
        ready: Waits until another message may be read.
    """

    def __init__(self, tree: ProcessTree, ready: Callable[[], Awaitable[None]]) -> None:
        self._process = tree.process
        self._ready = ready
        self._buffer = bytearray()

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message.

        Raises:
            ConnectionError: The process has ended.
        """
        if (stdin := self._process.stdin) is None or stdin.is_closing():
            raise ConnectionError("the agent's process has ended")
        stdin.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        await stdin.drain()

    async def receive(self) -> dict[str, Any] | None:
        """Return the next useful message; None at the end, or after a line that is too long."""
        while True:
            await self._ready()
            if (line := await self._line()) is None:
                return None
            if not line.strip():
                continue
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                logger.debug("an agent wrote a line that is not JSON: %.200r", line)
                continue
            if isinstance(message, dict) and _is_useful(message):
                return message

    async def close(self) -> None:
        """Close standard input."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    async def _line(self) -> bytes | None:
        seen = 0
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        while (end := self._buffer.find(b"\n", seen)) < 0:
            seen = len(self._buffer)
            if seen > _LINE_BYTES:
                logger.error("an agent wrote a line of over %d bytes", _LINE_BYTES)
                return None
            chunk = await self._process.stdout.read(_CHUNK)
            if not chunk:
                return None
            self._buffer += chunk
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line


def _is_useful(message: dict[str, Any]) -> bool:
    """Whether it is not an update of a kind that nothing here reads."""
    if message.get("method") != "session/update":
        return True
    params = message.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    return isinstance(update, dict) and update.get("sessionUpdate") in _UPDATES
