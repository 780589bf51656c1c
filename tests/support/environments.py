"""Frameworks that an environment may lack."""

from __future__ import annotations

from importlib.util import find_spec

SEPARATE = {
    "agent_framework": "agent_framework",
    "claude_agent": "claude_agent_sdk",
    "crewai": "crewai",
    "deepagents": "deepagents",
    "google_adk": "google.adk",
    "strands": "strands",
}
"""The frameworks that the main environment lacks, by the names of their plugins and pages, and the
modules of these."""


def has(module: str) -> bool:
    """Whether the environment has the module."""
    return find_spec(module) is not None
