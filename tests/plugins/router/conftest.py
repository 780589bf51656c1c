from __future__ import annotations

import pytest

from tests.plugins.router.providers import KEY


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("ROUTER_KEY", KEY)
