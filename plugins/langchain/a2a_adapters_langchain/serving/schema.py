"""Reads what a runnable takes and gives, from its JSON schemas."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, get_type_hints
from weakref import WeakKeyDictionary

from langchain_core.language_models import BaseLanguageModel, BaseLLM
from langchain_core.output_parsers import BaseOutputParser, StrOutputParser
from langchain_core.prompts import BasePromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    Runnable,
    RunnableGenerator,
    RunnableLambda,
    RunnableParallel,
    RunnableSequence,
    RunnableWithFallbacks,
)
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.configurable import DynamicRunnable
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_core.runnables.passthrough import RunnableAssign
from langchain_core.tools import BaseTool
from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError
from typing_extensions import is_typeddict

Schema: TypeAlias = Mapping[str, Any]

_MESSAGE = re.compile(r'(Human|AI|Base)Message"')
_KNOWN: WeakKeyDictionary[type, Schema] = WeakKeyDictionary()
"""The schemas of graphs' states."""

UNREADABLE = (PydanticUserError, PydanticInvalidForJsonSchema, TypeError, NameError)
"""What reading a type raises that pydantic or this Python does not know."""


def input_schema(runnable: AnyRunnable) -> Schema:
    """Return the JSON schema of the input, `{}` if it may be anything."""
    if isinstance(first_step(runnable), BaseLLM):
        return {"type": "string"}  # its own schema is that of a chat model
    try:
        return _read(_state(runnable, "input_schema"), runnable.get_input_jsonschema)
    except UNREADABLE:  # typing.TypedDict before Python 3.12, types JSON does not know
        return _schema_of_type(input_type(runnable))


def output_schema(runnable: AnyRunnable) -> Schema:
    """Return the JSON schema of the output, `{}` if nothing is known about it."""
    try:
        return _read(_state(runnable, "output_schema"), runnable.get_output_jsonschema)
    except UNREADABLE:
        return {}


def _state(graph: AnyRunnable, name: str) -> type | None:
    """Return the class that tells all of a graph's schema, None if there is none."""
    state = getattr(getattr(graph, "builder", None), name, None)
    is_model = isinstance(state, type) and issubclass(state, BaseModel)
    return state if is_model or is_typeddict(state) else None


def _read(state: type | None, read: Callable[[], dict[str, Any]]) -> Schema:
    """Return what `read` does, which takes 10 ms where there are messages: once for a class."""
    if state is None:
        return _resolved(read())
    if state not in _KNOWN:
        _KNOWN[state] = _resolved(read())
    return _KNOWN[state]


def holds_messages(schema: Schema) -> bool:
    """Whether a schema is that of a list of messages, and not of a plain string too."""
    options = schema.get("anyOf", ())
    takes_text = any(option.get("type") == "string" for option in options)
    return not takes_text and takes_messages(schema)


def takes_messages(schema: Schema) -> bool:
    """Whether a list of messages is among what a schema allows."""
    options = (schema, *schema.get("anyOf", ()))
    lists = [option for option in options if option.get("type") == "array"]
    return any(_MESSAGE.search(json.dumps(option.get("items", {}))) for option in lists)


def schema_of_value(value: object) -> Schema | None:
    """Return the JSON schema of a pydantic model or dataclass instance."""
    if isinstance(value, BaseModel) or dataclasses.is_dataclass(value):
        return TypeAdapter(type(value)).json_schema()
    return None


def input_type(runnable: AnyRunnable) -> Any:
    """Return the declared type of the input, `Any` if there is none."""
    try:
        declared: Any = runnable.InputType
    except TypeError:  # a subclass that declares none
        return Any
    # LangChain does not evaluate what `from __future__ import annotations` makes of types.
    return _first_hint(runnable) if isinstance(declared, str) else declared


def _first_hint(runnable: Any) -> Any:
    """Return the type of the first argument of a runnable's, or a workflow's, function."""
    nodes = getattr(runnable, "nodes", None)
    step = next(iter(nodes.values())).bound if nodes else first_step(runnable)
    function = getattr(step, "func", None) or getattr(step, "afunc", None)
    try:
        return next(iter(get_type_hints(function).values()), Any)
    except UNREADABLE:  # defined inside of a function
        return Any


def _schema_of_type(declared: Any) -> Schema:
    if not is_typeddict(declared):
        return _schema_of_hint(declared)
    properties = {name: _schema_of_hint(hint) for name, hint in hints_of(declared).items()}
    required = sorted(getattr(declared, "__required_keys__", properties))
    return {"type": "object", "properties": properties, "required": required}


def hints_of(declared: type) -> dict[str, Any]:
    """Return the keys of a `TypedDict` and their types."""
    try:
        return get_type_hints(declared)
    except UNREADABLE:
        return dict.fromkeys(declared.__annotations__, Any)


def _schema_of_hint(hint: Any) -> Schema:
    try:
        return _resolved(TypeAdapter(hint).json_schema())
    except UNREADABLE:
        return {}


def _resolved(schema: dict[str, Any]) -> Schema:
    """Replace a schema that only refers to one of its definitions by that."""
    reference = schema.get("$ref", "").rpartition("/")[2]
    definitions = schema.get("$defs", {})
    return {**definitions[reference], "$defs": definitions} if reference else schema


AnyRunnable: TypeAlias = Runnable[Any, Any]

_WHOLE = (BasePromptTemplate, BaseRetriever, BaseTool, RunnableAssign, RunnableParallel)


def unwrapped(runnable: AnyRunnable) -> AnyRunnable:
    """Return what is inside of bindings, retries, fallbacks and configurable runnables."""
    while not isinstance(runnable, RunnableWithMessageHistory):
        match runnable:
            case RunnableBindingBase() if runnable.custom_input_type is None:
                runnable = runnable.bound
            case DynamicRunnable():
                runnable = runnable.default
            case RunnableWithFallbacks():
                runnable = runnable.runnable
            case _:
                break
    return runnable


def first_step(runnable: AnyRunnable) -> AnyRunnable:
    """Return what the input goes into."""
    while isinstance(runnable := unwrapped(runnable), RunnableSequence):
        runnable = runnable.first
    return runnable


def last_step(runnable: AnyRunnable) -> AnyRunnable:
    """Return what the output comes from."""
    while isinstance(runnable := unwrapped(runnable), RunnableSequence):
        runnable = runnable.last
    return runnable


def all_steps(runnable: AnyRunnable) -> list[AnyRunnable]:
    """Return the steps one after the other, each unwrapped."""
    if isinstance(runnable := unwrapped(runnable), RunnableSequence):
        return [inner for step in runnable.steps for inner in all_steps(step)]
    return [runnable]


def is_model(runnable: AnyRunnable) -> bool:
    """Whether it is nothing but a language model."""
    return isinstance(unwrapped(runnable), BaseLanguageModel)


def blocks_only(runnable: AnyRunnable) -> bool:
    """Whether it is a blocking generator function, for which LangChain has no async way."""
    return isinstance(runnable, RunnableGenerator) and not hasattr(runnable, "_atransform")


def answers_whole(runnable: AnyRunnable) -> bool:
    """Whether the answer comes at once, so that there is nothing to stream.

    Parsers of structured output do stream, but snapshots that a caller has no use for.
    """
    last = last_step(runnable)
    if isinstance(last, RunnableLambda):
        return not _can_stream(last)
    if isinstance(last, BaseOutputParser):
        return not isinstance(last, StrOutputParser)
    return isinstance(last, _WHOLE)


def _can_stream(step: RunnableLambda[Any, Any]) -> bool:
    """Whether a function is a generator, or may return a runnable that streams."""
    function = getattr(step, "func", None) or step.afunc
    is_generator = inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
    return is_generator or bool(step.deps)
