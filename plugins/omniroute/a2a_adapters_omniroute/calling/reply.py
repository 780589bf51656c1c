"""What a gateway answers."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

from a2a_adapters import AgentReply

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_adapters import JSON, RemoteArtifact, Skill

__all__ = ["OmniRouteCard", "OmniRouteReply", "OmniRouteTask"]

_FINISHED = frozenset({"completed", "failed", "cancelled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OmniRouteReply(AgentReply):
    """The whole answer to a call; the properties read what the gateway says in its metadata."""

    @classmethod
    def of(cls, reply: AgentReply) -> Self:
        """Return what a remote agent answered, if that is a gateway."""
        return cls(**{each.name: getattr(reply, each.name) for each in fields(reply)})

    @property
    def routing_explanation(self) -> str:
        """Why that model: a sentence; "" if the gateway does not tell."""
        told = self.metadata.get("routing_explanation")
        return told if isinstance(told, str) else ""

    @property
    def cost_envelope(self) -> Mapping[str, Any]:
        """`estimated` and `actual` cost in `currency`; empty if the gateway does not tell."""
        return _mapping(self.metadata.get("cost_envelope"))

    @property
    def policy_verdict(self) -> Mapping[str, Any]:
        """`allowed` and the `reason`; empty if the gateway does not tell."""
        return _mapping(self.metadata.get("policy_verdict"))

    @property
    def resilience_trace(self) -> Sequence[Any]:
        """What was tried, in order; empty if the gateway does not tell."""
        trace = self.metadata.get("resilience_trace")
        return trace if isinstance(trace, list) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OmniRouteTask:
    """A task as the gateway has it.

    Attributes:
        id: Its id.
        state: submitted, working, completed, failed or cancelled.
        text: The answer so far.
        artifacts: The results one by one.
        events: Its changes of state, as they were sent.
        metadata: What belongs to it, as it was sent.
    """

    id: str
    state: str
    text: str = ""
    artifacts: Sequence[RemoteArtifact] = ()
    events: Sequence[Mapping[str, JSON]] = ()
    metadata: Mapping[str, JSON] = field(default_factory=dict)

    @classmethod
    def of(cls, reply: AgentReply) -> Self:
        """Return a task that a remote agent told of, if that is a gateway."""
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
        """Whether it will not change any more."""
        return self.state in _FINISHED


@dataclass(frozen=True, slots=True, kw_only=True)
class OmniRouteCard:
    """What a gateway says of itself. Trust it no more than its answers."""

    name: str
    description: str
    version: str
    url: str
    streaming: bool
    skills: Sequence[Skill]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
