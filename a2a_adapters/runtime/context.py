"""What an executor is told of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a.server.agent_execution import RequestContext

from a2a_adapters.conversion import metadata_of

if TYPE_CHECKING:
    from a2a.server.context import ServerCallContext
    from a2a.types import SendMessageRequest

    from a2a_adapters.runtime.live import LiveTask


class MessageContext(RequestContext):
    """a2a-sdk's context of a message, which makes floats of the whole numbers in its metadata."""

    def __init__(
        self, context: ServerCallContext, params: SendMessageRequest, live: LiveTask
    ) -> None:
        super().__init__(context, params, live.task_id, live.context_id)
        self._metadata = metadata_of(params)

    @property
    def metadata(self) -> dict[str, Any]:
        """The request's metadata."""
        return self._metadata
