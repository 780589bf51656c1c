"""Fixtures for tests of the client side."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.processes import started

_OLD_AGENT = Path(__file__).parents[1] / "support" / "servers" / "sdk_v03.py"


@pytest.fixture(scope="session")
def sdk_v03_url(old_python):
    """Return the address of an agent on a2a-sdk 0.3 in a separate process."""
    with started([old_python, str(_OLD_AGENT)]) as url:
        yield url
