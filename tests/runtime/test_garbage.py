"""Requests leave no reference cycles: their memory is freed without the garbage collector."""

from __future__ import annotations

import gc
import weakref

import pytest

from a2a_adapters import ServerOptions
from a2a_adapters.serving import app
from a2a_adapters.serving.garbage import Garbage
from tests.support.requests import V1, rpc, say, serving

REQUESTS = {
    "SendMessage": rpc("SendMessage", say("hello")),
    "SendStreamingMessage": rpc("SendStreamingMessage", say("hello")),
    "ListTasks": rpc("ListTasks", {}),
}


async def words(text):
    for word in ("well", text):
        yield word


@pytest.fixture
def left():
    """Return a function that lists new garbage."""
    gc.collect()
    gc.freeze()
    gc.disable()

    def found():
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            gc.collect()
            return list(gc.garbage)
        finally:
            gc.set_debug(0)
            gc.garbage.clear()

    yield found
    gc.enable()


@pytest.mark.parametrize("storage", ["memory:", "sqlite:///{}/agents.db"])
@pytest.mark.parametrize("body", REQUESTS.values(), ids=REQUESTS)
async def test_requests_leave_no_garbage(body, storage, tmp_path, left):
    options = ServerOptions(storage=storage.format(tmp_path))
    async with serving(words, options=options) as http:
        for _ in range(3):
            (await http.post("/", json=body, headers=V1)).raise_for_status()
        kinds = {f"{type(each).__module__}.{type(each).__name__}" for each in left()}
    assert not {kind for kind in kinds if kind.startswith(("a2a", "uvicorn"))}


@pytest.fixture
def thawed(monkeypatch):
    """Unfreeze all objects, as in most processes."""
    monkeypatch.setattr(app, "settled", Garbage().settled)
    gc.unfreeze()
    yield
    gc.freeze()


class Loop:
    """Garbage that only the collector finds."""

    def __init__(self):
        self.itself = self


@pytest.mark.usefixtures("thawed")
async def test_the_garbage_collector_skips_objects_built_at_startup():
    gc.disable()
    garbage = weakref.ref(Loop())
    gc.enable()
    async with serving(words):
        assert garbage() is None
        assert gc.get_freeze_count()
    assert not gc.get_freeze_count()


@pytest.mark.thorough
@pytest.mark.usefixtures("thawed")
async def test_it_scans_them_again_after_the_last_app_has_ended():
    async with serving(words):
        async with serving(words):
            pass
        assert gc.get_freeze_count()
    assert not gc.get_freeze_count()


@pytest.mark.usefixtures("thawed")
async def test_objects_frozen_by_the_process_stay_frozen():
    gc.freeze()
    async with serving(words):
        pass
    assert gc.get_freeze_count()


@pytest.mark.usefixtures("thawed")
@pytest.mark.parametrize(("own", "serving_at"), [(700, 10_000), (20_000, 20_000), (0, 0)])
async def test_the_collector_awaits_more_objects_while_an_app_runs(own, serving_at, monkeypatch):
    monkeypatch.setattr(
        gc, "collect", lambda _generation: 0
    )  # it takes a second in a process of tests
    _, *older = before = gc.get_threshold()
    gc.set_threshold(own, *older)
    try:
        async with serving(words):
            assert gc.get_threshold() == (serving_at, *older)
        assert gc.get_threshold() == (own, *older)
    finally:
        gc.set_threshold(*before)
