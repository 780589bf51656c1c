"""Serves the scripted models, and keeps the variables of this process from Claude Code."""

from __future__ import annotations

import os

import pytest

from a2a_adapters.testing import running
from tests.plugins.claude_agent.support import ENDPOINT


@pytest.fixture(autouse=True)
async def models(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "CLAUDE")):
            monkeypatch.delenv(name)
    async with running(ENDPOINT.app) as url:
        ENDPOINT.url = url
        yield
