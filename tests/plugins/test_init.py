"""The projects that `a2a-adapters init` creates for frameworks that an environment may lack."""

from __future__ import annotations

import pytest

from tests.support.programs import has
from tests.support.projects import check

FRAMEWORKS = {
    "agent-framework": "agent_framework",
    "claude-agent": "claude_agent_sdk",
    "google-adk": "google.adk",
    "llamaindex": "workflows",
    "smolagents": "smolagents",
    "openai-agents": "agents",
    "pydantic-ai": "pydantic_ai",
    "strands": "strands",
}
"""The frameworks, and a module of each."""

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(10 * 60)]


@pytest.mark.parametrize("framework", [name for name in FRAMEWORKS if has(FRAMEWORKS[name])])
def test_a_project_runs(framework, tmp_path, monkeypatch):
    check(tmp_path / "host", framework, monkeypatch)
