from __future__ import annotations

import gc
from pathlib import Path

import pytest
from a2a_adapters_router.models import litellm

from tests.plugins.router.providers import KEY

litellm()  # imported once, before workers are forked

HERE = Path(__file__).parent
LEFT_BEHIND = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def pytest_collection_modifyitems(items):
    """Ignore warnings about connections that litellm keeps beyond their event loop."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(LEFT_BEHIND)


@pytest.fixture(autouse=True, scope="module")
def _no_others_pay():
    """Collect litellm's leftovers before other tests start."""
    yield
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.unraisablehook", lambda _: None)
        gc.collect()


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("ROUTER_KEY", KEY)
