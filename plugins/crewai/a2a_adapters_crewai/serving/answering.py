"""The methods of a flow that answer with what a model says, told from their source.

They are those after which a flow can end, and which call one model, agent or crew, once, and
return its answer as it is:

    @listen(plan)
    def write(self):
        result = Press().crew().kickoff(inputs={"topic": self.state.topic})
        self.state.text = result.raw
        return result.raw
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from a2a_adapters_crewai.serving.source import definition, run_by

if TYPE_CHECKING:
    from crewai import Flow

_MODEL_CALLS = {"kickoff", "kickoff_async", "akickoff", "call", "acall"}
_LOOPS = ast.For | ast.AsyncFor | ast.While | ast.comprehension


def answering_methods(flow: Flow[Any]) -> frozenset[str]:
    """Return the names of these methods."""
    methods = flow.flow_definition().methods
    heeded = {name for method in methods.values() for name in _names(method.listen)}
    return frozenset(
        name
        for name, method in methods.items()
        if name not in heeded
        and not (method.router or method.human_feedback)
        and _returns_what_is_said(getattr(type(flow), name, None))
    )


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


def _returns_what_is_said(method: object) -> bool:
    function = definition(inspect.unwrap(method)) if callable(method) else None
    nodes = [*run_by(function)] if function else []
    calls = [node for node in nodes if _is_model_call(node)]
    if len(calls) != 1 or any(isinstance(node, _LOOPS) for node in nodes):
        return False
    answers = {calls[0], *_reads(nodes, calls[0])}
    returned = [_core(node.value) for node in nodes if isinstance(node, ast.Return)]
    return bool(returned) and answers.issuperset(returned)


def _reads(nodes: Sequence[ast.AST], call: ast.AST) -> Iterator[ast.AST]:
    """Yield where variables are read that only ever hold what a call returned."""
    written = [node.id for node in nodes if _is_name(node, ast.Store)]
    holding = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and _core(node.value) is call
        for target in node.targets
        if isinstance(target, ast.Name) and written.count(target.id) == 1
    }
    for node in nodes:
        if _is_name(node, ast.Load) and node.id in holding:
            yield node


def _is_name(node: ast.AST, access: type[ast.expr_context]) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, access)


def _is_model_call(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in _MODEL_CALLS
    return False


def _core(node: ast.AST | None) -> ast.AST | None:
    """Return an expression without what only reads its text."""
    match node:
        case (
            ast.Await(value=inner)
            | ast.Attribute(value=inner, attr="raw")
            | ast.Call(func=ast.Name(id="str"), args=[inner])
        ):
            return _core(inner)
    return node
