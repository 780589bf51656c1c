"""A remote agent as a model."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Unpack, cast

from agents import Model, ModelResponse, ModelTracing

from a2a_adapters import (
    AgentReply,
    ConfigurationError,
    Question,
    RemoteAgent,
    SendOptions,
    Text,
    TextDelta,
)
from a2a_adapters_openai_agents.calling.messages import as_parts, new_to
from a2a_adapters_openai_agents.calling.response import (
    ResponseEvents,
    message,
    usage_of,
)
from a2a_adapters_openai_agents.calling.spans import call_span

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from agents import (
        AgentOutputSchemaBase,
        Handoff,
        ModelSettings,
        Tool,
        TResponseInputItem,
        TResponseStreamEvent,
    )
    from openai.types.responses.response_prompt_param import ResponsePromptParam

    from a2a_adapters import Part
    from a2a_adapters.plugin import AgentOptions
    from a2a_adapters_openai_agents.calling.messages import Place

_GO_ON = Text("Please go on.")

_SAMPLING = (
    "temperature",
    "top_p",
    "frequency_penalty",
    "presence_penalty",
    "max_tokens",
    "top_logprobs",
    "extra_query",
    "extra_body",
)
"""Model settings that no remote agent can follow."""


class A2AModel(Model):
    """Any A2A agent as a model: `Agent(name="desk", model=A2AModel("http://localhost:8000"))`.

    The remote agent keeps the conversation, and each answer has its id in the message's
    `provider_data`: a run whose input or session contains such an answer sends only the items
    after it. One model serves any number of agents and conversations. A question is returned as
    the answer, and the next message answers it.

    The agent has its own tools and accepts none. For an agent with an `output_type` its data is the
    answer, as JSON. Otherwise data and the names of files are given as text.

    From the model settings, `extra_headers` are sent as headers, `metadata` as the message's
    metadata, and `extra_args={"timeout": 30}` limits one answer. Settings of sampling, for instance
    `temperature`, are refused. Settings of tools, reasoning and storage have no effect.

    Args:
        agent: The agent, or its URL.
        **options: Options for an agent given by its URL; see `AgentOptions`.
    """

    def __init__(self, agent: RemoteAgent | str, **options: Unpack[AgentOptions]) -> None:
        self._agent = RemoteAgent.of(agent, **options)

    async def get_response(  # noqa: PLR0913 - the SDK's arguments
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],  # noqa: A002 - the SDK's name
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff[Any, Any]],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: ResponsePromptParam | None,
    ) -> ModelResponse:
        """Return the agent's answer.

        Raises:
            ConfigurationError: The agent does not support tools, handoffs, settings of sampling,
                and conversations and prompts that OpenAI stores.
            RemoteAgentError: It does not answer.
        """
        _refuse_stored_by_openai(previous_response_id, conversation_id, prompt)
        options = _send_options(model_settings)
        place, parts = self._new_parts(system_instructions, input, [*tools, *handoffs])
        with call_span(self._agent, disabled=tracing.is_disabled()) as span:
            reply = await self._agent.send(
                parts, context_id=place.context_id, task_id=place.task_id, **options
            )
            span.take(reply)
        is_text = output_schema is None or output_schema.is_plain_text()
        whole = message(_whole(reply, is_text=is_text), place.after(reply))
        return ModelResponse([whole], usage_of(reply), None)

    async def stream_response(  # noqa: PLR0913
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],  # noqa: A002
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff[Any, Any]],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: ResponsePromptParam | None,
    ) -> AsyncGenerator[TResponseStreamEvent]:
        """Yield the agent's answer as it arrives.

        Raises:
            ConfigurationError: The agent does not support tools, handoffs, settings of sampling,
                and conversations and prompts that OpenAI stores.
            RemoteAgentError: It does not answer.
        """
        _refuse_stored_by_openai(previous_response_id, conversation_id, prompt)
        options = _send_options(model_settings)
        place, parts = self._new_parts(system_instructions, input, [*tools, *handoffs])
        is_text = output_schema is None or output_schema.is_plain_text()
        made = ResponseEvents(self._agent.name)
        for event in made.begin():
            yield event
        with call_span(self._agent, disabled=tracing.is_disabled()) as span:
            stream = self._agent.stream(
                parts, context_id=place.context_id, task_id=place.task_id, **options
            )
            async with aclosing(stream) as news:
                async for each in news:
                    if isinstance(each, TextDelta) and is_text:
                        yield made.delta(each.text, is_question=isinstance(each, Question))
                    elif isinstance(each, AgentReply):
                        span.take(each)
                        if rest := _rest(each, is_text=is_text):
                            yield made.delta(rest)
                        whole = message(_whole(each, is_text=is_text), place.after(each))
                        for event in made.end(whole, usage_of(each)):
                            yield event

    async def close(self) -> None:
        """Close the agent's connections; the next call opens them again."""
        await self._agent.aclose()

    def _new_parts(
        self,
        instructions: str | None,
        given: str | list[TResponseInputItem],
        refused: Sequence[Tool | Handoff[Any, Any]],
    ) -> tuple[Place, Sequence[Part]]:
        """Return the place in the conversation, and the parts to send."""
        if refused:
            raise ConfigurationError(
                "a remote agent has its own tools and takes none: remove the tools and handoffs of "
                "the agent whose model is an A2AModel"
            )
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        place, new = new_to(self._agent.name, cast("Sequence[Mapping[str, Any]]", items))
        parts = as_parts(new, None if place.context_id else instructions)
        return place, parts or [_GO_ON]


def _send_options(settings: ModelSettings) -> SendOptions:
    """Return the options of a message.

    Raises:
        ConfigurationError: A setting is one that no remote agent can follow.
    """
    # Older versions of the SDK have not all of them.
    refused = [name for name in _SAMPLING if getattr(settings, name, None) is not None]
    extra = dict(settings.extra_args or {})
    timeout = extra.pop("timeout", None)
    if refused := [*refused, *extra]:
        raise ConfigurationError(
            f"a remote agent takes no {', '.join(refused)}: leave them out of the model settings"
        )
    headers = settings.extra_headers or {}
    return SendOptions(
        metadata=settings.metadata,
        timeout=timeout,
        headers={name: value for name, value in headers.items() if isinstance(value, str)},
    )


def _refuse_stored_by_openai(*given: object) -> None:
    if any(each is not None for each in given):
        raise ConfigurationError(
            "a remote agent cannot use conversations, responses and prompts that OpenAI stores: "
            "omit conversation_id, previous_response_id and prompt; sessions work"
        )


def _whole(reply: AgentReply, *, is_text: bool) -> str:
    """Return the text of an answer, which ends with the question if there is one."""
    if not is_text and reply.data:
        return reply.data_text
    text = reply.text.removesuffix(reply.question).rstrip() if reply.question else reply.text
    return "\n".join(filter(None, (text, reply.rest_text, reply.question)))


def _rest(reply: AgentReply, *, is_text: bool) -> str:
    """Return the rest of an answer's text."""
    if not is_text:
        return _whole(reply, is_text=False)
    rest = reply.rest_text
    return f"\n{rest}" if reply.text and rest else rest
