"""Properties of flows that only their source code shows: blocking questions, streamable answers."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias

from a2a_adapters import TargetError

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

_FRAMEWORK = ("builtins", "crewai.", "pydantic.", "typing")

_CALLED_SILENTLY = {
    "__bool__", "__format__", "__getattr__", "__getattribute__", "__len__", "__repr__",
    "__repr_args__", "__setattr__", "__setitem__", "__str__",
}  # fmt: skip
"""The methods of a state, or a flow, that harmless code calls."""

Place: TypeAlias = tuple[CodeType, int, int]
"""A call in a function: the function's code, and the line and column at which the call ends."""


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
    """Return the syntax tree of a function, with its places in the file; None without a file."""
    try:
        lines, first = inspect.getsourcelines(method)
        around = "if True:\n" if lines[0][0].isspace() else "\n"
        (function,) = ast.parse(around + "".join(lines)).body
        if isinstance(function, ast.If):
            (function,) = function.body
    except (OSError, SyntaxError, TypeError, ValueError):
        return None
    return ast.increment_lineno(function, first - 2)


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run with a function, without the bodies of functions inside it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _executed(child)


def answering_methods(flow: Flow[Any]) -> dict[str, Place]:
    """Return the methods that answer with the text of one model, whose output can be streamed.

    Each has the place where it calls this model, agent or crew.

    These end the flow, call one model, agent or crew once, and return its answer unchanged. After
    the call, they only print it, or store it in variables and in the state:

        @listen(plan)
        def write(self):
            result = Press().crew().kickoff(inputs={"topic": self.state.topic})
            self.state.text = result.raw
            return result.raw
    """
    if _overrides(type(flow)) or _validates(flow) or _validates(flow.state):
        return {}  # it may change or refuse the result
    methods = flow.flow_definition().methods
    triggers = {
        name
        for method in methods.values()
        for condition in (method.listen, method.start)
        for name in _names(condition)
    }
    places = {
        name: _model_call(getattr(type(flow), name, None))
        for name, method in methods.items()
        if name not in triggers and not (method.router or method.human_feedback)
    }
    return {name: place for name, place in places.items() if place is not None}


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
    """Return whether code runs if an object is read or written, such as a validator."""
    config = getattr(owner, "model_config", {})
    found = getattr(owner, "__pydantic_decorators__", None)
    silent = {*_CALLED_SILENTLY}
    if found is not None:  # these run when the state is printed, stored or reported
        silent.update(found.computed_fields, found.field_serializers, found.model_serializers)
    has_code = any(
        name in silent or (isinstance(member, property) and member.fset)
        for kind in type(owner).__mro__
        if not kind.__module__.startswith(_FRAMEWORK)
        for name, member in vars(kind).items()
    )
    return has_code or bool(config.get("validate_assignment"))


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


def _model_call(method: object) -> Place | None:
    """Return where a method calls the model whose text it returns; None if it may do more."""
    bare = _unwrapped(method)
    function = _source_of(bare) if bare else None
    if (
        bare is None
        or not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        or not function.args.args
    ):
        return None
    code, known = bare.__code__, bare.__globals__
    names = {*known, *code.co_varnames, *code.co_cellvars, *code.co_freevars}
    nodes = [*_executed(ast.Module(function.body, []))]
    calls = [node for node in nodes if isinstance(node, ast.Call) and _is_model_call(node)]
    if (
        len(calls) != 1
        or not _has_plain_arguments(calls[0])
        or not _HARMLESS_CALLS.isdisjoint(names)
        or not all(_is_crewais(decorator, known) for decorator in function.decorator_list)
    ):
        return None
    call, this = calls[0], function.args.args[0].arg
    answers: set[ast.AST] = {call} | _reads(nodes, call)
    returned = [_core(node.value) for node in nodes if isinstance(node, ast.Return)]
    later = [node for node in nodes if _ends_after(node, call)]
    is_plain = all(_is_harmless(node, answers, this) for node in [*later, *_targets(nodes, call)])
    if not (is_plain and returned and answers.issuperset(returned)):
        return None
    return code, *_end(call)


def _unwrapped(method: object) -> FunctionType | None:
    """Return the function of a method; None if other code than crewai's is around it."""
    while (inner := getattr(method, "__wrapped__", None)) is not None:
        name = getattr(method, "__globals__", {}).get("__name__", type(method).__module__)
        if not name.startswith("crewai."):
            return None
        method = inner
    return method if isinstance(method, FunctionType) else None


def _targets(nodes: Iterable[ast.AST], call: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions to which a call is assigned: they stand before it, and run later."""
    for node in nodes:
        if isinstance(node, _ASSIGNMENTS) and node.value and call in ast.walk(node.value):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield from (each for each in ast.walk(target) if isinstance(each, ast.expr))


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
    has_one = len(call.args) <= 1 and not any(isinstance(each, ast.Starred) for each in call.args)
    return has_one and all(each.arg in _ARGUMENTS for each in call.keywords)


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
