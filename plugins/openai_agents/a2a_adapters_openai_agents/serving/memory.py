"""Stores conversations: their items and open questions."""

from __future__ import annotations

import base64
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from a2a_adapters import AgentEvent, Data, File, Output, Part, TaskMetadata
from a2a_adapters.plugin import AnswerText, ConversationState, as_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agents import TResponseInputItem

    from a2a_adapters import AgentRequest
    from a2a_adapters.plugin import JSON, StateStorage


@dataclass(frozen=True, slots=True)
class Question:
    """A run that waits for its caller.

    Attributes:
        task_id: The task that waits.
        message_id: The message that led to the question.
        agent: The name of the agent whose turn it is.
        state: The run, as `RunState.to_string` writes it; "" if it has ended with a question.
        items: The conversation, up to the current point of the run.
        begins: The number of items before the message.
        asked: The question of a remote agent with which the run has ended.
        needs_auth: Whether that agent needs an authorisation.
    """

    task_id: str
    message_id: str
    agent: str
    state: str
    items: Sequence[TResponseInputItem]
    begins: int
    asked: str = ""
    needs_auth: bool = False


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that can be resumed after its process has died.

    Attributes:
        task_id: Its task.
        agent: The name of the agent whose turn it is.
        items: The conversation, up to the current point of the run.
        begins: The number of items before the message that is being answered.
    """

    task_id: str
    agent: str
    items: Sequence[TResponseInputItem]
    begins: int


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that has ended, but whose task may not be complete yet.

    Attributes:
        task_id: Its task.
        rest: The events at its end, with the whole text.
    """

    task_id: str
    rest: Sequence[Mapping[str, JSON]]


@dataclass(frozen=True, slots=True)
class Remembered:
    """The stored data of a conversation.

    Attributes:
        items: The completed items.
        agent: The name of the agent that gets the next message; "" is the served agent.
        question: The run that waits for its caller.
        begun: The run that can be resumed.
        ended: The run that has ended.
    """

    items: Sequence[TResponseInputItem] = ()
    agent: str = ""
    question: Question | None = None
    begun: Begun | None = None
    ended: Ended | None = None

    def settled(self) -> Remembered:
        """Return a copy without its runs."""
        return Remembered(self.items, self.agent)


class Conversation:
    """One conversation. A write fails if another process has changed it since it was read.

    A question is stored beside the items from before its task. Abandoning it, like a failed or
    cancelled run, leaves the conversation unchanged.
    """

    def __init__(self, state: ConversationState) -> None:
        self._state = state
        self.known = _parsed(state.body) if state.body else Remembered()

    async def claim(self) -> None:
        """Invalidate all earlier reads, so that their writes fail.

        Raises:
            ResumeError: Another process has changed it.
        """
        await self._state.write(self._state.body)

    async def keep(self, known: Remembered) -> None:
        """Store new data.

        Raises:
            InvalidInputError: The data is over 32 MiB. The caller receives the text.
            ResumeError: Another process has changed it.
        """
        await self._state.write(to_json(asdict(known)))
        self.known = known


async def recall(storage: StateStorage, request: AgentRequest) -> Conversation:
    """Return the conversation of a request."""
    return Conversation(await ConversationState.read(storage, request, "openai-agents"))


def _parsed(body: bytes) -> Remembered:
    value: dict[str, Any] = from_json(body)
    question, begun, ended = value["question"], value["begun"], value["ended"]
    return Remembered(
        value["items"],
        value["agent"],
        Question(**question) if question else None,
        Begun(**begun) if begun else None,
        Ended(**ended) if ended else None,
    )


def stored(rest: Iterable[AgentEvent]) -> list[Mapping[str, JSON]]:
    """Return the events at the end of a run in JSON, without progress and parts of the text.

    Raises:
        TypeError: An output has a part of a kind that never ends a run.
    """
    kept: list[Mapping[str, JSON]] = []
    for event in rest:
        match event:
            case AnswerText(text):
                kept.append({"text": text})
            case TaskMetadata(values):
                kept.append({"values": values})
            case Output(parts):
                said = [_stored_part(part) for part in parts]
                kept.append({"parts": said, "metadata": event.metadata})
    return kept


def restored(value: Mapping[str, Any]) -> AgentEvent:
    """Return the event that was stored."""
    if "text" in value:
        return AnswerText(value["text"])
    if "values" in value:
        return TaskMetadata(value["values"])
    parts = [_restored_part(part) for part in value["parts"]]
    return Output(parts, metadata=value["metadata"])


def _stored_part(part: Part) -> Mapping[str, JSON]:
    if isinstance(part, Data):
        return {"value": as_json(part.value), "schema": part.schema}
    if isinstance(part, File):
        content = base64.b64encode(part.received()).decode()
        return {"content": content, "media_type": part.media_type}
    raise TypeError(f"no run ends with {type(part).__name__}")


def _restored_part(part: Mapping[str, Any]) -> Part:
    if "value" in part:
        return Data(part["value"], schema=part["schema"])
    return File(content=base64.b64decode(part["content"]), media_type=part["media_type"])
