"""Watches a run: adds up its token usage, notes who raises, stops its threads after a cancel."""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages.ai import UsageMetadata, add_usage
from langchain_core.outputs import ChatGeneration

from a2a_adapters import (
    JSON,
    A2AAdaptersError,
    AgentEvent,
    AgentFailedError,
    CancelFlag,
    TaskMetadata,
    model_failure,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from langchain_core.outputs import LLMResult
    from langchain_core.runnables import RunnableConfig


TASK = "langgraph_checkpoint_ns"
"""Key in the metadata of a model call: the path of its task."""

_SCHEMAS = ("response_format", "output_format", "response_json_schema", "response_schema", "format")
"""Parameters by which model providers take the schema of an answer."""


class RunWatch(BaseCallbackHandler):
    """One run's callback handler.

    Cancelling an asyncio task does not reach code in threads. That code meets this handler at
    its next token or step, which then raises in place of going on.
    """

    run_inline = True  # a handler that is not gets a thread for every token

    def __init__(self, cancelled: CancelFlag, usage: Mapping[str, JSON] | None = None) -> None:
        self._cancelled = cancelled
        self._structured: set[str | None] = set()
        self._of_models: list[BaseException] = []
        self._of_tools: list[BaseException] = []
        # Threads append, which is atomic; the sum is made by whoever asks.
        self._usages = [cast("UsageMetadata", dict(usage))] if usage else []

    @property
    def usage(self) -> UsageMetadata | None:
        """The usage of all model calls so far; None if no model told."""
        total: UsageMetadata | None = None
        for usage in self._usages:
            total = add_usage(total, usage)
        return total

    def count(self, usages: Iterable[UsageMetadata]) -> None:
        """Take the usage of model calls that another process has made for this run."""
        self._usages += usages

    def metadata(self) -> list[AgentEvent]:
        """Return the usage as an event, if there is any."""
        return [TaskMetadata({"usage": cast("JSON", usage)})] if (usage := self.usage) else []

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Give errors of the run their category; others leave as they are.

        Raises:
            AgentFailedError: From the run's error.
        """
        try:
            yield
        except Exception as error:
            if failure := self._failure(error):
                raise failure from error
            raise

    def _failure(self, error: Exception) -> AgentFailedError | None:
        of_model = any(error is each for each in self._of_models)
        found = limit_failure(error) or model_failure(error, of_model=of_model)
        if found or isinstance(error, A2AAdaptersError):
            return found
        of_tool = any(error is each for each in self._of_tools)
        return AgentFailedError("tool") if of_tool else None

    def on_llm_error(self, error: BaseException, **_: Any) -> None:
        """Note what a model has raised."""
        self._of_models.append(error)

    def on_tool_error(self, error: BaseException, **_: Any) -> None:
        """Note what a tool has raised."""
        self._of_tools.append(error)

    def on_llm_new_token(self, *_: Any, **__: Any) -> None:
        """Stop a model that streams in a thread."""
        if self._cancelled:
            raise asyncio.CancelledError

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        """Take one model call's usage."""
        generation = response.generations[0][0] if response.generations[0] else None
        if isinstance(generation, ChatGeneration):
            usage = getattr(generation.message, "usage_metadata", None)
            if usage is not None:
                self._usages.append(usage)

    def on_chain_start(self, *_: Any, **__: Any) -> None:
        """Stop before the next step."""
        self._stop_if_cancelled()

    def on_chat_model_start(
        self,
        *_: Any,
        metadata: Mapping[str, Any] | None = None,
        invocation_params: Mapping[str, Any] | None = None,
        **__: Any,
    ) -> None:
        """Stop before the next model call; note whether its text follows a schema."""
        self._stop_if_cancelled()
        task = (metadata or {}).get(TASK)
        if _has_schema(invocation_params or {}):
            self._structured.add(task)
        else:
            self._structured.discard(task)

    def is_structured(self, task: str) -> bool:
        """Whether the text of a graph's task, given by its path, is structured output."""
        return task in self._structured

    def on_tool_start(self, *_: Any, **__: Any) -> None:
        """Stop before the next tool."""
        self._stop_if_cancelled()

    def _stop_if_cancelled(self) -> None:
        if self._cancelled:
            raise asyncio.CancelledError


def _has_schema(parameters: Mapping[str, Any]) -> bool:
    asked = [parameters.get(name) for name in _SCHEMAS]
    asked.append((parameters.get("output_config") or {}).get("format"))  # of Anthropic
    return any(map(_is_schema, asked))


def _is_schema(value: object) -> bool:
    if isinstance(value, dict):
        return value.get("type") not in ("text", "json_object")
    return isinstance(value, type)


_STEPS = 100
"""How many steps a graph may take for one message, unless its user sets a `recursion_limit`."""

_UNSET = (None, 9_999)
"""A graph's own limit if its user has set none: the second is that of `create_agent`."""


def step_limit(graph: Any) -> RunnableConfig:
    """Return the configuration that limits a graph's steps; an empty one if its user has."""
    if (graph.config or {}).get("recursion_limit") not in _UNSET:
        return {}
    # LangGraph's own variable for the limit of all graphs of a process, 10,007 by default.
    return {"recursion_limit": int(os.environ.get("LANGGRAPH_DEFAULT_RECURSION_LIMIT", _STEPS))}


def limit_failure(error: Exception, name: str = "") -> AgentFailedError | None:
    """Return an error as a limit that was reached, None if it is anything else.

    Args:
        error: The error.
        name: The name of its class on a server elsewhere.
    """
    match name or type(error).__name__:
        case "GraphRecursionError":
            found = re.search(r"limit of (\d+)", str(error))
            steps = f"{found[1]} steps" if found else "its limit of steps"
            return AgentFailedError("limit", f"The agent did not finish within {steps}.")
        case "ModelCallLimitExceededError" | "ToolCallLimitExceededError" | "NodeTimeoutError":
            return AgentFailedError("limit")
    return None
