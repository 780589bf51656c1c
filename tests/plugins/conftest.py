"""Storages for plugins."""

from __future__ import annotations

import pytest

from tests.plugins.sql.conftest import new_url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """The URL of an empty database of each engine."""
    return new_url(request.param, tmp_path)
