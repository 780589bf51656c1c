"""The client's data of an AG-UI thread: messages, shared state and open interrupts."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from a2a_adapters import Data, File, Part, Text
from a2a_adapters.dialects import new_id
from a2a_adapters.plugin import JSON, as_decision, as_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_adapters import AgentRequest
    from a2a_adapters.plugin import StateStorage

_KIND = "ag-ui:calling"
_MOST_MESSAGES = 500
_MEDIA = ("image", "audio", "video")


@dataclass(slots=True)
class Conversation:
    """A thread, as stored by its client.

    Attributes:
        messages: The messages, in AG-UI's format.
        state: The shared state.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    state: JSON = None

    @classmethod
    async def read(cls, storage: StateStorage | None, request: AgentRequest) -> Conversation:
        """Return the stored conversation, an empty one if it is new."""
        if storage is None:
            return cls()
        body = await storage.read_state(request.owner, request.context_id, _KIND)
        return cls(*json.loads(body)) if body else cls()

    async def write(self, storage: StateStorage | None, request: AgentRequest) -> None:
        """Store the conversation."""
        if storage is not None:
            body = json.dumps([self.messages[-_MOST_MESSAGES:], self.state]).encode()
            await storage.write_state(request.owner, request.context_id, _KIND, body)

    def say(self, parts: Sequence[Part]) -> None:
        """Add a message of the user."""
        self.messages.append({"id": new_id(), "role": "user", "content": _content(parts)})

    def input(self, thread_id: str, resume: Sequence[Mapping[str, JSON]]) -> dict[str, JSON]:
        """Return the input of the next run."""
        given: dict[str, JSON] = {
            "threadId": thread_id,
            "runId": new_id(),
            "protocolVersion": "1.0",
            "messages": list(self.messages),
            "state": {} if self.state is None else self.state,
            "tools": [],
            "context": [],
            "forwardedProps": {},
        }
        return {**given, "resume": list(resume)} if resume else given


def answer_to(interrupt: Mapping[str, Any], parts: Sequence[Part]) -> JSON:
    """Return the payload that answers an interrupt: the data unchanged, else the text.

    A yes or no becomes the value that the interrupt's schema requires.
    """
    data = [part.value for part in parts if isinstance(part, Data)]
    if data:
        return data[0] if len(data) == 1 else data  # type: ignore[return-value]
    text = as_text([part for part in parts if isinstance(part, Text)])
    schema = interrupt.get("responseSchema")
    decision = as_decision(text)
    if decision is None or not isinstance(schema, dict):
        return text
    if schema.get("type") == "boolean":
        return decision[0]
    properties = schema.get("properties")
    is_approval = isinstance(properties, dict) and "approved" in properties
    return {"approved": decision[0]} if is_approval else text


def _content(parts: Sequence[Part]) -> JSON:
    if not any(isinstance(part, File) for part in parts):
        return as_text(parts)
    return [_part(part) for part in parts]


def _part(part: Part) -> JSON:
    if not isinstance(part, File):
        return {"type": "text", "text": as_text([part])}
    kind = part.guess_media_type()
    main = kind.partition("/")[0]
    source: JSON = (
        {"type": "url", "value": part.url, "mimeType": kind}
        if part.content is None
        else {"type": "data", "value": base64.b64encode(part.content).decode(), "mimeType": kind}
    )
    named: dict[str, JSON] = {"metadata": {"filename": part.filename}} if part.filename else {}
    return {"type": main if main in _MEDIA else "document", "source": source, **named}
