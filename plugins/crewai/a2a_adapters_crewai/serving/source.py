"""What can be told of a flow only from its source."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from a2a_adapters import TargetError

if TYPE_CHECKING:
    from crewai import Flow


def refuse_blocking_questions(flow: Flow[Any]) -> None:
    """Refuse flows that call `self.ask` where it would block all other runs.

    Raises:
        TargetError: A method that is `async` calls it.
    """
    for name, method in _async_methods(type(flow)):
        if _asks(method):
            raise TargetError(
                f"{type(flow).__name__}.{name} is async and calls self.ask(), which blocks: call "
                "it in a method that is not async, or as `await asyncio.to_thread(self.ask, ...)`"
            )


def _async_methods(kind: type[Flow[Any]]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the methods of a class of flows that are the user's own."""
    for owner in kind.__mro__:
        if not owner.__module__.startswith("crewai."):
            for name, member in vars(owner).items():
                method = inspect.unwrap(member) if callable(member) else member
                if inspect.iscoroutinefunction(method):
                    yield name, method


def _asks(method: Callable[..., Any]) -> bool:
    function = definition(method)
    if not isinstance(function, ast.AsyncFunctionDef) or not function.args.args:
        return False
    self_name = function.args.args[0].arg
    return any(_is_question(node, self_name) for node in run_by(function))


def definition(method: Callable[..., Any]) -> ast.AST | None:
    """Return a function as it is written, None if it was made without a file."""
    try:
        (function,) = ast.parse(textwrap.dedent(inspect.getsource(method))).body
    except (OSError, SyntaxError, TypeError, ValueError):
        return None
    return function


def run_by(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs when a function does, not what it only defines."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from run_by(child)


def _is_question(node: ast.AST, self_name: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="ask")):
            return name == self_name
    return False
