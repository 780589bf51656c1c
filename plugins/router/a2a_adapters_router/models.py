"""Models called through litellm."""

from __future__ import annotations

import logging
import os
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import httpx

from a2a_adapters import Data, MissingExtraError
from a2a_adapters_router.calls import (
    Chunk,
    Ended,
    FailedCallError,
    OtherParts,
    Usage,
    Used,
    text_of,
)
from a2a_adapters_router.deployment import resolved

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Container, Iterable, Iterator

    from a2a_adapters_router.calls import News, Prompt
    from a2a_adapters_router.deployment import Deployment

logger = logging.getLogger(__name__)

_BUSY = 429
_LONGEST_WAIT = 3600.0
_CALLERS = frozenset({400, 413, 422})
"""HTTP statuses of errors caused by the messages."""

_BROKE_OFF = "its stream broke off"

_FLAGS = {"tools": "supports_function_calling", "tool_choice": "supports_function_calling"}
"""litellm's error for providers that support a parameter for other models only."""

_WORDS = {"vision": "images", "pdf_input": "PDF files", "audio_input": "audio"}


@cache
def litellm() -> Any:
    """Import litellm on first use, which takes seconds, and prevent its download of prices.

    Raises:
        MissingExtraError: litellm is not installed.
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
    """Return litellm's information about a model; None if unknown."""
    try:
        info: dict[str, Any] = litellm().get_model_info(model)
    except Exception:  # raised for unknown models
        return None
    return info


class Model:
    """A model of a deployment.

    litellm's own Router routes among models only, with the knowledge of a single process,
    and treats broken streams as complete; hence this package does the
    routing.

    Args:
        deployment: Its settings.
        timeout: Maximum silence in seconds.

    Raises:
        ConfigurationError: An environment variable is not set.
    """

    def __init__(self, deployment: Deployment, timeout: float) -> None:
        assert deployment.litellm_params is not None  # noqa: S101 - it is not an agent
        params = resolved(deployment.litellm_params)
        # The router decides on retries.
        self._params = {**params, "timeout": timeout, "max_retries": 0, "num_retries": 0}
        self._timeout = timeout
        self._model = deployment.model
        self._counted_as = deployment.priced_as
        info = model_info(deployment.priced_as)
        self._is_known = info is not None
        own = {f"supports_{name}": takes for name, takes in deployment.supports.items()}
        self._supports = {**(info or {}), **own}

    def lacks(self, prompt: Prompt) -> str:
        """Return the parameters and files that the model does not support."""
        allowed = self._params.get("allowed_openai_params", ())
        taken = {*(litellm().get_supported_openai_params(self._model) or ()), *allowed}
        lacking = [name for name in prompt.params if not self._takes(name, taken)]
        lacking += [
            _WORDS[need] for need in prompt.media if not self._supports.get(f"supports_{need}")
        ]
        return f"it does not support {', '.join(lacking)}" if lacking else ""

    def _takes(self, name: str, taken: Container[str]) -> bool:
        takes = self._supports.get(_FLAGS.get(name, ""))
        if takes is None:  # litellm omits missing capabilities
            return name in taken and not (self._is_known and name in _FLAGS)
        return bool(takes)

    def count(self, prompt: Prompt) -> int:
        """Return the number of tokens in a prompt's text and tools."""
        tokens: int = litellm().token_counter(
            model=self._counted_as,
            messages=[{**each, "content": text_of(each)} for each in prompt.messages],
            tools=prompt.params.get("tools"),
        )
        return tokens

    async def call(self, prompt: Prompt, max_tokens: int) -> AsyncGenerator[News]:
        """Send a prompt and yield the answer, with tool calls last.

        Raises:
            FailedCallError: The answer is missing or incomplete.
        """
        try:
            answer = await litellm().acompletion(
                **{**self._params, **prompt.params},
                messages=list(prompt.messages),
                max_tokens=max_tokens,
                stream=True,
                stream_options={"include_usage": True},
            )
        except Exception as error:
            raise _failure(error, self._timeout) from error
        calls: dict[int, dict[str, Any]] = {}
        try:
            async for chunk in answer:
                for choice in chunk.choices:
                    _collect(calls, choice.delta.tool_calls or ())
                    if text := choice.delta.content:
                        yield Chunk(text)
                if usage := getattr(chunk, "usage", None):
                    yield Used(_usage(usage))
        except Exception as error:
            if not answer.received_finish_reason:
                raise _failure(error, self._timeout, is_begun=True) from error
            # The answer is complete; errors after it, such as invalid usage, are harmless.
            logger.warning(
                "%s: ignored %s after a complete answer", self._model, type(error).__name__
            )
        finally:
            with suppress(Exception):
                await answer.aclose()
        # litellm ends broken streams like complete ones.
        if not answer.received_finish_reason:
            raise FailedCallError(_BROKE_OFF, is_passing=True)
        if calls:
            yield OtherParts([Data({"tool_calls": list(calls.values())})])
        yield Ended("tool_calls" if calls else str(answer.received_finish_reason))

    async def aclose(self) -> None:
        """Do nothing, because litellm's connections belong to the process."""


def _usage(usage: Any) -> Usage:
    details = getattr(usage, "prompt_tokens_details", None)
    cached = getattr(details, "cached_tokens", None) or 0
    return Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0, cached)


def _collect(calls: dict[int, dict[str, Any]], deltas: Iterable[Any]) -> None:
    """Merge fragments of tool calls."""
    for delta in deltas:
        empty = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        call = calls.setdefault(delta.index, empty)
        call["id"] = delta.id or call["id"]
        call["function"]["name"] += delta.function.name or ""
        call["function"]["arguments"] += delta.function.arguments or ""


def _failure(error: Exception, timeout: float, *, is_begun: bool = False) -> FailedCallError:
    timeouts = (litellm().Timeout, httpx.TimeoutException)
    if any(isinstance(each, timeouts) for each in _causes(error)):
        return FailedCallError(f"silent for {timeout:g} s", is_passing=True)
    error = getattr(error, "original_exception", None) or error
    status = getattr(error, "status_code", None)
    name = type(error).__name__.removesuffix("Error")
    if is_begun and status not in (_BUSY, *_CALLERS):
        return FailedCallError(_BROKE_OFF, is_passing=True)
    if not isinstance(status, int) or isinstance(error, litellm().APIConnectionError):
        return FailedCallError(f"the connection failed ({name})", is_passing=True)
    is_passing = status == _BUSY or status >= 500
    return FailedCallError(
        f"HTTP {status} ({name})",
        is_passing=is_passing,
        is_callers=status in _CALLERS,
        wait=_retry_after(error),
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes; litellm wraps some errors twice."""
    while error is not None:
        yield error
        original = getattr(error, "original_exception", None)
        error = original or error.__cause__ or error.__context__


def _retry_after(error: Exception) -> float | None:
    """Return the seconds in Retry-After (RFC 9110, section 10.2.3), if any."""
    header = (getattr(error, "litellm_response_headers", None) or {}).get("retry-after", "")
    if header.isdecimal():
        return min(float(header), _LONGEST_WAIT)
    try:
        until = parsedate_to_datetime(header).timestamp()
    except ValueError:
        return None
    return min(max(0.0, until - time.time()), _LONGEST_WAIT)
