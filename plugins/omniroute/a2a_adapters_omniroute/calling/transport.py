"""Calls to gateways, in place of a2a-sdk's transports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from a2a_adapters import Data, Part, Text
from a2a_adapters.dialects import DialectTransport, message_parts, struct_to_dict
from a2a_adapters_omniroute.calling.gateway import Gateway
from a2a_adapters_omniroute.calling.reading import StreamReader, read_answer, read_task
from a2a_adapters_omniroute.calling.routing import SMART_ROUTING
from a2a_adapters_omniroute.errors import OmniRouteRefusedError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx
    from a2a.types import AgentCard, Message, StreamResponse, Task

ROLE = "role"
"""Key in a part's metadata: who says it, "system", "user" or "assistant"."""


class OmniRouteTransport(DialectTransport):
    """Calls a gateway.

    A message's metadata is what is asked of it: `model`, `combo`, `budget`, `role`, and `skill`.
    What it says of a call is the task's metadata.

    Args:
        http: What the calls go through.
        card: The gateway's card.
        url: Its endpoint.
    """

    def __init__(self, http: httpx.AsyncClient, card: AgentCard, url: str) -> None:
        super().__init__(http, card, url)
        self._gateway = Gateway(http, url)

    async def send(self, message: Message) -> Task:
        """Send a message and return the task that answers it."""
        return read_answer(await self._gateway.call("message/send", to_params(message)))

    async def stream(self, message: Message) -> AsyncGenerator[StreamResponse]:
        """Send a message and yield what happens to its task."""
        reader = StreamReader()
        async for event in self._gateway.stream("message/stream", to_params(message)):
            for response in reader.read(event):
                yield response

    async def find(self, task_id: str) -> Task:
        """Return a task, whatever its state."""
        return read_task(await self._gateway.call("tasks/get", {"taskId": task_id}))

    async def cancel(self, task_id: str) -> Task:
        """Cancel a task; the provider may work on it all the same."""
        return read_task(await self._gateway.call("tasks/cancel", {"taskId": task_id}))


def to_params(message: Message) -> dict[str, Any]:
    """Return a message as a gateway takes it.

    Raises:
        OmniRouteRefusedError: There is a file in it.
    """
    metadata = struct_to_dict(message.metadata)
    asked = metadata.pop("skill", None) or metadata.pop("skill_id", None)
    params = {"skill": asked or SMART_ROUTING, "messages": _messages(message)}
    return {**params, "metadata": metadata} if metadata else params


def _messages(message: Message) -> list[dict[str, Any]]:
    """Return what is said: a message for each part that says whose it is, else one of the user."""
    parts = message_parts(message)
    if not any(ROLE in part.metadata for part in parts):
        return [{"role": "user", "content": "\n".join(map(_text, parts))}]
    return [{"role": part.metadata.get(ROLE, "user"), "content": _text(part)} for part in parts]


def _text(part: Part) -> str:
    match part:
        case Text(text=text):
            return text
        case Data(value=value):
            return to_json(value).decode()
        case _:
            raise OmniRouteRefusedError("an OmniRoute gateway takes text, no files or images")
