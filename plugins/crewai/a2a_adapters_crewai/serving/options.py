"""What `adapt` was told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a_adapters_crewai.serving.runs import MAX_ASKING, MAX_RUNS

if TYPE_CHECKING:
    from a2a_adapters import OutboundPolicy
    from a2a_adapters_crewai.serving.inputs import ReadInputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of `adapt`, which tells what they mean, for the adapters' constructors."""

    input: ReadInputs | None = None
    text_key: str | None = None
    history_key: str | None = None
    task_outputs: bool = False
    tokens: bool = False
    max_runs: int = MAX_RUNS
    max_asking: int = MAX_ASKING
    shared_memory: bool = False
    fetch: OutboundPolicy | None = None
