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
    """

    def __init__(
        self,
        report: Callable[[Called | Returned], Awaitable[None]],
        rejections: Mapping[str, str],
    ) -> None:
        self._report = report
        self._rejections = rejections

    async def process(
        self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        """Make a call, unless it was rejected."""
        call_id = str((context.metadata or {}).get("call_id", ""))
        if call_id in self._rejections:
            context.result = self._rejections[call_id]
            return
        await self._report(Called(call_id, context.function.name, context.arguments))
        try:
            await call_next()
        except Exception:
            await self._report(Returned(call_id, None, is_error=True))
            raise
        await self._report(Returned(call_id, _value(context.result)))


def _value(result: object) -> object:
    """Return the text of a result, which the framework holds as contents."""
    if not isinstance(result, list):
        return result
    return "\n".join(each.text or "" for each in result if each.type == "text")
