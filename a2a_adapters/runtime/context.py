"""The request as the executor sees it, with its task's and caller's other data."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from a2a.server.agent_execution import RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.id_generator import UUIDGenerator
from a2a.types import ListTasksRequest, Message, SendMessageConfiguration, SendMessageRequest

from a2a_adapters.protocol import states
from a2a_adapters.protocol.conversion import metadata_of
from a2a_adapters.protocol.errors import StorageUnavailableError

if TYPE_CHECKING:
    from a2a_adapters.contract.adapter import Adapter
    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.storage.interface import AgentStorage
    from a2a_adapters.storage.journal import Journal

_UNUSED = UUIDGenerator()

_KIND = "request"
_SECONDS = 4.0
"""Time limit for the storage."""


class SentRequests:
    """Stores the metadata, extensions and output modes of requests, for runs that are resumed."""

    def __init__(self, storage: AgentStorage, adapter: Adapter | None) -> None:
        self._storage = storage
        self._adapter = adapter

    async def keep(
        self, live: LiveTask, params: SendMessageRequest, context: ServerCallContext
    ) -> None:
        """Store the parts of a request that the task does not hold.

        Raises:
            StorageUnavailableError: They could not be stored in time.
        """
        if self._adapter is None or not self._adapter.resumes:
            return
        rest = SendMessageRequest()
        if extensions := sorted(context.requested_extensions):
            rest.message.CopyFrom(Message(extensions=extensions))
        if params.HasField("metadata"):
            rest.metadata.CopyFrom(params.metadata)
        if modes := params.configuration.accepted_output_modes:
            rest.configuration.CopyFrom(SendMessageConfiguration(accepted_output_modes=modes))
        if not (body := rest.SerializeToString()):
            return
        place = (live.owner, live.context_id, _kind(live.task_id, params.message))
        try:
            async with asyncio.timeout(_SECONDS):
                await self._storage.write_state(*place, body)
        except TimeoutError as error:
            raise StorageUnavailableError from error

    async def rest_of(self, live: LiveTask, message: Message) -> SendMessageRequest:
        """Return the parts of a request that its task does not hold."""
        kind = _kind(live.task_id, message)
        body = await self._storage.read_state(live.owner, live.context_id, kind)
        return SendMessageRequest.FromString(body or b"")


def _kind(task_id: str, message: Message) -> str:
    return f"{_KIND}:{task_id}:{message.message_id}"


class MessageContext(RequestContext):
    """a2a-sdk's context of a message, with whole numbers in its metadata unchanged.

    Args:
        sent: Holds the requests of the task's other messages.
        is_resumed: Whether a dead process had begun to answer the message.
    """

    def __init__(
        self,
        context: ServerCallContext,
        params: SendMessageRequest,
        live: LiveTask,
        journal: Journal,
        sent: SentRequests,
        *,
        is_resumed: bool = False,
    ) -> None:
        super().__init__(
            context,
            params,
            live.task_id,
            live.context_id,
            task_id_generator=_UNUSED,
            context_id_generator=_UNUSED,
        )
        self._sent = params
        self._live = live
        self._requests = sent
        self.is_resumed = is_resumed
        self.others_wait = partial(_others_wait, live, journal)
        """Returns whether another task of this context is interrupted."""

    @property
    def metadata(self) -> dict[str, Any]:
        """The request's metadata."""
        return metadata_of(self._sent) if self._sent.HasField("metadata") else {}

    async def rest_of_request(self, message: Message) -> SendMessageRequest:
        """Return the rest of the request of an earlier message."""
        return await self._requests.rest_of(self._live, message)


async def _others_wait(live: LiveTask, journal: Journal) -> bool:
    context = ServerCallContext(user=live.user)
    for state in states.INTERRUPTED:
        params = ListTasksRequest(context_id=live.context_id, status=state, page_size=2)
        found = await journal.list(params, context)
        if any(task.id != live.task_id for task in found.tasks):
            return True
    return False
