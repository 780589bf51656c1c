"""Serves Pydantic AI agents, and calls remote agents from them.

`serve(agent)` works without an import from here. For options, wrap the agent:

    from a2a_adapters_pydantic_ai import adapt

    serve(adapt(agent, deps=lambda request: Deps(user=request.owner)))

In the other direction, `A2AModel` and `A2AToolset` are remote agents as Pydantic AI's own objects.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, cast

from a2a_adapters.plugin import example_of, hookimpl, lazy_names

if TYPE_CHECKING:
    from a2a_adapters import RemoteAgent
    from a2a_adapters.plugin import Adapter
    from a2a_adapters_pydantic_ai.calling.model import A2AModel
    from a2a_adapters_pydantic_ai.calling.toolset import A2AToolkit, A2AToolset
    from a2a_adapters_pydantic_ai.serving.adapter import PydanticAIAdapter, adapt

__all__ = ["A2AModel", "A2AToolkit", "A2AToolset", "PydanticAIAdapter", "adapt"]

_EXTRA = "pydantic-ai"
_DISTRIBUTION = "pydantic-ai-slim"

# Loaded on first use, because importing the framework takes seconds.
__getattr__ = lazy_names(
    __name__,
    {
        "A2AModel": "calling.model",
        "A2AToolset": "calling.toolset",
        "A2AToolkit": "calling.toolset",
        "adapt": "serving.adapter",
        "PydanticAIAdapter": "serving.adapter",
    },
    frameworks=("pydantic_ai",),
    extra=_EXTRA,
)


@hookimpl
def a2a_adapt(target: object) -> Adapter | None:
    """Wrap an agent, or a function that makes one for every run."""
    # An agent can only exist if the framework is imported already.
    framework = sys.modules.get("pydantic_ai.agent")
    example = example_of(target)
    if framework is None or not isinstance(example, framework.AbstractAgent):
        return None
    return cast("Adapter", __getattr__("adapt")(target))


@hookimpl
def a2a_accepts() -> str:
    """Return the kinds of targets that can be served."""
    return "an agent, or a function that makes one"


@hookimpl
def a2a_frameworks() -> list[str]:
    """Return the frameworks that this plugin supports."""
    return [_DISTRIBUTION]


@hookimpl
def a2a_prepare_process() -> None:
    """Turn off the banner that the framework prints on a terminal before its first run."""
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")


@hookimpl
def a2a_remote_llm(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a model."""
    return __getattr__("A2AModel")(agent) if framework in {_EXTRA, _DISTRIBUTION} else None


@hookimpl
def a2a_remote_tool(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a toolset."""
    return __getattr__("A2AToolset")(agent) if framework in {_EXTRA, _DISTRIBUTION} else None
