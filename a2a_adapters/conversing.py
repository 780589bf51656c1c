"""The frame for adapters of frameworks that keep no conversations by themselves.

An adapter derives from `ConversingAdapter`: it describes its target, converts a message, and runs
the framework. Conversations, and runs that wait for answers, are in the storage; a `TurnKind`
defines their encoding and their questions. `json_turns` is the kind for frameworks whose state is
JSON; its runs that wait are `AskingRun`s. The functions are for questions of several parts.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from a2a_adapters.contract.adapter import Adapter, AgentRequest
from a2a_adapters.contract.errors import InvalidInputError, ResumeError
from a2a_adapters.contract.events import (
    ANOTHER_TASK_WAITS,
    QUESTION_CLOSED,
    AgentEvent,
    InputRequired,
    Rejected,
)
from a2a_adapters.contract.limits import Limits
from a2a_adapters.contract.parts import Data
from a2a_adapters.contract.text import as_decision, as_json, as_text
from a2a_adapters.storage.conversation_state import ConversationState
from a2a_adapters.storage.memory import ProcessStates

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_adapters.contract.adapter import FetchPolicy, StateStorage
    from a2a_adapters.contract.parts import JSON, Part

__all__ = [
    "APPROVAL_CHOICES", "AskingRun", "ConversingAdapter", "Events", "PausedRun", "Remembered",
    "StoredTurn", "TurnKind", "approval", "json_turns", "numbered", "refused_call", "replies",
]  # fmt: skip

Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]
"""The answer of an adapter. `yield` returns the reply to a question that is not durable."""

APPROVAL_CHOICES = "Please reply with approve, or with reject and an alternative."
"""What a caller can reply to a tool call that waits for an approval."""
_IN_TURN = "A text reply answers question 1; {} will be asked next."


class PausedRun(Protocol):
    """A run that waits for its caller."""

    @property
    def task_id(self) -> str:
        """The task that waits."""

    @property
    def waiting(self) -> Sequence[object]:
        """The questions without an answer."""


State = TypeVar("State")
Paused = TypeVar("Paused", bound=PausedRun)
Prompt = TypeVar("Prompt")


@dataclass(frozen=True)
class Remembered(Generic[State, Paused]):
    """The stored data of a conversation.

    Attributes:
        state: The framework's state after the last completed run; None before it.
        paused: The run that waits, or that continues with all answers.
    """

    state: State | None = None
    paused: Paused | None = None


@dataclass(frozen=True)
class TurnKind(Generic[State, Paused]):
    """How a framework's conversations are stored and asked about.

    Attributes:
        name: The kind of state in the storage, unique for the framework.
        encode: Returns the stored data as bytes.
        decode: Returns the stored data in bytes.
        question: Returns the question of a waiting run; the text says what was wrong with the last
            reply.
        answered: Returns a run with the answers in a reply; raises `InvalidInputError` if it is
            unclear.
    """

    name: str
    encode: Callable[[Remembered[State, Paused]], bytes]
    decode: Callable[[bytes], Remembered[State, Paused]]
    question: Callable[[Paused, str], InputRequired]
    answered: Callable[[Paused, Sequence[Part]], Paused]

    @classmethod
    def of_json(
        cls,
        name: str,
        paused: Callable[..., Paused],
        question: Callable[[Paused, str], InputRequired],
        answered: Callable[[Paused, Sequence[Part]], Paused],
    ) -> TurnKind[State, Paused]:
        """Return the kind for states that are JSON, and for a dataclass of runs that wait."""

        def decode(body: bytes) -> Remembered[State, Paused]:
            stored = json.loads(body)
            waits = stored["paused"]
            return Remembered(stored["state"], paused(**waits) if waits else None)

        def encode(known: Remembered[State, Paused]) -> bytes:
            return json.dumps(asdict(known)).encode()

        return cls(name, encode, decode, question, answered)


class StoredTurn(Generic[State, Paused]):
    """A turn of a stored conversation. A write fails if another process has changed it meanwhile.

    Attributes:
        before: The conversation before the run; its `paused` is the run that continues.
    """

    def __init__(
        self,
        state: ConversationState,
        before: Remembered[State, Paused],
        encode: Callable[[Remembered[State, Paused]], bytes],
    ) -> None:
        self.before = before
        self._state = state
        self._encode = encode

    async def complete(self, state: State) -> None:
        """Store the framework's state after a completed run.

        Raises:
            InvalidInputError: It is over 32 MiB. The caller receives the text.
            ResumeError: Another process has changed the conversation.
        """
        await self._keep(Remembered(state))

    async def pause(self, paused: Paused | None) -> None:
        """Store the waiting run, or that none waits; raises the errors of `complete`."""
        await self._keep(Remembered(self.before.state, paused))

    async def _keep(self, known: Remembered[State, Paused]) -> None:
        await self._state.write(self._encode(known))


class ConversingAdapter(Adapter, Generic[State, Paused, Prompt]):
    """An adapter of a framework that keeps no conversations by itself.

    A derived class implements `describe`, `prompt` and `run`. Conversations are kept per caller, in
    the server's storage if it is durable. A question is answered in one or several replies, and the
    run continues with the last one. A run that fails, is cancelled or is abandoned leaves its
    conversation unchanged.

    Args:
        kind: How conversations are stored and asked about.
        limits: Bounds the in-memory conversations of a server without durable storage.
        fetch: The policy for fetching files that callers send as URLs; by default they are refused.
    """

    def __init__(
        self,
        kind: TurnKind[State, Paused],
        *,
        limits: Limits | None = None,
        fetch: FetchPolicy | None = None,
    ) -> None:
        self.fetch = fetch
        self._kind = kind
        self._storage: StateStorage = ProcessStates(limits or Limits())

    @abstractmethod
    def prompt(self, request: AgentRequest) -> Prompt:
        """Return the message, which is not empty, in the framework's form.

        Raises:
            InvalidInputError: The message cannot be used. The caller receives the text.
        """

    @abstractmethod
    def run(
        self, request: AgentRequest, turn: StoredTurn[State, Paused], prompt: Prompt | None
    ) -> Events:
        """Run the framework: yield the answer, and complete the turn or pause it with a question.

        Args:
            request: The message.
            turn: The turn of the conversation; its `before` has the framework's state.
            prompt: The message as the framework takes it; None if the run in `turn.before.paused`
                continues with its answers.
        """

    async def open(self, storage: StateStorage) -> None:
        """Keep conversations, and questions, in the server's storage."""
        if storage.is_durable:
            self._storage = storage

    def stream(self, request: AgentRequest) -> Events:
        """Run the framework, or continue after its question.

        Raises:
            InvalidInputError: The message is empty, or the framework cannot use it.
        """
        if request.resuming:
            return self._answer(request, None)
        if not as_text(request.parts).strip():
            raise InvalidInputError("the message is empty")
        return self._answer(request, self.prompt(request))

    async def abandon(self, request: AgentRequest) -> None:
        """Restore the conversation from before the task of the question."""
        turn, _ = await self._recall(request)
        paused = turn.before.paused
        if paused is not None and paused.task_id == request.task_id:
            with suppress(ResumeError):  # it was abandoned already
                await turn.pause(None)

    async def _answer(self, request: AgentRequest, prompt: Prompt | None) -> Events:
        turn = await self._begin(request)
        if isinstance(turn, Rejected | InputRequired):
            yield turn
            return
        async with aclosing(self.run(request, turn, prompt)) as events:
            reply = None
            with suppress(StopAsyncIteration):
                while True:
                    reply = yield await events.asend(reply)

    async def _begin(
        self, request: AgentRequest
    ) -> StoredTurn[State, Paused] | Rejected | InputRequired:
        """Begin a turn; return the answer instead if there is nothing to run yet."""
        turn, state = await self._recall(request)
        paused = turn.before.paused
        if request.resuming:
            return await self._continued(request, turn, state)
        if paused is None:
            await state.write(state.body)  # from now on, what an earlier turn writes is refused
        elif await request.others_wait():
            return ANOTHER_TASK_WAITS
        else:  # the task of the question no longer exists, so that it cannot be answered
            await turn.pause(None)
            turn.before = Remembered(turn.before.state)
        return turn

    async def _continued(
        self, request: AgentRequest, turn: StoredTurn[State, Paused], state: ConversationState
    ) -> StoredTurn[State, Paused] | Rejected | InputRequired:
        asked, kind = turn.before.paused, self._kind
        if asked is None or asked.task_id != request.task_id:
            return QUESTION_CLOSED
        try:
            paused = kind.answered(asked, request.parts)
        except InvalidInputError as complaint:
            return kind.question(asked, str(complaint))
        if paused.waiting:
            await turn.pause(paused)
            return kind.question(paused, "")
        await turn.pause(None)  # the question is closed, even if this run fails
        return StoredTurn(state, Remembered(turn.before.state, paused), kind.encode)

    async def _recall(
        self, request: AgentRequest
    ) -> tuple[StoredTurn[State, Paused], ConversationState]:
        kind = self._kind
        state = await ConversationState.read(self._storage, request, kind.name)
        before: Remembered[State, Paused] = kind.decode(state.body) if state.body else Remembered()
        return StoredTurn(state, before, kind.encode), state


@dataclass(frozen=True, slots=True)
class AskingRun:
    """A run that waits for the answers to its questions, as JSON.

    Attributes:
        task_id: The task that waits.
        state: The framework's state of the run.
        questions: The questions by their ids: the `text`, the `data` of the question, the JSON
            `schema` of an answer, and whatever else the framework needs to continue.
        answers: The answers so far, by the id of the question.
    """

    task_id: str
    state: Any
    questions: Mapping[str, Mapping[str, Any]]
    answers: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def waiting(self) -> list[str]:
        """The ids of the questions without an answer."""
        return [each for each in self.questions if each not in self.answers]

    def question(self, hint: str = "") -> InputRequired:
        """Return the question about the parts without an answer.

        It has a data part for each, with its id, and one with the JSON schema of a reply: an object
        with the answers by their ids. Any other reply answers the first.

        Args:
            hint: What was wrong with the last reply, if anything.
        """
        waiting = {each: self.questions[each] for each in self.waiting}
        titled = {key: {**each["schema"], "title": each["text"]} for key, each in waiting.items()}
        form = {"type": "object", "properties": titled, "required": list(titled)}
        data = [{"question_id": key, "question": each["data"]} for key, each in waiting.items()]
        return InputRequired(
            numbered([each["text"] for each in waiting.values()], hint),
            [Data(as_json(part)) for part in [*data, {"response_schema": form}]],
            durable=True,
        )

    def answered(
        self, parts: Sequence[Part], check: Callable[[Mapping[str, Any], JSON], object]
    ) -> AskingRun:
        """Return the run with the answers in a reply.

        Args:
            parts: The reply.
            check: Raises `InvalidInputError` if a question cannot be answered with a value.

        Raises:
            InvalidInputError: The reply is empty, names a question that is not open, or is refused
                by `check`.
        """
        given = replies(parts, list(self.questions), self.waiting)
        if any(reply in ("", None, {}) for reply in given.values()):
            raise InvalidInputError("The reply is empty.")
        answers = {key: as_json(value) for key, value in given.items()}
        for key, value in answers.items():
            check(self.questions[key], value)
        return replace(self, answers={**self.answers, **answers})


def json_turns(
    name: str, check: Callable[[Mapping[str, Any], JSON], object] = lambda _question, _answer: None
) -> TurnKind[Any, AskingRun]:
    """Return the kind of conversations whose state is JSON.

    Args:
        name: The kind of state in the storage, unique for the framework.
        check: Raises `InvalidInputError` if a question cannot be answered with a value.
    """
    return TurnKind.of_json(
        name, AskingRun, AskingRun.question, lambda paused, parts: paused.answered(parts, check)
    )


def numbered(questions: Sequence[str], hint: str = "", choices: str = "") -> str:
    """Return the words of one or several questions.

    Args:
        questions: The questions; several get numbers.
        hint: What was wrong with the last reply, if anything.
        choices: What the caller can reply.
    """
    if len(questions) == 1:
        asked = "\n".join(filter(None, (questions[0], choices)))
    else:
        rest = "the other" if len(questions) == 2 else "the others"
        lines = [f"{number}. {each}" for number, each in enumerate(questions, 1)]
        asked = "\n".join([*lines, "", *filter(None, (choices, _IN_TURN.format(rest)))])
    return "\n\n".join(filter(None, (hint, asked)))


def replies(
    parts: Sequence[Part], known: Collection[str], waiting: Sequence[str]
) -> dict[str, object]:
    """Return the answers in a reply by the ids of their questions.

    Data parts that name a question answer by id. Any other reply, the only data part or else the
    text, answers the first waiting question.

    Args:
        parts: The reply.
        known: The ids of all questions.
        waiting: The ids of those without an answer, in order.

    Raises:
        InvalidInputError: It answers a question that does not wait.
    """
    found: dict[str, object] = {}
    for value in (part.value for part in parts if isinstance(part, Data)):
        if isinstance(value, Mapping) and not set(known).isdisjoint(value):
            found |= value
    found = found or {waiting[0]: _whole(parts)}
    if unknown := found.keys() - set(waiting):
        raise InvalidInputError(f"The question {min(unknown)} is not open.")
    return found


def approval(reply: object) -> bool | str:
    """Return True for a yes, False for a no, otherwise the text for the model.

    Raises:
        InvalidInputError: The reply is empty.
    """
    if isinstance(reply, Mapping):  # of an AG-UI front end
        reply = reply.get("approved")
    if isinstance(reply, bool):
        return reply
    text = reply.strip() if isinstance(reply, str) else ""
    if not text:
        raise InvalidInputError("That decides nothing.")
    is_yes, reason = as_decision(text) or (None, "")
    return text if is_yes is None or reason else is_yes


def refused_call(said: str) -> str:
    """Return the result, for the model, of a call that the caller refused with these words."""
    return f"The user did not approve this call, and says: {said}"


def _whole(parts: Sequence[Part]) -> object:
    values = [part.value for part in parts if isinstance(part, Data)]
    return values[0] if len(values) == len(parts) == 1 else as_text(parts).strip()
