"""Describes runnables and graphs for the agent card, without prompts and model settings."""

from __future__ import annotations

import inspect
import re
from typing import Any

from langchain_core.language_models import BaseChatModel, BaseLanguageModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_core.tools import BaseTool

from a2a_adapters import Skill
from a2a_adapters.plugin import ANY_MODES, AgentDescription
from a2a_adapters_langchain.serving.input import KeysInput, MessagesInput, ReadInput, ValueInput
from a2a_adapters_langchain.serving.schema import (
    AnyRunnable,
    all_steps,
    local_graphs,
    unwrapped,
)

_DATA_MODES = ("text/plain", "application/json")


def describe_runnable(runnable: AnyRunnable, read: ReadInput) -> AgentDescription:
    """Describe a runnable by its name, its function's docstring and its tools."""
    tools = [step for step in all_steps(runnable) if isinstance(step, BaseTool)]
    name = _given_name(runnable) or _kind(runnable)
    return _describe(name, _documentation(runnable), tools, read)


def describe_graph(graph: Any, read: ReadInput) -> AgentDescription:
    """Describe a graph by its name and the tools of its nodes."""
    nodes = [node for each in local_graphs(graph) for node in each.nodes.values()]
    tools: dict[str, BaseTool] = {}
    for node in nodes:
        tools |= getattr(node.bound, "tools_by_name", {})
    return _describe(_graph_name(graph), "", list(tools.values()), read)


def _graph_name(graph: Any) -> str:
    """Return the graph's name unless it is the default; a workflow is named by its function."""
    name = str(graph.get_name())
    if name != "LangGraph":
        return name
    nodes = () if hasattr(graph, "builder") else getattr(graph, "nodes", ())
    return str(next(iter(nodes), "Agent"))


def _describe(
    name: str, description: str, tools: list[BaseTool], read: ReadInput
) -> AgentDescription:
    modes = ANY_MODES if _takes_files(read) else _DATA_MODES
    return AgentDescription(
        name=name,
        description=description or f"{name}: {_usage(read)}",
        skills=[Skill.of(tool.name, tool.description) for tool in tools],
        input_modes=modes,
        output_modes=modes,
    )


def _takes_files(read: ReadInput) -> bool:
    if isinstance(read, KeysInput):
        return read.messages_key is not None
    return not isinstance(read, ValueInput)


def _usage(read: ReadInput) -> str:
    if isinstance(read, MessagesInput):
        return "answers messages."
    if isinstance(read, KeysInput):
        return f"takes {', '.join(read.names)}."
    return "answers one message at a time."


def _given_name(runnable: AnyRunnable) -> str:
    """Return the name that the developer gave the runnable, if any."""
    while isinstance(runnable, RunnableBindingBase):
        if isinstance(runnable, RunnableWithMessageHistory):
            return str(runnable.name or "")  # its bound runnable has a name of its own
        if name := runnable.config.get("run_name") or runnable.name:
            return str(name)
        runnable = runnable.bound
    if isinstance(runnable, RunnableLambda):
        name = re.sub(r"\W+", " ", runnable.get_name()).strip()
        return "" if name in {"lambda", "RunnableLambda"} else name
    return str(getattr(runnable, "name", None) or "")


def _kind(runnable: AnyRunnable) -> str:
    match unwrapped(runnable):
        case BaseChatModel():
            return "Chat model"
        case BaseLanguageModel():
            return "Language model"
        case BaseRetriever():
            return "Retriever"
    return "Agent"


def _documentation(runnable: AnyRunnable) -> str:
    match unwrapped(runnable):
        case BaseTool() as tool:
            return tool.description
        case RunnableLambda() as step:
            function = getattr(step, "func", None) or step.afunc
            return (inspect.getdoc(function) or "").partition("\n\n")[0]
    return ""
