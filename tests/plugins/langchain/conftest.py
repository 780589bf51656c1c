"""Clears the letters between tests."""

from __future__ import annotations

import pytest

from tests.plugins.langchain.support import sent


@pytest.fixture(autouse=True)
def nothing_sent():
    sent.clear()
