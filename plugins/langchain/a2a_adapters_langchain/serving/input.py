"""From a request to a runnable's input, once it is known what the input looks like."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from a2a_adapters import AgentRequest, Data, File, InvalidInputError, Text, as_text
from a2a_adapters_langchain.serving.content import (
    conversation,
    history_messages,
    human_message,
)

if TYPE_CHECKING:
    from a2a_adapters_langchain.serving.check import Check

ReadInput: TypeAlias = Callable[[AgentRequest], object]


@dataclass(frozen=True, slots=True)
class MessagesInput:
    """Takes a list of messages, or an object with only that under `key`."""

    key: str | None = None
    uses_history: ClassVar[bool] = True

    def __call__(self, request: AgentRequest) -> object:
        """Return the messages."""
        _refuse_empty(request)
        messages = conversation(request)
        return {self.key: messages} if self.key else messages


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysInput:
    """Takes an object; `keys` are those a client may set.

    `messages_key` gets the conversation with the new message, `history_key` only what was
    said before it.
    """

    keys: Sequence[str]
    required: Sequence[str]
    check: Check
    messages_key: str | None = None
    history_key: str | None = None

    @property
    def uses_history(self) -> bool:
        """Whether it needs the earlier turns."""
        return bool(self.messages_key or self.history_key)

    def __call__(self, request: AgentRequest) -> object:
        """Return the object."""
        values = self._values_of_data(request)
        if self.messages_key:
            values |= self._messages(request)
        else:
            _refuse_files(request)
            if request.text.strip():
                values[self._text_key(values)] = request.text
        if missing := [key for key in self.required if key not in values]:
            raise InvalidInputError(f"missing: {', '.join(missing)}. {self._usage()}")
        if self.history_key:
            values[self.history_key] = history_messages(request)
        return self.check(values)

    def _values_of_data(self, request: AgentRequest) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for part in request.parts:
            if isinstance(part, Data):
                if not isinstance(part.value, Mapping):
                    raise InvalidInputError(f"a data part must be an object. {self._usage()}")
                values |= part.value
        if unknown := sorted(set(values) - set(self.keys)):
            raise InvalidInputError(f"unknown: {', '.join(unknown)}. {self._usage()}")
        return values

    def _messages(self, request: AgentRequest) -> dict[str, Any]:
        said = [part for part in request.parts if not isinstance(part, Data)]
        if not said:
            raise InvalidInputError("the message has neither text nor files")
        return {self.messages_key or "": [*history_messages(request), human_message(said)]}

    def _text_key(self, values: Mapping[str, object]) -> str:
        """Return the one key that can only be meant by the text."""
        free = [key for key in self.required or self.keys if key not in values]
        if len(free) == 1:
            return free[0]
        if free:
            raise InvalidInputError(f"text alone is not enough. {self._usage()}")
        raise InvalidInputError(f"the data part has every key, the text none. {self._usage()}")

    def _usage(self) -> str:
        names = (f"{key} (required)" if key in self.required else key for key in self.keys)
        return f"Send a data part with the keys: {', '.join(names)}"


@dataclass(frozen=True, slots=True)
class ValueInput:
    """Takes one value of the type its schema names, `text`, `any`, or another."""

    kind: str
    check: Check
    uses_history: ClassVar[bool] = False

    def __call__(self, request: AgentRequest) -> object:
        """Return the value."""
        _refuse_files(request)
        data = [part.value for part in request.parts if isinstance(part, Data)]
        has_text = any(isinstance(part, Text) for part in request.parts)
        if self.kind == "string" or (has_text and (not data or self.kind == "any")):
            _refuse_empty(request)
            value: object = as_text(request.parts)
            if self.kind == "object":
                raise InvalidInputError("this agent takes a data part, not text")
        elif len(data) == 1 and not has_text:
            value = data[0]
        else:
            raise InvalidInputError("this agent takes a single data part")
        return self.check(value)


def _refuse_files(request: AgentRequest) -> None:
    if any(isinstance(part, File) for part in request.parts):
        raise InvalidInputError("this agent takes text and data, no files")


def _refuse_empty(request: AgentRequest) -> None:
    if not as_text(request.parts).strip():
        raise InvalidInputError("the message is empty")
