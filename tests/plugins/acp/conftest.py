"""The working folder of coding agents."""

from __future__ import annotations

import pytest


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "work"
