"""Shared by the tests of remote agents in LangChain."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from a2a_adapters import build_app
from tests.plugins.langchain.calling.support import served


@pytest.fixture
def serve_app():
    """Return a function that serves an app until the test ends, and returns its URL."""
    with ExitStack() as stack:
        yield lambda app: stack.enter_context(served(app))


@pytest.fixture
def serve(serve_app):
    """Return a function that serves a target until the test ends, and returns its URL."""
    return lambda target, **options: serve_app(build_app(target, **options))
