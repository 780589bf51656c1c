"""Follows what models say through the syntax tree of a function.

What a model said may be kept in variables, packed into messages and other collections, shown and
returned. Code that does anything else with it may check it: it may refuse it, change it, or answer
with something else. So may code that returns something else once it has asked a model.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import Enum, auto
from typing import Any, TypeGuard

_ABOUT = frozenset(
    (
        *("tool_calls", "invalid_tool_calls", "tool_call_chunks", "usage_metadata"),
        *("response_metadata", "id", "name", "type", "event"),
    )
)
"""Attributes and keys of messages that are not what a model said."""

_ANSWERS = ("messages", "content", "text")
"""Keys whose value is the answer."""

_READING = frozenset(("get", "strip", "lstrip", "rstrip", "text", "copy", "result"))
"""Methods of a message, a text or a mapping that return what a model said, or a part of it."""

_COLLECTING = frozenset(("append", "extend", "insert", "update", "add", "setdefault"))
"""Methods by which a collection takes what a model said."""

_MOST_ROUNDS = 30
"""The most times to read the assignments, which may be in any order."""


class Callee(Enum):
    """What code calls."""

    MODEL = auto()
    """A model, another runnable, or code of the user that asks one."""
    PACKING = auto()
    """Code whose result has what it gets."""
    SPEAKING = auto()
    """A message of a model."""
    SHOWING = auto()
    """Code that only shows what it gets, or looks at its type or size."""
    OTHER = auto()
    """Other code, or something that is known only when the code runs."""


class Reading:
    """Follows what models say through the syntax tree of a function.

    Args:
        code: The tree.
        kind_of: Returns what an expression calls.
    """

    def __init__(self, code: ast.AST, kind_of: Callable[[ast.expr], Callee]) -> None:
        self._code = code
        self._parts = [*ast.walk(code)]
        self._parents = {
            id(child): part for part in self._parts for child in ast.iter_child_nodes(part)
        }
        for part in self._parts:
            if isinstance(part, ast.keyword):
                self._parents[id(part.value)] = self._parents[id(part)]
        calls = [each for each in self._parts if isinstance(each, ast.Call)]
        self._kinds = {id(call): kind_of(call.func) for call in calls}
        asking = {each.name for each in self._parts[1:] if _is_def(each) and self._asks(each)}
        self._kinds |= {id(call): Callee.MODEL for call in calls if _name_of(call.func) in asking}
        self._local = {*_local_names(self._parts)}
        self._said: set[str] = set()
        """The variables, and attributes of objects, that have what a model said."""
        self._late: set[int] = set()
        """The identities of the parts that may run after a model was asked."""

    def passes_on(self) -> bool:
        """Whether the code passes on what models say."""
        if not self._asks(self._code):
            return False  # the call that asks is not in this code
        if all(self._note() for _ in range(_MOST_ROUNDS)):
            return False  # it is too long to be followed
        body = getattr(self._code, "body", [])
        self._run(body, has_asked=False)
        if isinstance(body, ast.expr) and not self._carries(body):
            return False
        return not any(map(self._checks, self._parts))

    def _is(self, part: ast.AST, *kinds: Callee) -> bool:
        return self._kinds.get(id(part)) in kinds

    def _asks(self, part: ast.AST) -> bool:
        return any(self._is(each, Callee.MODEL) for each in ast.walk(part))

    def _note(self) -> bool:
        """Note the variables that have what a model said; return whether there are new ones."""
        known = len(self._said)
        for target, value in (*_assigned(self._parts), *_collected(self._parts)):
            if self._carries(value):
                self._said |= _names(target)
        return len(self._said) > known

    def _carries(self, value: ast.AST | None) -> bool:  # noqa: PLR0911 - a kind each
        """Whether an expression has what a model said."""
        match value:
            case ast.Name(id=name):
                return name in self._said
            case ast.Attribute(value=inner, attr=name):
                is_kept = ast.unparse(value) in self._said or self._carries(inner)
                return is_kept and name not in _ABOUT
            case ast.Subscript(value=inner, slice=key):
                return self._carries(inner) and not (_is_key(key, _ABOUT) or _shortens(value))
            case ast.Call():
                return self._result_carries(value)
            case ast.IfExp(body=one, orelse=other):
                return self._carries(one) and self._carries(other)
            case ast.JoinedStr(values=parts):
                return all(map(self._carries, parts))
        return any(map(self._carries, _contents(value)))

    def _result_carries(self, call: ast.Call) -> bool:  # noqa: PLR0911 - a kind each
        if self._is(call, Callee.MODEL):
            return True
        if self._is(call, Callee.SPEAKING):
            return any(map(self._carries, _texts_of(call) or _given(call)))
        if self._is(call, Callee.PACKING):
            return any(map(self._carries, _given(call)))
        match call:
            case ast.Call(func=ast.Attribute(attr="strip" | "lstrip" | "rstrip"), args=[_]):
                return False
            case ast.Call(
                func=ast.Attribute(value=owner, attr="copy" | "model_copy"),
                keywords=[ast.keyword(arg="update", value=ast.Dict(keys=keys))],
            ):
                return self._carries(owner) and all(key and _is_key(key, _ABOUT) for key in keys)
            case ast.Call(func=ast.Attribute(value=owner, attr=name), keywords=[]):
                is_about = any(_is_key(each, _ABOUT) for each in call.args[:1])
                return name in _READING and self._carries(owner) and not is_about
        return False

    def _run(self, body: Any, *, has_asked: bool) -> bool | None:
        """Note what may run after a model was asked.

        Returns whether one has been asked when the code ends; None if it does not go on.
        """
        goes_on: bool | None = has_asked
        for part in body if isinstance(body, list) else [body]:
            if goes_on is None:
                break
            goes_on = self._step(part, has_asked=goes_on)
        return goes_on

    def _step(self, part: ast.AST, *, has_asked: bool) -> bool | None:  # noqa: PLR0911 - a kind each
        match part:
            case ast.If(test=head, body=body, orelse=orelse):
                asked = self._head(head, has_asked=has_asked)
                ends = [self._run(each, has_asked=asked) for each in (body, orelse)]
                if _is_of_calls(head):  # a message that calls tools most often has no text
                    self._late -= self._answers_in(body)
                return _any(*ends)
            case (
                ast.While(test=head, body=body, orelse=orelse)
                | ast.For(iter=head, body=body, orelse=orelse)
                | ast.AsyncFor(iter=head, body=body, orelse=orelse)
            ):
                asked = self._head(head, has_asked=has_asked)
                end = self._run(body, has_asked=asked)
                end = end or self._has_late(body, ast.Break, ast.Continue)
                if end and not asked:
                    self._run(body, has_asked=True)
                return self._run(orelse, has_asked=bool(_any(asked, end)))
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
                end = self._run(body, has_asked=has_asked)
                failed = has_asked or self._has_late(body, ast.Raise)
                end = end if end is None else self._run(orelse, has_asked=end)
                # A model that fails has not said anything; nothing else here fails by what it said.
                ends = [end, *(self._run(each.body, has_asked=failed) for each in handlers)]
                self._run(final, has_asked=True)
                return _any(*ends)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for each in items:
                    has_asked = self._head(each, has_asked=has_asked)
                return self._run(body, has_asked=has_asked)
            case ast.Match(subject=head, cases=cases):
                asked = self._head(head, has_asked=has_asked)
                return _any(asked, *(self._run(each.body, has_asked=asked) for each in cases))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():  # it runs later
                self._head(part, has_asked=any(map(self._carries, ast.walk(part))))
                return has_asked
        asked = self._head(part, has_asked=has_asked)
        return None if isinstance(part, ast.Return | ast.Raise) else asked

    def _head(self, part: ast.AST, *, has_asked: bool) -> bool:
        """Note a part that runs as a whole; return whether a model has been asked then."""
        asks = self._asks(part)
        if has_asked or asks:
            given = set[int]() if has_asked else self._questions(part)
            self._late |= {id(each) for each in ast.walk(part)} - given
        return has_asked or asks

    def _answers_in(self, body: Sequence[ast.stmt]) -> set[int]:
        """Return the identities of what code returns, and of the messages that it makes."""
        parts = (each for part in body for each in ast.walk(part))
        return {
            id(each)
            for each in parts
            if isinstance(each, ast.Return) or self._is(each, Callee.SPEAKING)
        }

    def _has_late(self, body: Sequence[ast.stmt], *kinds: type[ast.stmt]) -> bool:
        """Whether code has statements of some kinds that may run after a model was asked."""
        parts = (each for part in body for each in ast.walk(part))
        return any(isinstance(each, kinds) and id(each) in self._late for each in parts)

    def _questions(self, part: ast.AST) -> set[int]:
        """Return the identities of what models are asked in a part of the code."""
        calls = [each for each in ast.walk(part) if self._is(each, Callee.MODEL)]
        given = [arg for each in calls if isinstance(each, ast.Call) for arg in _given(each)]
        return {id(each) for arg in given if not self._asks(arg) for each in ast.walk(arg)}

    def _checks(self, part: ast.AST) -> bool:  # noqa: PLR0911 - a kind each
        """Whether a part of the code may check what a model said."""
        match part:
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                return not self._said.isdisjoint(names)
            case ast.Attribute(ctx=ast.Load()) | ast.Subscript(ctx=ast.Load()):
                pass
            case ast.Attribute(value=owner) | ast.Subscript(value=owner):
                return self._carries(owner) and not self._is_harmless(part)
        if id(part) not in self._late:
            return False
        if isinstance(part, ast.expr) and self._carries(part):
            return not self._is_passed_on(part)
        match part:
            case ast.Return(value=value) | ast.Yield(value=value):
                return not self._carries(value)
            case ast.Call(func=ast.Attribute(value=owner, attr="update")) if self._carries(owner):
                return not any(map(self._carries, _given(part)))
            case ast.Call():  # other code may find what is kept in attributes
                is_kept = any("." in name or name not in self._local for name in self._said)
                return self._is(part, Callee.SPEAKING) or (is_kept and self._is(part, Callee.OTHER))
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                return name in self._said and not self._carries(value)
        found = _assigned([part])
        return any(
            not self._carries(value) and not self._said.isdisjoint(_variables(target))
            for target, value in found
        )

    def _is_passed_on(self, part: ast.expr) -> bool:  # noqa: PLR0911 - a kind each
        """Whether the code around an expression with what a model said just passes it on."""
        around = self._parents.get(id(part))
        match around:
            case ast.Call(func=ast.Attribute(attr=name) as func) if func is part:
                return name in (*_READING, *_COLLECTING, "pretty_print") or self._carries(around)
            case ast.Call() if self._is(around, Callee.MODEL):
                return False
            case ast.Call(func=ast.Attribute(attr=name)) if name in _COLLECTING:
                return True
            case ast.Attribute(value=value) | ast.Subscript(value=value) if value is part:
                return True  # see `_is_harmless`
            case ast.expr() if self._carries(around):
                return True
            case ast.Lambda():
                return around is self._code
            case ast.Delete() | ast.Assert() | ast.Raise() | ast.Match():
                return False
            case ast.stmt() | ast.comprehension() | ast.withitem():
                return True
        return self._is_tested(part) or self._is_shown(part)

    def _is_tested(self, part: ast.AST) -> bool:
        """Whether the code only asks whether a value is there."""
        around = self._parents.get(id(part))
        match around:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                return test is part
            case ast.comprehension():
                return True
            case ast.UnaryOp(op=ast.Not()) | ast.BoolOp():
                return self._is_tested(around)
            case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
                return self._is_tested(around)
        return False

    def _is_shown(self, part: ast.AST) -> bool:
        """Whether a value is given only to code that shows it, also in a text around it."""
        around = self._parents.get(id(part))
        is_text = isinstance(around, ast.JoinedStr | ast.FormattedValue | ast.BinOp | ast.keyword)
        if around is not None and is_text:
            return self._is_shown(around)
        return around is not None and self._is(around, Callee.SHOWING)

    def _is_harmless(self, target: ast.Attribute | ast.Subscript) -> bool:
        """Whether a part of what a model said may be assigned to, or removed."""
        around = self._parents.get(id(target))
        if isinstance(target, ast.Attribute):
            is_about = target.attr in _ABOUT
        else:
            is_about = _is_text(target.slice) and not _is_key(target.slice, _ANSWERS)
        if is_about or isinstance(around, ast.AugAssign):
            return True
        return isinstance(around, ast.Assign | ast.AnnAssign) and self._carries(around.value)


def _contents(value: ast.AST | None) -> Sequence[ast.expr]:
    """Return the parts of an expression that it has, too."""
    match value:
        case (
            ast.Await(value=inner)
            | ast.Starred(value=inner)
            | ast.NamedExpr(value=inner)
            | ast.FormattedValue(value=inner)
            | ast.BoolOp(op=ast.Or(), values=[inner, *_])
            | ast.ListComp(elt=inner)
            | ast.GeneratorExp(elt=inner)
        ):
            return [inner]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return parts
        case ast.Dict(keys=keys, values=parts):
            pairs = zip(keys, parts, strict=True)
            return [part for key, part in pairs if key and _is_key(key, _ANSWERS)] or parts
        case ast.BinOp(left=left, op=ast.Add(), right=right) if not (
            _is_text(left) or _is_text(right)
        ):
            return [left, right]
    return ()


def _local_names(parts: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the parameters and the variables that code sets."""
    for part in parts:
        match part:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name


def _texts_of(message: ast.Call) -> list[ast.expr]:
    """Return the text of a message that code makes."""
    named = [each.value for each in message.keywords if each.arg == "content"]
    return message.args[:1] or named


def _shortens(part: ast.Subscript) -> bool:
    """Whether this is a part of a text."""
    is_text = isinstance(part.value, ast.Attribute) and part.value.attr in _ANSWERS[1:]
    return is_text and isinstance(part.slice, ast.Slice)


def _any(*ends: bool | None) -> bool | None:
    """Return whether one of several ways has asked; None if none goes on."""
    return any(ends) if any(each is not None for each in ends) else None


def _is_def(part: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)


def _is_of_calls(test: ast.expr) -> bool:
    """Whether a condition holds only if a message calls tools."""
    match test:
        case ast.Attribute(attr="tool_calls"):
            return True
        case ast.BoolOp(op=ast.And(), values=values):
            return any(map(_is_of_calls, values))
    return False


def _is_text(key: ast.expr) -> bool:
    return isinstance(key, ast.Constant) and isinstance(key.value, str)


def _is_key(key: ast.expr, names: Collection[str]) -> bool:
    return isinstance(key, ast.Constant) and _is_text(key) and key.value in names


def _name_of(called: ast.expr) -> str:
    return called.id if isinstance(called, ast.Name) else ""


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(each.value for each in call.keywords)]


def _variables(target: ast.expr) -> set[str]:
    """Return the variables and attributes that an assignment sets."""
    match target:
        case ast.Name() | ast.Attribute():
            return {ast.unparse(target)}
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return set[str]().union(*map(_variables, parts))
        case ast.Starred(value=inner):
            return _variables(inner)
    return set()


def _names(target: ast.expr) -> set[str]:
    """Return the variables and attributes that an assignment sets, or sets an item of."""
    while isinstance(target, ast.Subscript):
        target = target.value
    return _variables(target)


def _assigned(parts: Iterable[ast.AST]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the targets and values of assignments and loops."""
    for part in parts:
        match part:
            case ast.Assign(targets=targets, value=value):
                yield from ((each, value) for each in targets)
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.NamedExpr(target=target, value=value)
                | ast.For(target=target, iter=value)
                | ast.AsyncFor(target=target, iter=value)
                | ast.comprehension(target=target, iter=value)
                | ast.withitem(optional_vars=ast.expr() as target, context_expr=value)
            ):
                yield target, value


def _collected(parts: Iterable[ast.AST]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the targets and values that are added to what a variable has."""
    for part in parts:
        match part:
            case ast.AugAssign(target=target, value=value):
                yield target, value
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in _COLLECTING:
                yield from ((owner, each) for each in _given(part))
