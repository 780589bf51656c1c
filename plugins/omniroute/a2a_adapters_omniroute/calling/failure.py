"""Maps a gateway's error codes and texts to exceptions.

The documentation has a code per error; the actual server 3.7.9 shares codes and differs in texts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from a2a_adapters.dialects import quote
from a2a_adapters_omniroute.errors import (
    OmniRouteAuthError,
    OmniRouteBudgetError,
    OmniRouteCancelledError,
    OmniRouteError,
    OmniRouteNotEnabledError,
    OmniRouteProviderError,
    OmniRouteRefusedError,
    OmniRouteTaskFinishedError,
    OmniRouteTaskNotFoundError,
    OmniRouteUnknownSkillError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

NO_PROVIDER = -32005
_FAILED = -32603

_UPSTREAM_STATUS = re.compile(r"API \[(\d{3})\]")
_TIMED_OUT = re.compile(r"aborted|time ?out|timed out", re.IGNORECASE)
_RETRYABLE = frozenset({408, 425, 429, 502, 503, 504})
_RESET = re.compile(r"reset after \d")


def refusal(code: int, message: str) -> OmniRouteError:
    """Return the exception for a JSON-RPC error object."""
    if code in (NO_PROVIDER, _FAILED):
        return failure(message, retryable=code == NO_PROVIDER)
    for rule_code, beginning, make in _REFUSALS:
        if code == rule_code and message.startswith(beginning):
            return make(quote(message))
    return OmniRouteRefusedError(f"the gateway refused: {quote(message)}", code=code)


def failure(message: str, *, retryable: bool = False) -> OmniRouteError:
    """Return the exception for a gateway's reason why a task or its cancellation failed."""
    for pattern, make in _FAILURES:
        if pattern.match(message):
            return make(quote(message))
    found = _UPSTREAM_STATUS.search(message)
    status = int(found[1]) if found else 0
    is_timeout = not found and _TIMED_OUT.search(message)
    may_pass = bool(retryable or status in _RETRYABLE or is_timeout or _RESET.search(message))
    hint = "try again later" if may_pass else "choose another model, or check its provider"
    return OmniRouteProviderError(
        f"no provider answered; {hint} ({quote(message)})",
        status=status,
        retryable=may_pass,
    )


def cancelled(detail: str) -> OmniRouteCancelledError:
    """Return the exception for a cancelled task."""
    return OmniRouteCancelledError(f"the task was cancelled ({detail})")


def unauthorized(detail: str) -> OmniRouteAuthError:
    """Return the exception for a missing or invalid key."""
    return OmniRouteAuthError(f"the gateway requires another API key ({detail})")


def _disabled(detail: str) -> OmniRouteNotEnabledError:
    return OmniRouteNotEnabledError(
        "the gateway's A2A endpoint is disabled; enable A2A on the page Endpoints of its "
        f"dashboard ({detail})"
    )


def _unknown_skill(detail: str) -> OmniRouteUnknownSkillError:
    return OmniRouteUnknownSkillError(
        f"the gateway does not have this skill; discover() lists its skills ({detail})", code=-32601
    )


def _unknown_task(detail: str) -> OmniRouteTaskNotFoundError:
    return OmniRouteTaskNotFoundError(f"the task is unknown or expired ({detail})")


def _finished(detail: str) -> OmniRouteTaskFinishedError:
    return OmniRouteTaskFinishedError(
        f"the task has already ended; get_task() returns it ({detail})"
    )


def _over_budget(detail: str) -> OmniRouteBudgetError:
    return OmniRouteBudgetError(
        f"over budget: raise it, or use a cheaper model or combo ({detail})"
    )


_REFUSALS: tuple[tuple[int, str, Callable[[str], OmniRouteError]], ...] = (
    (-32000, "A2A endpoint is disabled", _disabled),
    (-32001, "", _unknown_task),
    (-32601, "Task not found", _unknown_task),
    (-32002, "", _finished),
    (-32003, "", unauthorized),
    (-32600, "Unauthorized", unauthorized),
    (-32004, "", _over_budget),
    (-32601, "Unknown skill", _unknown_skill),
)
_FAILURES: tuple[tuple[re.Pattern[str], Callable[[str], OmniRouteError]], ...] = (
    (re.compile(r"Task \S+ not found"), _unknown_task),
    (re.compile(r"Invalid transition: \w+ → cancelled"), _finished),
    (re.compile(r"Invalid transition: cancelled → "), cancelled),
)
