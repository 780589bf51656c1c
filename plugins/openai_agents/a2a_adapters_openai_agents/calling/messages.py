"""Converts the SDK's items to parts for a remote agent, and finds the items that are new to it.

The SDK passes all items of a conversation to each call of a model, without an id. Each answer
therefore contains its place in the remote conversation, in the `provider_data` that the SDK keeps
in sessions and stored runs: all items after it are new to the agent.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from a2a_adapters import File, InvalidInputError, Part, Text
from a2a_adapters.plugin import dialogue

if TYPE_CHECKING:
    from collections.abc import Iterable

    from a2a_adapters import AgentReply

_KEY = "a2a"
_ROLES = {"user": "User", "assistant": "Assistant", "system": "System", "developer": "System"}


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a conversation with an agent.

    Attributes:
        agent: The agent's address.
        context_id: Its contextId; "" for a new conversation.
        task_id: The task that waits for the next message; "" when none does.
        question: Its question, with which the text of the answer ends.
        needs_auth: Whether it waits for an authorisation.
    """

    agent: str
    context_id: str = ""
    task_id: str = ""
    question: str = ""
    needs_auth: bool = False

    def after(self, reply: AgentReply) -> Place:
        """Return the place after an answer."""
        task_id = reply.task_id if reply.is_question else ""
        needs_auth = reply.state == "auth-required"
        return Place(self.agent, reply.context_id, task_id, reply.question, needs_auth)

    def as_provider_data(self) -> dict[str, Any]:
        """Return the place as the `provider_data` of a message."""
        return {_KEY: asdict(self)}


def new_to(
    agent: str, items: Sequence[Mapping[str, Any]]
) -> tuple[Place, Sequence[Mapping[str, Any]]]:
    """Return the current place of an agent's conversation, and the items that are new to it."""
    for position in range(len(items), 0, -1):
        kept = items[position - 1].get("provider_data") or {}
        place = kept.get(_KEY)
        if place and place["agent"] == agent and place["context_id"]:
            return Place(**place), items[position:]
    return Place(agent), items


def asked_in(message: object) -> Place | None:
    """Return the place after a message, if a remote agent asks in it."""
    place = (getattr(message, "provider_data", None) or {}).get(_KEY)
    return Place(**place) if place and place["task_id"] and place["question"] else None


def as_parts(items: Sequence[Mapping[str, Any]], instructions: str | None) -> list[Part]:
    """Convert a model's input to the parts of one message."""
    turns = [turn for item in items if (turn := _turn(item))]
    if instructions:
        turns.insert(0, ("System", [Text(instructions)]))
    return dialogue(turns)


def _turn(item: Mapping[str, Any]) -> tuple[str, list[Part]] | None:
    """Return the speaker and parts of an item; None if it has no text, as a reasoning item."""
    match item:
        case {"role": str(role), "content": content}:
            return _ROLES.get(role, role), _parts(content)
        case {"type": "function_call", "name": name, "arguments": arguments}:
            return "Assistant", [Text(f"(calls {name} with {arguments})")]
        case {"type": "function_call_output", "output": output}:
            return "Tool", _parts(output)
        case _:
            return None


def _parts(content: str | Iterable[Mapping[str, Any]]) -> list[Part]:
    return [Text(content)] if isinstance(content, str) else [_part(each) for each in content]


def _part(content: Mapping[str, Any]) -> Part:
    match content:
        case {"type": "input_image", "image_url": str(address)}:
            return _file(address, "")
        case {"type": "input_file", "file_data": str(encoded)}:
            return _file(encoded, content.get("filename") or "")
        case {"type": "input_file", "file_url": str(address)}:
            return File(url=address, filename=content.get("filename") or "")
        case {"text": str(text)} | {"refusal": str(text)}:
            return Text(text)
        case _:  # a file that only the model's provider knows
            return Text(f"({content.get('type')}: {content.get('file_id') or 'not sent'})")


def _file(address: str, filename: str) -> File:
    head, comma, encoded = address.rpartition(",")
    if not head.startswith("data:") and "://" in address:
        return File(url=address, filename=filename)
    media_type = head.removeprefix("data:").partition(";")[0] if comma else ""
    try:
        content = base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise InvalidInputError("a file is not encoded as base64") from error
    return File(content=content, media_type=media_type, filename=filename)
