"""An OmniRoute gateway as the model of crewai's agents."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import aclosing, closing, contextmanager
from typing import TYPE_CHECKING, Any

from a2a_adapters_omniroute import SMART_ROUTING, OmniRouteClient, OmniRouteReply, Routing
from crewai.events.types.llm_events import LLMCallType
from crewai.llms.base_llm import BaseLLM, llm_call_context
from pydantic import BaseModel, PrivateAttr
from typing_extensions import override

from a2a_adapters import JSON, TextDelta
from a2a_adapters_crewai.calling.failures import made_once, send_nothing_twice

if TYPE_CHECKING:
    from crewai import Task
    from crewai.agents.agent_builder.base_agent import BaseAgent
    from crewai.utilities.types import LLMMessage

_BASE_URL = "http://localhost:20128"
_ROLES = frozenset({"system", "user", "assistant"})


class OmniRouteLLM(BaseLLM):
    """An OmniRoute gateway as the model of an agent: `Agent(llm=OmniRouteLLM(), ...)`.

    It is sent all messages with their roles. Tools work, for crewai describes them in the prompt.
    `base_url`, `api_key` and `model` ("auto" lets the gateway choose) are crewai's own fields.

    A call that fails is not made again: it may have been paid for.

    Attributes:
        combo: A route configured in the gateway. OmniRoute 3.7.9 takes no notice of it; it works
            there as the name of a model, see `combo_as_model`.
        budget: What a call may cost, in USD.
        role: What a call is for: coding, review, planning, analysis, debugging, documentation.
        skill: Which of the gateway's skills is asked.
        timeout: How long an answer may take, in seconds.
        combo_as_model: Whether the combo is sent as the model as well.

    Raises:
        OmniRouteError: The gateway gives no answer; the subclass says why.
        RemoteAgentError: It cannot be reached, or is too slow.
    """

    combo: str | None = None
    budget: float | None = None
    role: str | None = None
    skill: str = SMART_ROUTING
    timeout: float = 60
    combo_as_model: bool = False
    _client: OmniRouteClient = PrivateAttr()

    def __init__(self, model: str = "auto", **fields: Any) -> None:
        super().__init__(**{"model": model, "provider": "omniroute", **fields})
        self._client = OmniRouteClient(
            self.base_url or _BASE_URL, api_key=self.api_key or "", timeout=self.timeout
        )
        send_nothing_twice()

    @override
    @made_once
    def call(
        self,
        messages: str | list[LLMMessage],
        tools: list[dict[str, Any]] | None = None,
        callbacks: list[Any] | None = None,
        available_functions: dict[str, Any] | None = None,
        from_task: Task | None = None,
        from_agent: BaseAgent | None = None,
        response_model: type[BaseModel] | None = None,
    ) -> str:
        """Send the messages and return the answer."""
        about = {"from_task": from_task, "from_agent": from_agent}
        event: TextDelta | OmniRouteReply | None = None
        with llm_call_context(), self._told(messages, about):
            sent = _sent(messages)
            with closing(self._client.stream_sync(self.skill, sent, self._metadata())) as events:
                for event in events:
                    self._tell_chunk(event, about)
            return self._end(event, about)

    @override
    @made_once
    async def acall(
        self,
        messages: str | list[LLMMessage],
        tools: list[dict[str, Any]] | None = None,
        callbacks: list[Any] | None = None,
        available_functions: dict[str, Any] | None = None,
        from_task: Task | None = None,
        from_agent: BaseAgent | None = None,
        response_model: type[BaseModel] | None = None,
    ) -> str:
        """`call` in async code."""
        about = {"from_task": from_task, "from_agent": from_agent}
        event: TextDelta | OmniRouteReply | None = None
        with llm_call_context(), self._told(messages, about):
            sent = _sent(messages)
            async with aclosing(self._client.stream(self.skill, sent, self._metadata())) as events:
                async for event in events:
                    self._tell_chunk(event, about)
            return self._end(event, about)

    def supports_function_calling(self) -> bool:
        """No: the gateway's A2A endpoint takes no tools; crewai describes them in the prompt."""
        return False

    def _metadata(self) -> dict[str, JSON]:
        return Routing(
            model=self.model,
            combo=self.combo,
            budget=self.budget,
            role=self.role,
            combo_as_model=self.combo_as_model,
        ).metadata()

    @contextmanager
    def _told(self, messages: str | list[LLMMessage], about: Mapping[str, Any]) -> Generator[None]:
        """Tell crewai of a call's beginning and failure, and let its hooks forbid it."""
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

    def _tell_chunk(self, event: TextDelta | OmniRouteReply, about: Mapping[str, Any]) -> None:
        if isinstance(event, TextDelta) and self._effective_stream():
            self._emit_stream_chunk_event(chunk=event.text, call_type=LLMCallType.LLM_CALL, **about)

    def _end(self, reply: TextDelta | OmniRouteReply | None, about: Mapping[str, Any]) -> str:
        """Return the answer, having told crewai of it."""
        if not isinstance(reply, OmniRouteReply):  # which every stream ends with
            raise TypeError("the stream ended without an answer")
        text = self._apply_stop_words(reply.text)
        self._emit_call_completed_event(response=text, call_type=LLMCallType.LLM_CALL, **about)
        return text


def _sent(messages: str | Sequence[LLMMessage]) -> str | list[dict[str, JSON]]:
    """Return the messages as a gateway takes them.

    Raises:
        ValueError: One of them is not text of the system, the user or the assistant.
    """
    if isinstance(messages, str):
        return messages
    sent: list[dict[str, JSON]] = []
    for message in messages:
        role, content = message["role"], message["content"]
        if role not in _ROLES or not isinstance(content, str):
            raise ValueError("OmniRoute takes text of the system, the user and the assistant")
        sent.append({"role": role, "content": content})
    return sent
