"""Frameworks that an environment may lack."""

from __future__ import annotations

from importlib.util import find_spec

SEPARATE = {
    "agent_framework": "agent_framework",
    "crewai": "crewai",
    "google_adk": "google.adk",
    "strands": "strands",
}
"""The plugins of frameworks that the main environment lacks, and the modules of these."""


def has(module: str) -> bool:
    """Whether the environment has the module."""
    return find_spec(module) is not None
