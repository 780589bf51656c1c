"""A remote agent as a model."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Unpack

from pydantic_ai import ModelProfile, ModelResponse, TextPart
from pydantic_ai.models import Model, StreamedResponse

from a2a_adapters import (
    AgentReply,
    ConfigurationError,
    Question,
    RemoteAgent,
    SendOptions,
    TextDelta,
)
from a2a_adapters_pydantic_ai.calling.messages import (
    PROVIDER,
    QUESTION,
    Place,
    as_parts,
    files_of,
    instructions_of,
    new_to,
    usage_of,
)

if TYPE_CHECKING:
    from pydantic_ai import ModelMessage, ModelSettings, RunContext
    from pydantic_ai.messages import ModelResponseStreamEvent
    from pydantic_ai.models import ModelRequestParameters

    from a2a_adapters import RemoteEvent
    from a2a_adapters.plugin import AgentOptions

_TEXT = "text"
"""The id of the answer's text among its parts."""
_QUESTION = "question"
"""The id of the question with which it may end."""

_PROFILE = ModelProfile(supports_tools=False, default_structured_output_mode="prompted")


class A2AModel(Model[None]):
    """Any A2A agent as a model: `Agent(A2AModel("http://localhost:8000"))`.

    The remote agent keeps the conversation, and each answer has its id in the response's
    `provider_details`: a run whose history contains such an answer sends only the messages after
    it. One model serves any number of agents and conversations. A question is returned as the
    answer, and the next message answers it.

    The agent has its own tools and accepts none. An agent with an `output_type` gets the data of
    the answer, as JSON; otherwise data is given as text, and files as the response's files.

    The model settings `timeout` (in seconds) and `extra_headers` apply to each message.

    Args:
        agent: The agent, or its URL.
        **options: Options for an agent given by its URL; see `AgentOptions`.
    """

    unsupported_settings = frozenset(
        {
            "extra_body",
            "frequency_penalty",
            "logit_bias",
            "max_retries",
            "max_tokens",
            "parallel_tool_calls",
            "presence_penalty",
            "seed",
            "service_tier",
            "stop_sequences",
            "temperature",
            "top_k",
            "top_p",
        }
    )

    def __init__(self, agent: RemoteAgent | str, **options: Unpack[AgentOptions]) -> None:
        super().__init__(profile=_PROFILE)
        self._agent = RemoteAgent.of(agent, **options)

    @property
    def model_name(self) -> str:
        """The agent's address."""
        return self._agent.name

    @property
    def system(self) -> str:
        """The provider: "a2a"."""
        return PROVIDER

    @property
    def provider(self) -> None:
        """The provider as an object; there is none."""
        return

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Return the agent's answer.

        Raises:
            ConfigurationError: The agent does not support tools.
            RemoteAgentError: It does not answer.
        """
        async with self.request_stream(
            messages, model_settings, model_request_parameters
        ) as stream:
            async for _ in stream:
                pass
            return stream.get()

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,  # noqa: ARG002 - of the interface
    ) -> AsyncGenerator[StreamedResponse]:
        """Yield the agent's answer as a stream. Leaving it early cancels the remote task.

        Raises:
            ConfigurationError: The agent does not support tools.
            RemoteAgentError: It does not answer.
        """
        settings, parameters = self.prepare_request(model_settings, model_request_parameters)
        if parameters.function_tools:
            raise ConfigurationError(
                "a remote agent has its own tools and takes none: remove the tools and toolsets of "
                "the agent whose model is an A2AModel"
            )
        place, new = new_to(self._agent.name, messages)
        instructions = None if place.context_id else instructions_of(messages, parameters)
        events = self._agent.stream(
            as_parts(new, instructions),
            context_id=place.context_id,
            task_id=place.task_id,
            **_options(settings),
        )
        async with aclosing(events):
            yield _Answer(parameters, place, events)


def _options(settings: ModelSettings | None) -> SendOptions:
    """Return the options of a message."""
    settings = settings or {}
    options = SendOptions(headers=settings.get("extra_headers"))
    timeout = settings.get("timeout")
    return SendOptions(**options, timeout=timeout) if isinstance(timeout, int | float) else options


@dataclass
class _Answer(StreamedResponse):
    """An answer that is being streamed."""

    place: Place
    events: AsyncGenerator[RemoteEvent]
    begun: datetime = field(default_factory=lambda: datetime.now(UTC))

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        is_text = self.model_request_parameters.output_mode == "text"
        async for each in self.events:
            if isinstance(each, Question) and is_text:
                for event in self._parts_manager.handle_text_delta(
                    vendor_part_id=_QUESTION,
                    content=each.text,
                    provider_name=PROVIDER,
                    provider_details=QUESTION,
                ):
                    yield event
            elif isinstance(each, TextDelta) and is_text:
                for event in self._text(each.text):
                    yield event
            elif isinstance(each, AgentReply):
                if each.is_corrected and is_text:
                    part = TextPart(each.text.removesuffix(each.question))
                    yield self._parts_manager.handle_part(vendor_part_id=_TEXT, part=part)
                for event in self._text(_rest(each, is_text=is_text)):
                    yield event
                for file in files_of(each):
                    yield self._parts_manager.handle_part(vendor_part_id=None, part=file)
                self._usage = usage_of(each)
                self.provider_details = self.place.after(each).as_details()

    def _text(self, text: str) -> Iterable[ModelResponseStreamEvent]:
        manager = self._parts_manager
        return manager.handle_text_delta(vendor_part_id=_TEXT, content=text) if text else ()

    async def close_stream(self) -> None:
        """Cancel the remote task."""
        await self.events.aclose()

    @property
    def model_name(self) -> str:
        """The agent's address."""
        return self.place.agent

    @property
    def provider_name(self) -> str:
        """The provider: "a2a"."""
        return PROVIDER

    @property
    def provider_url(self) -> None:
        """The provider's address; the agent's is the name of the model."""
        return

    @property
    def timestamp(self) -> datetime:
        """The time at which the answer began."""
        return self.begun


def _rest(reply: AgentReply, *, is_text: bool) -> str:
    """Return the text of an answer that was not streamed."""
    if not is_text:
        return reply.data_text if reply.data else reply.text
    rest = reply.data_text
    return f"\n{rest}" if reply.text and rest else rest
