"""Opens targets in the server's event loop, and closes them with it.

Checkpointers, pools and tool clients belong to the event loop in which they were created. So a
target may be an `async` function without arguments that returns it, an `asynccontextmanager`
function without arguments that yields it, an async context manager that returns it, or a
`ClosedAdapter` of such a function.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeGuard

from a2a.server.agent_execution import AgentExecutor

from a2a_adapters.contract.adapter import Adapter
from a2a_adapters.contract.errors import ConfigurationError, NoAdapterError, TargetError
from a2a_adapters.contract.factory import ClosedAdapter, Factory, name_of, opens_later
from a2a_adapters.contract.plugins import installed_plugins
from a2a_adapters.serving.options import NamedTarget

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from types import TracebackType

_CLOSE_SECONDS = 5.0
"""Maximum time for closing targets."""

logger = logging.getLogger(__name__)


def is_closed(target: object) -> bool:
    """Return whether a target, or one of several by name, must be opened before it is served."""
    if isinstance(target, Mapping):
        return any(map(is_closed, target.values()))
    if isinstance(target, NamedTarget):
        return is_closed(target.target)
    if isinstance(target, ClosedAdapter) or opens_later(target):
        return True
    return _is_foreign_manager(target)


@asynccontextmanager
async def opened(target: object, *, keep_going: bool = False) -> AsyncGenerator[object]:
    """Open a target in the running event loop, yield it, and close it within 5 s.

    Args:
        target: One target, or several by name.
        keep_going: Whether to log and skip targets that cannot be opened, if there are several.

    Raises:
        TargetError: The target could not be opened, or none of several could.
    """
    async with _Bounded() as stack:
        if not is_closed(target):
            yield target
        elif isinstance(target, Mapping):
            yield await _open_all(target, stack, keep_going=keep_going)
        else:
            yield await _open(target, stack)


async def _open_all(
    targets: Mapping[str, object], stack: AsyncExitStack, *, keep_going: bool
) -> Mapping[str, object]:
    ready: dict[str, object] = {}
    for name, target in targets.items():
        try:
            ready[name] = await _open(target, stack)
        except TargetError as error:
            failure = TargetError(f"the agent {name!r} cannot be served: {error}")
            if not keep_going:
                raise failure from error
            logger.error("%s; continuing without it", failure)  # noqa: TRY400 - says all
    if targets and not ready:
        raise TargetError("none of the agents can be served")
    return ready


class _Bounded(AsyncExitStack):
    """Closes with a timeout, in the task that opened it, as cancel scopes require."""

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                return await super().__aexit__(kind, error, traceback)
        except TimeoutError:
            logger.error("the target did not close within %g s; abandoned", _CLOSE_SECONDS)  # noqa: TRY400 - where it hangs is its own
            return False


async def _open(target: object, stack: AsyncExitStack) -> object:
    if not is_closed(target):
        return target
    if isinstance(target, ClosedAdapter):
        return target.adapt(await _open(target.opens, stack))
    if isinstance(target, NamedTarget):
        return replace(target, target=await _open(target.target, stack))
    _check_unused(target)
    try:
        made = target() if opens_later(target) else target
        if inspect.isawaitable(made):
            made = await made
        if _is_foreign_manager(made):
            return await stack.enter_async_context(made)
    except ConfigurationError:
        raise
    except Exception as error:
        name = name_of(target) if callable(target) else type(target).__name__
        raise TargetError(f"opening {name} failed: {type(error).__name__}: {error}") from error
    return Factory(target, made) if callable(target) else made


def _check_unused(target: object) -> None:
    """Raise `ConfigurationError` for the manager of a generator that has already ended."""
    generator = getattr(target, "gen", None)
    if inspect.isasyncgen(generator) and generator.ag_frame is None:
        raise ConfigurationError(
            f"the context manager of {generator.__name__}() can be entered only once, and this is "
            f"another start: serve the function {generator.__name__} without calling it"
        )


def _is_foreign_manager(target: object) -> TypeGuard[AbstractAsyncContextManager[object]]:
    """Return whether it is a context manager that is not itself a target."""
    if not isinstance(target, AbstractAsyncContextManager):
        return False
    if isinstance(target, Adapter | AgentExecutor):
        return False
    try:
        installed_plugins().adapt(target)
    except NoAdapterError:
        return True
    return False
