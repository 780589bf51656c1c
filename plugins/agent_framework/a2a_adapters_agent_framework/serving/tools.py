"""Reports the tool calls of a run, and gives the results of calls that the caller rejected."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from agent_framework import FunctionInvocationContext, FunctionMiddleware


@dataclass(frozen=True, slots=True)
class Called:
    """The start of a tool call."""

    call_id: str
    name: str
    arguments: object


@dataclass(frozen=True, slots=True)
class Returned:
    """The end of a tool call; the result of a failed call is None."""

    call_id: str
    result: object
    is_error: bool = False


class ToolWatch(FunctionMiddleware):
    """Watches the tool calls of a run.

    Args:
        report: Awaited for the start and the end of each call.
        rejections: The results of the calls that are not made, by the id of the call.
        is_last: Whether no other middleware may change results. Middleware of an agent runs around
            that of a run, so only the response has its changes.
        shows_arguments: Whether to report arguments: middleware of context providers runs within
            that of a run, and may change them.
    """

    def __init__(
        self,
        report: Callable[[Called | Returned], Awaitable[None]],
        rejections: Mapping[str, str],
        *,
        is_last: bool,
        shows_arguments: bool,
    ) -> None:
        self._report = report
        self._shows_arguments = shows_arguments
        self._is_last = is_last
        self._rejections = rejections

    async def process(
        self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        """Make a call, unless it was rejected."""
        call_id = str((context.metadata or {}).get("call_id", ""))
        if call_id in self._rejections:
            context.result = self._rejections[call_id]
            return
        arguments = context.arguments if self._shows_arguments else None
        await self._report(Called(call_id, context.function.name, arguments))
        try:
            await call_next()
        except Exception:
            if self._is_last:
                await self._report(Returned(call_id, None, is_error=True))
            raise
        if self._is_last:
            await self._report(Returned(call_id, value_of(context.result)))


def value_of(result: object) -> object:
    """Return the text of a result, which the framework holds as contents."""
    if not isinstance(result, list):
        return result
    return "\n".join(each.text or "" for each in result if each.type == "text")
