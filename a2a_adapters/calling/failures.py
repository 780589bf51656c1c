"""Translates failed calls into this package's errors, and retries those that change nothing."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, NoReturn, TypeVar

import httpx
from a2a.client.errors import A2AClientError
from a2a.utils.errors import JSON_RPC_ERROR_CODE_MAP, A2AError
from pydantic_core import from_json

from a2a_adapters.calling.auth import wanted_credentials
from a2a_adapters.calling.errors import (
    RemoteAgentError,
    RemoteAnswerError,
    RemoteAuthError,
    RemoteConnectionError,
    RemoteRefusedError,
)
from a2a_adapters.contract.errors import ConfigurationError, ForbiddenUrlError
from a2a_adapters.contract.text import quote

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from a2a.types import AgentCard

_REASON_LENGTH = 200
_VIOLATIONS = 5

BUSY_CODES = frozenset({-32053, -32054})
"""JSON-RPC codes of Bedrock AgentCore for throttled calls and busy sessions, in HTTP 200."""

UNAUTHORIZED = frozenset({401, 403})
"""HTTP statuses of an agent that requires (other) credentials."""

BUSY = frozenset({429, 503})
"""HTTP statuses of an overloaded agent, which has not processed the request."""

GATEWAY = frozenset({502, 504})
"""HTTP statuses of a proxy that lost its connection to the agent, which may have processed it."""


class NotBegunError(RemoteConnectionError):
    """The agent cannot have processed the call, so it is safe to retry."""

    may_have_arrived = False


class BusyError(NotBegunError):
    """The agent said in its answer that it is busy; the HTTP client has not retried the call."""


class UnauthorizedError(RemoteAuthError):
    """The agent itself refused the credentials; its card says which ones it accepts."""


def translate(error: Exception, card: AgentCard) -> RemoteAgentError:
    """Convert an error of a2a-sdk's client or of httpx into a `RemoteAgentError`.

    The card supplies the credentials that the agent accepts.
    """
    failure = _translate(error)
    if isinstance(failure, NotBegunError):
        lost = RemoteConnectionError(str(failure))
        lost.may_have_arrived = False
        return lost
    if not isinstance(failure, UnauthorizedError):
        return failure
    wanted = wanted_credentials(card)
    return RemoteAuthError(f"{failure}; its card asks for {wanted}" if wanted else str(failure))


def reraise(error: Exception, failure: RemoteAgentError) -> NoReturn:
    """Raise `failure`, the translation of `error`, from `error`.

    Faults of the caller's own configuration, such as an unusable proxy, are raised unchanged.
    """
    if failure is error or isinstance(error, ConfigurationError):
        raise error
    raise failure from error


def _translate(error: Exception) -> RemoteAgentError:
    match error:
        case RemoteAgentError():
            return error
        case ForbiddenUrlError():
            return RemoteConnectionError(f"the agent's card names a forbidden address: {error}")
        case A2AClientError(__cause__=httpx.HTTPError() as cause) | (httpx.HTTPError() as cause):
            return _from_http(cause)
        case NotImplementedError():  # by a2a-sdk's transports of 0.3
            return RemoteRefusedError(f"the agent does not support this: {error}", code=-32004)
        case A2AError() if code := JSON_RPC_ERROR_CODE_MAP.get(type(error)):
            return RemoteRefusedError(f"the agent refused: {quote(error.message)}", code=code)
        case _:
            return RemoteAnswerError(f"the agent's answer is not A2A: {quote(str(error))}")


def _from_http(error: httpx.HTTPError) -> RemoteAgentError:
    if isinstance(error, httpx.HTTPStatusError):
        response = error.response
        reason = reason_of(response.content) if response.is_stream_consumed else ""
        return _from_status(response.status_code, f": {reason}" if reason else "")
    if isinstance(error, httpx.ProxyError):
        return NotBegunError(f"the proxy did not connect to the agent: {error}")
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return NotBegunError(f"the agent cannot be reached: {type(error).__name__}: {error}")
    if isinstance(error, httpx.TimeoutException):
        return RemoteConnectionError("the agent was silent for too long")
    return RemoteConnectionError(f"the connection failed: {type(error).__name__}: {error}")


def _from_status(status: int, reason: str) -> RemoteAgentError:
    about = f"(HTTP {status}){reason}"
    if status in UNAUTHORIZED:
        return UnauthorizedError(f"the agent wants credentials, or other ones {about}")
    if status in BUSY:
        return NotBegunError(f"the agent is busy {about}")
    if status in GATEWAY:
        return RemoteConnectionError(
            f"the gateway lost the agent, which may have received the message {about}"
        )
    return RemoteAnswerError(f"the agent answered HTTP {status}{reason}")


def reason_of(content: bytes) -> str:
    """Return the error text of a response, from the common JSON shapes or plain text."""
    try:
        reason = from_json(content)
    except ValueError:
        reason = content[: 4 * _REASON_LENGTH].decode(errors="replace")
    for key in ("error", "message", "detail"):
        if isinstance(reason, dict) and key in reason:
            reason = reason[key]
    is_html = isinstance(reason, str) and reason.lstrip().startswith("<")
    return quote(reason, _REASON_LENGTH) if isinstance(reason, str) and not is_html else ""


def refusal_text(message: object, code: int, details: object = None) -> str:
    """Describe an agent's error, with the fields that it says are wrong."""
    text = quote(str(message or "")) or f"error {code} without a reason"
    wrong = [
        f"{quote(str(each.get('field', '')), _REASON_LENGTH)}: "
        f"{quote(str(each.get('description', '')), _REASON_LENGTH)}"
        for detail in (details if isinstance(details, list) else ())
        if isinstance(detail, dict) and isinstance(detail.get("fieldViolations"), list)
        for each in detail["fieldViolations"][:_VIOLATIONS]
        if isinstance(each, dict)
    ]
    return f"the agent refused: {'; '.join([text, *wrong])}"


_NO_STREAM_CODES = frozenset({-32004, -32601})
_NO_STREAM_STATUSES = frozenset({404, 405, 406, 501})


def refuses_streams(error: Exception) -> bool:
    """Return whether an agent may have refused a message because it cannot stream the answer."""
    match error:
        case RemoteRefusedError(code=code):
            return code in _NO_STREAM_CODES
        case httpx.HTTPStatusError():
            return error.response.status_code in _NO_STREAM_STATUSES
        case _:
            return False


T = TypeVar("T")

_FIRST_DELAY = 0.25
LONGEST_DELAY = 30.0
"""Maximum delay in seconds before a retry."""


def back_off(attempt: int) -> float:
    """Return the delay before a retry in seconds: exponential, with jitter."""
    longest: float = min(_FIRST_DELAY * 2**attempt, LONGEST_DELAY)
    return longest * random.uniform(0.5, 1)  # noqa: S311


def may_have_begun(error: Exception) -> bool:
    """Return whether a call was lost that the agent may have processed."""
    failure = _translate(error)
    return isinstance(failure, RemoteConnectionError) and not isinstance(failure, NotBegunError)


def _is_lost_or_busy(error: Exception) -> bool:
    return isinstance(error, BusyError) or may_have_begun(error)


async def retried(
    call: Callable[[], Awaitable[T]],
    retries: int,
    may_retry: Callable[[Exception], bool] = _is_lost_or_busy,
) -> T:
    """Retry a call where that is safe, and return its result.

    Args:
        call: Performs the call, which must be idempotent unless `may_retry` is given. Calls that
            the agent cannot have processed are already retried by the HTTP client.
        retries: Maximum number of retries.
        may_retry: Returns whether to retry after an error.
    """
    for attempt in range(retries):
        try:
            return await call()
        except Exception as error:
            if not may_retry(error):
                raise
        await asyncio.sleep(back_off(attempt))
    return await call()
