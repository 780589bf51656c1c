"""Inspects runnables: their input and output schemas, their steps, and graphs within graphs."""

from __future__ import annotations

import dis
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, get_type_hints

from langchain_core.language_models import BaseChatModel, BaseLanguageModel, BaseLLM
from langchain_core.output_parsers import (
    BaseCumulativeTransformOutputParser,
    BaseOutputParser,
    PydanticOutputParser,
    StrOutputParser,
)
from langchain_core.output_parsers.openai_tools import JsonOutputToolsParser
from langchain_core.prompts import BasePromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    Runnable,
    RunnableBranch,
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
from langchain_core.runnables.retry import RunnableRetry
from langchain_core.tools import BaseTool
from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError
from typing_extensions import is_typeddict

from a2a_adapters.concurrency import BoundedMap
from a2a_adapters.plugin import overrides
from a2a_adapters_langchain.serving.packages import is_of_langchain, package_of

Schema: TypeAlias = Mapping[str, Any]

_MESSAGE = re.compile(r'(Human|AI|Base)Message"')
_KNOWN: BoundedMap[object, Schema] = BoundedMap(limit=256)
"""The schemas of graphs by the keys of their states."""

UNREADABLE = (PydanticUserError, PydanticInvalidForJsonSchema, TypeError, NameError, KeyError)
"""Errors for types that pydantic, JSON or this version of Python does not support.

LangChain raises a KeyError for keys that are picked from a mapping of unknown keys.
"""


def input_schema(runnable: AnyRunnable) -> Schema:
    """Return the JSON schema of the input; `{}` accepts anything."""
    if isinstance(first_step(runnable), BaseLLM):
        return {"type": "string"}  # it reports the schema of a chat model
    try:
        return _read(_state(runnable, "input_schema"), runnable.get_input_jsonschema)
    except UNREADABLE:  # such as typing.TypedDict before Python 3.12
        return _schema_of_type(input_type(runnable))


def output_schema(runnable: AnyRunnable) -> Schema:
    """Return the JSON schema of the output; `{}` if it is unknown."""
    try:
        return _read(_state(runnable, "output_schema"), runnable.get_output_jsonschema)
    except UNREADABLE:
        return {}


def _state(graph: AnyRunnable, name: str) -> type | None:
    """Return the class that determines a graph's schema, if there is one."""
    state = getattr(getattr(graph, "builder", None), name, None)
    is_model = isinstance(state, type) and issubclass(state, BaseModel)
    return state if is_model or is_typeddict(state) else None


def _read(state: type | None, read: Callable[[], dict[str, Any]]) -> Schema:
    """Call `read` once for equal states: with messages it takes 40 ms.

    LangChain makes a new state class for each agent.
    """
    if state is None:
        return _resolved(read())
    key = _keys_of(state)
    if (schema := _KNOWN.get(key)) is None:
        schema = _KNOWN[key] = _resolved(read())
    return schema


def _keys_of(state: type) -> object:
    if issubclass(state, BaseModel):
        return state
    try:
        types, annotated = (get_type_hints(state, include_extras=each) for each in (False, True))
    except UNREADABLE:  # a type that is local to a function
        return state
    # Not all annotations are hashable.
    return (*types.items(), repr(annotated), getattr(state, "__required_keys__", None))


def holds_messages(schema: Schema) -> bool:
    """Whether a schema requires a list of messages, and does not also accept a plain string."""
    options = schema.get("anyOf", ())
    takes_text = any(option.get("type") == "string" for option in options)
    return not takes_text and takes_messages(schema)


def takes_messages(schema: Schema) -> bool:
    """Whether a schema accepts a list of messages."""
    options = (schema, *schema.get("anyOf", ()))
    lists = [option for option in options if option.get("type") == "array"]
    return any(_MESSAGE.search(json.dumps(option.get("items", {}))) for option in lists)


def input_type(runnable: AnyRunnable) -> Any:
    """Return the declared type of the input, by default `Any`."""
    try:
        declared: Any = runnable.InputType
    except TypeError:  # the subclass declares none
        return Any
    # LangChain does not evaluate annotations that `from __future__ import annotations` defers.
    return _first_hint(runnable) if isinstance(declared, str) else declared


def _first_hint(runnable: Any) -> Any:
    """Return the type of the first argument of a runnable's or workflow's function."""
    nodes = getattr(runnable, "nodes", None)
    step = next(iter(nodes.values())).bound if nodes else first_step(runnable)
    function = getattr(step, "func", None) or getattr(step, "afunc", None)
    try:
        return next(iter(get_type_hints(function).values()), Any)
    except UNREADABLE:  # the type is local to a function
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
    """Replace a schema that only refers to one of its definitions."""
    reference = schema.get("$ref", "").rpartition("/")[2]
    definitions = schema.get("$defs", {})
    return {**definitions[reference], "$defs": definitions} if reference else schema


AnyRunnable: TypeAlias = Runnable[Any, Any]

BRANCHING = (RunnableAssign, RunnableParallel)
_SOURCES = (BaseLanguageModel, BasePromptTemplate, BaseRetriever, BaseTool)
"""Runnables that do not process what a model has said."""
_CORE = ("langchain_core", "a2a_adapters_langchain")
_WHOLE = (BasePromptTemplate, BaseRetriever, BaseTool, *BRANCHING)


def unwrapped(runnable: AnyRunnable) -> AnyRunnable:
    """Return the runnable inside of bindings, retries, fallbacks and configurable runnables."""
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


def all_steps(runnable: AnyRunnable) -> list[AnyRunnable]:
    """Return all steps in order, each unwrapped."""
    if isinstance(runnable := unwrapped(runnable), RunnableSequence):
        return [inner for step in runnable.steps for inner in all_steps(step)]
    return [runnable]


def tries_again(runnable: AnyRunnable) -> bool:
    """Whether the runnable has retries or fallbacks, which LangChain leaves out of streams."""
    return _has(runnable, lambda part: isinstance(part, RunnableRetry | RunnableWithFallbacks))


def answering_steps(runnable: AnyRunnable) -> list[AnyRunnable]:
    """Return the steps from the last one with a model or a graph, whose text is the answer.

    A step with a model that writes one of several keys does not replace what is in the others.
    """
    steps = _steps(runnable)
    speaking = [n for n, step in enumerate(steps) if _has(step, _speaks)]
    last = [n for n in speaking if not isinstance(steps[n], BRANCHING)]
    return steps[(last[-1:] or speaking[:1] or [0])[0] :]


def ends_in_code(runnable: AnyRunnable) -> bool:
    """Whether steps that may change or refuse it process the text of a chain's last model."""
    first, *later = answering_steps(runnable)
    return _has(first, _speaks) and any(_has(step, _processes) for step in later)


def _processes(value: object) -> bool:
    return is_code(value) or isinstance(value, (*_SOURCES, RunnableBranch))


def _speaks(value: object) -> bool:
    return is_language_model(value) or is_graph(value)


def is_code(value: object) -> bool:
    """Whether this is a function, a parser or a custom class that may change or refuse a text."""
    if isinstance(value, RunnableLambda):
        return not _only_packs(value)
    if isinstance(value, JsonOutputToolsParser):  # of structured output, which is no text
        return False
    return isinstance(value, RunnableGenerator) or _parses(value) or _is_custom(value)


def _is_custom(value: object) -> bool:
    """Whether this is a step of a chain that is of no class of LangChain's core."""
    if not isinstance(value, Runnable) or isinstance(value, _SOURCES) or is_language_model(value):
        return False
    return package_of(type(value).__module__) not in _CORE


def _only_packs(step: RunnableLambda[Any, Any]) -> bool:
    """Whether a function calls and decides nothing, such as `lambda m: {"messages": [m]}`."""
    code = getattr(getattr(step, "func", None) or step.afunc, "__code__", None)
    names = {each.opname for each in dis.get_instructions(code)} if code else {"CALL"}
    return not any(part in name for name in names for part in ("CALL", "JUMP", "RAISE", "YIELD"))


def _steps(runnable: AnyRunnable) -> list[AnyRunnable]:
    """Return all steps in order, with retries and fallbacks as steps of their own."""
    match runnable:
        case RunnableSequence(steps=steps):
            return [inner for step in steps for inner in _steps(step)]
        case RunnableRetry() | RunnableWithMessageHistory():
            return [runnable]
        case RunnableBindingBase(bound=bound):
            return _steps(bound)
    return [runnable]


def is_language_model(value: object) -> bool:
    """Whether this is a model, or makes one for each run, as some of `init_chat_model` do."""
    return isinstance(value, BaseLanguageModel) or type(value).__name__ == "_ConfigurableModel"


def first_step(runnable: AnyRunnable) -> AnyRunnable:
    """Return the step that receives the input."""
    return all_steps(runnable)[0]


def local_graphs(graph: Any) -> list[Any]:
    """Return a graph and all graphs within it, without those on other servers."""
    if is_remote(graph):
        return []
    inner = [inner for _, inner in graph.get_subgraphs(recurse=True)]
    return [graph, *(each for each in inner if not is_remote(each))]


def is_remote(graph: Any) -> bool:
    """Whether a graph is on another server."""
    return not hasattr(graph, "nodes")


def is_graph(runnable: object) -> bool:
    """Whether the runnable is a graph."""
    # Asked of the class: runnables with fallbacks pass attributes of their first runnable on.
    return hasattr(type(runnable), "aget_state") and hasattr(runnable, "checkpointer")


def is_model(runnable: AnyRunnable) -> bool:
    """Whether the runnable is just a language model."""
    return isinstance(unwrapped(runnable), BaseLanguageModel)


_WHOLE_CALLS = (
    *("_generate", "_agenerate", "_generate_with_cache", "_agenerate_with_cache"),
    *("generate", "agenerate", "generate_prompt", "agenerate_prompt", "invoke", "ainvoke"),
)
_STREAMS = ("_stream", "_astream", "stream", "astream", "transform", "atransform")
_CALLS = {"invoke", "ainvoke", "batch", "abatch", "stream", "astream"}


def checks_whole_answers(runnable: object) -> bool:
    """Whether a custom class changes the answers of a runnable only if it does not stream."""
    if not (isinstance(runnable, Runnable) and _streams(type(runnable))):
        return False
    known = tuple(filter(is_of_langchain, (each.__module__ for each in type(runnable).__mro__)))
    return any(overrides(runnable, name, known, unless=_STREAMS) for name in _WHOLE_CALLS)


def _streams(kind: type) -> bool:
    """Whether a class of runnables has a stream that is not just its answer as a whole."""
    newest = next(each for each in kind.__mro__ if not vars(each).keys().isdisjoint(_STREAMS))
    return newest not in (BaseChatModel, BaseLLM, Runnable)


def blocks_only(runnable: AnyRunnable) -> bool:
    """Whether the step is a blocking generator function, which LangChain cannot run async."""
    return isinstance(runnable, RunnableGenerator) and not hasattr(runnable, "_atransform")


def answers_whole(runnable: AnyRunnable) -> bool:
    """Whether the answer comes as a whole, so that streaming is useless.

    Parsers of structured output stream snapshots, which are useless for callers. Graphs stream
    updates of their state, and custom classes may stream what `invoke` would change.
    """
    if _has(runnable, is_graph):
        return True
    if any(_parses(each) or _is_custom(each) for each in _answering(runnable)):
        return True
    if _has(runnable, _splits_snapshots) or _has(runnable, _only_blocks):
        return True
    last = all_steps(runnable)[-1]
    if isinstance(last, RunnableLambda):
        return not (is_generator(last) or last.deps)  # which it may return, and stream
    return isinstance(last, _WHOLE)


def _answering(runnable: AnyRunnable) -> Iterator[AnyRunnable]:
    """Yield the steps that the answer passes, also within other runnables."""
    todo: list[object] = [runnable]
    seen = set[int]()
    for each in todo:  # it grows
        if id(each) in seen:
            continue
        seen.add(id(each))
        if not isinstance(each, Runnable):
            todo += _parts(each)
            continue
        for step in answering_steps(each):
            yield step
            todo += _parts(step)


def _splits_snapshots(value: object) -> bool:
    """Whether keys are parsed from partial JSON; LangChain's streams then lose the other keys."""
    return isinstance(value, BRANCHING) and _has(value, _makes_snapshots)


def _only_blocks(value: object) -> bool:
    """Whether this is a function whose generator LangChain cannot stream in an async run."""
    if not isinstance(value, RunnableLambda) or hasattr(value, "afunc"):
        return False
    return inspect.isgeneratorfunction(value.func)


def _makes_snapshots(value: object) -> bool:
    is_json = isinstance(value, BaseCumulativeTransformOutputParser)
    return is_json and not isinstance(value, PydanticOutputParser)


def _parses(value: object) -> bool:
    """Whether this is a parser that converts text, or may check the whole text."""
    return isinstance(value, BaseOutputParser) and type(value) is not StrOutputParser


def _has(value: object, is_wanted: Callable[[object], bool]) -> bool:
    """Whether a runnable, a part of it, or the result of a function in it matches."""
    todo, seen = [value], set[int]()
    for each in todo:  # it grows
        if id(each) not in seen:
            seen.add(id(each))
            if is_wanted(each):
                return True
            todo += _parts(each)
    return False


def _parts(value: object) -> Iterable[object]:
    match value:
        case BaseLanguageModel() | BaseTool():
            return ()
        case RunnableLambda():
            return () if _calls(value) else value.deps
        case Runnable():
            return vars(value).values()
        case Mapping():
            return value.values()
        case list() | tuple():
            return value
    return ()


def _calls(step: RunnableLambda[Any, Any]) -> bool:
    """Whether a function calls a runnable itself, rather than to return it as the next one."""
    code = getattr(getattr(step, "func", None) or step.afunc, "__code__", None)
    return code is None or not _CALLS.isdisjoint(code.co_names)


def is_generator(step: AnyRunnable) -> bool:
    """Whether the step passes text on by a generator function."""
    if isinstance(step, RunnableGenerator):
        return True
    functions = (getattr(step, name, None) for name in ("func", "afunc"))
    return isinstance(step, RunnableLambda) and any(
        inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each) for each in functions
    )


def declared_schema(runnable: AnyRunnable) -> Schema | None:
    """Return the schema of a structured output; None if it is text, messages or unknown."""
    schema = output_schema(runnable)
    properties = schema.get("properties", {})
    if any(holds_messages(value) for value in properties.values()):
        return None
    return schema if properties and "content" not in properties else None
