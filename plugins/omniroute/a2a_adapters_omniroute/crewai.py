"""An OmniRoute gateway as the model of crewai's agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from a2a_adapters_crewai import A2ALLM
from typing_extensions import override

from a2a_adapters import Part, Text
from a2a_adapters_omniroute.calling.card import gateway_agent, omniroute_card
from a2a_adapters_omniroute.calling.messages import with_role
from a2a_adapters_omniroute.calling.routing import SMART_ROUTING, asked

if TYPE_CHECKING:
    from crewai.utilities.types import LLMMessage

    from a2a_adapters.plugin import JSON

__all__ = ["OmniRouteLLM"]

_BASE_URL = "http://localhost:20128"
_SECONDS = 60.0


class OmniRouteLLM(A2ALLM):
    """An OmniRoute gateway as the model of an agent: `Agent(llm=OmniRouteLLM(), ...)`.

    Sends all messages with their roles. Tools work, because crewai describes them in the prompt.
    `base_url`, `api_key` and `model` ("auto" lets the gateway choose) are crewai's own fields.

    Failed calls are retried only with `max_retries`, because they may have cost money.
    `headers` are sent with every request.

    Attributes:
        combo: A route configured in the gateway. OmniRoute 3.7.9 ignores it but accepts it
            as the name of a model; see `combo_as_model`.
        budget: Maximum cost of a call in USD.
        role: Purpose of a call: coding, review, planning, analysis, debugging, documentation.
        skill: Skill of the gateway to use.
        timeout: Time limit for an answer in seconds.
        combo_as_model: Whether to send the combo as the model as well.

    Raises:
        OmniRouteError: The gateway does not answer; the subclass says why.
        RemoteAgentError: The gateway cannot be reached or is too slow.
    """

    combo: str | None = None
    budget: float | None = None
    role: str | None = None
    skill: str = SMART_ROUTING
    timeout: float = _SECONDS
    combo_as_model: bool = False

    _unused: ClassVar[frozenset[str]] = A2ALLM._unused - {"api_key", "base_url"}  # noqa: SLF001

    def __init__(
        self,
        model: str = "auto",
        *,
        max_retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> None:
        card = omniroute_card(fields.get("base_url") or _BASE_URL)
        key, seconds = fields.get("api_key") or "", fields.get("timeout", _SECONDS)
        agent = gateway_agent(card, key, seconds, max_retries, headers)
        others = {name: value for name, value in fields.items() if name != "timeout"}
        super().__init__(agent, **{"model": model, "provider": "omniroute", **others})
        self.timeout = seconds

    @override
    def _parts(self, messages: str | Sequence[LLMMessage]) -> list[Part]:
        if isinstance(messages, str):
            return [Text(messages)]
        return [with_role(message["role"], message["content"]) for message in messages]

    @override
    def _metadata(self) -> Mapping[str, JSON]:
        return asked(self)
