"""Chooses how requests become a runnable's input, by its schema.

| the runnable takes                   | it gets                                                 |
|--------------------------------------|---------------------------------------------------------|
| messages or a prompt value           | earlier turns (not for graphs) and a `HumanMessage`     |
| an object with a `messages` key      | that, under the key; other keys from data parts         |
| any other object with keys           | data parts; text is the one required key they leave     |
| text                                 | the text, data parts as JSON text                       |
| anything else, or it does not say    | the data part's value, or else the text                 |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from a2a_adapters import TargetError
from a2a_adapters_langchain.serving.check import Check, input_check
from a2a_adapters_langchain.serving.input import KeysInput, MessagesInput, ValueInput
from a2a_adapters_langchain.serving.schema import (
    Schema,
    holds_messages,
    input_schema,
    takes_messages,
)

if TYPE_CHECKING:
    from a2a_adapters_langchain.serving.steps import AnyRunnable

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
