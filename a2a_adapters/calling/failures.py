"""Failed calls: translated into this package's errors, and repeated where that is safe."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, NoReturn, TypeVar

import httpx
from a2a.client.errors import A2AClientError
from a2a.utils.errors import JSON_RPC_ERROR_CODE_MAP, A2AError

from a2a_adapters.calling.auth import wanted_credentials
from a2a_adapters.calling.errors import (
    RemoteAgentError,
    RemoteAnswerError,
    RemoteAuthError,
    RemoteConnectionError,
    RemoteRefusedError,
)
from a2a_adapters.contract.errors import ForbiddenUrlError
from a2a_adapters.contract.text import quote

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from a2a.types import AgentCard

UNAUTHORIZED = frozenset({401, 403})
"""The HTTP statuses of an agent that wants other credentials."""

BUSY = frozenset({429, 503})
"""The HTTP statuses of an agent that has no room now, and has begun nothing."""


GATEWAY = frozenset({502, 504})
"""The HTTP statuses of a proxy that has lost the agent, which may have begun."""


class NotBegunError(RemoteConnectionError):
    """A call that cannot have been worked on: it may be sent again."""


class UnauthorizedError(RemoteAuthError):
    """The agent itself said so, and its card says what it takes."""


def translate(error: Exception, card: AgentCard) -> RemoteAgentError:
    """Return `error`, raised by a2a-sdk's client or by httpx, as a `RemoteAgentError`.

    Args:
        error: What went wrong.
        card: The agent's card, which says what credentials it takes.
    """
    failure = _translate(error)
    if isinstance(failure, NotBegunError):
        return RemoteConnectionError(str(failure))
    if not isinstance(failure, UnauthorizedError):
        return failure
    wanted = wanted_credentials(card)
    return RemoteAuthError(f"{failure}; its card asks for {wanted}" if wanted else str(failure))


def reraise(error: Exception, failure: RemoteAgentError) -> NoReturn:
    """Raise the translation of an error, with the error as its cause unless they are the same."""
    if failure is error:
        raise error
    raise failure from error


def _translate(error: Exception) -> RemoteAgentError:
    match error:
        case RemoteAgentError():
            return error
        case ForbiddenUrlError():
            return RemoteConnectionError(f"the agent's card names a forbidden address: {error}")
        case A2AClientError(__cause__=httpx.HTTPError() as cause):
            return _from_http(cause)
        case httpx.HTTPError():
            return _from_http(error)
        case A2AError() if code := JSON_RPC_ERROR_CODE_MAP.get(type(error)):
            return RemoteRefusedError(f"the agent refused: {quote(error.message)}", code=code)
        case _:
            return RemoteAnswerError(f"the agent's answer is not A2A: {quote(str(error))}")


def _from_http(error: httpx.HTTPError) -> RemoteAgentError:
    if isinstance(error, httpx.HTTPStatusError):
        return _from_status(error.response.status_code)
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return NotBegunError(f"the agent cannot be reached: {type(error).__name__}: {error}")
    if isinstance(error, httpx.TimeoutException):
        return RemoteConnectionError("the agent was silent for too long")
    return RemoteConnectionError(f"the connection failed: {type(error).__name__}: {error}")


def _from_status(status: int) -> RemoteAgentError:
    if status in UNAUTHORIZED:
        return UnauthorizedError(f"the agent wants credentials, or other ones (HTTP {status})")
    if status in BUSY:
        return NotBegunError(f"the agent is busy (HTTP {status})")
    if status in GATEWAY:
        return RemoteConnectionError(f"its gateway has lost the agent (HTTP {status})")
    return RemoteAnswerError(f"the agent answered HTTP {status}")


T = TypeVar("T")

_FIRST_DELAY = 0.25
LONGEST_DELAY = 30.0
"""How long a client waits before it repeats a call, in seconds."""


def back_off(attempt: int) -> float:
    """Return a delay in seconds that doubles, with jitter so that callers come back apart."""
    longest: float = min(_FIRST_DELAY * 2**attempt, LONGEST_DELAY)
    return longest * random.uniform(0.5, 1)  # noqa: S311


def may_have_begun(error: Exception) -> bool:
    """Whether a call was lost that the agent may have received."""
    failure = _translate(error)
    return isinstance(failure, RemoteConnectionError) and not isinstance(failure, NotBegunError)


def has_not_begun(error: Exception) -> bool:
    """Whether a call failed that cannot have been worked on."""
    return isinstance(error, NotBegunError)


async def retried(
    call: Callable[[], Awaitable[T]],
    retries: int,
    may_retry: Callable[[Exception], bool] = may_have_begun,
) -> T:
    """Return the result of a call, which is retried where that is safe.

    Args:
        call: Makes the call, an idempotent one if `may_retry` is left as it is. Where a call has
            not begun, the HTTP client has retried it already.
        retries: How often it is retried.
        may_retry: Whether it is retried after an error.
    """
    for attempt in range(retries):
        try:
            return await call()
        except Exception as error:
            if not may_retry(error):
                raise
        await asyncio.sleep(back_off(attempt))
    return await call()
