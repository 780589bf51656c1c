"""Transport for gateways, replacing a2a-sdk's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.dialects import DialectTransport
from a2a_adapters_omniroute.calling.gateway import Gateway
from a2a_adapters_omniroute.calling.messages import to_params
from a2a_adapters_omniroute.calling.reading import StreamReader, read_answer, read_task

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx
    from a2a.types import AgentCard, Message, StreamResponse, Task


class OmniRouteTransport(DialectTransport):
    """Calls a gateway.

    A message's metadata holds the parameters: `model`, `combo`, `budget`, `role`, `skill`.
    The gateway's metadata becomes the task's.

    Args:
        http: The HTTP client.
        card: The gateway's card.
        url: Its endpoint.
    """

    def __init__(self, http: httpx.AsyncClient, card: AgentCard, url: str) -> None:
        super().__init__(http, card, url)
        self._gateway = Gateway(http, url)

    async def send(self, message: Message) -> Task:
        """Send a message and return its task."""
        return read_answer(await self._gateway.call("message/send", to_params(message)))

    async def stream(self, message: Message) -> AsyncGenerator[StreamResponse]:
        """Send a message and yield the events of its task."""
        reader = StreamReader()
        async for event in self._gateway.stream("message/stream", to_params(message)):
            for response in reader.read(event):
                yield response

    async def find(self, task_id: str) -> Task:
        """Return a task in any state."""
        return read_task(await self._gateway.call("tasks/get", {"taskId": task_id}))

    async def cancel(self, task_id: str) -> Task:
        """Cancel a task; the provider may still finish it."""
        return read_task(await self._gateway.call("tasks/cancel", {"taskId": task_id}))
