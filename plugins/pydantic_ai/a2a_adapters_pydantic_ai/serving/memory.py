"""Stores conversations: their messages and open questions."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic_ai import DeferredToolRequests, ModelMessage, RunUsage

from a2a_adapters import AgentRequest, ConversationState, StateStorage


class Paused(BaseModel):
    """A run that waits for its caller.

    Attributes:
        task_id: The task that waits.
        messages: The conversation, up to the current point of the run.
        requests: The calls that wait.
        answers: The answers so far, by the id of the call: for an approval true, false, or the
            reason why not; for any other call its result.
        usage: The usage of the run so far.
    """

    task_id: str
    messages: list[ModelMessage]
    requests: DeferredToolRequests
    answers: dict[str, JsonValue] = Field(default_factory=dict)
    usage: RunUsage


class Remembered(BaseModel):
    """The stored data of a conversation.

    Attributes:
        messages: The messages of completed runs.
        paused: The run that waits.
    """

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    messages: list[ModelMessage] = Field(default_factory=list)
    paused: Paused | None = None

    def settled(self) -> Remembered:
        """Return a copy without its waiting run."""
        return Remembered.model_construct(messages=self.messages)


class Conversation:
    """One conversation. A write fails if another process has changed it since it was read."""

    def __init__(self, state: ConversationState) -> None:
        self._state = state
        self.known = Remembered.model_validate_json(state.body) if state.body else Remembered()

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
        await self._state.write(known.model_dump_json().encode())
        self.known = known


async def recall(storage: StateStorage, request: AgentRequest) -> Conversation:
    """Return the conversation of a request."""
    return Conversation(await ConversationState.read(storage, request, "pydantic-ai"))
