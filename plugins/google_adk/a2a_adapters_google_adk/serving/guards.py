"""Finds what may change the text of an agent after its model has streamed it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import App
from google.adk.planners.built_in_planner import BuiltInPlanner
from google.adk.runners import Runner

from a2a_adapters.plugin import overrides
from a2a_adapters_google_adk.serving.targets import nodes, root_of, runs_by_itself

if TYPE_CHECKING:
    from collections.abc import Iterable

    from google.adk.plugins.base_plugin import BasePlugin

    from a2a_adapters_google_adk.serving.targets import Target

_ON_TEXT = ("after_model_callback", "on_event_callback", "on_model_error_callback")
_ON_CALLS = ("before_tool_callback",)
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
    return _has_plugins(target, _ON_TEXT) or any(map(_changes_text, nodes(root_of(target))))


def changes_calls(target: Target, author: str) -> bool:
    """Return whether callbacks may change the arguments of tools, or answer in their place.

    Args:
        target: The target.
        author: The agent that calls the tool. One that is not part of the target, such as in an
            attribute of an agent, has unknown callbacks.
    """
    agents = list(nodes(root_of(target)))
    return (
        _has_plugins(target, _ON_CALLS)
        or any(isinstance(each, LlmAgent) and each.before_tool_callback for each in agents)
        or all(getattr(each, "name", "") != author for each in agents)
    )


def _has_plugins(target: Target, callbacks: Iterable[str]) -> bool:
    """Return whether a plugin has one of these callbacks, and may change something in it."""
    plugins: Iterable[BasePlugin] = ()
    if isinstance(target, Runner):
        plugins = target.plugin_manager.plugins
    elif isinstance(target, App):
        plugins = target.plugins
    return any(
        getattr(type(plugin), name).__module__ not in _OBSERVERS
        for plugin in plugins
        for name in callbacks
    )


def _changes_text(node: object) -> bool:
    """Return whether an agent has callbacks for its model's text, or passes it on by itself."""
    if isinstance(node, LlmAgent) and (
        node.after_model_callback
        or node.on_model_error_callback
        or not isinstance(node.planner, BuiltInPlanner | None)
        or overrides(node.planner, "process_planning_response", "google.adk.")
    ):
        return True
    return runs_by_itself(node)
