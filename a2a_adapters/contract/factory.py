"""Targets given as functions that create them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard, TypeVar
from weakref import WeakValueDictionary

from a2a_adapters.contract.adapter import Adapter, AgentRequest
from a2a_adapters.contract.errors import ConfigurationError, TargetError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Iterable

    from a2a_adapters.contract.card import AgentDescription
    from a2a_adapters.contract.events import AgentEvent

_Target = TypeVar("_Target")

_MESSAGE_NAMES = frozenset({"text", "request"})


@dataclass(frozen=True, slots=True)
class Factory:
    """A function that creates targets, with the first target it created.

    Attributes:
        make: The function, which takes no arguments. It may be `async` if `example` was awaited.
        example: The first target, which determines the plugin.
    """

    make: Callable[[], Any]
    example: Any

    def __call__(self) -> Any:
        """Create another target."""
        return self.make()


def example_of(target: _Target | Factory) -> _Target:
    """Return the first target that a factory has made, or the target itself."""
    example: _Target = target.example if isinstance(target, Factory) else target
    return example


def per_request(
    target: _Target | Factory,
    choose: Callable[[AgentRequest], _Target | Awaitable[_Target]] | None = None,
) -> Callable[[AgentRequest], Awaitable[_Target]]:
    """Return a function that returns the target of a request.

    Args:
        target: The target of all requests, or a factory that makes one for each.
        choose: Returns another one for a request; may be async.
    """

    async def chosen(request: AgentRequest) -> _Target:
        made: Any = target
        if choose is not None:
            made = choose(request)
        elif isinstance(target, Factory):
            made = target()
        found: _Target = await made if inspect.isawaitable(made) else made
        return found

    return chosen


class MadeAnew:
    """Checks that a function makes the parts of its targets anew, as a run would change them.

    Args:
        parts: Returns the parts of a target that hold the state of a run, such as its agents.
        kinds: What the function has to make, for the error.
    """

    def __init__(self, parts: Callable[[Any], Iterable[object]], kinds: str) -> None:
        self._parts = parts
        self._kinds = kinds
        self._seen: WeakValueDictionary[int, object] = WeakValueDictionary()

    def check_factory(self, factory: Factory) -> None:
        """Check the first target and another one, unless only an event loop can make it.

        Raises:
            TargetError: They have a part in common, or the function failed.
        """
        self.check(factory.example)
        is_async = inspect.iscoroutinefunction(factory.make)
        made = None if is_async else look(factory.make).example
        if inspect.iscoroutine(made):  # the function calls an async one
            made.close()
        elif made is not None:
            self.check(made)

    def check(self, made: object) -> None:
        """Check the next target.

        Raises:
            TargetError: An earlier one had a part of it.
        """
        parts = {id(part): part for part in self._parts(made)}
        for key, part in parts.items():
            if self._seen.get(key) is part:
                kind = type(part).__name__
                raise TargetError(
                    f"a function returned the same {kind} for the second time, which would mix "
                    f"the callers' runs: it has to make the {self._kinds} anew"
                )
        self._seen.update(parts)


class ClosedAdapter(Adapter):
    """A placeholder for a target that must be created in the server's event loop.

    Args:
        opens: An async function, or one of `asynccontextmanager`, without arguments.
        adapt: Wraps the created target.
    """

    def __init__(self, opens: Callable[[], Any], adapt: Callable[[Any], Adapter]) -> None:
        self.opens = opens
        self.adapt = adapt

    def describe(self) -> AgentDescription:
        """Raise `ConfigurationError`: the target does not exist yet."""
        self._refuse()

    def stream(self, _: AgentRequest) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        """Raise `ConfigurationError`: the target does not exist yet."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ConfigurationError(
            f"{name_of(self.opens)}() is called in the server's event loop: serve its adapter"
        )


def adapt_made(target: object, adapt: Callable[[Any], Adapter]) -> Adapter:
    """Wrap a target, or the result of a function that creates one.

    Args:
        target: A target, or a function without arguments that creates it. `adapt` receives a
            `Factory` of a plain function or, in the server's event loop, of an `async` one; of an
            `asynccontextmanager` function it receives the target that it yields.
        adapt: Wraps the target or factory in an adapter.

    Raises:
        TargetError: The function failed.
    """
    if opens_later(target):
        return ClosedAdapter(target, adapt)
    return adapt(look(target) if is_factory(target) else target)


def needs_nothing(target: object) -> TypeGuard[Callable[[], Any]]:
    """Return whether `target` is a function that needs no arguments and takes no message."""
    if not (inspect.isfunction(target) or inspect.ismethod(target) or isinstance(target, partial)):
        return False
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(
        parameter.kind in variadic
        or (parameter.default is not inspect.Parameter.empty and name not in _MESSAGE_NAMES)
        for name, parameter in inspect.signature(target).parameters.items()
    )


def is_factory(target: object) -> TypeGuard[Callable[[], Any]]:
    """Return whether `target` is such a function and returns its result directly."""
    if inspect.isgeneratorfunction(target) or inspect.isasyncgenfunction(target):
        return False
    return needs_nothing(target) and not opens_later(target)


def opens_later(target: object) -> TypeGuard[Callable[[], Any]]:
    """Return whether `target` is such a function and must be called in the server's event loop."""
    if not needs_nothing(target):
        return False
    if inspect.iscoroutinefunction(target):
        return True
    made_by = inspect.unwrap(target)  # `asynccontextmanager` wraps a generator function
    return inspect.isasyncgenfunction(made_by) and not inspect.isasyncgenfunction(target)


def look(make: Callable[[], Any]) -> Factory:
    """Call a function to learn the kind of target that it creates.

    Raises:
        ConfigurationError: The function raised it.
        TargetError: The function raised anything else.
    """
    try:
        return Factory(make, make())
    except ConfigurationError:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise TargetError(f"{name_of(make)}() could not be called: {kind}: {error}") from error


def name_of(make: Callable[..., Any]) -> str:
    """Return a function's name, also through `partial`."""
    while isinstance(make, partial):
        make = make.func
    return getattr(make, "__name__", repr(make))
