"""What a gateway answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from a2a_adapters import JSON, Skill
from a2a_adapters_omniroute.errors import OmniRouteAnswerError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["OmniRouteCard", "OmniRouteReply", "OmniRouteTask"]

FINISHED = frozenset({"completed", "failed", "cancelled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OmniRouteReply:
    """The whole answer to a call.

    Attributes:
        text: The answer.
        task_id: The gateway's task.
        artifacts: The results one by one, as they were sent.
        metadata: What the gateway says about the call; the properties below read it.
    """

    text: str
    task_id: str = ""
    artifacts: Sequence[Mapping[str, JSON]] = ()
    metadata: Mapping[str, JSON] = field(default_factory=dict)

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
        artifacts: The results one by one, as they were sent.
        events: Its changes of state, as they were sent.
        metadata: What belongs to it, as it was sent.
    """

    id: str
    state: str
    text: str = ""
    artifacts: Sequence[Mapping[str, JSON]] = ()
    events: Sequence[Mapping[str, JSON]] = ()
    metadata: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def is_finished(self) -> bool:
        """Whether it will not change any more."""
        return self.state in FINISHED


@dataclass(frozen=True, slots=True, kw_only=True)
class OmniRouteCard:
    """What a gateway says of itself. Trust it no more than its answers."""

    name: str
    description: str
    version: str
    url: str
    streaming: bool
    skills: Sequence[Skill]


def read_card(card: object) -> OmniRouteCard:
    """Return a card.

    Raises:
        OmniRouteAnswerError: It is none.
    """
    if not isinstance(card, dict) or not isinstance(card.get("name"), str):
        raise OmniRouteAnswerError("what the gateway sends is not an agent card")
    return OmniRouteCard(
        name=card["name"],
        description=str(card.get("description", "")),
        version=str(card.get("version", "")),
        url=str(card.get("url", "")),
        streaming=bool(_mapping(card.get("capabilities")).get("streaming")),
        skills=[
            Skill(
                id=str(skill["id"]),
                name=str(skill.get("name", "")),
                description=str(skill.get("description", "")),
                tags=_texts(skill.get("tags")),
                examples=_texts(skill.get("examples")),
            )
            for skill in _mappings(card.get("skills"))
            if "id" in skill
        ],
    )


def read_task(result: Mapping[str, Any]) -> OmniRouteTask:
    """Return the task of a result; some servers send it flat.

    Raises:
        OmniRouteAnswerError: There is none.
    """
    task = result["task"] if isinstance(result.get("task"), dict) else result
    task_id, state = task.get("id"), task.get("state")
    if not isinstance(task_id, str) or not isinstance(state, str):
        raise OmniRouteAnswerError("the gateway's answer holds no task")
    artifacts = _mappings(result.get("artifacts")) or _mappings(task.get("artifacts"))
    return OmniRouteTask(
        id=task_id,
        state=state,
        text=text_of(artifacts),
        artifacts=artifacts,
        events=_mappings(task.get("events")),
        metadata=_mapping(result.get("metadata")) or _mapping(task.get("metadata")),
    )


def text_of(artifacts: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of artifacts, one per line."""
    contents = (artifact.get("content") for artifact in artifacts)
    return "\n".join(content for content in contents if isinstance(content, str) and content)


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []
