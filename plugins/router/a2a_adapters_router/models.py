"""Models, called by litellm."""

from __future__ import annotations

import logging
import os
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from a2a_adapters import MissingExtraError
from a2a_adapters_router.calls import Chunk, FailedCallError, Usage, Used
from a2a_adapters_router.secrets import resolved

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from a2a_adapters_router.calls import Message, News
    from a2a_adapters_router.config import Deployment

logger = logging.getLogger(__name__)

_BUSY = 429
_LONGEST_WAIT = 3600.0
_CALLERS = frozenset({400, 413, 422})
"""The HTTP statuses of what is wrong with the messages."""


@cache
def litellm() -> Any:
    """Import litellm: it takes seconds, and would fetch its price list from the network.

    Raises:
        MissingExtraError: It is not installed.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_LOG", "ERROR")
    try:
        module: Any = import_module("litellm")
    except ModuleNotFoundError as error:
        raise MissingExtraError("a router", "router") from error
    module.telemetry = False
    module.suppress_debug_info = True  # it prints advertisements
    return module


def model_info(model: str) -> dict[str, Any] | None:
    """Return what litellm knows of a model; None if it knows nothing."""
    try:
        info: dict[str, Any] = litellm().get_model_info(model)
    except Exception:  # its own way of saying no
        return None
    return info


class Model:
    """One deployment of a model.

    litellm's own Router would choose, fall back and cool down among models only, and takes a stream
    that breaks off for a whole one: that is done in this package.

    Args:
        deployment: What the file says of it.
        timeout: How long it may be silent, in seconds.

    Raises:
        ConfigurationError: A variable of the environment is not set.
    """

    def __init__(self, deployment: Deployment, timeout: float) -> None:
        assert deployment.litellm_params is not None  # noqa: S101 - it is no agent
        params = resolved(deployment.litellm_params)
        # Whether there is another try is decided by the router.
        self._params = {"timeout": timeout, **params, "max_retries": 0, "num_retries": 0}
        self._model = deployment.model

    def count(self, messages: Sequence[Message]) -> int:
        """Return how many tokens messages are."""
        tokens: int = litellm().token_counter(model=self._model, messages=messages)
        return tokens

    async def call(self, messages: Sequence[Message], max_tokens: int) -> AsyncGenerator[News]:
        """Send messages and yield the answer.

        Raises:
            FailedCallError: There is no answer, or no whole one.
        """
        try:
            answer = await litellm().acompletion(
                **self._params,
                messages=list(messages),
                max_tokens=max_tokens,
                stream=True,
                stream_options={"include_usage": True},
            )
        except Exception as error:
            raise _failure(error) from error
        try:
            async for chunk in answer:
                for choice in chunk.choices:
                    if text := choice.delta.content:
                        yield Chunk(text)
                if usage := getattr(chunk, "usage", None):
                    yield Used(_usage(usage))
        except Exception as error:
            if not answer.received_finish_reason:
                raise _failure(error) from error
            # The answer is whole: what comes after it, as a usage that is none, spoils nothing.
            logger.warning("%s: what follows an answer is %s", self._model, type(error).__name__)
        finally:
            with suppress(Exception):
                await answer.aclose()
        # litellm ends a stream that broke off as if it were whole.
        if not answer.received_finish_reason:
            raise FailedCallError("its answer broke off", is_passing=True)

    async def aclose(self) -> None:
        """Do nothing: litellm's connections are the process's."""


def _usage(usage: Any) -> Usage:
    details = getattr(usage, "prompt_tokens_details", None)
    cached = getattr(details, "cached_tokens", None) or 0
    return Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0, cached)


def _failure(error: Exception) -> FailedCallError:
    status = getattr(error, "status_code", None)
    name = type(error).__name__.removesuffix("Error")
    if isinstance(error, litellm().Timeout):
        return FailedCallError("it was silent for too long", is_passing=True)
    if not isinstance(status, int):
        return FailedCallError(f"the connection failed ({name})", is_passing=True)
    is_passing = status == _BUSY or status >= 500
    return FailedCallError(
        f"HTTP {status} ({name})",
        is_passing=is_passing,
        is_callers=status in _CALLERS,
        wait=_retry_after(error),
    )


def _retry_after(error: Exception) -> float | None:
    """Return for how many seconds a provider wants to be left alone (RFC 9110, section 10.2.3)."""
    told = (getattr(error, "litellm_response_headers", None) or {}).get("retry-after", "")
    if told.isdecimal():
        return min(float(told), _LONGEST_WAIT)
    try:
        until = parsedate_to_datetime(told).timestamp()
    except ValueError:
        return None
    return min(max(0.0, until - time.time()), _LONGEST_WAIT)
