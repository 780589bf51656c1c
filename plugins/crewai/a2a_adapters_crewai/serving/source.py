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
_ARGUMENTS = {"input_files", "inputs", "messages"}
"""The arguments of these that do not check or change an answer."""

_ASSIGNMENTS = ast.Assign | ast.AnnAssign | ast.NamedExpr
_HARMLESS = (
    ast.Assign
    | ast.AnnAssign
    | ast.Constant
    | ast.Expr
    | ast.FormattedValue
    | ast.If
    | ast.JoinedStr
    | ast.Pass
    | ast.Return
)
"""What cannot refuse or change an answer itself."""

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
    """Yield the nodes that run with a function, without the bodies of functions inside it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _executed(child)


def answering_methods(flow: Flow[Any]) -> frozenset[str]:
    """Return the methods that answer with the text of one model, whose output can be streamed.

    These end the flow, call one model, agent or crew once, and return its answer unchanged. After
    the call, they only print it, or store it in variables and in the state:

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
    """Return whether a class of flows overrides a method or property of crewai's."""
    owners = [each for each in kind.__mro__ if each.__module__.startswith("crewai.")]
    return any(
        (callable(member) or isinstance(member, property))
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
    has_setter = overrides(owner, "__setattr__", ("crewai.", "pydantic.")) or any(
        isinstance(member, property) and member.fset
        for kind in type(owner).__mro__
        if not kind.__module__.startswith(("crewai.", "pydantic."))
        for member in vars(kind).values()
    )
    return has_setter or bool(config.get("validate_assignment"))


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
    bare = inspect.unwrap(method) if callable(method) else None
    function = _source_of(bare) if bare else None
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or not function.args.args:
        return False
    known = getattr(bare, "__globals__", {})
    nodes = [*_executed(ast.Module(function.body, []))]
    calls = [node for node in nodes if isinstance(node, ast.Call) and _is_model_call(node)]
    if (
        len(calls) != 1
        or not _has_plain_arguments(calls[0])
        or not _HARMLESS_CALLS.isdisjoint(known)
        or not all(_is_crewais(decorator, known) for decorator in function.decorator_list)
    ):
        return False
    call, this = calls[0], function.args.args[0].arg
    answers: set[ast.AST] = {call} | _reads(nodes, call)
    returned = [_core(node.value) for node in nodes if isinstance(node, ast.Return)]
    later = (node for node in nodes if _ends_after(node, call))
    is_plain = all(_is_harmless(node, answers, this) for node in later)
    return is_plain and bool(returned) and answers.issuperset(returned)


def _ends_after(node: ast.AST, call: ast.Call) -> bool:
    """Return whether a part of a function runs, or goes on, after a call in it."""
    if not isinstance(node, ast.stmt | ast.expr) or node in ast.walk(call):
        return False
    return _end(node) >= _end(call)


def _end(node: ast.stmt | ast.expr) -> tuple[int, int]:
    return node.end_lineno or 0, node.end_col_offset or 0


def _is_harmless(node: ast.AST, answers: set[ast.AST], this: str) -> bool:
    """Return whether a node behind the call can neither refuse nor change the answer.

    Args:
        node: The node; those inside it count for themselves.
        answers: The nodes that are the answer.
        this: The name of the flow in the method.
    """
    match node:
        case ast.Name(id=name, ctx=context):
            is_known = node in answers or name in {this, *_HARMLESS_CALLS}
            return is_known if isinstance(context, ast.Load) else name != this
        case ast.Await() | ast.Attribute(attr="raw", ctx=ast.Load()):
            return _core(node) in answers
        case ast.Call(func=ast.Name(id=name)):
            return name in _HARMLESS_CALLS
        case ast.Attribute(value=ast.Name(id=name), attr="state", ctx=ast.Load()):
            return name == this
        case (
            ast.Attribute(value=owner, ctx=ast.Store())
            | ast.Subscript(value=owner, ctx=ast.Store())
        ):
            return ast.unparse(owner) == f"{this}.state"
    return isinstance(node, _HARMLESS)


def _is_crewais(decorator: ast.expr, known: Mapping[str, object]) -> bool:
    """Return whether a decorator is one of crewai's that leave the result of a method alone."""
    match decorator:
        case ast.Call(func=function):
            return _is_crewais(function, known)
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            found = getattr(known.get(module), name, None)
        case ast.Name(id=name):
            found = known.get(name)
        case _:
            return False
    module = getattr(found, "__module__", "")
    return module.startswith("crewai.") and getattr(found, "__name__", "") in _DECORATORS


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


def _is_model_call(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in _MODEL_CALLS


def _has_plain_arguments(call: ast.Call) -> bool:
    """Return whether a call has no arguments that may change or check the answer."""
    return len(call.args) <= 1 and all(each.arg in _ARGUMENTS for each in call.keywords)


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
