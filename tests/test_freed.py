"""What a request leaves behind is freed when it ends: nobody waits for the garbage collector."""

from __future__ import annotations

import gc

import pytest

from a2a_adapters import ServerOptions
from tests.bindings.support import V1, rpc, say, serving

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
    """Return what tells what is garbage, and was not before."""
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
    gc.unfreeze()


@pytest.mark.parametrize("storage", ["memory:", "sqlite:///{}/agents.db"])
@pytest.mark.parametrize("body", REQUESTS.values(), ids=REQUESTS)
async def test_requests_leave_no_garbage(body, storage, tmp_path, left):
    options = ServerOptions(storage=storage.format(tmp_path))
    async with serving(words, options=options) as http:
        for _ in range(3):
            (await http.post("/", json=body, headers=V1)).raise_for_status()
        kinds = {f"{type(each).__module__}.{type(each).__name__}" for each in left()}
    assert not {kind for kind in kinds if kind.startswith(("a2a", "uvicorn"))}


async def test_what_an_app_has_built_at_its_start_is_not_looked_through():
    async with serving(words):
        assert gc.get_freeze_count()
    assert not gc.get_freeze_count()
