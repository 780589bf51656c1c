from __future__ import annotations

import gc
from pathlib import Path

import pytest

from tests.plugins.router.providers import KEY

HERE = Path(__file__).parent
LEFT_BEHIND = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def pytest_collection_modifyitems(items):
    """Put up with connections that litellm keeps beyond the event loop they were made in."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(LEFT_BEHIND)


@pytest.fixture(autouse=True, scope="module")
def _no_others_pay():
    """Have what litellm leaves behind collected before the tests of others begin."""
    yield
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.unraisablehook", lambda _: None)
        gc.collect()


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("ROUTER_KEY", KEY)
