"""Typed answers of a gateway."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

from a2a_adapters import AgentReply

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_adapters import RemoteArtifact, Skill
    from a2a_adapters.plugin import JSON

__all__ = ["OmniRouteCard", "OmniRouteReply", "OmniRouteTask"]

_FINISHED = frozenset({"completed", "failed", "cancelled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OmniRouteReply(AgentReply):
    """The whole answer to a call; its properties expose the gateway's metadata."""

    @classmethod
    def of(cls, reply: AgentReply) -> Self:
        """Create it from the answer of a gateway as remote agent."""
        return cls(**{each.name: getattr(reply, each.name) for each in fields(reply)})

    @property
    def routing_explanation(self) -> str:
        """Why the model was chosen, as a sentence; "" if unknown."""
        explanation = self.metadata.get("routing_explanation")
        return explanation if isinstance(explanation, str) else ""

    @property
    def cost_envelope(self) -> Mapping[str, Any]:
        """`estimated` and `actual` cost in `currency`; empty if unknown."""
        return _mapping(self.metadata.get("cost_envelope"))

    @property
    def policy_verdict(self) -> Mapping[str, Any]:
        """`allowed` and the `reason`; empty if unknown."""
        return _mapping(self.metadata.get("policy_verdict"))

    @property
    def resilience_trace(self) -> Sequence[Any]:
        """The attempts in order; empty if unknown."""
        trace = self.metadata.get("resilience_trace")
        return trace if isinstance(trace, list) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OmniRouteTask:
    """A task of a gateway.

    Attributes:
        id: Id of the task.
        state: submitted, working, completed, failed or cancelled.
        text: The answer so far.
        artifacts: The results.
        events: Its state changes, unmodified.
        metadata: Its metadata, unmodified.
    """

    id: str
    state: str
    text: str = ""
    artifacts: Sequence[RemoteArtifact] = ()
    events: Sequence[Mapping[str, JSON]] = ()
    metadata: Mapping[str, JSON] = field(default_factory=dict)

    @classmethod
    def of(cls, reply: AgentReply) -> Self:
        """Create it from the answer of a gateway as remote agent."""
        metadata = dict(reply.metadata)
        events = metadata.pop("events", ())
        return cls(
            id=reply.task_id,
            state="cancelled" if reply.state == "canceled" else reply.state,
            text=reply.text,
            artifacts=reply.artifacts,
            events=events if isinstance(events, list) else (),
            metadata=metadata,
        )

    @property
    def is_finished(self) -> bool:
        """Whether its state is final."""
        return self.state in _FINISHED


@dataclass(frozen=True, slots=True, kw_only=True)
class OmniRouteCard:
    """A gateway's description of itself, which is untrusted."""

    name: str
    description: str
    version: str
    url: str
    streaming: bool
    skills: Sequence[Skill]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
