"""An OmniRoute gateway as LangChain's models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from a2a_adapters_langchain import A2ALLM, A2AChatModel
from a2a_adapters_langchain.calling.model import Call, call_options
from langchain_core.caches import BaseCache
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field, InstanceOf, SecretStr
from typing_extensions import override

from a2a_adapters import ConfigurationError, RemoteAgent, Text
from a2a_adapters_omniroute.calling.card import gateway_agent, omniroute_card
from a2a_adapters_omniroute.calling.messages import ROLE
from a2a_adapters_omniroute.calling.routing import SMART_ROUTING, asked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from langchain_core.language_models import LangSmithParams

    from a2a_adapters import AgentReply
    from a2a_adapters.plugin import MessageInput

__all__ = ["OmniRouteA2A", "OmniRouteChatModel"]

_OPTIONS = frozenset({"model", "combo", "budget", "role", "skill"})


class GatewayFields(BaseModel):
    """An OmniRoute gateway and its routing parameters.

    Attributes:
        base_url: URL of the gateway.
        api_key: Its key; "" for an open gateway.
        model: Name of the model; "auto" lets the gateway choose.
        combo: A route configured in the gateway. OmniRoute 3.7.9 ignores it but accepts it
            as the name of a model; see `combo_as_model`.
        budget: Maximum cost of a call in USD.
        role: Purpose of a call: coding, review, planning, analysis, debugging, documentation.
        skill: Skill of the gateway to use.
        timeout: Time limit for an answer in seconds.
        combo_as_model: Whether to send the combo as the model as well.
        max_retries: Retries of a call that may have been lost. Default: none.
        headers: Headers of every request.

    Other model options, such as `temperature`, are refused.
    """

    base_url: str = "http://localhost:20128"
    api_key: SecretStr = SecretStr("")
    model: str = "auto"
    combo: str | None = None
    budget: float | None = None
    role: str | None = None
    skill: str = SMART_ROUTING
    timeout: float = 60
    combo_as_model: bool = False
    max_retries: int | None = None
    headers: dict[str, str] | None = Field(default=None, exclude=True, repr=False)
    agent: InstanceOf[RemoteAgent] = Field(default=cast("RemoteAgent", None), exclude=True)

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"base_url": self.base_url, **asked(self)}

    def __init__(self, **fields: Any) -> None:
        if refused := sorted(fields.keys() & {"temperature", "max_tokens"}):
            raise ConfigurationError(f"OmniRoute takes no {' and no '.join(refused)}")
        BaseModel.__init__(self, **fields)  # unlike models of agents, which require `agent`

    def model_post_init(self, context: Any, /) -> None:
        """Create the remote agent, which connects on first use."""
        super().model_post_init(context)
        card, key = omniroute_card(self.base_url), self.api_key.get_secret_value()
        self.agent = gateway_agent(card, key, self.timeout, self.max_retries, self.headers)

    def _to_gateway(self, message: MessageInput, kwargs: Mapping[str, Any]) -> Call:
        options = call_options(kwargs, _OPTIONS)
        options["metadata"] = asked(self, kwargs)
        return Call(self.agent.conversation(), message, options)

    def _metadata(self, reply: AgentReply) -> dict[str, Any]:
        return {**reply.metadata, "model_provider": "omniroute", "task_id": reply.task_id}


class OmniRouteA2A(GatewayFields, A2ALLM):
    """An OmniRoute gateway as an LLM: `prompt | OmniRouteA2A(model="auto") | parser`.

    Each prompt is one message of the user. The gateway's metadata of a call
    (`routing_explanation`, `cost_envelope`, `resilience_trace`, `policy_verdict`, `task_id`) is in
    the generation's `generation_info`, if present. Options of a call:
    `invoke(x, model=..., combo=..., budget=..., role=..., skill=..., timeout=..., headers=...)`.

    Raises:
        OmniRouteError: The gateway does not answer; the subclass says why.
        RemoteAgentError: The gateway cannot be reached or is too slow.
    """

    cache: BaseCache | bool | None = Field(default=None, exclude=True)  # type: ignore[assignment]

    @property
    @override
    def _llm_type(self) -> str:
        return "omniroute"

    @override
    def _call(self, prompt: str, kwargs: dict[str, Any]) -> Call:
        return self._to_gateway(prompt, kwargs)


class OmniRouteChatModel(GatewayFields, A2AChatModel):
    """An OmniRoute gateway as a chat model, which gets all messages with their roles.

    It supports text of the roles system, user and assistant, and no tools. The gateway's metadata
    of a call is in the answer's `response_metadata`. Options of a call:
    `invoke(x, model=..., combo=..., budget=..., role=..., skill=..., timeout=..., headers=...)`.

    Raises:
        OmniRouteError: The gateway does not answer; the subclass says why.
        RemoteAgentError: The gateway cannot be reached or is too slow.
        ValueError: A message has another role or is not text.
    """

    cache: BaseCache | bool | None = Field(default=None, exclude=True)  # type: ignore[assignment]

    @property
    @override
    def _llm_type(self) -> str:
        return "omniroute-chat"

    @override
    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        params = super()._get_ls_params(stop, **{"model": self.model, **kwargs})
        return {**params, "ls_provider": "omniroute"}

    @override
    def _call(self, messages: Sequence[BaseMessage], kwargs: dict[str, Any]) -> Call:
        parts = [Text(_text(message), metadata={ROLE: _role(message)}) for message in messages]
        return self._to_gateway(parts, kwargs)


def _role(message: BaseMessage) -> str:
    match message:
        case SystemMessage():
            return "system"
        case HumanMessage():
            return "user"
        case AIMessage(tool_calls=[]):
            return "assistant"
        case ChatMessage(role=role):
            return role
        case _:
            raise ValueError(
                "OmniRoute supports only messages of the roles system, user and assistant"
            )


def _text(message: BaseMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    if any(block["type"] not in ("text", "reasoning") for block in message.content_blocks):
        raise ValueError("OmniRoute supports only text, not files or images")
    return message.text
