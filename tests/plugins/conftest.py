"""Storages for plugins; and how many examples hypothesis makes up, many for `make fuzz`."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.plugins.sql.conftest import new_url

settings.register_profile("short", max_examples=100)
settings.register_profile("long", max_examples=2000)
settings.load_profile("short")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """The URL of an empty database of each engine."""
    return new_url(request.param, tmp_path)
