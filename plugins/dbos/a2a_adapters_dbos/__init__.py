"""Serves workflows of DBOS, and calls remote agents as durable steps of workflows.

`serve(workflow)` works without an import from here. For options, wrap the workflow:

    from a2a_adapters_dbos import adapt

    serve(adapt(workflow, queue="agents"))

Inside a workflow, `ask` asks the caller and `emit` streams text; `a2a_step` makes a remote agent a
step.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from a2a_adapters import TargetError
from a2a_adapters.plugin import example_of, hookimpl, lazy_names

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

_DURABLE = {
    "pydantic_ai.durable_exec.dbos": "return (await agent.run(text)).output",
    "dbos_google_adk": "...  # run the agent with runner.run_async(...)",
}
"""Modules that make agents of frameworks durable inside workflows, and how these run the agents."""

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
        TargetError: It is an agent that only a workflow makes durable.
    """
    # A workflow can only exist if the framework is imported already.
    if "dbos" not in sys.modules:
        return None
    if _is_workflow(target):
        return cast("Adapter", __getattr__("adapt")(target))
    agent = example_of(target)
    if how := _run_of_durable(agent):
        name = getattr(agent, "name", None) or getattr(agent, "app_name", "")
        raise TargetError(
            f"the agent {name!r} is durable only inside a workflow of DBOS. "
            "Serve a workflow that runs it:\n\n"
            "    @DBOS.workflow()\n"
            "    async def answer(text: str) -> str:\n"
            f"        {how}\n\n"
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


def _run_of_durable(target: object) -> str:
    """Return how a workflow runs an agent if a part of it is from `_DURABLE`."""
    names = ("app", "model", "root_capability")
    parts = [target, *(getattr(target, name, None) for name in names)]
    for part in parts:
        for name in ("capabilities", "plugins"):
            found = getattr(part, name, None)
            parts.extend(found if isinstance(found, list | tuple) else ())
    kinds = {kind for part in parts for kind in type(part).__mro__}
    for module, how in _DURABLE.items():
        if any(kind.__module__.startswith(module) for kind in kinds):
            return how
    return ""
