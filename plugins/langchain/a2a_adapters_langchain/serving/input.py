"""Converts requests to the input of a runnable or graph, according to its schema.

| the target accepts                | its input                                            |
|-----------------------------------|------------------------------------------------------|
| messages or a prompt value        | earlier turns and a `HumanMessage`; a graph with a   |
|                                   | state, and a workflow with `previous`, have a memory |
|                                   | of their own, and get the new message only           |
| an object with a `messages` key   | the same under that key; other keys from data parts  |
| any other object with keys        | data parts; text becomes the one remaining key       |
| text                              | the text; data parts as JSON text                    |
| anything else, or no schema       | the value of the data part, otherwise the text       |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from langchain_core.language_models import BaseLanguageModel
from langchain_core.tools import BaseTool
from pydantic import TypeAdapter, ValidationError
from typing_extensions import is_typeddict

from a2a_adapters import AgentRequest, Data, File, InvalidInputError, TargetError, Text
from a2a_adapters.plugin import NamedInputs, as_text
from a2a_adapters_langchain.serving.content import history_messages, human_message
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
    """The input is a list of messages, or an object with only that list under `key`."""

    key: str | None = None
    uses_history: ClassVar[bool] = True

    def __call__(self, request: AgentRequest) -> object:
        """Return the earlier turns and the new message."""
        _refuse_empty(request)
        messages = [*history_messages(request), human_message(request.parts)]
        return {self.key: messages} if self.key else messages


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysInput(NamedInputs):
    """The input is an object.

    Attributes:
        check: Validates the object.
        messages_key: The key of the conversation, including the new message.
        history_key: The key of the earlier turns only.
    """

    check: Check
    messages_key: str | None = None
    history_key: str | None = None

    @property
    def uses_history(self) -> bool:
        """Whether the input contains earlier turns."""
        return bool(self.messages_key or self.history_key)

    def __call__(self, request: AgentRequest) -> object:
        """Return the object."""
        if not self.messages_key:
            _refuse_files(request)
        values = self.read(request.parts, "" if self.messages_key else request.text)
        if self.messages_key:
            parts = [part for part in request.parts if not isinstance(part, Data)]
            if not parts:
                raise InvalidInputError("the message has neither text nor files")
            values[self.messages_key] = [*history_messages(request), human_message(parts)]
        self.check_complete(values)
        if self.history_key:
            values[self.history_key] = history_messages(request)
        return self.check(values)


@dataclass(frozen=True, slots=True)
class ValueInput:
    """The input is one value; `kind` is the type in its JSON schema, or `any`."""

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
"""Validates an input and returns it as the runnable expects it, such as a pydantic model."""


def _check_of(runnable: AnyRunnable) -> Check:
    """Return the check for the declared type of a runnable's input."""
    first = first_step(runnable)
    if isinstance(first, BaseLanguageModel):
        return _unchecked
    if isinstance(first, BaseTool):
        return _checked(_unchanged(TypeAdapter(first.get_input_schema()).validate_python))
    declared = input_type(runnable)
    if is_typeddict(declared):
        return _checked(_typed_dict_check(declared))
    adapter = _type_adapter(declared)
    return _checked(adapter.validate_python) if adapter else _unchecked


def _unchecked(value: Any) -> Any:
    return value


def _unchanged(validate: Check) -> Check:
    def check(value: Any) -> Any:
        validate(value)
        return value

    return check


def _checked(validate: Check) -> Check:
    """Return an error for the caller, without details of the server."""

    def check(value: Any) -> Any:
        try:
            return validate(value)
        except ValidationError as error:
            raise InvalidInputError.of(error) from error

    return check


def _typed_dict_check(declared: type) -> Check:
    """Check each key alone: a graph accepts a part of its state."""
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
    """Return the converter for a graph's input.

    In a state with messages, callers can set only these; the other keys are internal. A graph
    without messages exposes the keys of its `input_schema`.

    Raises:
        TargetError: The schema has several lists of messages.
    """
    schema = input_schema(graph)
    properties: Properties = schema.get("properties", {})
    if takes_messages(schema) or _is_any_list(schema):
        return MessagesInput()
    lists = [key for key, value in properties.items() if holds_messages(value)]
    if _MESSAGES in properties or lists:
        return MessagesInput(_MESSAGES if _MESSAGES in properties else _only(lists))
    if not properties:
        return _value_input(schema, graph)
    required = schema.get("required", ()) if _declares_input(graph) else ()
    return KeysInput(names=list(properties), required=required, check=_check_of(graph))


def _is_any_list(schema: Schema) -> bool:
    """Whether this is the schema of `list`, which workflows use for messages."""
    return schema.get("type") == "array" and not schema.get("items")


def runnable_input(runnable: AnyRunnable) -> Input:
    """Return the converter for a runnable's input.

    Raises:
        TargetError: The schema has several lists of messages.
    """
    schema = input_schema(runnable)
    properties: Properties = schema.get("properties", {})
    if list(properties) == ["root"]:  # the schema of a dict of passthroughs, which accept anything
        schema, properties = properties["root"], {}
    if takes_messages(schema):
        return MessagesInput()
    if not properties:
        return _value_input(schema, runnable)
    lists = [key for key, value in properties.items() if holds_messages(value)]
    if _MESSAGES in properties and _MESSAGES not in lists and not properties[_MESSAGES].get("type"):
        lists.append(_MESSAGES)
    required = [key for key in schema.get("required", ()) if key in properties]
    return _object_input(list(properties), required, lists, _check_of(runnable))


def _object_input(
    keys: Sequence[str], required: Sequence[str], lists: Sequence[str], check: Check
) -> MessagesInput | KeysInput:
    names = [key for key in keys if key not in lists]
    needed = [key for key in required if key not in lists]
    if not lists:
        return KeysInput(names=names, required=needed, check=check)
    if _MESSAGES in lists:
        target = _MESSAGES
    else:
        target = _only([key for key in lists if key in required] or lists)
    if not needed:
        return MessagesInput(target)
    has_message = target == _MESSAGES
    return KeysInput(
        names=names,
        required=needed,
        check=check,
        messages_key=target if has_message else None,
        history_key=None if has_message else target,
    )


def _only(lists: Sequence[str]) -> str:
    if len(lists) > 1:
        raise TargetError(
            f"the input has several lists of messages ({', '.join(lists)}); "
            "choose one with adapt(runnable, input=...)"
        )
    return lists[0]


def _value_input(schema: Schema, runnable: AnyRunnable) -> ValueInput:
    options = {option.get("type") for option in schema.get("anyOf", ())}
    is_optional_text = "string" in options and options <= {"string", "null"}
    kind = "string" if is_optional_text else schema.get("type", "any")
    return ValueInput(str(kind), _check_of(runnable))


def _declares_input(graph: Any) -> bool:
    """Whether the graph declares its input, rather than its whole state.

    Every key of a `TypedDict` state counts as required, although no graph needs them all.
    """
    builder = getattr(graph, "builder", None)
    if builder is None or builder.input_schema is not builder.state_schema:
        return True
    return not hasattr(builder.state_schema, "__required_keys__")
