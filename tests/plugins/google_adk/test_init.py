"""The project that `a2a-adapters init` creates for ADK."""

from __future__ import annotations

import pytest

from tests.support.projects import check

pytestmark = pytest.mark.timeout(10 * 60)


def test_a_project_runs(tmp_path, monkeypatch):
    check(tmp_path / "host", "google-adk", monkeypatch)
