"""What came with messages beside them: tasks do not hold it, and who resumes one needs it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from a2a.types import Message, SendMessageConfiguration, SendMessageRequest

from a2a_adapters.protocol.errors import StorageUnavailableError

if TYPE_CHECKING:
    from a2a.server.context import ServerCallContext

    from a2a_adapters.contract.adapter import Adapter
    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.storage.interface import AgentStorage

_KIND = "request"
_SECONDS = 4.0
"""How long the storage may take."""


class SentRequests:
    """Keeps the metadata, extensions and output modes of requests.

    Args:
        storage: Where.
        adapter: Who may need them; None if nobody can.
    """

    def __init__(self, storage: AgentStorage, adapter: Adapter | None) -> None:
        self._storage = storage
        self._adapter = adapter

    async def keep(
        self, live: LiveTask, params: SendMessageRequest, context: ServerCallContext
    ) -> None:
        """Keep what came with a message, if anything did.

        Raises:
            StorageUnavailableError: It could not be stored in time.
        """
        if self._adapter is None or not self._adapter.resumes:
            return
        beside = SendMessageRequest()
        if extensions := sorted(context.requested_extensions):
            beside.message.CopyFrom(Message(extensions=extensions))
        if params.HasField("metadata"):
            beside.metadata.CopyFrom(params.metadata)
        if modes := params.configuration.accepted_output_modes:
            beside.configuration.CopyFrom(SendMessageConfiguration(accepted_output_modes=modes))
        if not (body := beside.SerializeToString()):
            return
        place = (live.owner, live.context_id, _kind(live.task_id, params.message))
        try:
            async with asyncio.timeout(_SECONDS):
                await self._storage.write_state(*place, body)
        except TimeoutError as error:
            raise StorageUnavailableError from error

    async def beside(self, live: LiveTask, message: Message) -> SendMessageRequest:
        """Return what came with a message of a task."""
        kind = _kind(live.task_id, message)
        body = await self._storage.read_state(live.owner, live.context_id, kind)
        return SendMessageRequest.FromString(body or b"")


def _kind(task_id: str, message: Message) -> str:
    return f"{_KIND}:{task_id}:{message.message_id}"
