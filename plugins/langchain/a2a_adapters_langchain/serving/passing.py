"""Reads from its source whether code passes on what a model says, as most nodes of graphs do.

It does if what it returns, after it has asked, is what the model said or contains it, and if no
other code of the user gets that, which may refuse or change it. All other code is taken to check,
also without its source. Of 174 nodes in 10 public repositories that ask a model and return
messages, 118 pass on; most of the others return something else.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto
from types import FunctionType, MethodType
from typing import Any

from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.prompts import BasePromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool

from a2a_adapters_langchain.serving.packages import is_library, is_of_langchain, package_of
from a2a_adapters_langchain.serving.references import (
    attribute,
    cells_of,
    is_set,
    names_in,
    reachable,
)

ASKING = frozenset(
    ("invoke", "ainvoke", "stream", "astream", "batch", "abatch", "generate", "agenerate")
)
"""The methods by which code asks a model, or something that asks one."""

_READING = frozenset(("get", "strip", "lstrip", "rstrip", "text", "copy", "result"))
"""Methods of a message, a text or a mapping that return what a model said, or a part of it."""

_COLLECTING = frozenset(("append", "extend", "insert", "update", "add", "setdefault"))
"""Methods by which a collection takes what a model said."""


_PACKING = (
    *(dict, enumerate, frozenset, list, reversed, set, str, tuple, zip),
    *(getattr, iter, next, sorted),
)
"""Functions of Python whose result has what they get."""

_UNKNOWN = object()
"""What a name stands for that is known only when the code runs."""

_Code = FunctionType | MethodType


class Callee(Enum):
    """What code calls."""

    MODEL = auto()
    """A model, or another runnable."""
    ASKING = auto()
    """Code of the user that asks a model."""
    PACKING = auto()
    """Code whose result has what it gets, such as a message."""
    SPEAKING = auto()
    """A message of a model."""
    HARMLESS = auto()
    """Other code of a package, which does not refuse what a model says."""
    UNKNOWN = auto()
    """Other code of the user, or something that is known only when the code runs."""


_SOURCES = (Callee.MODEL, Callee.ASKING)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def passes_on(code: _Code) -> bool:
    """Whether a function or method passes on what models say."""
    owner = code.__self__ if isinstance(code, MethodType) else None
    function = code.__func__ if isinstance(code, MethodType) else code
    is_model = isinstance(owner, BaseLanguageModel)  # which speaks itself
    if is_model or not isinstance(function, FunctionType) or not asks(code):
        return True
    trees = _trees_of(function)
    kind_of = _Names(function, owner).kind_of
    return bool(trees) and all(Reading(tree, kind_of).passes_on() for tree in trees)


def asks(code: object) -> bool:
    """Whether a function may ask a model, itself or by another function that it refers to."""
    found = (getattr(each, "__code__", None) for each in reachable(code))
    return any(code is not None and not ASKING.isdisjoint(names_in(code)) for code in found)


def _trees_of(function: FunctionType) -> list[ast.AST]:
    """Return the syntax tree of a function, or those of the lambdas in its lines."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function.__code__)).strip())
    except (OSError, SyntaxError):
        return []
    if function.__name__ == "<lambda>":
        return [each for each in ast.walk(tree) if isinstance(each, ast.Lambda)]
    return [*tree.body[:1]]


class _Names:
    """Finds what the names in a function stand for, without running code."""

    def __init__(self, function: FunctionType, owner: object) -> None:
        code = function.__code__
        self._known = {**vars(builtins), **function.__globals__}
        self._known |= dict.fromkeys((*code.co_varnames, *code.co_cellvars), _UNKNOWN)
        for name, cell in cells_of(function):
            self._known[name] = cell.cell_contents if is_set(cell) else _UNKNOWN
        if owner is not None and code.co_varnames:
            self._known[code.co_varnames[0]] = owner

    def kind_of(self, called: ast.expr) -> Callee:
        """Return what an expression calls."""
        match called:
            case ast.Attribute(value=asked, attr=name) if name in ASKING:
                return _kind_of_runnable(self._found(asked))
            case ast.Attribute(value=ast.Constant()):
                return Callee.PACKING  # such as `"".join(texts)`
        return _kind_of(self._found(called))

    def _found(self, name: ast.expr) -> Any:
        match name:
            case ast.Name(id=simple):
                return self._known.get(simple, _UNKNOWN)
            case ast.Attribute(value=owner, attr=simple):
                held = self._found(owner)
                found = None if held is _UNKNOWN else attribute(held, simple)
                return _UNKNOWN if found is None else found
        return _UNKNOWN


def _kind_of_runnable(asked: object) -> Callee:
    if isinstance(asked, BasePromptTemplate):
        return Callee.PACKING
    if isinstance(asked, BaseRetriever):
        return Callee.HARMLESS
    return Callee.UNKNOWN if isinstance(asked, BaseTool) else Callee.MODEL


def _kind_of(called: Any) -> Callee:  # noqa: PLR0911 - a kind each
    if called is _UNKNOWN:
        return Callee.UNKNOWN
    if isinstance(called, type) and issubclass(called, BaseMessage):
        return Callee.SPEAKING if issubclass(called, AIMessage) else Callee.PACKING
    if isinstance(called, MethodType) and called.__name__ in ASKING:
        return _kind_of_runnable(called.__self__)
    home = getattr(called, "__module__", None) or type(called).__module__
    if any(called is each for each in _PACKING) or package_of(home) == "asyncio":
        return Callee.PACKING
    if is_of_langchain(home):
        return Callee.PACKING
    if is_library(home):
        return Callee.HARMLESS
    return Callee.ASKING if asks(called) else Callee.UNKNOWN


class Reading:
    """Follows what models say through the syntax tree of a function.

    Args:
        code: The tree.
        kind_of: Returns what an expression calls.
    """

    def __init__(self, code: ast.AST, kind_of: Callable[[ast.expr], Callee]) -> None:
        self._code = code
        self._kind_of = kind_of
        self._calls = [each for each in ast.walk(code) if isinstance(each, ast.Call)]
        self._kinds = {id(call): kind_of(call.func) for call in self._calls}
        self._said: set[str] = set()
        asked = [_end(each) for each in self._calls if self._is(each, *_SOURCES)]
        self._first = min(asked, default=(0, 0))
        """Where the code has asked for the first time; its beginning, if that is not to be seen."""
        while self._note():
            pass

    def passes_on(self) -> bool:
        """Whether the code passes on what models say."""
        return (
            all(not self._is_late(each) or self._carries(each) for each in _returned(self._code))
            and not any(map(self._is_given_away, self._calls))
            and not any(map(self._interferes, ast.walk(self._code)))
        )

    def _is(self, call: ast.expr, *kinds: Callee) -> bool:
        return self._kinds.get(id(call)) in kinds

    def _is_late(self, part: ast.expr) -> bool:
        """Whether code runs after a model was asked."""
        return _end(part) >= self._first

    def _note(self) -> bool:
        """Note the variables that have what a model said; return whether there are new ones."""
        known = len(self._said)
        for target, value in _assigned(self._code):
            if self._carries(value):
                self._said |= _names(target)
        return len(self._said) > known

    def _carries(self, value: ast.expr | None) -> bool:  # noqa: PLR0911 - a kind each
        """Whether an expression has what a model said."""
        match value:
            case ast.Name():
                return value.id in self._said
            case ast.Attribute():
                return ast.unparse(value) in self._said or self._carries(value.value)
            case (
                ast.Subscript(value=inner)
                | ast.Await(value=inner)
                | ast.Starred(value=inner)
                | ast.NamedExpr(value=inner)
                | ast.FormattedValue(value=inner)
                | ast.BoolOp(values=[inner, *_])
                | ast.ListComp(elt=inner)
                | ast.GeneratorExp(elt=inner)
            ):
                return self._carries(inner)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return any(map(self._carries, parts))
            case ast.Dict(keys=keys, values=parts):
                pairs = zip(keys, parts, strict=True)
                answers = [part for key, part in pairs if key and _is_answer(key)]
                return any(map(self._carries, answers or parts))
            case ast.JoinedStr(values=parts):  # other text around it replaces it
                return all(map(self._carries, parts))
            case ast.BinOp():
                return self._carries(value.left) or self._carries(value.right)
            case ast.IfExp():
                return self._carries(value.body) and self._carries(value.orelse)
            case ast.Call():
                return self._result_carries(value)
        return False

    def _result_carries(self, call: ast.Call) -> bool:
        if self._is(call, *_SOURCES):
            return True
        if self._is(call, Callee.PACKING, Callee.SPEAKING):
            return any(map(self._carries, _given(call)))
        match call.func:
            case ast.Attribute(value=owner, attr=name) if name in _READING:
                return self._carries(owner)
        return False

    def _mentions(self, value: ast.AST) -> bool:
        """Whether what a model said is anywhere in an expression."""
        return any(isinstance(each, ast.expr) and self._carries(each) for each in ast.walk(value))

    def _is_given_away(self, call: ast.Call) -> bool:
        """Whether a model, or code that may refuse it, gets what a model said, or a part of it."""
        match call.func:
            case ast.Attribute(value=owner, attr=name):
                if name in _COLLECTING or self._carries(owner):
                    return False
        may_refuse = self._is(call, *_SOURCES, Callee.UNKNOWN)
        return may_refuse and any(map(self._mentions, _given(call)))

    def _interferes(self, part: ast.AST) -> bool:  # noqa: PLR0911 - a kind each
        """Whether a part of the code changes or refuses what a model said, or replaces it."""
        match part:
            case ast.Raise(exc=ast.Call(func=kind)):
                return self._is_late(kind) and self._kind_of(kind) is Callee.UNKNOWN
            case ast.Attribute(value=owner, attr="content" | "text", ctx=ast.Store()):
                return self._carries(owner)
            case ast.Call(func=ast.Attribute(value=owner, attr="clear" | "pop" | "remove")):
                return self._carries(owner)
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                return self._mentions(test) and self._asks_again(part)
            case ast.Assign(targets=targets, value=value):
                return any(self._replaces(each, value) for each in targets)
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.NamedExpr(target=target, value=value)
            ):
                return self._replaces(target, value)
        texts = self._texts_of_message(part)
        return any(self._is_late(each) and not self._carries(each) for each in texts)

    def _asks_again(self, branches: ast.AST) -> bool:
        """Whether another answer may follow, by what was said."""
        return any(
            isinstance(each, ast.Break | ast.Continue)
            or (isinstance(each, ast.Call) and self._is(each, *_SOURCES))
            for each in ast.walk(branches)
        )

    def _replaces(self, target: ast.expr, value: ast.expr) -> bool:
        """Whether an assignment puts something else in the place of what a model said."""
        if self._carries(value) or not self._is_late(value):
            return False
        match target:
            case ast.Subscript(value=owner, slice=key):
                is_name = isinstance(key, ast.Constant) and isinstance(key.value, str)
                return self._carries(owner) and (not is_name or _is_answer(key))
        return not self._said.isdisjoint(_names(target))

    def _texts_of_message(self, part: ast.AST) -> Sequence[ast.expr]:
        """Return the text of a message of a model, if code makes one."""
        match part:
            case ast.Call() if self._is(part, Callee.SPEAKING):
                named = [each.value for each in part.keywords if each.arg == "content"]
                return part.args[:1] or named
            case ast.Tuple(elts=[ast.Constant(value="ai" | "assistant"), text]):
                return [text]
            case ast.Dict():
                pairs = zip(part.keys, part.values, strict=True)
                found = {key.value: each for key, each in pairs if isinstance(key, ast.Constant)}
                match found.get("role"):
                    case ast.Constant(value="ai" | "assistant") if "content" in found:
                        return [found["content"]]
        return ()


def _is_answer(key: ast.expr) -> bool:
    return isinstance(key, ast.Constant) and key.value in ("messages", "content", "text")


def _end(part: ast.expr) -> tuple[int, int]:
    return part.end_lineno or 0, part.end_col_offset or 0


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(each.value for each in call.keywords)]


def _names(target: ast.expr) -> set[str]:
    """Return the variables and attributes that a target of an assignment sets."""
    match target:
        case ast.Name() | ast.Attribute():
            return {ast.unparse(target)}
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return set[str]().union(*map(_names, parts))
        case ast.Subscript(value=inner) | ast.Starred(value=inner):
            return _names(inner)
    return set()


def _returned(code: ast.AST) -> Iterator[ast.expr]:
    """Yield what a function returns, without functions within it."""
    if isinstance(code, ast.Lambda):
        yield code.body
        return
    for part in ast.iter_child_nodes(code):
        if isinstance(part, ast.Return) and part.value:
            yield part.value
        elif not isinstance(part, _FUNCTIONS):
            yield from _returned(part)


def _assigned(code: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the targets and values of assignments and loops, and what collections take."""
    for part in ast.walk(code):
        match part:
            case ast.Assign(targets=targets, value=value):
                yield from ((each, value) for each in targets)
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.AugAssign(target=target, value=value)
                | ast.NamedExpr(target=target, value=value)
                | ast.For(target=target, iter=value)
                | ast.AsyncFor(target=target, iter=value)
                | ast.comprehension(target=target, iter=value)
                | ast.withitem(optional_vars=ast.expr() as target, context_expr=value)
            ):
                yield target, value
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in _COLLECTING:
                yield from ((owner, each) for each in _given(part))
