"""Functions that make what is to be served."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard

from a2a_adapters.contract.adapter import Adapter, AgentDescription, AgentRequest
from a2a_adapters.contract.errors import ConfigurationError, TargetError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from a2a_adapters.contract.events import AgentEvent

__all__ = ["Factory", "adapt_made"]

_MESSAGE_NAMES = frozenset({"text", "request"})


@dataclass(frozen=True, slots=True)
class Factory:
    """A function without arguments, and what it returned when it was called to see.

    Attributes:
        make: The function. It may be `async` where its `example` was awaited.
        example: What it made first. It tells what kind of thing is served.
    """

    make: Callable[[], Any]
    example: Any

    def __call__(self) -> Any:
        """Make another one."""
        return self.make()


class ClosedAdapter(Adapter):
    """Stands for the adapter of what has to be opened in the server's event loop first.

    Args:
        opens: An async function, or one of `asynccontextmanager`, without arguments.
        adapt: Wraps what it made.
    """

    def __init__(self, opens: Callable[[], Any], adapt: Callable[[Any], Adapter]) -> None:
        self.opens = opens
        self.adapt = adapt

    def describe(self) -> AgentDescription:
        """Refuse to: what is described is not there yet."""
        self._refuse()

    def stream(self, _: AgentRequest) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        """Refuse to: nothing is there that answers."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ConfigurationError(
            f"{name_of(self.opens)}() is called in the server's event loop: serve its adapter"
        )


def adapt_made(target: object, adapt: Callable[[Any], Adapter]) -> Adapter:
    """Wrap a target, or what a function without arguments makes.

    Args:
        target: What `adapt` takes, or a function of one of these kinds: `adapt` gets the `Factory`
            of one that returns at once, in the server's event loop that of an `async` one; of one
            of `asynccontextmanager` it gets what that gave.
        adapt: Wraps it.

    Raises:
        TargetError: The function failed.
    """
    if opens_later(target):
        return ClosedAdapter(target, adapt)
    return adapt(look(target) if is_factory(target) else target)


def needs_nothing(target: object) -> TypeGuard[Callable[[], Any]]:
    """Whether it is a function that needs no arguments and takes no message."""
    if not (inspect.isfunction(target) or inspect.ismethod(target) or isinstance(target, partial)):
        return False
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(
        parameter.kind in variadic
        or (parameter.default is not inspect.Parameter.empty and name not in _MESSAGE_NAMES)
        for name, parameter in inspect.signature(target).parameters.items()
    )


def is_factory(target: object) -> TypeGuard[Callable[[], Any]]:
    """Whether it is such a function that returns at once."""
    if inspect.isgeneratorfunction(target) or inspect.isasyncgenfunction(target):
        return False
    return needs_nothing(target) and not opens_later(target)


def opens_later(target: object) -> TypeGuard[Callable[[], Any]]:
    """Whether it is such a function that has to be called in the server's event loop."""
    if not needs_nothing(target):
        return False
    if inspect.iscoroutinefunction(target):
        return True
    made_by = inspect.unwrap(target)  # `asynccontextmanager` wraps a generator function
    return inspect.isasyncgenfunction(made_by) and not inspect.isasyncgenfunction(target)


def look(make: Callable[[], Any]) -> Factory:
    """Call a function to see what it makes.

    Raises:
        ConfigurationError: It raised one.
        TargetError: It raised anything else.
    """
    try:
        return Factory(make, make())
    except ConfigurationError:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise TargetError(f"{name_of(make)}() could not be called: {kind}: {error}") from error


def name_of(make: Callable[..., Any]) -> str:
    """Return a function's name as it is written."""
    while isinstance(make, partial):
        make = make.func
    return getattr(make, "__name__", repr(make))
