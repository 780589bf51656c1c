"""From a request to a runnable's input, as the schema of the runnable tells.

| the runnable takes                   | it gets                                                 |
|--------------------------------------|---------------------------------------------------------|
| messages or a prompt value           | earlier turns (not for graphs) and a `HumanMessage`     |
| an object with a `messages` key      | that, under the key; other keys from data parts         |
| any other object with keys           | data parts; text is the one required key they leave     |
| text                                 | the text, data parts as JSON text                       |
| anything else, or it does not say    | the data part's value, or else the text                 |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from langchain_core.language_models import BaseLanguageModel
from langchain_core.tools import BaseTool
from pydantic import TypeAdapter, ValidationError
from typing_extensions import is_typeddict

from a2a_adapters import AgentRequest, Data, File, InvalidInputError, TargetError, Text, as_text
from a2a_adapters_langchain.serving.content import conversation, history_messages, human_message
from a2a_adapters_langchain.serving.schema import (
    UNREADABLE,
    AnyRunnable,
    Schema,
    first_step,
    hints_of,
    holds_messages,
    input_schema,
    input_type,
    takes_messages,
)

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


Check: TypeAlias = Callable[[Any], Any]


def input_check(runnable: AnyRunnable) -> Check:
    """Return a function that validates an input by its declared type.

    It gives back what the runnable is to get, for instance an instance of a pydantic model.
    """
    first = first_step(runnable)
    if isinstance(first, BaseLanguageModel):
        return _unchanged
    if isinstance(first, BaseTool):
        return _keeping(TypeAdapter(first.get_input_schema()).validate_python)
    declared = input_type(runnable)
    if is_typeddict(declared):
        return _checked(_typed_dict_check(declared))
    adapter = _type_adapter(declared)
    return _checked(adapter.validate_python) if adapter else _unchanged


def _unchanged(value: Any) -> Any:
    return value


def _keeping(validate: Check) -> Check:
    def check(value: Any) -> Any:
        validate(value)
        return value

    return _checked(check)


def _checked(validate: Check) -> Check:
    """Tell the caller what is wrong, but not what the server makes of it."""

    def check(value: Any) -> Any:
        try:
            return validate(value)
        except ValidationError as error:
            raise InvalidInputError.of(error) from error

    return check


def _typed_dict_check(declared: type) -> Check:
    """Check key by key: graphs take part of their state, and keys are checked elsewhere."""
    adapters = {name: _type_adapter(hint) for name, hint in hints_of(declared).items()}

    def check(value: dict[str, Any]) -> dict[str, Any]:
        return {
            name: adapter.validate_python(item) if (adapter := adapters.get(name)) else item
            for name, item in value.items()
        }

    return check


def _type_adapter(hint: Any) -> TypeAdapter[Any] | None:
    try:
        return TypeAdapter(hint)
    except UNREADABLE:
        return None


Input: TypeAlias = MessagesInput | KeysInput | ValueInput
Properties: TypeAlias = Mapping[str, Schema]

_MESSAGES = "messages"


def graph_input(graph: AnyRunnable) -> Input:
    """Return what maps requests to a graph's input; its memory is its own affair.

    Of a state with messages only those can be set by clients: a state's other keys are the
    graph's notebook. A graph without messages exposes the keys of its `input_schema`.
    """
    schema = input_schema(graph)
    properties: Properties = schema.get("properties", {})
    if takes_messages(schema):
        return MessagesInput()
    lists = [key for key, value in properties.items() if holds_messages(value)]
    if _MESSAGES in properties or lists:
        key = _MESSAGES if _MESSAGES in properties else _only(lists)
        return MessagesInput(key)
    if not properties:
        return _value_input(schema, graph)
    required = schema.get("required", ()) if _declares_input(graph) else ()
    return KeysInput(keys=list(properties), required=required, check=input_check(graph))


def runnable_input(runnable: AnyRunnable) -> Input:
    """Return what maps requests to a runnable's input.

    Raises:
        TargetError: The schema has several lists of messages.
    """
    schema = input_schema(runnable)
    properties: Properties = schema.get("properties", {})
    if list(properties) == ["root"]:  # what a dict of passthroughs makes of "anything"
        schema, properties = properties["root"], {}
    if takes_messages(schema):
        return MessagesInput()
    if not properties:
        return _value_input(schema, runnable)
    required = [key for key in schema.get("required", ()) if key in properties]
    lists = [key for key, value in properties.items() if holds_messages(value)]
    if _MESSAGES in properties and _MESSAGES not in lists and not properties[_MESSAGES].get("type"):
        lists.append(_MESSAGES)
    return _object_input(list(properties), required, lists, input_check(runnable))


def _object_input(
    keys: Sequence[str], required: Sequence[str], lists: Sequence[str], check: Check
) -> MessagesInput | KeysInput:
    open_keys = [key for key in keys if key not in lists]
    needed = [key for key in required if key not in lists]
    if not lists:
        return KeysInput(keys=open_keys, required=needed, check=check)
    target = (
        _MESSAGES if _MESSAGES in lists else _only([k for k in lists if k in required] or lists)
    )
    is_whole = target == _MESSAGES or not needed
    if is_whole and not needed:
        return MessagesInput(target)
    return KeysInput(
        keys=open_keys,
        required=needed,
        check=check,
        messages_key=target if is_whole else None,
        history_key=None if is_whole else target,
    )


def _only(lists: Sequence[str]) -> str:
    if len(lists) > 1:
        raise TargetError(
            f"the input has several lists of messages ({', '.join(lists)}); "
            "say which is which: adapt(runnable, input=...)"
        )
    return lists[0]


def _value_input(schema: Schema, runnable: AnyRunnable) -> ValueInput:
    options = {option.get("type") for option in schema.get("anyOf", ())}
    is_optional_text = "string" in options and options <= {"string", "null"}
    kind = "string" if is_optional_text else schema.get("type", "any")
    return ValueInput(str(kind), input_check(runnable))


def _declares_input(graph: Any) -> bool:
    """Whether the graph says what it takes, rather than listing its whole state.

    Every key of a `TypedDict` state counts as required, though no graph needs them all.
    """
    builder = getattr(graph, "builder", None)
    if builder is None or builder.input_schema is not builder.state_schema:
        return True
    return not hasattr(builder.state_schema, "__required_keys__")
