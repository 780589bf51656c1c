"""How a served agent is run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from a2a_adapters.limits import Limits

if TYPE_CHECKING:
    from a2a.server.cluster.task_store import VersionedTaskStore
    from a2a.server.tasks import TaskStore

    from a2a_adapters.executor import Redact

__all__ = ["ServerOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How an agent is run. The defaults suit an agent on one's own machine.

    Attributes:
        limits: What the agent may use.
        task_store: Where tasks are kept; by default in memory.
        redact: Changes or drops events of the progress extension before they are sent.
        trust_forwarded: Whether the card's address follows `X-Forwarded-*` headers; only
            behind a proxy that sets them.
    """

    limits: Limits = field(default_factory=Limits)
    task_store: TaskStore | VersionedTaskStore | None = None
    redact: Redact | None = None
    trust_forwarded: bool = False
