"""An OmniRoute gateway as AutoGen's model client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from a2a_adapters_autogen import A2AChatCompletionClient
from autogen_core.models import (
    AssistantMessage,
    CreateResult,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    SystemMessage,
    UserMessage,
)
from pydantic import BaseModel

from a2a_adapters import SendOptions
from a2a_adapters_omniroute.calling.card import gateway_agent, omniroute_card
from a2a_adapters_omniroute.calling.messages import with_role
from a2a_adapters_omniroute.calling.reply import OmniRouteReply
from a2a_adapters_omniroute.calling.routing import SMART_ROUTING, asked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_adapters import AgentReply, Part

__all__ = ["OmniRouteChatCompletionClient"]

_INFO = ModelInfo(
    vision=False,
    function_calling=False,
    json_output=False,
    structured_output=False,
    family=ModelFamily.UNKNOWN,
    multiple_system_messages=True,
)
_OPTIONS = frozenset({"model", "combo", "budget", "role", "skill", "timeout", "headers"})


class GatewayConfig(BaseModel):
    """Configuration of a gateway as a model, without its key."""

    base_url: str
    model: str
    combo: str | None = None  # dumps omit None
    budget: float | None = None
    role: str | None = None
    skill: str
    timeout: float
    combo_as_model: bool
    max_retries: int | None = None


class OmniRouteChatCompletionClient(A2AChatCompletionClient):
    """An OmniRoute gateway as a model: `OmniRouteChatCompletionClient(model="auto")`.

    Sends all messages with their roles as text; tools are not supported. Options of a call
    go in `extra_create_args`: model, combo, budget, role, skill, timeout and headers.

    Args:
        base_url: URL of the gateway.
        api_key: Its key; "" for an open gateway. Omitted from dumps.
        model: Name of the model; "auto" lets the gateway choose.
        combo: A route configured in the gateway. OmniRoute 3.7.9 ignores it but accepts it
            as the name of a model; see `combo_as_model`.
        budget: Maximum cost of a call in USD.
        role: Purpose of a call: coding, review, planning, analysis, debugging, documentation.
        skill: Skill of the gateway to use.
        timeout: Time limit for an answer in seconds.
        combo_as_model: Whether to send the combo as the model as well.
        max_retries: Retries of a call that may have been lost. Default: none.
        headers: Headers of every request; they prevent dumping.

    Attributes:
        last_reply: The answer to the last call with the gateway's metadata.

    Raises:
        OmniRouteError: The gateway does not answer; the subclass says why.
    """

    component_config_schema = GatewayConfig  # type: ignore[assignment]
    component_provider_override = "a2a_adapters_omniroute.OmniRouteChatCompletionClient"

    def __init__(  # noqa: PLR0913 - independent options
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
        max_retries: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        card = omniroute_card(base_url)
        super().__init__(gateway_agent(card, api_key, timeout, max_retries, headers))
        self._has_headers = bool(headers)
        self._config = GatewayConfig(
            base_url=base_url,
            model=model,
            combo=combo,
            budget=budget,
            role=role,
            skill=skill,
            timeout=timeout,
            combo_as_model=combo_as_model,
            max_retries=max_retries,
        )
        self.last_reply: OmniRouteReply | None = None

    @property
    def model_info(self) -> ModelInfo:
        """The capabilities of a gateway over A2A: text."""
        return _INFO

    @property
    def capabilities(self) -> ModelInfo:
        """The same as `model_info`."""
        return _INFO

    def _options(self, extra: Mapping[str, Any]) -> SendOptions:
        if unknown := extra.keys() - _OPTIONS:
            raise ValueError(
                f"calls to OmniRoute do not support the options {', '.join(sorted(unknown))}"
            )
        return SendOptions(
            metadata=asked(self._config, extra),
            timeout=extra.get("timeout"),
            headers=extra.get("headers"),
        )

    def _parts(self, messages: Sequence[LLMMessage]) -> list[Part]:
        return [with_role(_role(message), message.content) for message in messages]

    def _result(self, reply: AgentReply, text: str) -> CreateResult:
        self.last_reply = OmniRouteReply.of(reply)
        return super()._result(reply, text)

    def _to_config(self) -> GatewayConfig:  # type: ignore[override]
        if self._has_headers:
            raise ValueError("headers may contain credentials and cannot be dumped; omit them")
        return self._config

    @classmethod
    def _from_config(cls, config: GatewayConfig) -> Self:  # type: ignore[override]
        return cls(**dict(config))


def _role(message: LLMMessage) -> str:
    match message:
        case SystemMessage():
            return "system"
        case UserMessage():
            return "user"
        case AssistantMessage():
            return "assistant"
        case _:
            return ""
