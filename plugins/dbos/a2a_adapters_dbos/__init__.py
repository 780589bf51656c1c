"""Serves workflows of DBOS, and calls remote agents as durable steps of workflows.

`serve(workflow)` works without an import from here. For options, wrap the workflow:

    from a2a_adapters_dbos import adapt

    serve(adapt(workflow, queue="agents"))

Inside a workflow, `ask` asks the caller and `emit` sends text as it comes; `a2a_step` makes a
remote agent a step.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from a2a_adapters import TargetError
from a2a_adapters.plugin import Factory, hookimpl, lazy_names

if TYPE_CHECKING:
    from a2a_adapters.plugin import Adapter
    from a2a_adapters_dbos.calling.step import A2AStep, a2a_step
    from a2a_adapters_dbos.serving.adapter import WorkflowAdapter, adapt
    from a2a_adapters_dbos.workflow import ask, ask_blocking, emit, emit_blocking

__all__ = [
    "A2AStep", "WorkflowAdapter", "a2a_step", "adapt", "ask", "ask_blocking", "emit",
    "emit_blocking",
]  # fmt: skip

_EXTRA = "dbos"

__getattr__ = lazy_names(
    __name__,
    {
        "A2AStep": "calling.step",
        "a2a_step": "calling.step",
        "adapt": "serving.adapter",
        "ask": "workflow",
        "ask_blocking": "workflow",
        "emit": "workflow",
        "emit_blocking": "workflow",
        "WorkflowAdapter": "serving.adapter",
    },
    frameworks=("dbos",),
    extra=_EXTRA,
)


@hookimpl(tryfirst=True)  # before the plugins of durable agents
def a2a_adapt(target: object) -> Adapter | None:
    """Wrap a workflow.

    Raises:
        TargetError: It is an agent of Pydantic AI that only a workflow makes durable.
    """
    # A workflow can only exist if the framework is imported already.
    if "dbos" not in sys.modules:
        return None
    if _is_workflow(target):
        return cast("Adapter", __getattr__("adapt")(target))
    agent = target.example if isinstance(target, Factory) else target
    if _is_durable_agent(agent):
        raise TargetError(
            f"the agent {getattr(agent, 'name', '')!r} is durable only inside a workflow of DBOS. "
            "Serve a workflow that runs it:\n\n"
            "    @DBOS.workflow()\n"
            "    async def answer(text: str) -> str:\n"
            "        return (await agent.run(text)).output\n\n"
            "    serve(answer)"
        )
    return None


@hookimpl
def a2a_accepts() -> str:
    """Return the kinds of targets that can be served."""
    return "a workflow"


@hookimpl
def a2a_frameworks() -> list[str]:
    """Return the frameworks that this plugin supports."""
    return ["dbos"]


def _is_workflow(target: object) -> bool:
    """Whether `@DBOS.workflow()` made this function, or method. A step wraps another function."""
    original, inner = getattr(target, "__orig_func", None), target
    while inner is not None and inner is not original:
        inner = getattr(inner, "__wrapped__", None)
    return inner is not None


def _is_durable_agent(target: object) -> bool:
    """Whether an agent of Pydantic AI has the capability `DBOSDurability`, or is a `DBOSAgent`."""
    framework = sys.modules.get("pydantic_ai.durable_exec.dbos")
    if framework is None:
        return False
    if isinstance(target, framework.DBOSAgent):
        return True
    found: list[object] = [getattr(target, "root_capability", None)]
    for capability in found:
        found.extend(getattr(capability, "capabilities", ()))
    return any(isinstance(capability, framework.DBOSDurability) for capability in found)
