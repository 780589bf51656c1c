"""A remote agent as the model of crewai's agents."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import aclosing, closing, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from crewai.agent import core
from crewai.events.types.llm_events import LLMCallType
from crewai.llms.base_llm import BaseLLM, llm_call_context
from pydantic import BaseModel, ValidationError
from typing_extensions import override

from a2a_adapters import (
    AgentReply,
    ConfigurationError,
    Part,
    RemoteAgent,
    RemoteAgentError,
    RemoteEvent,
    TextDelta,
)
from a2a_adapters_crewai.calling.messages import to_parts, usage_of

if TYPE_CHECKING:
    from crewai import Task
    from crewai.agents.agent_builder.base_agent import BaseAgent
    from crewai.utilities.types import LLMMessage

    from a2a_adapters.plugin import JSON

F = TypeVar("F", bound=Callable[..., object])

_CHARACTERS_PER_TOKEN = 4


def not_retried(call: F) -> F:
    """Prevent crewai from retrying a model's method.

    crewai retries on words such as "rate limit", which a remote agent may write about anything.
    """
    vars(call)["_crewai_rate_limit_wrapped"] = True
    return call


@functools.cache
def disable_agent_retries() -> None:
    """Prevent crewai from restarting an agent after a failure of a remote agent.

    crewai restarts agents twice after any error that is not on this list. The remote agent may have
    received the message; if it has not, `RemoteAgent` retries by itself.
    """
    known = core._passthrough_exceptions  # noqa: SLF001 - not public
    core._passthrough_exceptions = (*known, RemoteAgentError)  # noqa: SLF001


class A2ALLM(BaseLLM):
    """Any A2A agent as the model of an agent: `Agent(llm=A2ALLM(agent="http://..."), ...)`.

    Each call is a conversation of its own and sends all messages, as crewai does with every model.
    The local agent's tools work, because crewai describes them in the prompt. With `stream=True`
    the answer is streamed. A question of the remote agent is its answer.

    A failed call is not retried, because the agent may have received it.

    Attributes:
        agent: The agent, or its URL.
        message_metadata: Sent as the metadata of every message.

    An agent given by its URL may have `timeout`, `max_retries` and `headers`; see `AgentOptions`.
    Other options of models, such as `temperature`, are refused.

    Raises:
        ConfigurationError: An option does not apply to agents, or belongs to the `RemoteAgent`.
        RemoteAgentError: The agent does not answer, or its task ended without an answer.
    """

    agent: RemoteAgent
    message_metadata: dict[str, Any] | None = None

    _unused: ClassVar[frozenset[str]] = frozenset(
        {
            "additional_params",
            "api_key",
            "base_url",
            "frequency_penalty",
            "max_tokens",
            "n",
            "presence_penalty",
            "seed",
            "temperature",
            "top_p",
        }
    )
    """Fields of crewai's models that do not apply to agents."""

    def __init__(
        self,
        agent: RemoteAgent | str,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> None:
        # crewai accepts unknown fields silently.
        known = {*type(self).model_fields, "stop_sequences"} - self._unused
        given = {name for name, value in fields.items() if value is not None}
        if unknown := sorted(given - known):
            raise ConfigurationError(f"{type(self).__name__} takes no {', '.join(unknown)}")
        remote = RemoteAgent.of(agent, timeout=timeout, max_retries=max_retries, headers=headers)
        super().__init__(**{"model": f"a2a/{remote.name}", **fields, "agent": remote})
        disable_agent_retries()

    @override
    @not_retried
    def call(
        self,
        messages: str | list[LLMMessage],
        tools: list[dict[str, Any]] | None = None,
        callbacks: list[Any] | None = None,
        available_functions: dict[str, Any] | None = None,
        from_task: Task | None = None,
        from_agent: BaseAgent | None = None,
        response_model: type[BaseModel] | None = None,
    ) -> str | BaseModel:
        """Send the messages and return the answer, of `response_model` if its data is one."""
        about = {"from_task": from_task, "from_agent": from_agent}
        reply: RemoteEvent | None = None
        with llm_call_context(), self._reported(messages, about):
            parts, metadata = self._parts(messages), self._metadata()
            with closing(self.agent.stream_sync(parts, metadata=metadata)) as events:
                for reply in events:
                    self._report_chunk(reply, about)
            return self._end(reply, response_model, about)

    @override
    @not_retried
    async def acall(
        self,
        messages: str | list[LLMMessage],
        tools: list[dict[str, Any]] | None = None,
        callbacks: list[Any] | None = None,
        available_functions: dict[str, Any] | None = None,
        from_task: Task | None = None,
        from_agent: BaseAgent | None = None,
        response_model: type[BaseModel] | None = None,
    ) -> str | BaseModel:
        """`call` in async code."""
        about = {"from_task": from_task, "from_agent": from_agent}
        reply: RemoteEvent | None = None
        with llm_call_context(), self._reported(messages, about):
            parts, metadata = self._parts(messages), self._metadata()
            async with aclosing(self.agent.stream(parts, metadata=metadata)) as events:
                async for reply in events:
                    self._report_chunk(reply, about)
            return self._end(reply, response_model, about)

    def supports_function_calling(self) -> bool:
        """Return False: a remote agent has its own tools; crewai describes others in the prompt."""
        return False

    @override
    def get_input_tokens_count(
        self,
        messages: str | list[LLMMessage],
        tools: list[dict[str, Any]] | None = None,
        response_model: type[BaseModel] | None = None,
    ) -> int:
        """Return an estimate; the agent's tokenizer is unknown."""
        return len(str(messages)) // _CHARACTERS_PER_TOKEN

    def _parts(self, messages: str | Sequence[LLMMessage]) -> list[Part]:
        """Convert messages to parts for the agent."""
        return to_parts(messages)

    def _metadata(self) -> Mapping[str, JSON] | None:
        """Return the metadata of every message."""
        return self.message_metadata

    @contextmanager
    def _reported(
        self, messages: str | list[LLMMessage], about: Mapping[str, Any]
    ) -> Generator[None]:
        """Report a call's start and failure to crewai, and let its hooks forbid the call."""
        self._emit_call_started_event(messages, **about)
        listed: list[LLMMessage] = (
            [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        )
        try:
            self._invoke_before_llm_call_hooks(listed, about["from_agent"])
            yield
        except Exception as error:
            self._emit_call_failed_event(error=str(error), **about)
            raise

    def _report_chunk(self, event: RemoteEvent, about: Mapping[str, Any]) -> None:
        if isinstance(event, TextDelta) and self._effective_stream():
            self._emit_stream_chunk_event(chunk=event.text, call_type=LLMCallType.LLM_CALL, **about)

    def _end(
        self,
        reply: RemoteEvent | None,
        response_model: type[BaseModel] | None,
        about: Mapping[str, Any],
    ) -> str | BaseModel:
        """Report the answer to crewai and return it."""
        if not isinstance(reply, AgentReply):  # which every stream ends with
            raise TypeError("the stream ended without an answer")
        usage = usage_of(reply.counted_usage(__name__))
        if usage:
            self._track_token_usage_internal(usage)
        text = self._apply_stop_words(reply.whole_text)
        self._emit_call_completed_event(
            response=text, call_type=LLMCallType.LLM_CALL, usage=usage or None, **about
        )
        return _as_model(reply, response_model) or text


def _as_model(reply: AgentReply, model: type[BaseModel] | None) -> BaseModel | None:
    """Return the first data of an answer that is valid for the response model."""
    if model is None:
        return None
    for value in reply.data:
        try:
            return model.model_validate(value)
        except ValidationError:
            continue
    return None
