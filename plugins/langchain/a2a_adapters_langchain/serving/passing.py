"""Tells whether code passes on what a model says, as most nodes of graphs do, from its source.

Code that asks a model is taken to check if its source is not there, or cannot be followed.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import functools
import inspect
import textwrap
import typing
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.prompts import BasePromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from a2a_adapters_langchain.serving.packages import (
    is_library,
    is_library_for,
    is_of_langchain,
    package_of,
)
from a2a_adapters_langchain.serving.reading import Callee, Reading
from a2a_adapters_langchain.serving.references import (
    attribute,
    cells_of,
    code_of,
    home_of,
    inherited,
    is_set,
    names_in,
    reachable,
)

ASKING_METHODS = frozenset(
    (
        *("invoke", "ainvoke", "stream", "astream", "batch", "abatch", "generate", "agenerate"),
        *("generate_prompt", "agenerate_prompt", "batch_as_completed", "abatch_as_completed"),
        *("transform", "atransform", "astream_events", "astream_log"),
    )
)
"""The methods by which code asks a model, or something that asks one."""

_PACKING = (
    *(dict, enumerate, frozenset, list, reversed, set, str, tuple, zip, getattr, iter, len, next),
    *(typing.cast, asyncio.gather, asyncio.wait_for),
)
"""Functions of Python whose result has what they get."""

_KIND_ONLY = (bool, callable, hasattr, isinstance, print, type)
"""Functions of Python that do not look at what a text says."""

_LOGGING = ("logging", "loguru", "structlog", "rich", "warnings", "pprint")
"""Packages that only show what they get."""

_WRITERS = ("StreamWriter", "BaseStore", "Runtime", "get_stream_writer", "get_store")
"""Types and functions of LangGraph that take what a node has to say beside its answer."""

_UNKNOWN = object()
"""What a name stands for that is known only when the code runs."""

_WRITER = object()
"""A writer or a store of LangGraph."""

_RUNTIME = object()
"""A runtime of LangGraph, which has both, beside what is the user's."""


def passes_on(code: FunctionType | MethodType) -> bool:
    """Whether a function or method passes on what models say."""
    owner = code.__self__ if isinstance(code, MethodType) else None
    function = code.__func__ if isinstance(code, MethodType) else code
    is_model = isinstance(owner, BaseLanguageModel)  # which speaks itself
    if is_model or not isinstance(function, FunctionType) or not asks(code):
        return True
    try:
        trees = _trees_of(function.__code__)
        found = (Reading(tree, _Names(function, owner, tree).kind_of) for tree in trees)
        return bool(trees) and all(each.passes_on() for each in found)
    except RecursionError:  # an expression is too long to be followed
        return False


def asks(code: object) -> bool:
    """Whether a function may ask a model, itself or by another function that it refers to."""
    found = map(code_of, reachable(code))
    return any(code is not None and not ASKING_METHODS.isdisjoint(names_in(code)) for code in found)


@functools.lru_cache(1000)
def _trees_of(code: CodeType) -> list[ast.AST]:
    """Return the syntax tree of a function, or those of the lambdas in its lines.

    Graphs that are made for each run have the same code.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)).strip())
    except Exception:  # a file that has changed since may end this in many ways
        return []
    if code.co_name == "<lambda>":
        return [each for each in ast.walk(tree) if isinstance(each, ast.Lambda)]
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [each for each in tree.body[:1] if isinstance(each, functions)]


class _Names:
    """Finds what the names in a function stand for, without running code."""

    def __init__(self, function: FunctionType, owner: object, tree: ast.AST) -> None:
        code = function.__code__
        self._known = {**vars(builtins), **function.__globals__}
        self._known |= dict.fromkeys((*code.co_varnames, *code.co_cellvars), _UNKNOWN)
        for name, cell in cells_of(function):
            self._known[name] = cell.cell_contents if is_set(cell) else _UNKNOWN
        if owner is not None and code.co_varnames:
            self._known[code.co_varnames[0]] = owner
        self._known |= dict(self._writers(tree))
        self._function, self._owner = function, owner
        self._project = package_of(home_of(function))

    def _writers(self, tree: ast.AST) -> Iterator[tuple[str, object]]:
        """Yield the parameters and variables that are writers, stores or runtimes of LangGraph."""
        for each in ast.walk(tree):
            match each:
                case (
                    ast.arg(arg=name, annotation=ast.Name(id=kind))
                    | ast.arg(arg=name, annotation=ast.Subscript(value=ast.Name(id=kind)))
                    | ast.Assign(
                        targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=kind))
                    )
                ) if kind in _WRITERS and is_library(home_of(self._known.get(kind))):
                    yield name, _RUNTIME if kind == "Runtime" else _WRITER

    def kind_of(self, called: ast.expr) -> Callee:
        """Return what an expression calls."""
        match called:
            case ast.Attribute(value=asked, attr=name) if name in ASKING_METHODS:
                return _kind_of_runnable(self._found(asked))
            case ast.Attribute(value=ast.Constant(), attr="join"):
                return Callee.PACKING  # such as `"".join(texts)`
        return _kind_of(self._found(called), self._project)

    def _found(self, name: ast.expr) -> Any:
        match name:
            case ast.Name(id=simple):
                return self._known.get(simple, _UNKNOWN)
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=simple):
                return inherited(self._function, self._owner, simple) or _UNKNOWN
            case ast.Attribute(value=owner, attr=simple):
                held = self._found(owner)
                if held is _RUNTIME:
                    return _WRITER if simple in ("stream_writer", "store") else _UNKNOWN
                if held is _UNKNOWN or held is _WRITER:
                    return held
                found = attribute(held, simple)
                return _UNKNOWN if found is None else found
        return _UNKNOWN


def _kind_of_runnable(asked: object) -> Callee:
    if isinstance(asked, BasePromptTemplate):
        return Callee.PACKING
    return Callee.OTHER if isinstance(asked, BaseRetriever | BaseTool) else Callee.MODEL


def _kind_of_method(method: MethodType) -> Callee:
    """Return what a method of a runnable is; a parser may refuse what it gets."""
    is_asking = getattr(method, "__name__", "") in ASKING_METHODS
    is_prompt = isinstance(method.__self__, BasePromptTemplate)
    return _kind_of_runnable(method.__self__) if is_asking or is_prompt else Callee.OTHER


def _kind_of(called: Any, project: str) -> Callee:
    while isinstance(called, functools.partial):
        called = called.func
    if called is _UNKNOWN:
        return Callee.OTHER
    home = home_of(called)
    is_kind_only = any(called is each for each in (*_KIND_ONLY, _WRITER))
    if is_kind_only or package_of(home) in _LOGGING:
        return Callee.SHOWING
    if isinstance(called, type) and issubclass(called, BaseMessage):
        return Callee.SPEAKING if issubclass(called, AIMessage) else Callee.PACKING
    if isinstance(called, MethodType) and isinstance(called.__self__, Runnable):
        return _kind_of_method(called)
    if any(called is each for each in _PACKING) or is_of_langchain(home):
        return Callee.PACKING
    return Callee.MODEL if not is_library_for([project], home) and asks(called) else Callee.OTHER
