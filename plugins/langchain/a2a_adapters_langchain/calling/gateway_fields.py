"""What the models over an OmniRoute gateway have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a_adapters_omniroute import SMART_ROUTING, OmniRouteClient, OmniRouteReply, Routing
from pydantic import BaseModel, PrivateAttr, SecretStr

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_adapters import JSON


class GatewayFields(BaseModel):
    """An OmniRoute gateway, and how it is to choose its models.

    Attributes:
        base_url: The gateway's address.
        api_key: Its key; "" for an open gateway.
        model: The model's name; "auto" lets the gateway choose.
        combo: A route configured in the gateway. OmniRoute 3.7.9 takes no notice of it; it works
            there as the name of a model, see `combo_as_model`.
        budget: What a call may cost, in USD.
        role: What a call is for: coding, review, planning, analysis, debugging, documentation.
        skill: Which of the gateway's skills is asked.
        timeout: How long an answer may take, in seconds.
        combo_as_model: Whether the combo is sent as the model as well.
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

    _client: OmniRouteClient = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Make the client, which connects on first use."""
        super().model_post_init(context)
        self._client = OmniRouteClient(
            self.base_url, api_key=self.api_key.get_secret_value(), timeout=self.timeout
        )

    def _gateway_params(self) -> dict[str, Any]:
        return {"base_url": self.base_url, "skill": self.skill, **self._routing({}).metadata()}

    def _call(self, options: Mapping[str, Any]) -> tuple[str, dict[str, JSON]]:
        """Return the skill and the metadata of a call, whose options go before the fields."""
        return options.get("skill", self.skill), self._routing(options).metadata()

    def _routing(self, options: Mapping[str, Any]) -> Routing:
        return Routing(
            model=options.get("model", self.model),
            combo=options.get("combo", self.combo),
            budget=options.get("budget", self.budget),
            role=options.get("role", self.role),
            combo_as_model=self.combo_as_model,
        )


def told(reply: OmniRouteReply) -> dict[str, Any]:
    """Return what the gateway says about a call."""
    return {**reply.metadata, "model_provider": "omniroute", "task_id": reply.task_id}
