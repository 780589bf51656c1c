"""Finds what may change the text of an agent after its model has streamed it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import App
from google.adk.planners.built_in_planner import BuiltInPlanner
from google.adk.runners import Runner
from google.adk.workflow import Workflow

from a2a_adapters_google_adk.serving.targets import root_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from google.adk.plugins.base_plugin import BasePlugin

    from a2a_adapters_google_adk.serving.targets import Target

_CALLBACKS = ("after_model_callback", "on_event_callback", "on_model_error_callback")
_OBSERVERS = (
    "google.adk.plugins.auto_tracing_plugin",
    "google.adk.plugins.base_plugin",
    "google.adk.plugins.bigquery_agent_analytics_plugin",
    "google.adk.plugins.debug_logging_plugin",
    "google.adk.plugins.logging_plugin",
)
"""Modules of the framework's plugins that change nothing."""


def is_guarded(target: Target) -> bool:
    """Return whether callbacks of agents or plugins may change what a model has said."""
    plugins: Iterable[BasePlugin] = ()
    if isinstance(target, Runner):
        plugins = target.plugin_manager.plugins
    elif isinstance(target, App):
        plugins = target.plugins
    return any(map(_may_change, plugins)) or _has_callbacks(root_of(target))


def _may_change(plugin: BasePlugin) -> bool:
    found = (getattr(type(plugin), name) for name in _CALLBACKS)
    return any(each.__module__ not in _OBSERVERS for each in found)


def _has_callbacks(agent: object) -> bool:
    """Return whether an agent, or one below it, has callbacks for what its model says."""
    if isinstance(agent, Workflow):
        return agent.graph is not None and any(map(_has_callbacks, agent.graph.nodes))
    if isinstance(agent, LlmAgent) and (
        agent.after_model_callback
        or agent.on_model_error_callback
        or not isinstance(agent.planner, BuiltInPlanner | None)
        or type(agent)._run_async_impl is not LlmAgent._run_async_impl  # noqa: SLF001 - an override
    ):
        return True
    return isinstance(agent, BaseAgent) and any(map(_has_callbacks, agent.sub_agents))
