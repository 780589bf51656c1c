"""Turns crewai's telemetry off, and keeps its files in a temporary folder."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import warnings

import pytest
from a2a_adapters_crewai import quiet

_HOME = tempfile.mkdtemp(prefix="a2a-adapters-crewai-")
atexit.register(shutil.rmtree, _HOME, ignore_errors=True)
os.environ["HOME"] = _HOME
quiet()

with warnings.catch_warnings():  # crewai's own, while it is imported
    warnings.simplefilter("ignore")
    import crewai  # noqa: F401

_CREWAIS_OWN = (
    "ignore::DeprecationWarning:crewai",  # of fields that it reads itself
    "ignore:function callbacks cannot be serialized:UserWarning",
)


def pytest_collection_modifyitems(items):
    """Ignore warnings about crewai's own code."""
    for item in items:
        if "crewai" in item.nodeid or "test_docs" in item.nodeid:
            for warning in _CREWAIS_OWN:
                item.add_marker(pytest.mark.filterwarnings(warning))
