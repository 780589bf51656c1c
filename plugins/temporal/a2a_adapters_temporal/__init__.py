"""Serves workflows of Temporal, and calls remote agents as their activities.

    from a2a_adapters_temporal import TemporalWorkflow

    serve(TemporalWorkflow(client, Book.run, task_queue="agents"))

Inside a workflow, `A2ACaller` asks the caller and streams text; `A2AActivity` makes a remote agent
an activity.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from a2a_adapters import TargetError
from a2a_adapters.plugin import example_of, hookimpl, lazy_names

if TYPE_CHECKING:
    from a2a_adapters_temporal.activity import A2AActivity, emitting
    from a2a_adapters_temporal.adapter import TemporalWorkflow
    from a2a_adapters_temporal.workflow import A2ACaller, A2AFile, A2ARequest

__all__ = [
    "A2AActivity", "A2ACaller", "A2AFile", "A2ARequest", "TemporalWorkflow", "emitting",
]  # fmt: skip

_WORKFLOW = "__temporal_workflow_definition"
_RUN = "__temporal_workflow_run"

_DURABLE = (
    "pydantic_ai.durable_exec.temporal",
    "temporalio.google_adk",
    "temporalio.strands_agents",
)
"""Modules that make the agents of frameworks durable inside workflows."""

__getattr__ = lazy_names(
    __name__,
    {
        "A2AActivity": "activity",
        "A2ACaller": "workflow",
        "A2AFile": "workflow",
        "A2ARequest": "workflow",
        "TemporalWorkflow": "adapter",
        "emitting": "activity",
    },
    frameworks=("temporalio",),
    extra="temporal",
)


@hookimpl(tryfirst=True)  # before the plugins of durable agents
def a2a_adapt(target: object) -> None:
    """Refuse targets that need the client and the task queue of a `TemporalWorkflow`.

    Raises:
        TargetError: It is a workflow, or an agent that only a workflow makes durable.
    """
    if "temporalio" not in sys.modules:
        return
    target = example_of(target)
    if hasattr(target, _WORKFLOW) or hasattr(target, _RUN):
        name = getattr(target, "__qualname__", "Agent").removesuffix(".run")
        raise TargetError(
            f"{name} is a workflow of Temporal; say where its workers are: "
            f'serve(TemporalWorkflow(client, {name}.run, task_queue="..."))'
        )
    if _is_durable_agent(target):
        raise TargetError(
            f"the agent {getattr(target, 'name', '')!r} is durable only inside a workflow of "
            "Temporal. Run it in a workflow, and serve that: "
            'serve(TemporalWorkflow(client, Answer.run, task_queue="..."))'
        )


@hookimpl
def a2a_accepts() -> str:
    """Return the kinds of targets that can be served."""
    return "a TemporalWorkflow"


@hookimpl
def a2a_frameworks() -> list[str]:
    """Return the frameworks that this plugin supports."""
    return ["temporalio"]


def _is_durable_agent(target: object) -> bool:
    """Whether a class of an agent, its model, a capability or a plugin is from `_DURABLE`."""
    parts = [target, getattr(target, "model", None), getattr(target, "root_capability", None)]
    for part in parts:
        for name in ("capabilities", "plugins"):
            found = getattr(part, name, None)
            parts.extend(found if isinstance(found, list | tuple) else ())
    kinds = {kind for part in parts for kind in type(part).__mro__}
    return any(kind.__module__.startswith(_DURABLE) for kind in kinds)
