"""An OmniRoute gateway as a model client."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Literal, Self

from a2a_adapters_omniroute import SMART_ROUTING, OmniRouteClient, Routing
from autogen_core import CancellationToken, Component
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
    SystemMessage,
    UserMessage,
)
from pydantic import BaseModel

from a2a_adapters import JSON, TextDelta

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from a2a_adapters_omniroute import OmniRouteReply
    from autogen_core.tools import Tool, ToolSchema

_INFO = ModelInfo(
    vision=False,
    function_calling=False,
    json_output=False,
    structured_output=False,
    family=ModelFamily.UNKNOWN,
    multiple_system_messages=True,
)
_OPTIONS = frozenset({"model", "combo", "budget", "role", "skill"})


class GatewayConfig(BaseModel):
    """How a gateway is used as a model. Its key is no part of it."""

    base_url: str
    model: str
    combo: str | None = None  # dumps leave out what is None
    budget: float | None = None
    role: str | None = None
    skill: str
    timeout: float
    combo_as_model: bool


class OmniRouteChatCompletionClient(ChatCompletionClient, Component[GatewayConfig]):
    """An OmniRoute gateway as a model: `OmniRouteChatCompletionClient(model="auto")`.

    It is sent all messages with their roles, as text, and takes no tools. A call may have options
    of its own in `extra_create_args`: model, combo, budget, role and skill.

    Args:
        base_url: The gateway's address.
        api_key: Its key; "" for an open gateway. Dumps do not hold it.
        model: The model's name; "auto" lets the gateway choose.
        combo: A route configured in the gateway. OmniRoute 3.7.9 takes no notice of it; it works
            there as the name of a model, see `combo_as_model`.
        budget: What a call may cost, in USD.
        role: What a call is for: coding, review, planning, analysis, debugging, documentation.
        skill: Which of the gateway's skills is asked.
        timeout: How long an answer may take, in seconds.
        combo_as_model: Whether the combo is sent as the model as well.

    Attributes:
        last_reply: The answer to the last call, with what the gateway says about it.
    """

    component_type = "model"
    component_config_schema = GatewayConfig
    component_provider_override = "a2a_adapters_autogen.OmniRouteChatCompletionClient"

    def __init__(  # noqa: PLR0913 - a choice each
        self,
        *,
        base_url: str = "http://localhost:20128",
        api_key: str = "",
        model: str = "auto",
        combo: str | None = None,
        budget: float | None = None,
        role: str | None = None,
        skill: str = SMART_ROUTING,
        timeout: float = 60,
        combo_as_model: bool = False,
    ) -> None:
        self._config = GatewayConfig(
            base_url=base_url,
            model=model,
            combo=combo,
            budget=budget,
            role=role,
            skill=skill,
            timeout=timeout,
            combo_as_model=combo_as_model,
        )
        self._client = OmniRouteClient(base_url, api_key=api_key, timeout=timeout)
        self.last_reply: OmniRouteReply | None = None

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: Tool | Literal["auto", "required", "none"] = "auto",  # noqa: ARG002 - no tools
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:
        """Return the gateway's answer.

        Raises:
            ValueError: Something was asked that a gateway cannot do.
            OmniRouteError: It gives no answer; the subclass says why.
            RemoteAgentError: It cannot be reached, or is too slow.
        """
        skill, metadata = self._call(tools, json_output, extra_create_args)
        sending = asyncio.ensure_future(self._client.send(skill, _sent(messages), metadata))
        if cancellation_token is not None:
            cancellation_token.link_future(sending)
        return self._result(await sending)

    async def create_stream(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: Tool | Literal["auto", "required", "none"] = "auto",  # noqa: ARG002 - no tools
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> AsyncGenerator[str | CreateResult, None]:
        """Yield the gateway's answer as it comes, and last the whole of it.

        For the errors see `create`.
        """
        skill, metadata = self._call(tools, json_output, extra_create_args)
        events = self._client.stream(skill, _sent(messages), metadata)
        async with aclosing(events):
            while True:
                step = asyncio.ensure_future(anext(events, None))
                if cancellation_token is not None:
                    cancellation_token.link_future(step)
                event = await step
                if event is None:
                    return
                yield event.text if isinstance(event, TextDelta) else self._result(event)

    async def close(self) -> None:
        """Close the connections; the next call opens them again."""
        await self._client.aclose()

    def actual_usage(self) -> RequestUsage:
        """Return no tokens: a gateway does not tell."""
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    def total_usage(self) -> RequestUsage:
        """Return no tokens: a gateway does not tell."""
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    def count_tokens(
        self,
        messages: Sequence[LLMMessage],  # noqa: ARG002
        *,
        tools: Sequence[Tool | ToolSchema] = (),  # noqa: ARG002
    ) -> int:
        """Return 0: how the chosen model counts is not known."""
        return 0

    def remaining_tokens(
        self,
        messages: Sequence[LLMMessage],  # noqa: ARG002
        *,
        tools: Sequence[Tool | ToolSchema] = (),  # noqa: ARG002
    ) -> int:
        """Return a very large number: no limit is known."""
        return sys.maxsize

    @property
    def capabilities(self) -> ModelInfo:
        """The same as `model_info`."""
        return _INFO

    @property
    def model_info(self) -> ModelInfo:
        """What a gateway can do over A2A: text."""
        return _INFO

    def _call(
        self,
        tools: Sequence[Tool | ToolSchema],
        json_output: bool | type[BaseModel] | None,
        extra: Mapping[str, Any] | None,
    ) -> tuple[str, dict[str, JSON]]:
        """Return the skill and the metadata of a call."""
        if tools or json_output:
            raise ValueError("an OmniRoute gateway takes no tools and no schema over A2A")
        extra = extra or {}
        if unknown := extra.keys() - _OPTIONS:
            raise ValueError(f"a call to OmniRoute has no options {', '.join(sorted(unknown))}")
        config = self._config.model_copy(update=dict(extra))
        routing = Routing(
            model=config.model,
            combo=config.combo,
            budget=config.budget,
            role=config.role,
            combo_as_model=config.combo_as_model,
        )
        return config.skill, routing.metadata()

    def _result(self, reply: OmniRouteReply) -> CreateResult:
        self.last_reply = reply
        usage = self.actual_usage()
        return CreateResult(finish_reason="stop", content=reply.text, usage=usage, cached=False)

    def _to_config(self) -> GatewayConfig:
        return self._config

    @classmethod
    def _from_config(cls, config: GatewayConfig) -> Self:
        return cls(**dict(config))


def _sent(messages: Sequence[LLMMessage]) -> list[dict[str, JSON]]:
    return [_said(message) for message in messages]


def _said(message: LLMMessage) -> dict[str, JSON]:
    match message:
        case SystemMessage(content=text):
            return {"role": "system", "content": text}
        case UserMessage(content=str(text)):
            return {"role": "user", "content": text}
        case AssistantMessage(content=str(text)):
            return {"role": "assistant", "content": text}
        case _:
            raise ValueError("OmniRoute takes text of the system, the user and the assistant")
