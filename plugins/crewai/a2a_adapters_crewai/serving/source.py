"""Properties of flows that only their source code shows: blocking questions, streamable answers."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from a2a_adapters import TargetError
from a2a_adapters.plugin import overrides

if TYPE_CHECKING:
    from crewai import Flow

_MODEL_CALLS = {"kickoff", "kickoff_async", "akickoff", "call", "acall"}
_ASSIGNMENTS = ast.Assign | ast.AnnAssign | ast.NamedExpr
_LOOPS = ast.For | ast.AsyncFor | ast.While | ast.comprehension
_CHECKS = ast.Raise | ast.Assert | ast.AugAssign | ast.Delete | ast.Subscript
"""What may refuse or change an answer after its call, like most calls."""
_HARMLESS_CALLS = {"len", "print", "str"}
_DECORATORS = {"listen", "persist", "start"}
"""The decorators of crewai; others may change the result of a method."""


def refuse_blocking_questions(flow: Flow[Any]) -> None:
    """Refuse flows whose `async` methods call `self.ask`, which would block all other runs.

    Raises:
        TargetError: An `async` method calls it.
    """
    for name, method in _async_methods(type(flow)):
        if _asks(method):
            raise TargetError(
                f"{type(flow).__name__}.{name} is async and calls self.ask(), which blocks: call "
                "it in a method that is not async, or as `await asyncio.to_thread(self.ask, ...)`"
            )


def _async_methods(kind: type[Flow[Any]]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the `async` methods of a flow class that are not crewai's own."""
    for owner in kind.__mro__:
        if not owner.__module__.startswith("crewai."):
            for name, member in vars(owner).items():
                method = inspect.unwrap(member) if callable(member) else member
                if inspect.iscoroutinefunction(method):
                    yield name, method


def _asks(method: Callable[..., Any]) -> bool:
    function = _source_of(method)
    if not isinstance(function, ast.AsyncFunctionDef) or not function.args.args:
        return False
    question = f"{function.args.args[0].arg}.ask"
    calls = (node for node in _executed(function) if isinstance(node, ast.Call))
    return any(ast.unparse(call.func) == question for call in calls)


def _source_of(method: Callable[..., Any]) -> ast.AST | None:
    """Return the syntax tree of a function; None without a source file."""
    try:
        (function,) = ast.parse(textwrap.dedent(inspect.getsource(method))).body
    except (OSError, SyntaxError, TypeError, ValueError):
        return None
    return function


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run with a function, without those of functions inside it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _executed(child)


def answering_methods(flow: Flow[Any]) -> frozenset[str]:
    """Return the methods that answer with the text of one model, whose output can be streamed.

    These end the flow, call one model, agent or crew once, and return its answer unchanged:

        @listen(plan)
        def write(self):
            result = Press().crew().kickoff(inputs={"topic": self.state.topic})
            self.state.text = result.raw
            return result.raw
    """
    if _overrides(type(flow)) or _validates(flow) or _validates(flow.state):
        return frozenset()  # it may change or refuse the result
    methods = flow.flow_definition().methods
    triggers = {name for method in methods.values() for name in _names(method.listen)}
    return frozenset(
        name
        for name, method in methods.items()
        if name not in triggers
        and not (method.router or method.human_feedback)
        and _returns_model_text(getattr(type(flow), name, None))
    )


def _overrides(kind: type[Flow[Any]]) -> bool:
    """Return whether a class of flows overrides a method of crewai's."""
    owners = [each for each in kind.__mro__ if each.__module__.startswith("crewai.")]
    return any(
        callable(member)
        and any(name in vars(owner) for owner in owners)
        and not getattr(member, "__module__", "").startswith(("crewai.", "pydantic."))
        for each in kind.__mro__
        if each not in owners
        for name, member in vars(each).items()
        if not name.startswith("__")
    )


def _validates(owner: object) -> bool:
    """Return whether code runs if an attribute is set, such as a validator."""
    config = getattr(owner, "model_config", {})
    own_setter = overrides(owner, "__setattr__", ("crewai.", "pydantic."))
    return own_setter or bool(config.get("validate_assignment"))


def _names(condition: object) -> Iterator[str]:
    """Yield the names in a condition such as `{"or": ["one", {"and": ["two", "three"]}]}`."""
    match condition:
        case str():
            yield condition
        case Mapping():
            yield from _names([*condition.values()])
        case Sequence():
            for part in condition:
                yield from _names(part)


def _returns_model_text(method: object) -> bool:
    function = _source_of(inspect.unwrap(method)) if callable(method) else None
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    body = ast.Module(function.body, [])
    nodes = [*_executed(body)]
    calls = [node for node in nodes if _is_model_call(node)]
    if (
        len(calls) != 1
        or any(isinstance(node, _LOOPS | ast.With | ast.AsyncWith) for node in nodes)
        or any(_may_check(node) for node in nodes if _is_after(node, calls[0]))
        or not _DECORATORS.issuperset(map(_name, function.decorator_list))
    ):
        return False
    answers = {calls[0]} | _reads(nodes, calls[0])
    returned = [_core(node.value) for node in nodes if isinstance(node, ast.Return)]
    return bool(returned) and answers.issuperset(returned)


def _is_after(node: ast.AST, call: ast.AST) -> bool:
    """Return whether a node begins after the end of a call."""
    if not isinstance(node, ast.stmt | ast.expr) or not isinstance(call, ast.expr):
        return False
    return (node.lineno, node.col_offset) >= (call.end_lineno or 0, call.end_col_offset or 0)


def _may_check(node: ast.AST) -> bool:
    """Return whether a node behind the call may refuse or change the answer."""
    match node:
        case ast.Subscript(ctx=ast.Store()):  # of the flow's state
            return False
        case ast.Call():
            return _name(node) not in _HARMLESS_CALLS
        case ast.Attribute(attr="raw", ctx=ast.Store()):
            return True
    return isinstance(node, _CHECKS)


def _name(node: ast.AST) -> str:
    """Return the name of a function, or of the function that a call refers to."""
    match node:
        case ast.Call(func=function):
            return _name(function)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _reads(nodes: Sequence[ast.AST], call: ast.AST) -> set[ast.AST]:
    """Return the reads of variables that only ever hold the result of a call."""
    names = [node for node in nodes if isinstance(node, ast.Name)]
    written = [name.id for name in names if isinstance(name.ctx, ast.Store)]
    holding = {
        target.id
        for node in nodes
        if isinstance(node, _ASSIGNMENTS) and _core(node.value) is call
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and written.count(target.id) == 1
    }
    return {name for name in names if isinstance(name.ctx, ast.Load) and name.id in holding}


def _is_model_call(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in _MODEL_CALLS
    return False


def _core(node: ast.AST | None) -> ast.AST | None:
    """Return an expression without the operations that read its text."""
    match node:
        case (
            ast.Await(value=inner)
            | ast.Attribute(value=inner, attr="raw")
            | ast.Call(func=ast.Name(id="str"), args=[inner])
        ):
            return _core(inner)
    return node
