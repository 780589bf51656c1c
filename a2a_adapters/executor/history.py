"""The history of conversations, in memory or in a storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from a2a.types import Message, Role, Task
from pydantic_core import to_json

from a2a_adapters.concurrency import BoundedMap
from a2a_adapters.contract.adapter import Turn
from a2a_adapters.contract.parts import Data, File, Part, Text
from a2a_adapters.protocol.conversion import message_parts, to_protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_adapters.contract.adapter import AgentRequest, StateStorage
    from a2a_adapters.contract.limits import Limits
    from a2a_adapters.executor.writer import TextQueue

ConversationKey: TypeAlias = tuple[str, str]
"""Owner and contextId. Two owners with the same contextId have two conversations."""

_KIND = "history"

_VALUE_FACTOR = 24
"""Maximum ratio of a value's size in memory to its size as JSON."""


class History:
    """The latest turns of each conversation, in memory: bounded in number, size and idle time.

    Calls with the same key never overlap.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._turns: BoundedMap[ConversationKey, Sequence[Turn]] = BoundedMap(
            limits.conversations, limits.history_seconds, limits.history_bytes, _size
        )

    async def recall(self, key: ConversationKey) -> Sequence[Turn]:
        """Return the turns, oldest first."""
        return self._turns.get(key) or ()

    async def remember(
        self,
        request: AgentRequest,
        answer: Sequence[Part],
        queue: TextQueue | None,  # noqa: ARG002
        *,
        number: int | None = None,  # noqa: ARG002
    ) -> None:
        """Add a turn; surplus old turns are dropped.

        Args:
            request: The message, with the turns before it.
            answer: Its answer.
            queue: Saves the state with the end of the turn; None if that is impossible.
            number: The message's number in its task, if the answer is a question from which another
                process may continue: the turns before it are then kept as well.
        """
        key = request.owner, request.context_id
        self._turns[key] = _latest(_turns(request, answer), self._limits)

    async def recall_before(self, request: AgentRequest, number: int) -> Sequence[Turn]:  # noqa: ARG002
        """Return the turns before the task's message with this number, if they are stored."""
        return ()


class StoredHistory(History):
    """Keeps turns in a storage: all of a conversation in one row, written at once."""

    def __init__(self, storage: StateStorage, limits: Limits) -> None:
        super().__init__(limits)
        self._storage = storage

    async def recall(self, key: ConversationKey) -> Sequence[Turn]:
        """Return the turns, oldest first."""
        return await self._read(key, _KIND)

    async def _read(self, key: ConversationKey, kind: str) -> Sequence[Turn]:
        body = await self._storage.read_state(*key, kind)
        return [_turn(message) for message in Task.FromString(body or b"").history]

    async def remember(
        self,
        request: AgentRequest,
        answer: Sequence[Part],
        queue: TextQueue | None,
        *,
        number: int | None = None,
    ) -> None:
        """Add a turn; surplus old turns are dropped."""
        kept = {_KIND: _latest(_turns(request, answer), self._limits)}
        if number is not None and request.history:
            kept[_kind_before(request, number)] = request.history
        for kind, turns in kept.items():
            body = Task(history=map(_message, turns)).SerializeToString()
            if queue is not None:
                await queue.keep(kind, body)
            else:
                await self._storage.write_state(request.owner, request.context_id, kind, body)

    async def recall_before(self, request: AgentRequest, number: int) -> Sequence[Turn]:
        """Return the turns before the task's message with this number."""
        return await self._read((request.owner, request.context_id), _kind_before(request, number))


def _turns(request: AgentRequest, answer: Sequence[Part]) -> Sequence[Turn]:
    return (*request.history, Turn("user", request.parts), Turn("agent", answer))


def corrected(turns: Sequence[Turn], replaced: Sequence[tuple[str, str]]) -> tuple[Turn, ...]:
    """Replace answers, each in its latest turn; an empty text leaves them out."""
    found = [*turns]
    for old, new in replaced:
        said = [
            n for n, each in enumerate(found) if each.role == "agent" and Text(old) in each.parts
        ]
        for place in said[-1:]:
            others = [part for part in found[place].parts if part != Text(old)]
            found[place] = Turn("agent", [*([Text(new)] if new else []), *others])
    return tuple(found)


def _kind_before(request: AgentRequest, number: int) -> str:
    return f"{_KIND}:{request.task_id}:{number}"


def _latest(turns: Sequence[Turn], limits: Limits) -> Sequence[Turn]:
    latest = list(turns[-limits.history_messages :] if limits.history_messages else ())
    sizes = [_turn_size(turn) for turn in latest]
    surplus = sum(sizes) - limits.history_bytes
    while surplus > 0:
        surplus -= sizes.pop(0)
        latest.pop(0)
    return latest


def _message(turn: Turn) -> Message:
    role = Role.ROLE_USER if turn.role == "user" else Role.ROLE_AGENT
    return Message(role=role, parts=to_protocol(turn.parts))


def _turn(message: Message) -> Turn:
    return Turn("user" if message.role == Role.ROLE_USER else "agent", message_parts(message))


def _size(turns: Sequence[Turn]) -> int:
    return sum(map(_turn_size, turns))


def _turn_size(turn: Turn) -> int:
    return sum(map(_part_size, turn.parts))


def _part_size(part: Part) -> int:
    """Return about how many bytes a part takes."""
    match part:
        case Text():
            return len(part.text)
        case File():
            return len(part.content or b"") + len(part.url or "")
        case Data():
            return _VALUE_FACTOR * len(to_json(part.value, fallback=str))
