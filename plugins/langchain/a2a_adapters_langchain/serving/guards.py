"""Finds what may change or block the text of an agent after its model has written it.

That is the middleware of `create_agent` with the hooks `after_model`, `after_agent` and
`wrap_model_call`. The middleware of LangChain, deepagents and langchain-anthropic does not change
text, except for `PIIMiddleware`; all other middleware may. So may models and other runnables of
your own. Callbacks, functions that text passes through, edges and nodes may refuse it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from enum import Enum, auto
from functools import cache
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.language_models import BaseChatModel, BaseLanguageModel
from langchain_core.prompts import BasePromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    Runnable,
    RunnableGenerator,
    RunnableLambda,
    RunnablePassthrough,
    RunnableSequence,
)
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.tools import BaseTool

from a2a_adapters import A2AAdaptersError, BlockedError, TargetError
from a2a_adapters_langchain.serving.packages import is_library_for, package_of
from a2a_adapters_langchain.serving.passing import ASKING_METHODS, passes_on
from a2a_adapters_langchain.serving.references import (
    cells_of,
    code_of,
    home_of,
    identity,
    is_function,
    is_of_create_agent,
    is_set,
    names_in,
    own_methods,
    reachable,
)
from a2a_adapters_langchain.serving.schema import (
    BRANCHING,
    answering_steps,
    checks_whole_answers,
    ends_in_code,
    is_code,
    is_generator,
    is_graph,
    is_language_model,
)

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

_TRUSTED = ("langchain.agents.middleware.", "deepagents.", "langchain_anthropic.")
_REFUSING = ("deepagents.middleware.rubric", "deepagents.profiles.")
"""Modules whose middleware refuses an answer and lets the model write another."""

_DECORATED = "langchain.agents.middleware.types"
"""The module of middleware that LangChain's decorators make from functions of the user."""

_INTERNAL_CALLS = "langchain.agents.middleware.internal_call_transformer"

_START, _END = "__start__", "__end__"
"""The nodes before the first and after the last one."""

_HOOKS = (".after_model", ".after_agent")
_BEFORE = ".before_model"
_MODEL_HANDLER = "awrap_model_call_handler"
"""The variable of `create_agent` with the composed `wrap_model_call` hooks."""

_TOOL_HANDLERS = ("_wrap_tool_call", "_awrap_tool_call")
"""The hooks of a `ToolNode`, without public names."""

_SILENT = (BasePromptTemplate, BaseRetriever, BaseTool)
"""Runnables whose result differs from the text of a model in them."""

_BLOCKING = {"PIIDetectionError", "OpenAIModerationError"}
"""The exceptions by which middleware of LangChain's packages ends a run."""


class Guards(Enum):
    """The guardrails of a graph."""

    NONE = auto()
    """Nothing changes or blocks what a model has written."""
    STREAMED = auto()
    """All of them check text while it is streamed, by their stream transformers."""
    REFUSING = auto()
    """Something may refuse complete messages, but changes none."""
    UNSTREAMED = auto()
    """Some of them check complete messages only."""
    WHOLE = auto()
    """A custom runnable checks its answers only if it does not stream."""

    @property
    def holds_text(self) -> bool:
        """Whether text waits for the end of the run."""
        return self in (Guards.REFUSING, Guards.UNSTREAMED)

    def or_refusing(self) -> Guards:
        """Return these guardrails, with something that may refuse complete messages."""
        return {Guards.NONE: Guards.REFUSING, Guards.STREAMED: Guards.UNSTREAMED}.get(self, self)


def guards_of(graph: Any, stream_nodes: Collection[str] | None = None) -> Guards:
    """Return the guardrails of a graph, and of the graphs within it.

    Args:
        graph: The graph.
        stream_nodes: The nodes whose text is the answer, which may be in graphs that tools call;
            None for the nodes that can be the last.
    """
    found = reachable(graph, with_tools=stream_nodes is not None)
    if any(map(_asks_another, found)):
        return Guards.WHOLE
    others = (each for each in found if not isinstance(each, BaseChatModel))  # see `AsksWhole`
    if any(map(checks_whole_answers, others)):
        return Guards.WHOLE
    graphs = [*filter(is_graph, found)]
    guards = _of_middleware(graphs)
    refuses = any(_may_refuse(each, stream_nodes or ()) for each in found)
    refuses = refuses or changes_text(graphs, stream_nodes)
    return guards.or_refusing() if refuses else guards


def graphs_in(graph: Any) -> list[Any]:
    """Return a graph, and all graphs that it and its tools refer to."""
    return [*filter(is_graph, reachable(graph, with_tools=True))]


def _of_middleware(graphs: Iterable[Any]) -> Guards:
    """Return the guardrails in the middleware of a graph, and of the graphs within it."""
    own, *inner = map(_guards, graphs)
    if any(inner):
        return Guards.UNSTREAMED  # LangGraph applies the transformers of the outer graph only
    if not own:
        return Guards.NONE
    return Guards.STREAMED if all(map(_checks_stream, own)) else Guards.UNSTREAMED


def guards_of_runnable(runnable: Any) -> Guards:
    """Return the guardrails of a runnable, and of those that it refers to, without graphs."""
    found = reachable(runnable)
    if any(map(checks_whole_answers, found)):
        return Guards.WHOLE
    refuses = any(map(_may_refuse, found)) or _checks_beside(runnable) or _checks_last(runnable)
    return Guards.REFUSING if refuses else Guards.NONE


def _checks_beside(runnable: Any) -> bool:
    """Whether functions get an earlier step's text in parallel to the step that passes it on."""
    branching = (step for step in answering_steps(runnable) if isinstance(step, BRANCHING))
    found = (each for step in branching for each in reachable(step))
    return any(isinstance(each, RunnableLambda) or is_code(each) for each in found)


def _checks_last(runnable: Any) -> bool:
    """Whether a generator may refuse the text that it has passed on."""
    found = (each for step in answering_steps(runnable) for each in reachable(step))
    return any(is_generator(each) and _names_rejection(each) for each in found)


def _asks_model(step: Any) -> bool:
    return any(map(is_language_model, reachable(step)))


def _asks_another(value: object) -> bool:
    """Whether a custom class calls a model, whose text LangGraph streams as well."""
    if not isinstance(value, Runnable) or isinstance(value, _SILENT) or is_graph(value):
        return False
    if not (own := own_methods(value)):
        return False
    found = [*reachable(value), *reachable(own)]
    codes = filter(None, map(code_of, found))
    names = set().union(*map(names_in, codes))
    is_other = (is_language_model(each) and each is not value for each in found)
    return not names.isdisjoint(ASKING_METHODS) and any(is_other)


def has_strict_callbacks(config: RunnableConfig) -> bool:
    """Whether exceptions of callbacks in a configuration end the run."""
    return _are_strict(config.get("callbacks"))


def _are_strict(callbacks: Any) -> bool:
    handlers = callbacks.handlers if isinstance(callbacks, BaseCallbackManager) else callbacks
    return any(each.raise_error for each in handlers or ())


def _may_refuse(value: Any, stream_nodes: Collection[str] = ()) -> bool:
    """Whether something may raise when a model has completed a message."""
    if isinstance(value, BaseLanguageModel):
        return _are_strict(value.callbacks)
    if isinstance(value, RunnablePassthrough):
        return bool(value.func or value.afunc)
    if not (is_graph(value) or isinstance(value, RunnableBindingBase)):
        return False
    if _are_strict((value.config or {}).get("callbacks")):
        return True
    return is_graph(value) and (_checks_by_edges(value) or _refuses_in_node(value, stream_nodes))


def holds_itself(graph: Any) -> bool:
    """Whether a graph has checks of its own, beside those of agents in its nodes."""
    return bool(_guards(graph)) or _may_refuse(graph)


def changes_text(graphs: Iterable[Any], stream_nodes: Collection[str] | None = None) -> bool:
    """Whether a node whose text is the answer may change or refuse it, see `checking_nodes`."""
    return any(checking_nodes(graphs, stream_nodes))


def checking_nodes(
    graphs: Iterable[Any], stream_nodes: Collection[str] | None = None
) -> Iterator[str]:
    """Yield the nodes whose text is the answer, and which may change or refuse what a model says.

    That is one whose code does not just pass it on, or that asks a chain with a step behind its
    model that may change or refuse the text, or a function as a runnable that refers to a model.

    Args:
        graphs: The graphs.
        stream_nodes: The nodes whose text is the answer, which may be tasks of a workflow; None for
            those that can be the last.
    """
    from a2a_adapters_langchain.serving.answer_nodes import (  # noqa: PLC0415 - imports LangGraph
        final_nodes,
    )

    for graph in graphs:
        is_workflow = not hasattr(graph, "builder")
        tasks = stream_nodes if is_workflow else None
        chosen = final_nodes(graph) if stream_nodes is None or is_workflow else stream_nodes
        for name in (each for each in chosen if each in graph.nodes):
            node, has_tools = graph.nodes[name].bound, stream_nodes is not None
            if not _passes_on(node, tasks) or _has_checked_chain(node, with_tools=has_tools):
                yield name


def _has_checked_chain(node: Any, *, with_tools: bool) -> bool:
    """Whether a node, or its tools, asks a chain that may change or refuse what its model says."""
    return any(
        (isinstance(each, RunnableSequence) and ends_in_code(each))
        or (isinstance(each, RunnableLambda | RunnableGenerator) and _asks_model(each))
        for each in reachable(node, with_tools=with_tools)
    )


def _passes_on(node: Any, tasks: Collection[str] | None) -> bool:
    """Whether a node, with the code that it calls, passes on what models say.

    Args:
        node: The node.
        tasks: The names of the functions whose text is the answer; None for all.
    """
    if is_graph(node) or any(map(is_of_create_agent, _functions(node))):
        return True  # see `_guards`
    found = reachable(node)
    inner = {identity(each) for graph in filter(is_graph, found) for each in reachable(graph)}
    own = (each for each in found if is_function(each) and identity(each) not in inner)
    if tasks is not None:
        own = (each for each in own if each.__name__ in tasks)
    projects = {package_of(each.__module__ or "") for each in _functions(node)}
    return all(is_library_for(projects, home_of(each)) or passes_on(each) for each in own)


def _refuses_in_node(graph: Any, stream_nodes: Collection[str]) -> bool:
    """Whether a custom node may refuse a message; one before all models checks the input."""
    nodes = {name: node.bound for name, node in graph.nodes.items()}
    if any(is_of_create_agent(each) for node in nodes.values() for each in _functions(node)):
        return False  # see `_guards`
    return any(
        _refuses(node, graph) and (name in stream_nodes or not _checks_input(graph, name))
        for name, node in nodes.items()
        if not is_graph(node)
    )


def _functions(node: Any) -> list[FunctionType]:
    found = (getattr(node, name, None) for name in ("func", "afunc"))
    functions = (getattr(each, "__func__", each) for each in found)
    return [each for each in functions if isinstance(each, FunctionType)]


def _refuses(node: Any, graph: Any) -> bool:
    """Whether the code of a node, without that of graphs which it calls, names `BlockedError`."""
    called = [each for each in reachable(node) if is_graph(each) and each is not graph]
    inner = [each for found in called for each in reachable(found)]
    return _names_rejection(node) and not any(map(_is_rejection, inner))


def _checks_input(graph: Any, node: str) -> bool:
    """Whether nodes follow a node, and none that may write text precedes it or runs in parallel."""
    builder = getattr(graph, "builder", None)
    if builder is None:  # a workflow, which is one node
        return False
    pairs = _pairs(builder)
    before = {node}
    while more := {start for start, end in pairs if end in before} - before:
        before |= more
    speaks = any(_asks_model(graph.nodes[each].bound) for each in before - {node, _START})
    beside = {end for start, end in pairs if start == _START} - before
    after = {end for start, end in pairs if start == node}
    return bool(after) and _END not in after and not speaks and not beside


def _pairs(builder: Any) -> set[tuple[str, str]]:
    """Return the nodes of a graph that may follow one another."""
    pairs = set(builder.edges)
    pairs |= {(start, end) for starts, end in builder.waiting_edges for start in starts}
    pairs |= {(name, end) for name, spec in builder.nodes.items() for end in spec.ends or ()}
    for name, branches in builder.branches.items():
        for branch in branches.values():
            ends = branch.ends.values() if branch.ends else (*builder.nodes, _END)
            pairs |= {(name, end) for end in ends}
    return pairs


def _checks_by_edges(graph: Any) -> bool:
    """Whether a branch may refuse a message, or asks a model whether to let it pass."""
    branches = getattr(getattr(graph, "builder", None), "branches", {})
    return any(
        _names_rejection(branch.path)
        or (_asks_whether_to_end(branch) and not _has_tools(graph, node))
        for node, known in branches.items()
        if node != _START
        for branch in known.values()
    )


def _asks_whether_to_end(branch: Any) -> bool:
    ends = (branch.ends or {_END: _END}).values()
    return _END in ends and _asks_model(branch.path)


def _has_tools(graph: Any, node: str) -> bool:
    return hasattr(graph.nodes[node].bound, "tools_by_name")


def _names_rejection(code: object) -> bool:
    """Whether code names `BlockedError`; other exceptions are taken for failures."""
    return any(map(_is_rejection, reachable(code)))


def _is_rejection(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BlockedError)


def waiting_calls(graph: Any, guards: Guards) -> Callable[[tuple[str, ...]], bool]:
    """Return whether tool calls and results may still be changed or refused, see `GraphProgress`.

    Args:
        graph: The graph.
        guards: Its guardrails.
    """
    if guards is not Guards.NONE:
        return lambda _: True
    from a2a_adapters_langchain.serving.answer_nodes import (  # noqa: PLC0415 - imports LangGraph
        calls_tools_directly,
        graph_at,
    )

    def waits(path: tuple[str, ...]) -> bool:
        inner = graph_at(graph, path)
        return inner is None or _changes_results(inner) or not calls_tools_directly(inner)

    return cache(waits)


def _changes_results(graph: Any) -> bool:
    """Whether middleware may change the results of tools before the model sees them."""
    nodes = {name: node.bound for name, node in graph.nodes.items()}
    found = (_middleware_of(bound) for name, bound in nodes.items() if name.endswith(_BEFORE))
    return any(_may_change(each, "apply_to_tool_results") for each in found)


def checks_arguments(graph: Any) -> bool:
    """Whether hooks around tools may change or refuse the arguments that a model has written."""
    graphs = filter(is_graph, reachable(graph))
    return any(_wraps_tools(node.bound) for each in graphs for node in each.nodes.values())


def _wraps_tools(node: Any) -> bool:
    hooks = [getattr(node, name, None) for name in _TOOL_HANDLERS]
    found = [each for hook in hooks if hook for each in _composed(hook, "wrap_tool_call")]
    return any(hooks) and (not found or any(map(_may_change, found)))


def guarding_nodes(graph: Any) -> frozenset[str]:
    """Return the nodes, including those of subgraphs, with which guardrails inspect messages."""
    graphs = filter(is_graph, reachable(graph))
    nodes = [(name, node.bound) for each in graphs for name, node in each.nodes.items()]
    found = [(name, _middleware_of(bound)) for name, bound in nodes if name.endswith(_HOOKS)]
    return frozenset(name for name, middleware in found if _may_change(middleware))


def refuse_blocking_hooks(graph: Any) -> None:
    """Refuse an agent whose hooks LangChain cannot call, as runs are async.

    Raises:
        TargetError: A middleware has `wrap_model_call` or `wrap_tool_call`, but no async form.
    """
    wrapping = {"awrap_model_call": _around_models(graph), "awrap_tool_call": _around_tools(graph)}
    for name, found in wrapping.items():
        for middleware in found:
            if _lacks(middleware, name):
                raise TargetError(
                    f"{type(middleware).__name__} lacks {name}, which async runs call in place of "
                    f"{name[1:]}: define it, too, or decorate an async function"
                )
    for node in graph.nodes.values():
        if is_graph(node.bound):
            refuse_blocking_hooks(node.bound)


def _lacks(middleware: object, name: str) -> bool:
    """Whether a class of middleware inherits a hook from LangChain's base, where it raises."""
    places = (each for each in type(middleware).__mro__ if name in vars(each))
    place = next(places, object)
    return (place.__module__, place.__name__) == (_DECORATED, "AgentMiddleware")


def _around_tools(graph: Any) -> Iterator[object]:
    for node in graph.nodes.values():
        hook = getattr(node.bound, "_awrap_tool_call", None)
        yield from _composed(hook, "wrap_tool_call") if hook else ()


def blocked(error: BaseException) -> BlockedError | None:
    """Return the rejection for an exception of a guardrail; None for others."""
    return BlockedError() if type(error).__name__ in _BLOCKING else None


def is_block(error: BaseException) -> bool:
    """Whether a guardrail or another agent has rejected the message."""
    is_rejection = isinstance(error, A2AAdaptersError) and error.is_rejection
    return is_rejection or isinstance(error, BlockedError) or blocked(error) is not None


def _guards(graph: Any) -> list[object]:
    """Return the middleware of an agent that may change text; None stands for an unknown one."""
    nodes = {name: node.bound for name, node in graph.nodes.items()}
    found = [_middleware_of(bound) for name, bound in nodes.items() if name.endswith(_HOOKS)]
    return [each for each in (*found, *_around_models(graph)) if _may_change(each)]


def _middleware_of(node: Any) -> object:
    """Return the middleware of a node of `create_agent`; None if it is unknown."""
    hooks = (getattr(node, "func", None), getattr(node, "afunc", None))
    return next((hook.__self__ for hook in hooks if isinstance(hook, MethodType)), None)


def _around_models(graph: Any) -> Iterator[object]:
    """Yield the middleware whose hooks `create_agent` has composed around the model's call.

    Yields one None in other versions of LangChain, whose hooks are unknown.
    """
    node = graph.nodes.get("model")
    function = getattr(node.bound, "afunc", None) if node else None
    if not (isinstance(function, FunctionType) and is_of_create_agent(function)):
        return
    if _MODEL_HANDLER not in function.__code__.co_freevars:
        yield None
        return
    yield from _composed(dict(cells_of(function))[_MODEL_HANDLER].cell_contents, "wrap_model_call")


def _composed(hook: object, name: str) -> Iterator[object]:
    """Yield the middleware whose hooks of this name LangChain has composed."""
    todo, seen = [hook], set()
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, MethodType):
            if name in value.__func__.__qualname__ or _is_hook(value, name):
                yield value.__self__
        elif isinstance(value, list | tuple):
            todo += value
        elif isinstance(value, FunctionType):
            todo += [cell.cell_contents for cell in value.__closure__ or () if is_set(cell)]


def _is_hook(method: MethodType, name: str) -> bool:
    """Whether a method is a hook of this name, which a decorator or an assignment has renamed."""
    hooks = (getattr(method.__self__, prefix + name, None) for prefix in ("", "a"))
    return any(isinstance(hook, MethodType) and hook == method for hook in hooks)


def _checks_stream(middleware: object) -> bool:
    """Whether a middleware class declares that its stream transformers check all that its hooks do.

    Those that it inherits do not know that. The transformers of `PIIMiddleware` look at unfinished
    text: they mask the beginning of an address, and let the rest of it pass. LangChain's
    `InternalCallTransformer` checks no text: it hides what a middleware asks a model itself.
    """
    transformers = getattr(middleware, "transformers", ())
    modules = {getattr(each, "__module__", "") for each in transformers}
    return "transformers" in vars(type(middleware)) and bool(modules - {_INTERNAL_CALLS})


def _may_change(middleware: object, applies: str = "apply_to_output") -> bool:
    """Whether a middleware may change text; `applies` is the option of `PIIMiddleware` for it."""
    kind = type(middleware)
    if (kind.__module__, kind.__name__) == ("langchain.agents.middleware.pii", "PIIMiddleware"):
        return bool(getattr(middleware, applies, True))
    if kind.__module__ == _DECORATED:
        hook: Any = getattr(kind, "awrap_model_call", None)
        return not hook.__qualname__.startswith("dynamic_prompt.")
    return not kind.__module__.startswith(_TRUSTED) or kind.__module__.startswith(_REFUSING)
