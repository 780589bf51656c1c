"""Serves LlamaIndex workflows and agents, and calls remote agents from them.

`serve(workflow)` works without an import from here. For options, wrap the workflow:

    from a2a_adapters_llama_index import adapt

    serve(adapt(workflow, keep_context=False))

In the other direction, `A2ALLM` and `a2a_tool` are remote agents as LlamaIndex's own objects.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from a2a_adapters.plugin import example_of, hookimpl, lazy_names

if TYPE_CHECKING:
    from a2a_adapters import RemoteAgent
    from a2a_adapters.plugin import Adapter
    from a2a_adapters_llama_index.calling.llm import A2ALLM
    from a2a_adapters_llama_index.calling.tool import a2a_tool
    from a2a_adapters_llama_index.serving.adapter import LlamaIndexAdapter, adapt

__all__ = ["A2ALLM", "LlamaIndexAdapter", "a2a_tool", "adapt"]

_EXTRA = "llamaindex"
_NAMES = {_EXTRA, "llama-index", "llama-index-core", "llama-index-workflows"}

# Loaded on first use, because importing the framework takes seconds.
__getattr__ = lazy_names(
    __name__,
    {
        "A2ALLM": "calling.llm",
        "a2a_tool": "calling.tool",
        "adapt": "serving.adapter",
        "LlamaIndexAdapter": "serving.adapter",
    },
    frameworks=("llama_index", "workflows"),
    extra=_EXTRA,
)


@hookimpl
def a2a_adapt(target: object) -> Adapter | None:
    """Wrap a workflow or an agent, or a function that makes one for every run."""
    # A workflow can only exist if the framework is imported already.
    framework = sys.modules.get("workflows.workflow")
    example = example_of(target)
    if framework is None or not isinstance(example, framework.Workflow):
        return None
    return cast("Adapter", __getattr__("adapt")(target))


@hookimpl
def a2a_accepts() -> str:
    """Return the kinds of targets that can be served."""
    return "a workflow or an agent, or a function that makes one"


@hookimpl
def a2a_frameworks() -> list[str]:
    """Return the frameworks that this plugin supports."""
    return ["llama-index-workflows", "llama-index-core"]


@hookimpl
def a2a_remote_llm(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as an LLM."""
    return __getattr__("A2ALLM")(agent) if framework in _NAMES else None


@hookimpl
def a2a_remote_tool(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a tool."""
    return __getattr__("a2a_tool")(agent) if framework in _NAMES else None
