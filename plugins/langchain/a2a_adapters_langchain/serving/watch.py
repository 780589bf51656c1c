"""Observes a run: adds up token usage, notes who raises errors, stops threads after a cancel."""

from __future__ import annotations

import asyncio
import functools
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages.ai import UsageMetadata, add_usage
from langchain_core.outputs import ChatGeneration

from a2a_adapters import A2AAdaptersError, AgentEvent, TaskMetadata
from a2a_adapters.plugin import JSON, AgentFailedError, CancelFlag, model_failure
from a2a_adapters_langchain.serving.guards import blocked
from a2a_adapters_langchain.serving.whole import AsksWhole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from langchain_core.outputs import LLMResult


TASK = "langgraph_checkpoint_ns"
"""Key in the metadata of a model call: the path of its task."""

_SCHEMAS = ("response_format", "output_format", "response_json_schema", "response_schema", "format")
"""Parameters in which model providers take the schema of an answer."""


class RunWatch(AsksWhole):
    """The callback handler of one run.

    Cancelling an asyncio task does not stop code in threads. Such code calls this handler at its
    next token or step, which then raises `CancelledError`.
    """

    run_inline = True  # otherwise LangChain starts a thread for every token

    def __init__(self, cancelled: CancelFlag, usage: Mapping[str, JSON] | None = None) -> None:
        super().__init__()
        self._cancelled = cancelled
        self._structured: set[str | None] = set()
        self._model_errors: list[BaseException] = []
        self._tool_errors: list[BaseException] = []
        # Threads append, which is atomic; readers make the sum.
        self._usages = [cast("UsageMetadata", dict(usage))] if usage else []
        self._by_model: list[tuple[str, UsageMetadata]] = []
        self.corrected: str | None = None
        """The text with which the last model, if it is a remote agent, has replaced its own."""

    @property
    def usage(self) -> UsageMetadata | None:
        """The token usage of all model calls so far; None if no model reported any."""
        return functools.reduce(add_usage, self._usages, None)

    def count(self, usages: Iterable[UsageMetadata]) -> None:
        """Add the usage of model calls that another process made for this run."""
        self._usages += usages

    def metadata(self) -> list[AgentEvent]:
        """Return the event with the token usage, if there is any."""
        if not (usage := self.usage):
            return []
        models: dict[str, UsageMetadata | None] = {}
        for model, spent in tuple(self._by_model):
            models[model] = add_usage(models.get(model), spent)
        bill = {"a2a_adapters.bill": {"models": cast("JSON", models)}} if models else {}
        return [TaskMetadata({"usage": cast("JSON", usage), **bill})]

    @contextmanager
    def categorized(self) -> Iterator[None]:
        """Categorize the errors of the run.

        Raises:
            AgentFailedError: From the error, if its category is known.
            BlockedError: From the exception of a guardrail.
        """
        try:
            yield
        except Exception as error:
            if failure := self._failure(error):
                raise failure from error
            raise

    def _failure(self, error: Exception) -> A2AAdaptersError | None:
        if rejection := blocked(error):
            return rejection
        of_model = any(error is each for each in self._model_errors)
        found = limit_failure(error) or model_failure(error, of_model=of_model)
        if found or isinstance(error, A2AAdaptersError):
            return found
        of_tool = any(error is each for each in self._tool_errors)
        return AgentFailedError("tool") if of_tool else None

    def on_llm_error(self, error: BaseException, **_: Any) -> None:
        """Note an error of a model."""
        self._model_errors.append(error)

    def on_tool_error(self, error: BaseException, **_: Any) -> None:
        """Note an error of a tool."""
        self._tool_errors.append(error)

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        """Add the usage of one model call, and note whether it has corrected its text."""
        generation = response.generations[0][0] if response.generations[0] else None
        about: Mapping[str, Any] = getattr(generation, "generation_info", None) or {}
        if isinstance(generation, ChatGeneration):
            about = generation.message.response_metadata
            usage = getattr(generation.message, "usage_metadata", None)
            if usage is not None:
                self._usages.append(usage)
                self._note_model(about, usage)
        self.corrected = about.get("corrected_text")

    def _note_model(self, about: Mapping[str, Any], usage: UsageMetadata) -> None:
        """Add the usage to that of its model, unless a task of another agent stands for it."""
        model = about.get("model_name") or about.get("model")
        if isinstance(model, str) and "task_id" not in about:
            self._by_model.append((model, usage))

    def _stop_if_cancelled(self, *_: Any, **__: Any) -> None:
        if self._cancelled:
            raise asyncio.CancelledError

    on_chain_start = on_tool_start = on_llm_new_token = _stop_if_cancelled

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


def _has_schema(parameters: Mapping[str, Any]) -> bool:
    formats = [parameters.get(name) for name in _SCHEMAS]
    formats.append((parameters.get("output_config") or {}).get("format"))  # Anthropic
    return any(map(_is_schema, formats))


def _is_schema(value: object) -> bool:
    if isinstance(value, dict):
        return value.get("type") not in ("text", "json_object")
    return isinstance(value, type)


def limit_failure(error: Exception, name: str = "") -> AgentFailedError | None:
    """Return the failure for an error that a limit caused; None for other errors.

    Args:
        error: The error.
        name: The name of its class on a remote server.
    """
    match name or type(error).__name__:
        case "GraphRecursionError":
            found = re.search(r"limit of (\d+)", str(error))
            steps = f"{found[1]} steps" if found else "its limit of steps"
            return AgentFailedError("limit", f"The agent did not finish within {steps}.")
        case "ModelCallLimitExceededError" | "ToolCallLimitExceededError" | "NodeTimeoutError":
            return AgentFailedError("limit")
    return None
